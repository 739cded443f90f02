"""Is a remembered record the same evidence for a trend as a judged one?"""

from __future__ import annotations

from pathlib import Path

import pytest

from fireassay.api.records.sides import Sides, remembered
from fireassay.api.records.survey import entry_of
from fireassay.verdict.checking.history import worth_showing
from tests.api.records.several import again
from tests.importers.harnesses.read_back import LOGS, imported

pytestmark = pytest.mark.slow


def test_a_remembered_record_shows_the_series_of_a_judged_one(tmp_path: Path) -> None:
    path, cache = again("worse_accuracy", tmp_path / "records", "aaaaaa", 1), tmp_path / "cache"
    judged = Sides(cache).judged(entry_of(path, cache))
    entry = entry_of(path, cache)
    assert entry.summary is not None, "judging filled the cache"
    side = remembered(entry, entry.summary)
    pairs = list(worth_showing(side, ""))
    assert pairs == list(worth_showing(judged, ""))
    assert len(pairs) > 5
    for metric, configuration in pairs:
        assert side.judgement.results[metric][configuration] == judged.judgement.results[metric][configuration]
    assert side.judgement.verdict.status == judged.judgement.verdict.status


def test_a_remembered_import_keeps_the_scores_of_its_harness(tmp_path: Path) -> None:
    """Their names are the record's own: no file declares them."""
    imported(tmp_path, LOGS / "lm_eval" / "answering")
    (path,), cache = (tmp_path / "records").iterdir(), tmp_path / "cache"
    judged = Sides(cache).judged(entry_of(path, cache))
    entry = entry_of(path, cache)
    assert entry.summary is not None
    side = remembered(entry, entry.summary)
    assert "exact_match" in side.judgement.metrics
    names = [name for name, metric in judged.judgement.metrics.items() if metric.primary and metric.dimension == "correctness"]
    assert names
    assert {name: side.judgement.results[name] for name in names} == {name: judged.judgement.results[name] for name in names}
    assert list(worth_showing(side, "")) == list(worth_showing(judged, ""))


def test_neighbours_are_judged_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "cache"
    entries = [
        entry_of(again("unsynced", tmp_path / "records", identifier, day), cache) for day, identifier in enumerate(("aa", "bb", "cc"), 1)
    ]
    opened: list[Path] = []
    monkeypatch.setattr("fireassay.api.records.sides.side", lambda path, *_: opened.append(path))
    monkeypatch.setattr("fireassay.api.records.survey.Entry.judgeable", False)
    sides = Sides(cache)
    for index in (0, 1, 0, 1, 2, 1, 2):
        sides.judged(entries[index])
    assert opened == [entry.path for entry in entries]
    sides.judged(entries[0])
    assert len(opened) == 4, "only the last two are kept"
