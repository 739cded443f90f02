"""Is a job that was only watched plainly called observed, and kept out of every comparison?"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fireassay.api.records.survey import listed
from fireassay.api.records.survey import survey as survey_of
from fireassay.cli import main
from fireassay.record.reader import open_record
from tests.record.making import sealed
from tests.watched_made import watched


def said(text: str) -> str:
    return " ".join(text.split())


def test_the_first_screen_says_observed_and_names_no_number_of_a_training(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(watched(tmp_path))]) == 1
    shown = said(capsys.readouterr().out)
    assert shown.startswith("OBSERVED watch-process-7: observed for 60 s: rank 1 is slow in forward: the others wait for it")
    assert "observed from outside, not an experiment" in shown
    assert "not measured" not in shown


def test_everything_shown_in_full_has_every_rank_and_stack(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["report", str(watched(tmp_path)), "--full"])
    shown = said(capsys.readouterr().out)
    assert "0 on a" in shown
    assert "train.py:41 (main)" in shown
    assert "not measured" not in shown


def test_json_and_list_say_observed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = watched(tmp_path)
    main(["report", str(path), "--json"])
    document = json.loads(capsys.readouterr().out)
    assert (document["verdict"]["standing"], document["verdict"]["standing_reason"]) == ("observed", "not an experiment")
    assert document["metrics"] == document["findings"] == []
    assert main(["list", str(tmp_path), "--json"]) == 0
    [row] = json.loads(capsys.readouterr().out)
    assert row["kind"] == "observed"
    assert row["headline"].startswith("observed for 60 s: rank 1 is slow")


@pytest.mark.parametrize("words", [["compare"], ["check", "--against"]])
@pytest.mark.parametrize("first", [True, False])
def test_a_comparison_refuses_it_by_that_name(words: list[str], first: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other, mine = str(sealed(tmp_path / "other")), str(watched(tmp_path))
    verb, *flags = words
    one, two = (mine, other) if first else (other, mine)
    assert main([verb, one, *flags, two]) == 2
    assert "which was observed from outside (assay watch)" in said(capsys.readouterr().err)


def test_a_watch_that_was_killed_leaves_what_it_saw_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = watched(tmp_path, killed=True)
    assert main(["report", str(path)]) == 1
    assert "rank 1 is slow in forward" in said(capsys.readouterr().out)
    manifest = json.loads((path / "manifest.json").read_text())
    manifest["coordinator"]["pid"], manifest["coordinator"]["create_time"] = 1, 1.0
    (path / "manifest.json").write_text(json.dumps(manifest))
    assert open_record(path).state == "interrupted"
    main(["report", str(path)])
    assert "then the watch was cut off" in said(capsys.readouterr().out)
    assert main(["resume", str(path)]) == 6
    assert "nothing can be resumed" in said(capsys.readouterr().err)
    [entry] = survey_of(tmp_path, tmp_path / "cache")
    assert listed(entry, datetime.now(UTC)).headline == f"cut off: assay report {entry.id}"
