"""`assay import` of an evaluation harness: which flags does it take, and what does it answer?"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from fireassay.cli import main
from tests.importers.harnesses.read_back import LOGS

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("how", [("--from", "lm-eval"), ("--tool", "lm_eval"), ()])
def test_the_tool_is_named_or_recognised(how: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", str(LOGS / "lm_eval" / "tiny"), "--json", *how]) == 0
    (record,) = json.loads(capsys.readouterr().out)["records"]
    assert (record["tool"], record["requests"], record["failed"]) == ("lm_eval", 40, 0)


def test_two_sides_and_a_margin_make_one_record_with_a_decision(capsys: pytest.CaptureFixture[str]) -> None:
    sides = [str(LOGS / "inspect" / log) for log in ("good.eval", "worse.json")]
    assert main(["import", *sides, "--margin", "0.05", "--metric", "graded", "--json"]) == 0
    (record,) = json.loads(capsys.readouterr().out)["records"]
    assert main(["report", record["path"]]) == 4  # inconclusive
    assert "quality undecided: graded -5.0 points" in capsys.readouterr().out


def test_a_margin_gives_the_verdict_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    sides = [str(LOGS / "inspect" / log) for log in ("good.eval", "worse.json")]
    assert main(["import", *sides, "--margin", "0.05", "--metric", "graded"]) == 4
    assert "quality undecided: graded -5.0 points" in " ".join(capsys.readouterr().out.split())


def test_without_a_margin_the_next_command_asks_for_one_and_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """The answers of another program are scored by it, so `assay score` cannot ask again; the record's sides can be compared."""
    sides = [str(LOGS / "inspect" / log) for log in ("good.eval", "worse.json")]
    assert main(["import", *sides, "--metric", "graded"]) == 0
    capsys.readouterr()
    assert main(["report", "latest"]) == 0
    shown = capsys.readouterr().out
    assert "inspect-good-vs-worse" in shown
    (command,) = re.findall(r"(?m)^  assay (compare .* --margin 0\.02)$", shown.replace(" \\\n    ", " "))
    assert main(command.split()) == 4
    assert "graded -5.0 points" in " ".join(capsys.readouterr().out.split())


def test_flags_of_a_harness_are_refused_for_a_load_generator(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "load.json").write_text("{}")
    assert main(["import", "load.json", "--margin", "0.1"]) == 2
    assert "--margin" in capsys.readouterr().err


def test_results_of_two_tools_are_no_sides(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", str(LOGS / "lm_eval" / "tiny"), str(LOGS / "inspect" / "good.eval")]) == 2
    assert "2 paths" in capsys.readouterr().err
    assert main(["import", "--from", "lm-eval", str(LOGS / "inspect" / "good.eval")]) == 2
    assert "--log_samples" in capsys.readouterr().err


def test_what_an_import_must_doubt_is_said_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", str(LOGS / "lm_eval" / "failing")]) == 0
    assert "20 replies of sums_plain are empty" in " ".join(capsys.readouterr().out.split())


def test_a_harness_that_there_is_none_of_is_refused_with_the_closest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "--from", "lmeval", "anything"]) == 2
    said = capsys.readouterr().err
    assert "Did you mean lm-eval?" in said
    assert "helm, inspect, lm-eval" in said
