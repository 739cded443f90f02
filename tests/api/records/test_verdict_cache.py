"""Which cached verdict belongs to which record and which code?"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fireassay.api.records import survey
from fireassay.api.records.survey import Summary, cached, folder, judge_digest, keep
from tests.api.records.test_summary import ESTIMATE, SUMMARY


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    """The digest of a made-up source must not outlive its test: other tests of this process list records by it."""
    judge_digest.cache_clear()
    yield
    judge_digest.cache_clear()


def test_a_kept_summary_is_found_by_its_seal_alone(tmp_path: Path) -> None:
    keep(SUMMARY, tmp_path)
    assert cached(SUMMARY.seal, tmp_path) == SUMMARY
    assert cached("0" * 64, tmp_path) is None
    assert [oct(file.stat().st_mode & 0o777) for file in tmp_path.iterdir()] == ["0o600"]


def test_another_version_does_not_know_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(SUMMARY, tmp_path)
    monkeypatch.setattr("fireassay.__version__", "99")
    judge_digest.cache_clear()
    assert cached(SUMMARY.seal, tmp_path) is None


def test_changed_source_gives_another_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for part in survey.JUDGING:
        (tmp_path / part).mkdir()
    rule = tmp_path / "verdict" / "rule.py"
    rule.write_text("a = 1")
    monkeypatch.setattr("fireassay.__file__", str(tmp_path / "__init__.py"))
    before = judge_digest()
    judge_digest.cache_clear()
    assert judge_digest() == before
    judge_digest.cache_clear()
    rule.write_text("a = 12")
    assert judge_digest() != before


def test_a_summary_under_the_key_of_another_record_is_ignored(tmp_path: Path) -> None:
    other = replace(SUMMARY, seal="cd" * 32)
    keep(SUMMARY, tmp_path)
    next(tmp_path.iterdir()).rename(tmp_path / f"{survey.key(other.seal)}.json")
    assert cached(other.seal, tmp_path) is None


def test_a_cache_that_cannot_be_read_or_written_is_no_error(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    keep(SUMMARY, blocked)
    assert cached(SUMMARY.seal, blocked) is None
    os.mkfifo(tmp_path / f"{survey.key(SUMMARY.seal)}.json")
    assert cached(SUMMARY.seal, tmp_path) is None, "a pipe does not block"


def test_it_is_in_the_users_cache() -> None:
    assert folder({"XDG_CACHE_HOME": "/x"}) == Path("/x/assay/verdicts")


@pytest.mark.parametrize(
    "summary",
    [
        replace(SUMMARY, name="vit\ud800"),
        replace(SUMMARY, measures=(replace(SUMMARY.measures[0], value=replace(ESTIMATE, launch_values=(3.5, math.inf))),)),
    ],
)
def test_a_summary_that_json_cannot_hold_is_not_kept(tmp_path: Path, summary: Summary) -> None:
    keep(summary, tmp_path)
    assert cached(SUMMARY.seal, tmp_path) is None


def test_a_module_beside_the_folders_counts_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for part in survey.JUDGING:
        (tmp_path / part).mkdir()
    monkeypatch.setattr("fireassay.__file__", str(tmp_path / "__init__.py"))
    before = judge_digest()
    judge_digest.cache_clear()
    (tmp_path / "units.py").write_text("NS_PER_S = 1e9")
    assert judge_digest() != before
