"""A store keeps sealed records whole: pushed with the seal last, verified when pulled, never overwritten."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest

from fireassay.clock import FakeClock
from fireassay.errors import EnvironmentLacks, RecordError, SpecError
from fireassay.record.folder import create
from fireassay.record.seal import encode, seal_line, verify
from fireassay.record.store import Store, default_cache, shown_url
from tests.record.making import experiment, launch_row, sealed, unfinished

pytestmark = pytest.mark.slow


@pytest.fixture(params=["folder", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """An empty store in a folder, and one in memory."""
    memory = fsspec.filesystem("memory")
    memory.store.clear()
    yield Store(str(tmp_path / "store") if request.param == "folder" else "memory://records")
    memory.store.clear()


def later(root: Path, minutes: int, name: str = "digits", **conditions: str) -> Path:
    """A sealed record of a later minute."""
    asked = experiment(name).model_copy(update={"conditions": conditions})
    folder = create(root, asked, f"plan-{name}", clock=FakeClock(ns=minutes * 60 * 10**9))
    folder.writer(0).append("launches", launch_row(0))
    folder.finish("complete")
    return folder.path


def put(store: Store, name: str, content: bytes) -> None:
    store._files.makedirs(f"{store._root}/{name}".rpartition("/")[0], exist_ok=True)
    store._files.pipe_file(f"{store._root}/{name}", content)


def test_a_record_comes_back_byte_for_byte(store: Store, tmp_path: Path) -> None:
    path = sealed(tmp_path / "records")
    assert store.push(path) == f"{store.shown}/{path.name}"
    pulled = store.pull(path.name, tmp_path / "cache")
    assert pulled == tmp_path / "cache" / path.name
    assert verify(pulled) == ()
    files = [file.relative_to(path) for file in path.rglob("*") if file.is_file()]
    assert sorted(files) == sorted(file.relative_to(pulled) for file in pulled.rglob("*") if file.is_file())
    assert all((path / file).read_bytes() == (pulled / file).read_bytes() for file in files)


def test_the_list_is_told_by_the_manifests_alone_in_order_of_time(store: Store, tmp_path: Path) -> None:
    second, first = later(tmp_path / "records", 2), later(tmp_path / "records", 1)
    for path in (second, first):
        store.push(path)
    found = store.entries()
    assert [entry.folder for entry in found] == [first.name, second.name]
    manifest = json.loads((first / "manifest.json").read_text())
    told = (found[0].name, found[0].id, found[0].created_utc, found[0].state, found[0].plan_signature)
    assert told == ("digits", manifest["id"], manifest["created_utc"], "complete", "plan-digits")


def test_pushing_twice_changes_nothing(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = sealed(tmp_path / "records")
    store.push(path)

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("nothing may be written again")

    monkeypatch.setattr(store._files, "put_file", refuse)
    store.push(path)
    assert len(store.entries()) == 1


def test_another_record_of_the_same_name_is_never_overwritten(store: Store, tmp_path: Path) -> None:
    path = sealed(tmp_path / "records")
    put_other = sealed(tmp_path / "others", steps=9)
    renamed = put_other.rename(put_other.parent / path.name)
    store.push(path)
    with pytest.raises(RecordError, match="nothing is ever overwritten"):
        store.push(renamed)
    assert (store.pull(path.name, tmp_path / "cache") / "SEAL").read_bytes() == (path / "SEAL").read_bytes()


@pytest.mark.parametrize("stop_after", [0, 1, 3])
def test_a_push_that_was_cut_short_is_no_record_and_can_be_finished(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop_after: int
) -> None:
    path = sealed(tmp_path / "records")
    put_file, count = store._files.put_file, iter(range(100))

    def failing(*arguments: Any, **options: Any) -> None:
        if next(count) >= stop_after:
            raise OSError("the connection broke")
        put_file(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(store._files, "put_file", failing)
        with pytest.raises(RecordError, match="the connection broke"):
            store.push(path)
    assert [entry for entry in store.entries() if entry.state == "complete"] == []
    assert store.newest() is None
    with pytest.raises(RecordError, match="no complete record"):
        store.pull(path.name, tmp_path / "cache")
    store.push(path)
    assert [entry.state for entry in store.entries()] == ["complete"]


def test_the_seal_is_written_last(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    put_file = store._files.put_file

    def noting(source: str, target: str, **options: Any) -> None:
        order.append(Path(target).name)
        put_file(source, target, **options)

    monkeypatch.setattr(store._files, "put_file", noting)
    store.push(sealed(tmp_path / "records"))
    assert order[-2:] == ["manifest.json", "SEAL"]


def test_only_sealed_and_intact_records_are_pushed(store: Store, tmp_path: Path) -> None:
    under_way = unfinished(tmp_path / "records")
    under_way.finish("interrupted")
    with pytest.raises(RecordError, match="assay resume"):
        store.push(under_way.path)
    damaged = sealed(tmp_path / "records")
    (damaged / "experiment.toml").write_text((damaged / "experiment.toml").read_text() + "\n")
    with pytest.raises(RecordError, match="differs from its seal"):
        store.push(damaged)
    assert store.entries() == ()


def test_what_changed_in_the_store_is_not_pulled(store: Store, tmp_path: Path) -> None:
    path = sealed(tmp_path / "records")
    store.push(path)
    content = (path / "experiment.toml").read_bytes()
    put(store, f"{path.name}/experiment.toml", b"#" + content[1:])  # as long as before
    with pytest.raises(RecordError, match=r"experiment\.toml: was changed"):
        store.pull(path.name, tmp_path / "cache")
    put(store, f"{path.name}/experiment.toml", content + b"#")
    with pytest.raises(RecordError, match="was sealed with"):
        store.pull(path.name, tmp_path / "cache")
    assert list((tmp_path / "cache").glob("*")) == [], "half a record must not stay"


@pytest.mark.parametrize("escape", ["../outside", "/etc/outside", "tables/../../outside", "a\\b", "SEAL", "x//y"])
def test_a_manifest_that_names_files_elsewhere_is_refused(store: Store, tmp_path: Path, escape: str) -> None:
    path = sealed(tmp_path / "records")
    manifest = json.loads((path / "manifest.json").read_text())
    manifest["sealed"]["files"][escape] = {"sha256": "0" * 64, "bytes": 1}
    put(store, "evil-1/manifest.json", encode(manifest))
    put(store, "evil-1/SEAL", seal_line(encode(manifest)))
    with pytest.raises(RecordError, match="outside the record"):
        store.pull("evil-1", tmp_path / "cache")
    assert not (tmp_path / "outside").exists()


@pytest.mark.parametrize("name", ["../records", "/tmp/x", "..", ".hidden", "a/b", "", "x" * 300])
def test_a_name_that_leads_out_of_the_store_is_refused(store: Store, tmp_path: Path, name: str) -> None:
    with pytest.raises(RecordError, match="not a record name"):
        store.pull(name, tmp_path / "cache")


def test_a_copy_from_before_is_used_again_only_if_it_is_the_same(store: Store, tmp_path: Path) -> None:
    path = sealed(tmp_path / "records")
    store.push(path)
    pulled = store.pull(path.name, tmp_path / "cache")
    assert store.pull(path.name, tmp_path / "cache") == pulled
    (pulled / "experiment.toml").write_text("")
    with pytest.raises(RecordError, match="exists but is not the record"):
        store.pull(path.name, tmp_path / "cache")


def test_the_newest_that_fits_is_found_by_name_plan_and_conditions(store: Store, tmp_path: Path) -> None:
    root = tmp_path / "records"
    old, mid = later(root, 1, model="small"), later(root, 2, model="large")
    other = later(root, 3, name="other")
    for path in (old, mid, other):
        store.push(path)

    def newest(**wanted: Any) -> str | None:
        found = store.newest(**wanted)
        return None if found is None else found.folder

    assert newest() == other.name
    assert newest(name="digits") == mid.name
    assert newest(plan_signature="plan-other") == other.name
    assert newest(conditions={"model": "small"}) == old.name
    assert newest(conditions={"model": "tiny"}) is None


def test_damage_in_a_store_hides_no_other_record(store: Store, tmp_path: Path) -> None:
    path = sealed(tmp_path / "records")
    store.push(path)
    for name, manifest in (("torn-1", b"{"), ("list-1", b"[]"), ("odd name", b"{}"), ("no-seal", b'{"name": 3}')):
        put(store, f"{name}/manifest.json", manifest)
    put(store, "notes.txt", b"not a record")
    states = {entry.folder: entry.state for entry in store.entries()}
    assert states == {path.name: "complete", "torn-1": "damaged", "list-1": "damaged", "odd name": "damaged", "no-seal": "damaged"}


def test_an_empty_store_is_empty(store: Store) -> None:
    assert store.entries() == ()
    assert store.newest() is None


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("s3://bucket/records", "s3://bucket/records"),
        ("https://host/records?X-Signature=abc#f", "https://host/records?[redacted]"),
        ("ftp://me:hunter22@host/records", "ftp://[redacted]@host/records"),
        ("ftp://me:hun/ter22@host/records", "ftp://[redacted]@host/records"),
        ("abfs://container@account/records", "abfs://container@account/records"),
        ("/data/a?b", "/data/a?b"),
    ],
)
def test_what_may_be_secret_in_an_address_is_never_shown(url: str, shown: str) -> None:
    assert shown_url(url) == shown


def test_an_address_with_a_password_is_refused_without_repeating_it() -> None:
    with pytest.raises(SpecError, match="driver's own environment") as caught:
        Store("ftp://me:hunter22@host/records")
    assert "hunter22" not in str(caught.value)


def test_chained_and_unknown_addresses_are_refused() -> None:
    with pytest.raises(SpecError, match="chained"):
        Store("simplecache::memory://records")
    with pytest.raises(SpecError, match="nosuch://records"):
        Store("nosuch://records")


def test_a_driver_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def lacking(*_: object, **__: object) -> None:
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr(fsspec.core, "url_to_fs", lacking)
    with pytest.raises(EnvironmentLacks, match="pip install s3fs"):
        Store("s3://bucket/records")


def test_what_a_driver_says_is_shown_without_queries(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object, **__: object) -> None:
        raise RuntimeError("403 for https://host/records?X-Signature=abcdef, try later")

    monkeypatch.setattr(store._files, "ls", failing)
    with pytest.raises(RecordError) as caught:
        store.entries()
    assert "abcdef" not in str(caught.value)
    assert "403 for https://host/records?[redacted]" in str(caught.value)


def test_a_link_in_a_record_is_not_followed_into_a_store(store: Store, tmp_path: Path) -> None:
    under_way = unfinished(tmp_path / "records")
    secret = tmp_path / "secret"
    secret.write_text("private")
    under_way.log_path(0).unlink()
    under_way.log_path(0).symlink_to(secret)
    under_way.finish("complete")
    with pytest.raises(RecordError, match="is a link"):
        store.push(under_way.path)
    assert store.entries() == ()


def test_the_default_cache_is_the_user_s(tmp_path: Path) -> None:
    assert default_cache({"XDG_CACHE_HOME": "/x"}) == Path("/x/assay/records")
    assert default_cache({}, home=lambda: Path("/home/me")) == Path("/home/me/.cache/assay/records")
