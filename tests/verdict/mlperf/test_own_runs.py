"""Which lines does a training of assay's own give?  Hand-made records; expected values in the comments."""

from __future__ import annotations

from pathlib import Path

import pytest

from fireassay.api.mlperf import Submission, check_training
from fireassay.frames.record_data import RecordData
from fireassay.record.mllog import Entry, Log, log, written
from fireassay.verdict.mlperf.own_runs import kept_logs, own_logs
from tests.handmade import Handmade


def test_a_training_gives_its_start_its_evaluations_and_its_end() -> None:
    """Steps from 2 s after the launch began; scores at 5 s and 9 s, after 24 and 56 samples: run_stop is the last."""
    record = Handmade(levels=(1,), blocks=1)
    launch = record.launch(workers=1, wall_s=20.0)
    record.steps(launch, seconds=[1.0] * 8, items=8.0, start_s=2.0)
    record.event(launch, "first_step", 2.0, rank=0, incarnation=0)
    for at, value, steps in ((5.0, 0.5, 3), (9.0, 0.75, 7)):
        detail = {"name": "accuracy", "source": "script", "steps": steps}
        record.event(launch, "score", at, rank=0, incarnation=0, detail=detail, value=value, step=steps)
    measured = record.measured()
    assert kept_logs(measured) == []
    (found,) = own_logs(measured, {}, "retinanet", "open")
    base = found.entries[0].time_ms
    times = {entry.key: (entry.time_ms - base) / 1000.0 for entry in found.entries if entry.key in ("init_stop", "run_start", "run_stop")}
    assert times == pytest.approx({"init_stop": 2.0, "run_start": 2.0, "run_stop": 9.0})
    assert [entry.metadata["samples_count"] for entry in found.all("block_start")] == [0.0, 24.0]
    assert [(entry.value, entry.metadata["samples_count"]) for entry in found.all("eval_accuracy")] == [(0.5, 24.0), (0.75, 56.0)]
    assert found.value("submission_benchmark") == "retinanet"
    assert found.all("run_stop")[0].metadata["status"] == "success"


BEGIN_MS = 1_767_225_600_000  # 2026-01-01, when handmade launches begin
STATED = {
    "cache_clear": True,
    "submission_org": "an organisation",
    "submission_platform": "a platform",
    "submission_division": "open",
    "submission_benchmark": "retinanet",
    "train_samples": 16,
    "eval_samples": 8,
}


def _line(key: str, value: object, second: float, /, **metadata: object) -> str:
    return written([Entry(key=key, value=value, metadata=metadata, time_ms=BEGIN_MS + 1000.0 * second)])


def trained(*, known: bool, launches: int = 5) -> tuple[RecordData, dict[int, str]]:
    """A record of steps from 2 s on, and what its script printed: what is required of a submission, 1 s after the begin.

    known: the record has the scores, at 5 s after 24 samples; else the script printed them as MLPerf's logger does, after epoch 1.5.
    """
    record, printed = Handmade(levels=(1,), blocks=launches), {}
    for _ in range(launches):
        launch = record.launch(workers=1, wall_s=20.0)
        record.steps(launch, seconds=[1.0] * 8, items=8.0, start_s=2.0)
        record.event(launch, "first_step", 2.0, rank=0, incarnation=0)
        lines = [_line(key, value, 1.0) for key, value in STATED.items()]
        if known:
            record.event(launch, "score", 5.0, detail={"name": "mAP", "source": "script", "steps": 3}, value=0.35, step=3)
        else:
            lines.append(_line("eval_accuracy", 0.35, 5.0, epoch_num=1.5, value="a key of ours"))
        printed[launch] = "loss 0.3\n" + "".join(lines)
    return record.measured(), printed


def _own(measured: RecordData, printed: dict[int, str]) -> list[Log]:
    return own_logs(measured, {launch: log("out", enumerate(text.splitlines(), 1)) for launch, text in printed.items()})


@pytest.mark.parametrize("known", [True, False])
def test_a_training_whose_script_prints_what_only_it_knows_has_complete_lines(known: bool) -> None:
    """1.5 epochs are 24 of 16 samples an epoch; the launches' seeds differ."""
    measured, printed = trained(known=known)
    logs = _own(measured, printed)
    result = check_training(logs, Submission(round="5.0"), whole=True)
    assert result.passed, result.of("fail")
    assert (result.benchmark, result.division) == ("retinanet", "open")
    keys = [entry.key for entry in logs[0].entries]
    evaluation = ["init_stop", "run_start", "block_start", "block_stop", "eval_start", "eval_accuracy", "eval_stop", "run_stop"]
    assert keys == ["init_start", "seed", *STATED, *evaluation]
    (score,) = logs[0].all("eval_accuracy")
    assert score.metadata["epoch_num"] == 1.5
    assert logs[0].all("block_stop")[0].metadata["samples_count"] == 24.0


def test_printed_times_of_the_run_count_and_what_lacks_is_put_where_it_belongs() -> None:
    """run_start is printed at 3 s, so the set-up ends there; a run_stop of ours is the last evaluation's, behind it."""
    measured, printed = trained(known=False, launches=1)
    *stated, score = printed[0].splitlines(keepends=True)
    times = [_line("run_start", None, 3.0), score, _line("eval_stop", None, 5.0, epoch_num=1.5)]
    (found,) = _own(measured, {0: "".join([*stated, *times])})
    shown = [(entry.key, (entry.time_ms - BEGIN_MS) / 1000.0) for entry in found.entries if entry.key not in STATED]
    assert shown[2:5] == [("init_stop", 3.0), ("run_start", 3.0), ("block_start", 3.0)]
    assert shown[-2:] == [("eval_stop", 5.0), ("run_stop", 5.0)]


def test_a_broken_printed_line_fails_with_its_place() -> None:
    measured, printed = trained(known=True, launches=1)
    logs = _own(measured, {0: printed[0] + ":::MLLOG {cut\n"})
    failed = {rule.rule: rule.where for rule in check_training(logs, Submission(round="5.0"), whole=True).of("fail")}
    assert failed["lines"] == f"out:{len(STATED) + 2}"


@pytest.mark.deep
def test_the_official_checker_accepts_the_lines_of_an_own_training(tmp_path: Path) -> None:
    compliance = pytest.importorskip("mlperf_logging.compliance_checker.mlp_compliance")
    for known in (True, False):
        for number, found in enumerate(_own(*trained(known=known))):
            path = tmp_path / f"result_{number}.txt"
            path.write_text(written(found.entries), encoding="utf-8")
            checker = compliance.make_checker("training", "5.0.0", True, False)
            assert compliance.main(str(path), "training_5.0.0/common.yaml", checker)[0]
