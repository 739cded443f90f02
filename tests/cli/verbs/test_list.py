"""`assay list` shows every record of a folder, including damaged ones."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fireassay.cli import main
from fireassay.clock import FakeClock
from fireassay.record.folder import create
from tests.limits import PROCESS_S
from tests.record.making import experiment, launch_row, sealed
from tests.tiers import some

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("judged_once")]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A complete record, a later interrupted one with one aborted launch, a damaged one, and a folder without a record."""
    sealed(tmp_path, launches=4, name="complete")
    later = create(tmp_path, experiment("interrupted"), "", clock=FakeClock(ns=60 * 10**9))
    later.writer(0).append("launches", launch_row(0, status="failed"))
    later.writer(1).append("launches", launch_row(1, status="aborted"))
    later.finish("interrupted", "Ctrl-C")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "manifest.json").write_text("{")
    (tmp_path / "no-record").mkdir()
    return tmp_path


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of verdicts for each test."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder / "assay" / "verdicts"


def shown(root: Path, capsys: pytest.CaptureFixture[str], *flags: str) -> str:
    assert main(["list", str(root), *flags]) == 0
    return capsys.readouterr().out


def table(out: str) -> list[str]:
    """The lines of the table, its head first; without those that continue a cell."""
    lines = out.splitlines()
    at = next(number for number, line in enumerate(lines) if " AGE " in line)
    head, _, *lines = lines[at:]
    return [line for line in [head, *lines[: lines.index("")]] if line[:6].strip()]


def test_the_newest_comes_first_with_verdict_and_deciding_number(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = table(shown(root, capsys))
    assert lines[0].split() == ["AGE", "RECORD", "KIND", "VERDICT", "HEADLINE"]
    number, unit, record, kind, state, *headline = lines[1].split()
    assert (unit, kind, state) == ("d", "training", "interrupted")
    assert int(number) > 0
    name, _, identifier = record.rpartition("-")
    assert (name, len(identifier)) == ("interrupted", 6)
    assert " ".join(headline) == f"1 of 4: assay resume {identifier}", "the failed launch has ended; the aborted one is to be tried again"
    assert lines[2].split()[2].startswith("complete-")
    assert lines[2].split()[3:5] == ["training", "INCONCLUSIVE"]
    assert lines[2].split()[5:7] == ["80,000,000", "[80,000,000,"]


def test_every_record_is_judged_once(root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    assert main(["list", str(root)]) == 0
    first = capsys.readouterr()
    assert first.err == "judging 1 record for the first time (--no-judge skips it)\n"
    monkeypatch.setattr("fireassay.api.sides.judge", lambda *_: pytest.fail("judged again"))
    assert main(["list", str(root)]) == 0
    assert capsys.readouterr() == (first.out, "")
    assert len(list(cache.iterdir())) == 1


def test_without_judging_new_records_are_shown_as_not_judged(root: Path, capsys: pytest.CaptureFixture[str], cache: Path) -> None:
    row = table(shown(root, capsys, "--no-judge"))[2]
    assert row.split()[4:6] == ["not", "judged"]
    assert f"assay report {row.split()[2]}" in row
    assert not cache.exists()


@pytest.mark.parametrize(
    ("flags", "names"),
    [
        (["--verdict", "inconclusive"], ["complete"]),
        (["--verdict", "interrupted", "--verdict", "damaged"], ["interrupted", "broken"]),
        (["--kind", "training"], ["interrupted", "complete"]),
        (["--workload", "complete", "--kind", "training"], ["complete"]),
    ],
)
def test_filters_choose(root: Path, capsys: pytest.CaptureFixture[str], flags: list[str], names: list[str]) -> None:
    found = json.loads(shown(root, capsys, *flags, "--json"))
    assert [one["name"] for one in found] == names
    assert f"{len(names)} of 3 records, newest first" in shown(root, capsys, *flags)


def test_a_filter_that_fits_nothing_says_what_there_is(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = " ".join(shown(root, capsys, "--kind", "serving").split())
    assert "No record of 3 fits. Found kinds: training (2); workloads: interrupted (1), complete (1)." in out


@pytest.mark.parametrize(
    ("flag", "allowed"),
    [
        ("--kind", "calls, collectives, evaluation, fleet, network, observed, programs, serving, training"),
        (
            "--verdict",
            "damaged, fail, failed, gain, inconclusive, interrupted, invalid, measured, no gain, not judged, not measured, pass, running",
        ),
        ("--workload", "complete, interrupted"),
    ],
)
def test_a_filter_that_can_fit_nothing_is_bad_input(root: Path, capsys: pytest.CaptureFixture[str], flag: str, allowed: str) -> None:
    assert main(["list", str(root), flag, "bogus"]) == 2
    out, err = capsys.readouterr()
    assert (out, err) == ("", f"error: {flag}: found 'bogus'; allowed: {allowed}.\n")


def test_an_empty_folder_has_no_name_to_misspell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert json.loads(shown(tmp_path, capsys, "--workload", "bogus", "--json")) == []
    assert main(["list", str(tmp_path), "--kind", "bogus"]) == 2


def test_a_terminal_shows_the_newest_twenty_and_json_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(22):
        create(tmp_path, experiment(f"run{number}"), "", clock=FakeClock(ns=number * 10**9)).finish("interrupted")
    assert len(table(shown(tmp_path, capsys))) == 21
    out = shown(tmp_path, capsys)
    assert "20 of 22 records, newest first; --all, --kind, --verdict, --workload, --json" in out
    assert "run21-" in out
    assert "run1-" not in out
    assert len(table(shown(tmp_path, capsys, "--all"))) == 23
    assert len(json.loads(shown(tmp_path, capsys, "--json"))) == 22


def test_a_record_changed_after_sealing_has_no_verdict(root: Path, capsys: pytest.CaptureFixture[str], cache: Path) -> None:
    steps = next((root / _complete(root)).rglob("steps/**/*.parquet"))
    steps.write_bytes(steps.read_bytes() + b"x")
    out = shown(root, capsys)
    assert table(out)[2].split()[4] == "damaged"
    assert "was changed" in " ".join(out.split())
    assert not cache.exists()


@pytest.mark.parametrize("harm", some(["cut off", "another seal", "a list", "a wrong type", "a link"], 2))
def test_a_damaged_or_hostile_cache_is_ignored(
    root: Path, capsys: pytest.CaptureFixture[str], cache: Path, tmp_path: Path, harm: str
) -> None:
    before = shown(root, capsys)
    file = next(cache.iterdir())
    content = json.loads(file.read_bytes())
    harmed = {
        "cut off": file.read_bytes()[:-9],
        "another seal": json.dumps(content | {"seal": "0" * 64, "word": "pass"}).encode(),
        "a list": b"[]",
        "a wrong type": json.dumps(content | {"headline": 7}).encode(),
        "a link": json.dumps(content | {"headline": "forged"}).encode(),
    }[harm]
    target = tmp_path / "elsewhere.json" if harm == "a link" else file
    if harm == "a link":
        file.unlink()
        file.symlink_to(target)
    target.write_bytes(harmed)
    assert shown(root, capsys) == before
    assert not file.is_symlink(), "the judged record replaces it"


def test_a_skipped_launch_does_not_count_as_done(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = create(tmp_path, experiment("stopped"), "", clock=FakeClock())
    for number, status in enumerate(("failed", "timeout", "skipped", "skipped")):
        record.writer(number).append("launches", launch_row(number, status=status))
    record.finish("failed", "no launch succeeded\nCheck the URL")
    found = json.loads(shown(tmp_path, capsys, "--json"))
    assert (found[0]["launches_done"], found[0]["launches_planned"]) == (2, 4)
    assert table(shown(tmp_path, capsys))[1].split()[4:] == ["failed", "no", "launch", "succeeded"]


def test_a_damaged_record_is_shown_with_its_problem_and_hides_no_other(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = shown(root, capsys)
    assert table(out)[3].split()[:3] == ["-", "broken", "damaged"]
    assert f"-broken:{root}/broken/manifest.jsonisdamagedorforeign:itisnotJSON" in "".join(out.split())
    assert "no-record" not in out
    assert 'tests="3" failures="1"' in shown(root, capsys, "--junit", "--output", "-")


def test_json_holds_the_same_with_exact_numbers(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(shown(root, capsys, "--json"))
    assert [one["state"] for one in found] == ["interrupted", "complete", "damaged"]
    complete = found[1]
    files = [file for file in Path(complete["folder"]).rglob("*") if file.is_file()]
    assert complete["bytes"] == sum(file.stat().st_size for file in files)
    assert (complete["launches_done"], complete["launches_planned"], complete["name"]) == (4, 4, "complete")
    assert found[0]["reason"] == "Ctrl-C"
    assert (complete["kind"], complete["verdict"], found[0]["verdict"]) == ("training", "INCONCLUSIVE", None)
    assert complete["headline"] == "80,000,000 [80,000,000, 80,000,000] items/s at workers=1"


def test_columns_are_aligned(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    head, *rows = table(shown(root, capsys))
    at = head.index("VERDICT")
    assert [row[at - 2 : at] for row in rows] == ["  "] * 3
    assert [row[at:].split()[0] for row in rows] == ["interrupted", "INCONCLUSIVE", "damaged"]


def test_a_judged_record_that_lost_bytes_later_loses_its_verdict(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert table(shown(root, capsys))[2].split()[4] == "INCONCLUSIVE"
    steps = next((root / _complete(root)).rglob("steps/**/*.parquet"))
    steps.write_bytes(steps.read_bytes()[:-1])
    assert table(shown(root, capsys))[2].split()[4] == "damaged"


def test_an_empty_folder_says_how_to_make_a_record(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["list"]) == 0
    assert "`assay run` makes a record" in capsys.readouterr().out
    assert main(["list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []


def test_a_folder_that_does_not_exist_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", str(tmp_path / "typo")]) == 6
    assert "typo does not exist" in capsys.readouterr().err


def test_a_pipe_gets_plain_text(root: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "fireassay", "list", str(root)],
        capture_output=True,
        text=True,
        timeout=PROCESS_S,
        env=os.environ | {"FORCE_COLOR": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize("verb", some(["list", "verify"]))
def test_listing_cached_verdicts_and_verifying_import_neither_torch_nor_scipy_nor_polars(
    root: Path, verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shown(root, capsys)
    code = f"""
import sys
from fireassay.cli import main
main([{verb!r}, {str(root)!r} if {verb!r} == "list" else {str(root)!r} + "/" + {_complete(root)!r}])
assert not set(sys.modules) & {{"torch", "scipy", "polars", "pandas", "altair"}}, sorted(sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PROCESS_S)
    assert done.returncode == 0, done.stderr


def _complete(root: Path) -> str:
    return next(path.name for path in root.iterdir() if path.name.startswith("complete"))


def test_a_store_is_listed_from_its_manifests(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from fireassay.record.store import Store

    store = tmp_path / "store"
    Store(str(store)).push(root / _complete(root))
    assert main(["list", "--store", str(store), "--markdown"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "| Name | ID | Date (UTC) | State | Plan | Folder |" in lines
    assert lines[-1].startswith("| complete |")
    assert main(["list", "--store", str(store), "--json"]) == 0
    assert [one["state"] for one in json.loads(capsys.readouterr().out)] == ["complete"]
    assert main(["list", "--store", str(store), "--kind", "training"]) == 2
    assert "a store is listed without opening its records" in capsys.readouterr().err
    assert main(["list", "--store", str(tmp_path / "nothing")]) == 0
    assert "`assay check --push` adds records" in capsys.readouterr().out


def test_an_address_with_a_password_is_refused_and_not_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--store", "ftp://me:hunter22@host/records"]) == 2
    assert "hunter22" not in capsys.readouterr().err


def test_a_folder_without_records_of_its_own_names_those_below_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A gate keeps its records in records/gates."""
    sealed(tmp_path / "gates", launches=4, name="base")
    sealed(tmp_path / "gates", launches=4, name="change")
    assert main(["list", str(tmp_path)]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "No records of its own. 2 records of gates:" in told
    assert f"assay list {tmp_path}/gates" in told
