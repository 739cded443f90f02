"""The view: everything shown is in it, written once, and nothing is left out silently."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import replace

import polars as pl
import pytest

from fireassay.estimates.estimate import Absent
from fireassay.metrics.metric import ALL
from fireassay.reports.build_view import build, requested
from fireassay.reports.charts.faults import FaultTimeline, fault_timelines
from fireassay.reports.charts.launches import binned_steps
from fireassay.reports.charts.of_view import charts_of
from fireassay.reports.view import View, spent
from fireassay.spec.sections.faults import Fault
from fireassay.verdict.judge import judge
from fireassay.verdict.types import DIMENSIONS
from tests import builders
from tests.handmade import Handmade
from tests.metrics.trials_made import timing
from tests.reports.written import written
from tests.struck import struck

pytestmark = pytest.mark.slow


def test_every_judged_metric_is_in_the_view(view: View) -> None:
    assert {row.name for row in view.metrics} == set(builders.judgement().results)


def test_a_metric_nobody_knew_appears_without_a_change_of_the_reports() -> None:
    judged = builders.judgement()
    new = builders.metric("moon_phase", "Phase of the moon", "quarters", "reliability")
    value = builders.estimate(0.25, 0.01, "quarters")
    judged = replace(judged, metrics={**judged.metrics, "moon_phase": new}, results={**judged.results, "moon_phase": {ALL: value}})
    row = build(builders.measured(), judged).metric("moon_phase")
    assert row is not None
    assert row.cells[ALL].full == "0.250 quarters [0.240, 0.260]"


def test_a_row_of_the_table_has_one_unit(view: View) -> None:
    row = view.metric("step_time")
    assert row is not None
    assert [row.cells[column.key].full for column in view.columns] == [
        "100.0 ms [97.0, 103.0]",
        "55.0 ms [53.0, 57.0]",
        "40.0 ms [38.5, 41.5]",
    ]


def test_every_configuration_has_all_four_dimensions_even_where_nobody_judged_one() -> None:
    judged = builders.judgement()
    judged = replace(judged, verdict=replace(judged.verdict, dimensions={}))
    view = build(builders.measured(), judged)
    assert [set(row.cells) for row in view.vector] == [set(DIMENSIONS)] * 3
    assert {cell.word for row in view.vector for cell in row.cells.values()} == {"not measured"}


def test_a_failed_launch_stays_with_its_reason(view: View) -> None:
    failed = [row for row in view.launches if row.status == "failed"]
    assert len(view.launches) == 17
    assert [(row.number, row.attempt, row.steps, row.step) for row in failed] == [(16, 1, 0, "–")]
    assert "exited with 3" in failed[0].reason


def test_warm_up_of_each_launch_is_shown(view: View) -> None:
    assert {row.warmup for row in view.launches if row.status == "ok"} == {builders.WARMUP}


def test_the_worst_finding_comes_first(view: View) -> None:
    assert [finding.severity for finding in view.findings] == ["fail", "note"]


def test_facts_that_changed_during_the_experiment_are_marked(view: View) -> None:
    changed = {f"{group.name}.{row.key}" for group in view.environment for row in group.rows if row.changed}
    assert changed == {"load.1min", "load.steal_ticks"}
    assert view.changes == 2


def test_a_changed_version_marks_its_group(view: View) -> None:
    assert {group.name for group in view.environment if group.changed} == {"load"}
    before, after = builders.environment().values()
    after["python"]["packages"]["torch"] = "2.14.0"
    changed = build(builders.measured(environments={"before": before, "after": after}), builders.judgement())
    assert {group.name for group in changed.environment if group.changed} == {"load", "python"}


def test_a_group_that_was_read_only_once_did_not_change() -> None:
    environments = {"before": {"script": {"path": "train.py"}, "host": {"name": "a"}}, "after": {"host": {"cores": 2}}}
    view = build(builders.measured(environments=environments), builders.judgement())
    assert [(group.name, group.changed) for group in view.environment] == [("script", 0), ("host", 2)]


def test_a_fact_that_could_not_be_read_says_why() -> None:
    environments = {"before": {"gpu": {"absent": "no driver"}}, "after": {"gpu": {"absent": "no driver"}}}
    view = build(builders.measured(environments=environments), builders.judgement())
    assert [(row.before, row.changed) for group in view.environment for row in group.rows] == [("not known: no driver", False)]


@pytest.mark.parametrize("environments", [{}, {"before": None, "after": None}, {"before": {"a": 1}}])
def test_a_record_without_environment_is_shown_all_the_same(environments: dict[str, object]) -> None:
    view = build(builders.measured(environments=environments), builders.judgement())
    assert view.changes == 0


def test_the_instruments_own_cost_is_shown_or_said_to_be_unknown(view: View) -> None:
    assert [label for label, _ in view.overhead] == ["1 worker", "2 workers", "4 workers"]
    judged = builders.judgement()
    bare = {name: values for name, values in judged.results.items() if name != "instrument_overhead"}
    ((label, shown),) = build(builders.measured(), replace(judged, results=bare)).overhead
    assert (label, shown.text) == ("whole experiment", "not measured")


def test_the_conditions_name_what_was_asked(view: View) -> None:
    facts = {fact.name: fact.text for fact in view.conditions}
    assert facts["Quality"] == "accuracy, higher is better; held if it loses less than 0.02"
    assert facts["Prices"] == "$0.5 per worker-hour (2026-01-01, a price list made up for tests)"
    assert facts["Gates"] == "efficiency ≥ 0.7"


def test_the_phases_of_a_fault_are_those_of_the_metrics_laid_end_to_end(view: View) -> None:
    (fault,) = fault_timelines(view)
    assert fault.fault_s is not None
    assert [phase.name for phase in fault.phases] == ["detect", "restart", "reload", "recompute"]
    assert fault.phases[0].begin_s == fault.fault_s
    assert fault.phases[-1].end_s == pytest.approx(fault.fault_s + 0.5 + 2.5 + 0.25 + 0.42, abs=1e-3)
    assert fault.signal == "SIGKILL"


def faults(made: Handmade) -> list[FaultTimeline]:
    measured = made.measured()
    return list(fault_timelines(build(measured, judge(measured))))


def test_after_what_never_came_nothing_is_drawn() -> None:
    (fault,) = faults(struck(recovers=False))
    assert [phase.name for phase in fault.phases] == ["detect"]
    assert [why.partition(":")[0] for why in fault.absent] == ["restart was not measured"]


def test_every_fault_launch_has_its_own_phases_whatever_the_others_of_its_configuration_were() -> None:
    """A stop that passed, and after it a kill: neither has the other's times."""
    made = struck()
    number = made.launch(workers=2, role="fault", wall_s=12.0)
    for rank in (0, 1):
        made.steps(number, rank=rank, seconds=[1.0, 1.0, 4.0, 1.0, 1.0])
    made.event(number, "fault", 2.5, rank=1, incarnation=0, detail={"fault": "stop", "pid": 1})
    made.event(number, "fault_end", 5.5, rank=1)
    kill, stop = faults(made)
    assert [phase.name for phase in kill.phases] == ["detect", "restart", "reload", "recompute"]
    assert [(phase.name, phase.begin_s, phase.end_s) for phase in stop.phases] == [("while it lasted", 2.5, 5.5)]
    assert stop.signal == "stop"


def test_the_paid_time_is_shared_out_per_role() -> None:
    timed, fault = (next(spent(one)) for one in (builders.measured(), struck().measured()))
    assert (timed.role, fault.role) == ("timed", "fault")
    assert sum(timed.shares.values()) == pytest.approx(1.0)
    assert (fault.rank_s, fault.shares["recompute"]) == (pytest.approx(40.0), pytest.approx(6.0 / 40.0))


def test_lost_steps_are_seen_as_a_drop_between_incarnations(view: View) -> None:
    (fault,) = fault_timelines(view)
    first = [steps for incarnation, _, steps in fault.progress if incarnation == 0]
    second = [steps for incarnation, _, steps in fault.progress if incarnation == 1]
    assert (first[-1], second[0], second[-1]) == (26, 21, 43)  # killed after 26, checkpoint after 20


def test_a_long_launch_is_drawn_with_at_most_300_points() -> None:
    steps = pl.DataFrame({"launch": [0] * 100_000, "step": range(100_000), "step_s": [1.0, 2.0, 3.0, 4.0] * 25_000})
    bins = binned_steps(steps)
    assert bins.height == 300
    assert (bins["low_s"].min(), bins["high_s"].max()) == (1.0, 4.0)
    assert (bins["first"][0], bins["last"][-1]) == (0, 99_999)
    assert (bins["first"][1:] - bins["last"][:-1]).unique().to_list() == [1]  # no step is left out, none is twice


def test_a_short_launch_is_drawn_step_by_step() -> None:
    steps = pl.DataFrame({"launch": [3, 3], "step": [7, 8], "step_s": [0.5, 0.25]})
    assert binned_steps(steps).rows() == [(3, 7, 7, 0.5, 0.5, 0.5), (3, 8, 8, 0.25, 0.25, 0.25)]


def texts(node: object) -> Iterator[str]:
    """Every string of the tree, except the raw values and those of the record itself."""
    if isinstance(node, str):
        yield node
    elif isinstance(node, (tuple, list)):
        for inner in node:
            yield from texts(inner)
    elif isinstance(node, dict):
        yield from texts(list(node.values()))
    elif dataclasses.is_dataclass(node) and not isinstance(node, type):
        for field in (field for field in dataclasses.fields(node) if field.name != "measured"):
            yield from texts(getattr(node, field.name))


def test_no_text_of_the_view_speaks_of_nan_none_or_infinity() -> None:
    judged = builders.without(builders.judgement(), "speedup", "cost", "serial_fraction")
    view = build(builders.measured(launches=1, failed=True), judged)
    spoken = " ".join(texts(view)).lower().split()
    assert not {"nan", "inf", "−inf", "none,"} & set(spoken)


def test_absent_values_are_never_zero() -> None:
    judged = builders.without(builders.judgement(), *builders.judgement().results)
    view = build(builders.measured(), judged)
    assert {cell.text for row in view.metrics for cell in row.cells.values()} == {"not measured"}
    assert all(isinstance(cell.value, Absent) for row in view.metrics for cell in row.cells.values())


def test_an_empty_record_has_a_view() -> None:
    measured = builders.measured()
    measured = replace(measured, tables={name: table.clear() for name, table in measured.tables.items()})
    judged = builders.without(builders.judgement(), *builders.judgement().results)
    view = build(measured, judged)
    assert view.launches == ()
    assert view.spent == ()
    assert all(chart.missing for chart in charts_of(view))


def timed() -> View:
    """Five rounds of a command, whose memory is above that of assay's starter."""
    made = timing(*[[2.0, v, v] for v in (1.0, 1.02, 0.98, 1.01, 0.99)], warm_up=1)
    return build(made.measured(), judge(made.measured()))


def test_a_timing_shows_its_time_and_nothing_that_it_is_not_about() -> None:
    view = timed()
    assert [row.name for row in view.primary] == ["trial_time", "trial_cpu_time", "trial_memory"]
    assert view.metrics == view.primary
    assert [column.label for column in view.columns] == ["a call"]
    assert view.recommendations == ()
    assert "gate" not in view.meaning  # it has none
    assert {fact.name for fact in view.conditions} == {"Workload", "Launches", "Intervals", "Record", "Made"}
    assert [fact.text for fact in view.timing if fact.name == "spread"] == [
        "launches 980 ms to 1.02 s; 10 starts 980 ms to 1.02 s, 2 in each launch, after 5 for warm-up"
    ]


@pytest.mark.parametrize("name", ["terminal", "markdown", "html", "latex", "results"])
def test_every_report_of_a_timing_shows_its_time_and_no_scaling(name: str) -> None:
    page = written(timed(), "markdown", page="results") if name == "results" else written(timed(), name)
    assert "Time of a call" in page
    for word in ("Speedup", "Recommendation", "Four dimensions", "Cost of a run", "probe.steps", "1 workers", "Median step"):
        assert word not in page


def test_the_rules_of_a_timing_speak_of_its_trials_and_of_no_scaling() -> None:
    rules = {rule.number: rule for rule in timed().rules}
    assert "trials" in rules[8].evidence
    assert "speedup" not in rules[11].evidence
    assert rules[12].answer == "not applicable"  # its page has no picture
    assert rules[5].evidence.startswith("2 numbers have an interval")  # this record holds no memory
    assert "Seeds" not in {field.name for field in timed().artifact}


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (Fault.complete()(kind="kill"), "kill (SIGKILL) at 4 workers, within 10 steps of a checkpoint"),
        (
            Fault.complete()(kind="kill", during="checkpoint", times=2),
            "kill (SIGKILL) at 4 workers, while a checkpoint is being saved, 2 times",
        ),
        (Fault.complete()(kind="stop", at_step=0, rank=1, for_s=3.0), "stop at rank 1 of 4 workers, before the first step, for 3 s"),
        (Fault.complete()(kind="stop", at_step=100, rank=1, for_s=3.0), "stop at rank 1 of 4 workers, after step 100, for 3 s"),
        (
            Fault.complete()(kind="slow", share=0.1, levels=(2,)),
            "slow (to 10 % of a processor) at 2 workers, within 10 steps of a checkpoint, for 5 s",
        ),
        (
            Fault.complete()(kind="throttle", interface="eth0", rate_mbit=100.0, at_step=5),
            "throttle (eth0, to 100 Mbit/s) at 4 workers, after step 5, for 5 s",
        ),
    ],
)
def test_a_condition_describes_each_fault(fault: Fault, words: str) -> None:
    measured = builders.measured()
    experiment = measured.experiment.model_copy(update={"faults": (fault,)})
    assert requested(replace(measured, experiment=experiment), "1 worker")["Faults"] == words
