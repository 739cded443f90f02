"""Does `assay mlperf check` say which rule fails, where, and what it could not check?"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fireassay import cli
from fireassay.record.mllog import Entry, written
from tests.record.making import unfinished

PUBLIC = Path(__file__).parents[2] / "verdict/mlperf/tinybox_green_retinanet"


def test_a_submission_that_holds_exits_with_0(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert cli.main(["mlperf", "check", str(PUBLIC), "--round", "5.0"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("PASS  MLPerf Training 5.0, retinanet, closed")
    assert "803.59 min" in printed
    assert "result_4.txt" in printed  # excused
    assert "unchecked" in printed
    assert max(map(len, printed.splitlines())) <= 80


def test_a_rule_that_fails_exits_with_1_and_names_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(5):
        text = (PUBLIC / f"result_{number}.txt").read_text(encoding="utf-8").replace('"adam"', '"sgd"')
        (tmp_path / f"result_{number}.txt").write_text(text, encoding="utf-8")
    assert cli.main(["mlperf", "check", str(tmp_path), "--round", "5.0"]) == 1
    printed = capsys.readouterr().out
    assert "opt_name" in printed
    assert "result_0.txt:" in printed


@pytest.mark.parametrize("printed", [True, False])
def test_a_training_is_checked_with_what_its_script_printed(printed: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The launches' output is kept in the record's logs; a note says how to log, where a script logs nothing."""
    record = unfinished(tmp_path)
    for launch in range(2):
        line = written([Entry(key="opt_name", value="lion", time_ms=1.0, metadata={"lineno": 3})])
        record.log_path(launch).write_text(f"loss 0.1\n{line if printed else ''}", encoding="utf-8")
    record.finish("complete")
    assert cli.main(["mlperf", "check", str(record.path), "--round", "5.0", "--benchmark", "retinanet", "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    found = {(rule["rule"], rule["found"], rule["where"]) for rule in document["rules"] if rule["rule"] == "opt_name"}
    assert found == (
        {("opt_name", "lion", f"logs/launch=000{launch}.log:2") for launch in range(2)}
        if printed
        else {("opt_name", "missing", f"launch={launch}") for launch in range(2)}
    )
    assert any("log them with mlperf-logging" in note for note in document["notes"]) is not printed


def test_json_has_every_rule(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["mlperf", "check", str(PUBLIC), "--round", "5.0", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["verdict"] == "PASS"
    assert {"rule", "required", "found", "status", "where", "source"} <= set(document["rules"][0])


@pytest.mark.parametrize("arguments", [["--round", "9"], ["--benchmark", "resnet"], ["--round", "5.1", "--benchmark", "bert"]])
def test_what_has_no_rules_is_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["mlperf", "check", str(PUBLIC), *arguments]) == 2
    assert "allowed" in capsys.readouterr().err


def test_another_benchmark_than_the_logs_name_fails(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["mlperf", "check", str(PUBLIC), "--round", "5.0", "--benchmark", "rgat"]) == 1
    assert "retinanet: another" in capsys.readouterr().out
