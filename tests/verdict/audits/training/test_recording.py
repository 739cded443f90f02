"""Did the instrument see what it should, at a cost that does not matter?"""

from __future__ import annotations

import pytest

from fireassay import catalog
from fireassay.frames.training.lost_time import saving_waits
from fireassay.metrics.training.device import MFU
from fireassay.spec.sections.costs import Flops
from fireassay.verdict.audits.training import recording as audited
from fireassay.verdict.judge import judge
from tests.handmade import Handmade
from tests.metrics.flops_made import made, part
from tests.struck import struck
from tests.verdict.making import change, good, judged, rules_of

rules = rules_of(audited.AUDITS)

# ---- overhead ----
# overhead: the probe's own cost against the step.

VALUE = 5  # column of telemetry


@pytest.mark.slow
def test_a_probe_that_costs_at_most_a_hundredth_of_a_step_is_let_pass() -> None:
    """Steps of workers=2 take about 0.56 s, those of the base about 1.02 s: 5 ms are 0.9 and 0.5 %."""
    made = good()
    change(made, "telemetry", VALUE, lambda row: 5e6 if row[3] == "probe" else row[VALUE])
    assert rules(judged(made)) == {}


@pytest.mark.slow
def test_a_probe_that_costs_more_is_a_warning_where_it_does() -> None:
    """8 ms are 1.4 % of the step of workers=2 and 0.8 % of that of the base."""
    made = good()
    change(made, "telemetry", VALUE, lambda row: 8e6 if row[3] == "probe" else row[VALUE])
    judgement = judged(made)
    assert rules(judgement) == {"instrument_overhead": ["workers=2"]}
    assert judgement.verdict.findings[0].severity == "warning"
    assert (
        "the probe costs 1.4 % of a step by its own clock, with its effects on caches at most 7" in judgement.verdict.findings[0].evidence
    )
    assert judgement.verdict.status == "GAIN"


@pytest.mark.slow
def test_a_bound_that_says_nothing_is_no_percentage() -> None:
    """150 ms are 27 % of the step of workers=2: five times that is more than the step."""
    made = good()
    change(made, "telemetry", VALUE, lambda row: 150e6 if row[3] == "probe" else row[VALUE])
    evidence = next(one.evidence for one in judged(made).verdict.findings if one.configuration == "workers=2")
    assert "how much these add to steps this short is not known" in evidence
    assert "100 %" not in evidence


# ---- unseen steps ----
# A run without steps says why, before anything else.

UNSEEN_STEPS = catalog.load("verdict.audits", "unseen_steps")
WHY = "the launched process created no torch optimizer"


def unseen_steps_made(*, steps: bool = False, imported: bool = True) -> Handmade:
    one = Handmade(levels=(1, 2), blocks=2)
    for block in range(2):
        for workers in (1, 2):
            number = one.launch(workers=workers, block=block)
            for rank in range(workers):
                if imported:
                    one.event(number, "steps_unseen", 9.0, rank=rank, incarnation=0, detail={"why": WHY})
                if steps:
                    one.steps(number, rank=rank, seconds=[1.0] * 3)
    return one


@pytest.mark.slow
def test_no_step_although_torch_was_imported_is_a_finding_with_the_reason() -> None:
    found = tuple(UNSEEN_STEPS.examine(unseen_steps_made().measured(), {}))
    assert [(one.rule, one.severity, one.configuration) for one in found] == [
        ("steps_unseen", "warning", "workers=1"),
        ("steps_unseen", "warning", "workers=2"),
    ]
    assert WHY in found[0].evidence
    assert "2 launches" in found[0].evidence


@pytest.mark.slow
def test_it_stands_before_the_other_warnings() -> None:
    findings = judge(unseen_steps_made().measured()).verdict.findings
    warnings = [one.rule for one in findings if one.severity == "warning"]
    assert len(warnings) > 2
    assert warnings[:2] == ["steps_unseen", "steps_unseen"]


@pytest.mark.slow
def test_a_launch_with_steps_on_some_rank_and_a_script_without_torch_have_none() -> None:
    assert tuple(UNSEEN_STEPS.examine(unseen_steps_made(steps=True).measured(), {})) == ()
    assert tuple(UNSEEN_STEPS.examine(unseen_steps_made(imported=False).measured(), {})) == ()


# ---- ranks reporting ----
# Ranks that are missing from the steps are named.

RANKS_REPORTING = catalog.load("verdict.audits", "ranks_reporting")


def ranks_reporting_findings(*, ranks: int) -> list[tuple[str, str | None]]:
    made = Handmade(levels=(1, 2), blocks=1)
    made.steps(made.launch(workers=1), seconds=[1.0])
    number = made.launch(workers=2)
    for rank in range(ranks):
        made.steps(number, rank=rank, seconds=[1.0])
    return [(found.rule, found.configuration) for found in RANKS_REPORTING.examine(made.measured(), {})]


def test_a_probe_on_rank_0_alone_is_named() -> None:
    assert ranks_reporting_findings(ranks=1) == [("ranks_missing", "workers=2")]


def test_all_ranks_or_none_is_fine() -> None:
    assert ranks_reporting_findings(ranks=2) == []
    assert ranks_reporting_findings(ranks=0) == []  # the script does not use the probe: nothing is claimed from steps


def test_ranks_that_made_unequally_many_steps_are_named() -> None:
    made = Handmade(levels=(1, 2), blocks=1)
    made.steps(made.launch(workers=1), seconds=[1.0] * 3)
    number = made.launch(workers=2)
    made.steps(number, rank=0, seconds=[1.0] * 3)
    made.steps(number, rank=1, seconds=[1.0] * 2)
    (found,) = RANKS_REPORTING.examine(made.measured(), {})
    assert (found.rule, found.configuration, found.severity) == ("uneven_steps", "workers=2", "warning")
    assert found.evidence == "rank 1 made 2 steps in launch 1, where another made 3 (1 launch in all)"
    made.steps(number, rank=1, seconds=[1.0], first=2, start_s=2.0)
    assert tuple(RANKS_REPORTING.examine(made.measured(), {})) == ()


# ---- saving alone ----
# A rank that saves alone is named for that, and is no straggler.

SAVING_ALONE = catalog.load("verdict.audits", "saving_alone")


def saving_alone_made(
    *, save_s: float = 2.0, savers: tuple[int, ...] = (0,), late: int = 0, detail: dict[str, bool] | None = None
) -> Handmade:
    """Two ranks, 20 steps of 1 s; after steps 5, 10 and 15 the savers save, and the others wait in that step or (`late`) in the next."""
    one = Handmade(levels=(2,), blocks=2)
    for block in range(2):
        number = one.launch(workers=2, block=block, wall_s=60.0)
        for rank in range(2):
            seconds, pauses = [1.0] * 20, [0.0] * 20
            for saved in (5, 10, 15):
                if rank in savers:
                    seconds[saved - 1] += save_s
                    pauses[saved - 1] = save_s
                    one.event(number, "checkpoint_save", saved, rank=rank, incarnation=0, duration_s=save_s, step=saved, detail=detail)
                else:
                    seconds[saved - 1 + late] += save_s
            for step in range(20):
                one.steps(number, rank=rank, seconds=[seconds[step]], first=step, start_s=sum(seconds[:step]), checkpoint_s=pauses[step])
    return one


@pytest.mark.parametrize("late", [0, 1])
def test_others_wait_for_three_saves_of_two_seconds(late: int) -> None:
    """6 of 26 s."""
    wait = saving_waits(saving_alone_made(late=late).measured())["workers=2"]
    assert (wait.ranks, wait.saves, wait.save_s) == ((0,), 3.0, 2.0)
    assert wait.share == pytest.approx(6 / 26)
    (found,) = SAVING_ALONE.examine(saving_alone_made(late=late).measured(), {})
    assert (found.rule, found.severity, found.configuration) == ("saving_alone", "warning", "workers=2")
    assert found.evidence.startswith("rank 0 alone saves the checkpoints, 3 per launch of 2 s each")


def test_a_little_is_a_note_and_next_to_nothing_is_not_told() -> None:
    assert [one.severity for one in SAVING_ALONE.examine(saving_alone_made(save_s=0.2).measured(), {})] == ["note"]
    assert tuple(SAVING_ALONE.examine(saving_alone_made(save_s=0.01).measured(), {})) == ()


def test_saving_on_every_rank_or_beside_the_training_is_waited_for_by_nobody() -> None:
    assert saving_waits(saving_alone_made(savers=(0, 1)).measured()) == {}
    assert saving_waits(saving_alone_made(detail={"beside": True}).measured()) == {}


@pytest.mark.parametrize("ranks", [2, 4])
def test_a_rank_that_evaluates_alone_in_every_step_is_waited_for(ranks: int) -> None:
    """72 of 124 ms: the steps of the rank that pauses are the usual ones, since no other step is without a pause."""
    one = Handmade(levels=(ranks,), blocks=1)
    number = one.launch(workers=ranks, block=0, wall_s=60.0)
    for rank in range(ranks):
        one.steps(number, rank=rank, seconds=[0.124] * 90, checkpoint_s=0.072 if rank == 0 else 0.0)
    for step in range(90):
        one.event(number, "evaluation", 0.124 * step, rank=0, incarnation=0, duration_s=0.072, step=step)
    (found,) = SAVING_ALONE.examine(one.measured(), {})
    assert (found.rule, found.severity) == ("evaluating_alone", "warning")
    assert "rank 0 alone evaluates, 90 per launch of 72 ms each" in found.evidence
    assert "58 % of their steps" in found.evidence or "58.1 % of their steps" in found.evidence


# ---- fault moment ----
# A fault that struck without a checkpoint is told.

FAULT_MOMENT = catalog.load("verdict.audits", "fault_moment")


def test_a_fault_in_the_middle_of_the_steps_is_told_with_the_moment_that_was_planned() -> None:
    made = struck()
    made.event(0, "fault", 10.0, rank=1, incarnation=0, step=7, detail={"instead_of": "3 steps after checkpoint 1"})
    (found,) = FAULT_MOMENT.examine(made.measured(), {})
    assert (found.rule, found.severity, found.configuration) == ("no_checkpoint_seen", "note", "workers=2")
    assert "struck after step 7 and not 3 steps after checkpoint 1" in found.evidence


def test_a_fault_at_its_moment_is_not() -> None:
    assert tuple(FAULT_MOMENT.examine(struck().measured(), {})) == ()


# ---- above peak ----
# above_peak: a utilisation above 1 is an error, with the likely mistake.

ABOVE_PEAK = catalog.load("verdict.audits", "above_peak")


def above_peak_findings(record: Handmade) -> list[tuple[str, str, str]]:
    measured = record.measured()
    found = tuple(ABOVE_PEAK.examine(measured, {"mfu": MFU.compute(measured, {})}))
    return [(one.severity, one.evidence, one.remedy) for one in found]


@pytest.mark.slow
def test_more_than_all_makes_the_record_invalid() -> None:
    """3 s' worth of an H200 in 2 s."""
    record = made(part(3 * 989.4e12))
    ((severity, evidence, remedy),) = above_peak_findings(record)
    assert severity == "invalid"
    assert "150 %" in evidence
    assert "synchronise" in remedy
    assert judge(record.measured()).verdict.status == "INVALID"


def test_less_than_all_is_nothing_to_say() -> None:
    assert above_peak_findings(made(part(989.4e12))) == []


@pytest.mark.parametrize(
    ("flops", "word"),
    [
        (Flops(peak_tflops=0.1, peak_source="a guess"), "flops.peak_tflops is that of another device"),
        (Flops(precision="float64"), "flops.precision"),
    ],
)
def test_the_likely_mistake_is_named_first(flops: Flops, word: str) -> None:
    ((_, _, remedy),) = above_peak_findings(made(part(1e15), flops=flops))
    assert word in remedy.partition(";")[0]


def test_without_a_share_it_cannot_tell_and_says_why() -> None:
    measured = made(part(1e12, name="Abacus 9")).measured()
    assert ABOVE_PEAK.blind is not None
    why = ABOVE_PEAK.blind(measured, {"mfu": MFU.compute(measured, {})})
    assert why is not None
    assert "Abacus 9" in why
