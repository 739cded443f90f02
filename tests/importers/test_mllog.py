"""Do `:::MLLOG` lines of trainings become a record that keeps what they say, and judges and writes them alike?"""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import fireassay
from fireassay.api.mlperf import Submission, check, check_files, lines_of
from fireassay.api.sides import opened
from fireassay.clock import FakeClock
from fireassay.errors import SpecError
from fireassay.estimates.estimate import Estimate
from fireassay.frames.training.evaluated_scores import evaluated_scores
from fireassay.importers.support.importing import import_results
from tests.verdict.mlperf.training_logs import PLANTED, write

LOGS = Path(__file__).parents[1] / "verdict/mlperf"
PUBLIC = LOGS / "tinybox_green_retinanet"
LOADGEN = LOGS / "loadgen/SingleStream/performance.txt"


def _imported(path: Path, root: Path) -> Path:
    (record,) = import_results(path, root, clock=FakeClock())
    return record.path


def test_each_file_is_a_launch_and_each_evaluation_a_score(tmp_path: Path) -> None:
    """By hand, from result_0.txt: run_start at 1745598081470 ms; the last of 4 evaluations says 0.3427 at epoch 4, of 12191 steps."""
    measured = opened(_imported(PUBLIC, tmp_path))
    launches = measured.table("launches")
    assert launches["status"].to_list() == ["ok"] * 4 + ["failed"]
    assert launches["reason"].to_list()[-1] == "no run_stop in the log"
    scores = evaluated_scores(measured).filter(pl.col("launch") == 0)
    assert scores["name"].unique().to_list() == ["eval_accuracy"]
    text = (PUBLIC / "result_0.txt").read_text(encoding="utf-8")
    assert scores["score"].to_list() == _values(text, "eval_accuracy")
    first_ms = _times(text, "eval_accuracy")[0]
    assert scores["since_s"][0] == pytest.approx((first_ms - _times(text, "run_start")[0]) / 1000.0)
    assert scores["samples"].to_list() == [epoch * 12_191.0 for epoch in range(1, scores.height + 1)]


def test_time_to_quality_is_measured_against_the_published_target(tmp_path: Path) -> None:
    """By hand: 0.34 is met after 47404, 48015, 48216 and 48415 s, and by one run that has no end never: the median of five is the third."""
    record = fireassay.open(_imported(PUBLIC, tmp_path))
    assert record.experiment.target is not None
    assert record.experiment.target.goal == ("eval_accuracy >= 0.34",)
    found = record.metric("time_to_quality")
    assert isinstance(found, Estimate)
    assert found.value == pytest.approx(48_216.4, abs=1.0)
    assert "collective_check_apart" not in {finding.rule for finding in record.judge().findings}


def _rows(text: str, key: str) -> list[dict[str, object]]:
    import json

    rows = [json.loads(line.partition(":::MLLOG ")[2]) for line in text.splitlines() if ":::MLLOG " in line]
    return [row for row in rows if row["key"] == key]


def _values(text: str, key: str) -> list[object]:
    return [row["value"] for row in _rows(text, key)]


def _times(text: str, key: str) -> list[float]:
    return [float(str(row["time_ms"])) for row in _rows(text, key)]


def test_the_record_gives_back_the_lines_of_the_files(tmp_path: Path) -> None:
    texts = lines_of(str(_imported(PUBLIC, tmp_path)), Submission(), tmp_path)
    for name, text in texts.items():
        lines = (PUBLIC / name).read_text(encoding="utf-8").splitlines()
        assert text.splitlines() == [line[line.index(":::MLLOG") :] for line in lines if ":::MLLOG " in line]


@pytest.mark.parametrize("name", ["valid", "lora-rank", "seeds-equal", "aborted-in-two", "key-missing-in-one"])
def test_the_record_has_the_verdict_of_its_files(name: str, tmp_path: Path) -> None:
    planted = next(one for one in PLANTED if one.name == name)
    folder = write(planted, tmp_path / "logs")
    submission = Submission(round=planted.round)
    expected = check_files([folder], submission)
    result = check([str(_imported(folder, tmp_path / "records"))], submission, tmp_path)
    assert result.passed is expected.passed
    assert [(rule.rule, rule.status) for rule in result.rules] == [(rule.rule, rule.status) for rule in expected.rules]


def test_a_broken_line_stays_a_failure_in_the_record(tmp_path: Path) -> None:
    folder = write(PLANTED[0], tmp_path / "logs")
    for number in range(2):
        file = folder / f"result_{number}.txt"
        file.write_text(f"{file.read_text(encoding='utf-8')}:::MLLOG {{cut\n", encoding="utf-8")
    (record,) = import_results(folder, tmp_path / "records", clock=FakeClock())
    assert len(record.doubts) == 2
    result = check([str(record.path)], Submission(round="5.0"), tmp_path)
    assert [rule.rule for rule in result.of("fail")] == ["files that comply", "lines", "lines"]


def test_a_log_of_loadgen_is_taken_for_its_own_and_one_of_a_training_not(tmp_path: Path) -> None:
    (record,) = import_results(LOADGEN, tmp_path, clock=FakeClock())
    assert record.tool == "loadgen"
    result = check([str(record.path)], Submission(benchmark="resnet"), tmp_path)
    assert (result.passed, result.scenario) == (True, "SingleStream")
    (other,) = import_results(PUBLIC / "result_0.txt", tmp_path, clock=FakeClock())
    assert other.tool == "mllog"


def test_runs_of_two_configurations_are_refused(tmp_path: Path) -> None:
    folder = write(next(one for one in PLANTED if one.name == "batches-differ"), tmp_path / "logs")
    with pytest.raises(SpecError, match="global_batch_size"):
        _imported(folder, tmp_path / "records")
    assert not list((tmp_path / "records").glob("*")) or not any((tmp_path / "records").iterdir())


@pytest.mark.parametrize("line", ['{"key": "run_start"}', '{"time_ms": 1e400, "key": "seed", "value": 1, "metadata": {}}', "x"])
def test_a_file_without_a_readable_line_leaves_no_record(line: str, tmp_path: Path) -> None:
    path = tmp_path / "result_0.txt"
    path.write_text(f':::MLLOG {line} "submission_"\n', encoding="utf-8")
    with pytest.raises(SpecError):
        _imported(path, tmp_path / "records")


def test_huge_and_odd_values_are_no_score(tmp_path: Path) -> None:
    rows = [
        '{"namespace": "", "time_ms": 1, "event_type": "x", "key": "run_start", "value": null, "metadata": {}}',
        *(
            f'{{"namespace": "", "time_ms": 2, "event_type": "x", "key": "eval_accuracy", "value": {value}, "metadata": {{"step_num": {step}}}}}'
            for value, step in (("NaN", 1), ("1e999", 2), ('"high"', 3), ("true", 4), ("0.5", 99999999999999999999), ("1" + "0" * 400, 5))
        ),
    ]
    rows.append('{"namespace": "", "time_ms": 3, "event_type": "x", "key": "global_batch_size", "value": 1e999, "metadata": {}}')
    path = tmp_path / "result_0.txt"
    path.write_text("".join(f":::MLLOG {row}\n" for row in rows), encoding="utf-8")
    scores = evaluated_scores(opened(_imported(path, tmp_path / "records")))
    assert scores["score"].to_list() == [0.5]
