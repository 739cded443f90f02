"""Trainings without marks, each with one silent fault, get the name of that fault and no other finding; those that only look so get none.

All are real trainings over gloo with one, two and four workers, in one start of torch. The expected names are what `trainer.py` plants.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from fireassay.frames.record_data import RecordData
from fireassay.frames.training.parallelism import parallelism
from fireassay.verdict.judge import examine
from fireassay.verdict.types import Finding
from tests.launched import run as run_script
from tests.limits import TRAININGS_S
from tests.once import once
from tests.verdict.planted.judged import measured

pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.deep]
WORKERS = (2, 4)
EVERY_LEVEL, SEVERAL = True, False  # of the workers: the fault is one worker's too
FAULTS = {
    "whole stream": ("same_samples_on_every_rank", "fail", SEVERAL),
    "labels in data on one rank": ("contents_differ_by_rank", "fail", SEVERAL),
    "inputs in data on one rank": ("contents_differ_by_rank", "fail", SEVERAL),
    "inputs in loop on one rank": ("contents_differ_by_rank", "fail", SEVERAL),
    "labels in loop on one rank": ("contents_differ_by_rank", "fail", SEVERAL),
    "labels in loop on one rank+rolled": ("contents_differ_by_rank", "fail", SEVERAL),
    "weighed by each rank's mean": ("gradient_differs", "fail", SEVERAL),
    "another order on every rank": ("contents_differ_by_rank", "fail", SEVERAL),
    "noise in data+helpers": ("same_random_numbers", "warning", SEVERAL),
    "noise in data+own generator": ("same_random_numbers", "warning", SEVERAL),
    "noise in data+own generator+helpers": ("same_random_numbers", "warning", SEVERAL),
    "no longer tied": ("another_model", "fail", SEVERAL),
    "part outside": ("unwrapped_parameters_differ", "fail", SEVERAL),
    "never cleared on one rank": ("cleared_on_some_ranks", "fail", SEVERAL),
    "clipped on one rank": ("clipped_on_some_ranks", "fail", SEVERAL),
    "noise in data": ("same_random_numbers", "warning", SEVERAL),
    "noise in loop": ("same_random_numbers", "warning", SEVERAL),
    "noise in loop+own generator": ("same_random_numbers", "warning", SEVERAL),
    "every second step apart": ("gradients_not_synchronised", "fail", SEVERAL),
    "wrapper bypassed": ("gradients_not_synchronised", "fail", SEVERAL),
    "replaced model": ("parameters_never_change", "fail", EVERY_LEVEL),
    "layer left out": ("parameters_left_out", "warning", EVERY_LEVEL),
    "never cleared": ("gradients_never_cleared", "warning", EVERY_LEVEL),
    "stops": ("parameters_stop_changing", "warning", EVERY_LEVEL),
    "evaluation mode left on+dropout": ("evaluation_mode_left_on", "warning", EVERY_LEVEL),
    "evaluation mode left on+dropout+sliced+next": ("evaluation_mode_left_on", "warning", EVERY_LEVEL),
    "clipped while scaled": ("clipped_while_scaled", "warning", EVERY_LEVEL),
    "clipped while scaled+by value": ("clipped_while_scaled", "warning", EVERY_LEVEL),
    "reduced every pass": ("reduced_every_pass", "note", SEVERAL),
    "small buckets": ("small_buckets", "note", SEVERAL),
}
RIGHT = (
    "right",
    "stream",
    "noise in data+seeded by rank",
    "noise in loop+seeded by rank",
    "noise in loop+own generator+seeded by rank",
    "noise in data+own generator+seeded by rank",
    "noise in data+helpers+seeded by rank",
    "noise in data+own generator+helpers+seeded by rank",
    "local sgd",
    "averaged under no_sync",
    "validated+dropout",
    "clipped after unscaling",
    "clipped after unscaling+by value",
    "clipped by a scaled limit",
)
KNOWN = ("parallelism_recognised", "nondeterministic_within_rounding")
AUDITED = (
    "batch_statistics",
    "changing_batches",
    "clipped_scaled",
    "distinct_work",
    "evaluation_mode",
    "fresh_gradients",
    "gradient_reduction",
    "gradients",
    "held_out",
    "losses",
    "modes",
    "parallelism",
    "parameters_change",
    "replicas",
    "same_loss",
    "same_model",
    "unwrapped_parameters",
    "sample_weights",
    "samples",
    "training_state",
    "uneven_steps",
)


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every training there is, run once."""
    runs = [f"{name}:{workers}" for name in (*FAULTS, *RIGHT, "skipped on one rank", "one batch+validated") for workers in (1, *WORKERS)]

    def train(folder: Path) -> None:
        done = run_script("-m", "tests.verdict.planted.several", folder, *runs, workers=max(WORKERS), limit_s=TRAININGS_S)
        assert done.returncode == 0, done.stderr[-4000:]

    return once(tmp_path_factory, "planted", train)


def found(record: RecordData) -> list[Finding]:
    """What the audits of a training's result say."""
    return [one for one in examine(record, *AUDITED) if one.rule not in KNOWN]


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_gets_its_name_and_no_other(name: str, workers: int, several: Path) -> None:
    rule, severity, everywhere = FAULTS[name]
    findings = [one for one in found(measured(several, name, workers)) if one.rule != "first_loss_differs"]
    levels = ["workers=1", f"workers={workers}"] if everywhere else [f"workers={workers}"]
    assert [(one.rule, one.severity, one.configuration) for one in findings] == [(rule, severity, level) for level in levels]


@pytest.mark.parametrize("workers", WORKERS)
def test_a_rank_that_skips_updates_is_named_beside_its_uneven_steps(workers: int, several: Path) -> None:
    fault, uneven = found(measured(several, "skipped on one rank", workers))
    assert (fault.rule, fault.severity, uneven.rule) == ("updated_less_on_some_ranks", "fail", "uneven_steps")
    assert fault.evidence.startswith(f"rank {workers - 1} made 19 updates of launch 1, where others made 24")


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("name", RIGHT)
def test_a_training_that_only_looks_wrong_gets_no_finding(name: str, workers: int, several: Path) -> None:
    assert found(measured(several, name, workers)) == []


def test_one_batch_again_and_again_is_said(several: Path) -> None:
    rules = [one.rule for one in found(measured(several, "one batch+validated", 2))]
    assert rules.count("one_batch_again_and_again") == 2


@pytest.mark.parametrize("workers", WORKERS)
def test_a_stream_that_every_rank_reads_whole_is_counted_once(workers: int, several: Path) -> None:
    """48 samples a step, however many ranks read them; a stream that is shared out has 48 in all too."""
    for name in ("whole stream", "stream"):
        steps = measured(several, name, workers).global_steps
        assert steps.filter(steps["step"] == 0)["items"].to_list() == [48.0, 48.0]


def test_local_sgd_is_recognised_by_its_averages_and_not_by_their_absence(several: Path) -> None:
    kinds = {name: parallelism(measured(several, name, 2), "workers=2").kind for name in ("local sgd", "averaged under no_sync")}
    assert kinds == {"local sgd": "local_sgd", "averaged under no_sync": "local_sgd"}
    assert parallelism(measured(several, "every second step apart", 2), "workers=2").kind == "data"


def test_a_gradient_that_is_half_wrong_is_no_matter_of_float64(several: Path) -> None:
    (finding,) = [one for one in found(measured(several, "weighed by each rank's mean", 2)) if one.rule == "gradient_differs"]
    assert "float64" not in finding.remedy
    assert "the loss of that step differs too" in finding.evidence
