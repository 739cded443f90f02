"""Does every launch start afresh?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from fireassay import catalog
from fireassay.verdict.audits.training.start import examine_start
from fireassay.verdict.types import Finding
from tests.handmade import Handmade

# ---- contaminated start ----
# contaminated_start: a launch that begins where another ended measures less work, or other work.


def record(
    starts: Sequence[str],
    *,
    steps: Sequence[int] | None = None,
    ends: Sequence[str] | None = None,
    workers: Sequence[int] | None = None,
    seeds: Sequence[int] | None = None,
) -> Handmade:
    """Launches in this order: parameter hash at step 0 and after the last step, number of steps, worker count, seed."""
    made = Handmade(levels=tuple(sorted(set(workers or (1,)))), blocks=len(starts))
    for place, start in enumerate(starts):
        count = steps[place] if steps else 20
        level = workers[place] if workers else 1
        number = made.launch(workers=level, block=place // len(set(workers or (1,))))
        row = list(made.rows["launches"][number])
        row[8] = seeds[place] if seeds else 100 + place
        made.rows["launches"][number] = tuple(row)
        for rank in range(level):
            made.steps(number, rank=rank, seconds=[0.1] * count, start_s=1.0)
            made.fingerprint(number, "parameter_hash", start, rank=rank)
            made.fingerprint(number, "parameter_hash", ends[place] if ends else f"end-{place}", rank=rank, step=count)
    return made


def found(made: Handmade) -> list[Finding]:
    return list(examine_start(made.measured(), {}))


def loaded(made: Handmade, number: int, *files: str, at_s: float = 0.5, detail: Mapping[str, object] | None = None) -> None:
    made.event(number, "checkpoint_load", at_s, rank=0, incarnation=0, detail=detail or {"files": list(files)})


def test_launches_that_each_start_by_their_own_seed_are_no_finding() -> None:
    assert found(record(["a", "b", "c"])) == []


def test_launches_that_all_start_alike_are_no_finding() -> None:
    """A script that ignores its seed, or fine-tunes one pretrained model."""
    made = record(["a", "a", "a"])
    for number in range(3):
        loaded(made, number, "pretrained.pt")
    assert found(made) == []


def test_a_launch_that_starts_with_the_last_parameters_of_an_earlier_one_is_inadmissible() -> None:
    made = record(["a", "x", "c"], ends=["x", "y", "z"], steps=[32, 8, 32])
    made.event(0, "checkpoint_save", 5.0, rank=0, incarnation=0, detail={"files": ["snapshot.pt"]})
    loaded(made, 1, "data.pt", "snapshot.pt")
    [one] = found(made)
    assert (one.rule, one.severity, one.configuration) == ("resumed_from_another_launch", "invalid", "workers=1")
    assert "launch 1 began with the parameters that launch 0 had after 32 steps" in one.evidence
    assert "it loaded snapshot.pt, which launch 0 had saved" in one.evidence
    assert "data.pt" not in one.evidence
    assert "8 steps, where launch 0 made 32" in one.evidence
    assert "workload.fresh_folder" in one.remedy


def test_it_is_found_without_any_event_about_files_and_from_a_launch_of_another_configuration() -> None:
    made = record(["a", "x", "c", "d"], ends=["x", "y", "z", "w"], workers=[1, 2, 1, 2])
    [one] = found(made)
    assert (one.rule, one.configuration) == ("resumed_from_another_launch", "workers=2")
    assert "loaded" not in one.evidence


def test_a_launch_that_failed_may_have_left_the_snapshot_too() -> None:
    made = record(["a", "x", "c"], ends=["x", "y", "z"])
    row = list(made.rows["launches"][0])
    row[12] = "failed"
    made.rows["launches"][0] = tuple(row)
    assert [one.rule for one in found(made)] == ["resumed_from_another_launch"]


def test_a_model_that_a_step_left_as_it_was_is_no_snapshot() -> None:
    """All launches start alike, and the first steps change nothing: a gradient scaler skips them."""
    made = record(["a", "a", "a"])
    for number in range(3):
        made.fingerprint(number, "parameter_hash", "a", step=1)
    assert found(made) == []


def test_the_order_of_the_launches_counts() -> None:
    """Launch 0 cannot have begun where launch 1 ended."""
    assert found(record(["y", "b", "c"], ends=["x", "y", "z"])) == []


def test_where_the_seed_does_not_matter_a_launch_that_starts_otherwise_is_inadmissible() -> None:
    """A snapshot of epoch 3 of 4, which nobody writes again: hashed by nobody."""
    made = record(["a", "s", "s", "s"])
    for number in (1, 2, 3):
        loaded(made, number, "epoch-3.pt")
    [one] = found(made)
    assert (one.rule, one.severity, one.configuration) == ("starts_differ", "invalid", "workers=1")
    assert "3 of 4 launches began with other parameters than launch 0" in one.evidence
    assert "launch 1 loaded epoch-3.pt" in one.evidence


def test_launches_of_one_seed_that_start_alike_in_some_blocks_must_in_all() -> None:
    made = record(["a", "s", "b", "b", "c", "c"], workers=[1, 2, 1, 2, 1, 2], seeds=[1, 1, 2, 2, 3, 3])
    [one] = found(made)
    assert (one.rule, one.configuration) == ("starts_differ", None)
    assert "launches 0 and 1" in one.evidence


def test_configurations_that_never_start_alike_cannot_be_compared_by_their_start() -> None:
    """Every rank holds its part of the layers: the names differ by the worker count."""
    assert found(record(["a", "A", "b", "B"], workers=[1, 2, 1, 2], seeds=[1, 1, 2, 2])) == []


def test_a_launch_of_far_fewer_steps_is_inadmissible_and_the_loaded_file_is_named() -> None:
    made = record(["a", "b", "c"], steps=[32, 8, 8])
    loaded(made, 1, "runs/snapshot.pt", "runs/optimizer.pt", "c", "d")
    [one] = found(made)
    assert (one.rule, one.severity, one.configuration) == ("step_counts_differ", "invalid", "workers=1")
    assert "8 steps in launch 1 and 32 in launch 0" in one.evidence
    assert "launch 1 loaded runs/snapshot.pt, runs/optimizer.pt, c and 1 more" in one.evidence


def test_a_few_steps_more_or_less_are_a_warning() -> None:
    """Batches by tokens, in another order in every launch."""
    [one] = found(record(["a", "b", "c"], steps=[100, 97, 101]))
    assert (one.rule, one.severity) == ("step_counts_differ", "warning")


def test_configurations_may_differ_in_their_steps() -> None:
    assert found(record(["a", "b", "c", "d"], steps=[32, 16, 32, 16], workers=[1, 2, 1, 2])) == []


def test_a_restart_inside_of_a_launch_goes_on_with_its_own_checkpoint() -> None:
    made = record(["a", "b"], ends=["x", "y"])
    number = made.launch(workers=1, role="fault")
    made.steps(number, seconds=[0.1] * 7)
    made.fingerprint(number, "parameter_hash", "f")
    made.fingerprint(number, "parameter_hash", "g", step=4)
    made.steps(number, seconds=[0.1] * 16, first=4, start_s=5.0, incarnation=1)
    made.fingerprint(number, "parameter_hash", "g", incarnation=1, step=4)
    assert found(made) == []


def test_what_was_loaded_after_the_first_step_began_nothing() -> None:
    """The best checkpoint, for the test at the end."""
    made = record(["a", "b", "c"], steps=[32, 8, 32])
    made.event(1, "first_step", 1.0, rank=0, incarnation=0)
    loaded(made, 1, "best.pt", at_s=4.0)
    [one] = found(made)
    assert "best.pt" not in one.evidence


def test_events_without_files_or_with_anything_else_in_their_place_name_none() -> None:
    for detail in ({}, {"files": "snapshot.pt"}, {"files": [3, None]}, {"files": None}):
        made = record(["a", "b", "c"], steps=[32, 8, 32])
        loaded(made, 1, detail=detail or {"other": 1})
        [one] = found(made)
        assert not any(word in one.evidence for word in ("loaded", "snapshot", "None"))


def test_a_launch_that_did_not_report_its_end_is_not_counted() -> None:
    made = record(["a", "b", "c"], steps=[32, 32, 8])
    for number in (0, 1):
        made.event(number, "worker_end", 9.0, rank=0, incarnation=0)
    assert found(made) == []


def test_a_script_that_numbers_on_where_it_resumes_is_recognised_too() -> None:
    """probe.steps(loader, start=20): the first hash is that after 20 steps."""
    made = record(["a"], ends=["x"])
    number = made.launch(workers=1, block=1)
    made.steps(number, seconds=[0.1] * 20, first=20, start_s=1.0)
    made.fingerprint(number, "parameter_hash", "x", step=20)
    made.fingerprint(number, "parameter_hash", "y", step=40)
    [one] = found(made)
    assert one.rule == "resumed_from_another_launch"


# ---- forked start ----
# A record whose launches paid for no import says so.

FORKED_START = catalog.load("verdict.audits", "forked_start")


@pytest.mark.parametrize(("start", "rules"), [("exec", []), ("fork", ["forked_start"])])
def test_only_forked_launches_are_noted(start: str, rules: list[str]) -> None:
    made = Handmade(levels=(1,), blocks=1)
    made.launch(workers=1, block=0, wall_s=1.0)
    measured = made.measured()
    settings = measured.experiment.launcher.model_copy(update={"start": start})
    record = measured.experiment.model_copy(update={"launcher": settings})
    from dataclasses import replace

    assert [finding.rule for finding in FORKED_START.examine(replace(measured, experiment=record), {})] == rules
