"""The answer of a training fits one screen, says the verdict first, and repeats the numbers of the record."""

from __future__ import annotations

import math
import statistics
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import t

from fireassay.estimates.format import duration
from fireassay.frames.record_data import from_record
from fireassay.kinds.training import deciding
from fireassay.kinds.training.answer import answer, brief
from fireassay.record.reader import open_record
from fireassay.reports.answering import standing, timed
from fireassay.reports.build_view import build
from fireassay.reports.page import Number, Sum, Table, said
from fireassay.reports.pages.questions import levels
from fireassay.reports.view import FindingRow, View
from fireassay.spec.experiment import Gates, Quality
from fireassay.verdict.judge import judge
from tests.handmade import Handmade
from tests.parallel_made import told
from tests.reports.written import written
from tests.verdict.making import good

ROWS, WIDTH = 30, 80


def viewed(made: Handmade) -> View:
    data = made.measured()
    return build(data, judge(data))


def screen(view: View, **more: Any) -> list[str]:
    return written(view, "terminal", full=False, width=WIDTH, **more).splitlines()


MADE = {
    "GAIN": lambda: good(levels=(1, 2, 4)),
    "NO GAIN": lambda: good(levels=(1, 2, 4), efficiency={2: 0.4, 4: 0.3}),
    "INCONCLUSIVE": lambda: good(levels=(1, 2), efficiency={2: 0.7}),
    "FAIL": lambda: good(levels=(1, 2), efficiency={2: 0.4}, gates=Gates(required_workers=2)),
}


@cache
def shown(word: str) -> View:
    """Judged once: the answer only reads it."""
    return viewed(MADE[word]())


@cache
def two() -> View:
    """A good record of one worker and two."""
    return viewed(good(levels=(1, 2)))


@pytest.mark.parametrize("word", MADE)
def test_every_status_fits_a_screen_and_says_itself_first(word: str) -> None:
    lines = screen(shown(word))
    assert lines[0].startswith(f"{word}  handmade: ")
    assert len(lines) <= ROWS
    assert all(len(line) <= WIDTH for line in lines if not line.startswith("  assay "))


def test_a_speedup_of_ranks_whose_samples_may_be_the_same_is_doubted_on_the_first_screen() -> None:
    made = good(levels=(1, 2), leave_out=("samples",))
    for number in (row[0] for row in made.rows["launches"] if row[4] == 2):
        told(made, number, ddp=[2])
    text = " ".join(" ".join(screen(viewed(made))).split())
    assert "whether the ranks' samples differ is unknown" in text
    assert "samples differ" not in " ".join(screen(shown("GAIN")))


def test_a_pass_says_what_to_use_and_how_much_faster_it_is() -> None:
    view = shown("GAIN")
    said = answer(view)
    speedup = view.metric("speedup")
    assert speedup is not None
    assert said.headline == f"4 workers are {speedup.cells['workers=4'].full} times as fast as 1"


def test_no_gain_names_the_counts_and_the_gate_that_they_miss() -> None:
    view = shown("NO GAIN")
    said, speedup = answer(view), view.metric("speedup")
    assert speedup is not None
    fastest = speedup.cells["workers=4"].full  # 4 x 0.3 is above 2 x 0.4
    assert said.headline == f"4 workers are {fastest} times as fast as 1; keep 1 worker: 2 and 4 workers miss the efficiency gate of 70 %"
    assert said.mark.word == "no gain"


def test_a_loss_of_quality_is_named_as_such() -> None:
    said = answer(viewed(good(levels=(1, 2), right={2: 10})))
    assert said.headline.endswith("; keep 1 worker: 2 workers do not hold accuracy")
    assert said.mark.word == "fail"


def test_after_a_loss_of_quality_its_cause_is_next_and_not_the_lost_time() -> None:
    view = replace(viewed(good(levels=(1, 2), right={2: 10}, efficiency={2: 0.4})), record="handmade-20261126T000000Z-77ab01")
    (step,) = answer(view).next
    assert (
        step.reason == "keep the global batch, seed and learning rate of the base, or tune this worker count separately; then measure again"
    )
    assert step.command == "assay run 77ab01"
    rate = FindingRow("learning_rate_differs", "warning", "workers=2", "it is 0.1", "leave the rate alone", where="2 workers")
    (step,) = answer(replace(view, findings=(*view.findings, rate))).next
    assert step.reason == "leave the rate alone; then measure again"


def test_a_loss_of_quality_comes_before_the_count_that_pays() -> None:
    said = answer(viewed(good(levels=(1, 2, 4), right={4: 10})))
    assert said.headline.startswith("accuracy degraded with 4 workers; 2 workers are ")
    assert said.mark.word == "fail"


def test_an_undecided_count_gets_a_command_that_decides_it() -> None:
    view = replace(shown("INCONCLUSIVE"), record="handmade-20261126T000000Z-77ab01")
    said = answer(view)
    assert said.headline.startswith("2 workers are 1.4")
    assert said.headline.endswith(" times as fast as 1; the gate of 70 % efficiency (1.4) lies inside")
    assert "  provisional: undecided" in screen(view)
    assert said.next[0].command == "assay run 77ab01 --workers 1,2 --launches 10"


def undecided(view: View, needed: int) -> View:
    """Quality undecided at two workers until so many launches are made."""
    gates = [replace(gate, launches_needed=needed) if gate.configuration == "workers=2" else gate for gate in view.gates]
    return replace(view, gates=tuple(gates), record="handmade-20261126T000000Z-77ab01")


def test_the_advice_is_as_many_launches_as_quality_needs() -> None:
    (step,) = answer(undecided(viewed(good(quality=Quality(margin=0.05))), 112)).next
    assert step.command == "assay run 77ab01 --workers 1,2 --launches 112"
    assert step.reason == "decide on 2 workers: accuracy takes 112 launches, or more held-out examples"


def test_what_only_more_examples_decide_gets_no_command_with_more_launches() -> None:
    """Unchanged answers, and a margin of 0.05: ln 0.05 / ln 0.95 = 58.4, so 59 examples; there are 40."""
    (step,) = answer(viewed(good(quality=Quality(margin=0.05)))).next
    assert (step.reason, step.command) == ("decide on 2 workers: score about 59 held-out examples; launches of the same ones cannot", "")


def test_fewer_launches_than_the_noise_needs_are_advised_with_the_reason() -> None:
    """The mean is a ten-thousandth from the gate of 0.7: thousands of launches would be needed."""
    made = good(levels=(1, 2), efficiency={2: 0.6999})
    (step,) = answer(replace(viewed(made), record="handmade-20261126T000000Z-77ab01")).next
    assert step.command == "assay run 77ab01 --workers 1,2 --launches 10"
    assert "quieten the machine first, then fewer decide than the " in step.reason
    assert "that its noise seen here takes" in step.reason


def test_the_levels_are_those_of_the_metrics_with_how_they_stand_to_the_gate() -> None:
    view = shown("NO GAIN")
    levels = levels_of(view)
    assert [row[1] for row in levels.rows] == [1, 2, 4]
    efficiency = view.metric("efficiency")
    assert efficiency is not None
    assert [said(row[3]).text for row in levels.rows] == ["", *(f"{efficiency.cells[f'workers={p}'].text} low" for p in (2, 4))]


def levels_of(view: View) -> Table:
    return next(block for section in brief(view) for block in section.blocks if isinstance(block, Table))


def test_an_invalid_record_shows_its_numbers_and_says_that_they_are_invalid() -> None:
    """An unmeasured machine, a void result: the table is there, with the reason in a few words."""
    view = shown("GAIN")
    finding = FindingRow("impossible_times", "invalid", None, "a step took no time", "mark the steps", where="")
    void = replace(view, status="INVALID", word="invalid", findings=(finding, *view.findings), recommendations=())
    assert "all invalid: impossible times" in levels_of(void).notes
    assert "do not quote them" in answer(void).evidence
    marks = [mark for tile in answer(void).tiles for mark in (tile.mark, *tile.marks)]
    assert not {mark.tone for mark in marks} & {"good", "gain"}
    assert {"does not count"} <= {mark.word for mark in marks}
    assert standing(void, "workers=1").word == "does not count"
    assert [row[1] for row in levels_of(void).rows] == [1, 2, 4]


def test_quality_that_nobody_asked_for_is_one_line_that_names_what_the_script_logs() -> None:
    lines = {line.label: line.text for line in answer(viewed(good(levels=(1, 2), quality=None))).lines}
    expected = "not checked; to hold accuracy too: --quality-metric accuracy --margin 0.01 (the script logs: accuracy)"
    assert lines["quality"] == expected
    assert "correctness" not in lines
    bare = good(levels=(1, 2), quality=None, leave_out=("scores",))
    without = {line.label: line.text for line in answer(viewed(bare)).lines}["quality"]
    assert "--quality-metric" not in without
    assert without.endswith("to score them: from fireassay import probe; probe.examples(ids, scores)")


def test_why_not_faster_is_a_sum_of_the_first_count_that_misses_its_gate() -> None:
    view = shown("NO GAIN")
    why = next(block for section in brief(view) for block in section.blocks if isinstance(block, Sum))
    assert why.title.startswith("why not faster: 2 workers take ")
    assert why.parts[-1].text == "not explained"


def test_what_nobody_asked_for_is_not_listed_as_missing() -> None:
    view = shown("GAIN")
    text = "\n".join(screen(view))
    assert "not measured" not in text
    assert "not asked: cost, reliability" in " ".join(text.split())


def test_a_terminal_without_unicode_gets_plain_signs() -> None:
    """The same lines, sign by sign; each has a plain form of the same width."""
    view = shown("NO GAIN")
    marks, plain = screen(view), screen(view, plain=True)
    assert "".join(plain).isascii()
    assert [len(line) for line in plain] == [len(line) for line in marks]
    assert [line[0] for line in plain if line[:1] in {"x", ">"}] == [
        {"✗": "x", "▸": ">"}[line[0]] for line in marks if line[:1] in {"✗", "▸"}
    ]


@pytest.mark.deep
def test_more_than_eight_counts_keep_the_first_the_recommended_and_the_last() -> None:
    view = viewed(good(levels=(1, 2, 3, 4, 5, 6, 7, 8, 9, 10), blocks=3))
    levels = next(block for section in brief(view) for block in section.blocks if isinstance(block, Table))
    shown = [row[1] for row in levels.rows]
    assert len(shown) == 8
    assert {1, 10} <= set(shown)
    assert len(screen(view)) <= ROWS + 6


def test_the_name_of_a_score_stays_as_it_is_written() -> None:
    made = good(levels=(1, 2), quality=Quality(metric="val_Top1", margin=0.10))
    view = viewed(made)
    assert "Accuracy is held at every worker count." in answer(two()).evidence
    named = replace(view, quality_metric="val_Top1", vector=two().vector)
    assert "val_Top1 is held at every worker count." in answer(named).evidence


def test_so_many_launches_decide_with_eighty_per_cent_and_take_as_long_as_those_of_the_record() -> None:
    """Launches whose log speedup has the distance and the spread of the record, drawn 4,000 times; half as many decide less often."""
    view = viewed(good(levels=(1, 2), efficiency={2: 0.7055}))
    assert view.status == "INCONCLUSIVE"
    speedup, column = view.estimate("speedup", "workers=2"), view.columns[1]
    assert speedup is not None
    launches = deciding.needed(view, column)
    assert 5 < launches <= deciding.MAX_LAUNCHES
    values = [math.log(value) for value in speedup.launch_values]
    centre, spread = math.log(speedup.value), statistics.stdev(values)
    drawn = np.random.default_rng(7).normal(centre, spread, size=(4_000, launches))
    assert 0.77 < decide(drawn, math.log(1.4)) < 0.87
    assert decide(drawn[:, : launches // 2], math.log(1.4)) < 0.6
    (step,) = answer(view).next
    seconds = launches * sum(statistics.median(row.wall_s for row in view.launches if row.workers == workers) for workers in (1, 2))
    assert (
        step.reason
        == f"{launches} launches each decide on 2 workers with 80 %, if speed and spread are as here (about {duration(seconds)})"
    )
    assert step.command.endswith(f"--workers 1,2 --launches {launches}")


def decide(drawn: Any, limit: float) -> float:
    """The share of rows whose 95 % t interval excludes the limit."""
    size = drawn.shape[1]
    half = t.ppf(0.975, size - 1) * drawn.std(axis=1, ddof=1) / math.sqrt(size)
    return float(np.mean(np.abs(drawn.mean(axis=1) - limit) > half))


@pytest.mark.parametrize(("spread", "distance"), [(0.05, 0.05), (0.10, 0.05), (0.2, 0.08)])
def test_the_chance_of_a_decision_holds_over_spreads(spread: float, distance: float) -> None:
    launches = deciding.fewest(spread, distance, 0.95)
    drawn = np.random.default_rng(11).normal(distance, spread, size=(4_000, launches))
    assert 0.77 < decide(drawn, 0.0) < 0.9, "of few launches some more than it takes: the quantiles are those of Student t"
    assert deciding.fewest(spread, 0.0, 0.95) == deciding.MAX_COUNTED + 1


def test_noise_is_named_only_where_efficiency_is_undecided() -> None:
    view = shown("INCONCLUSIVE")
    assert "noise" in answer(view).next[0].reason
    decided = tuple(replace(gate, status="PASS") if gate.gate == "efficiency" else gate for gate in view.gates)
    assert answer(replace(view, gates=decided)).next[0].reason == "decide on 2 workers with more launches"


def test_without_a_measured_transfer_computing_holds_the_communication() -> None:
    view = shown("NO GAIN")
    assert view.estimate("lost_transfer", "workers=2") is None
    (why,) = [block for section in brief(view) for block in section.blocks if isinstance(block, Sum)]
    assert "computing and communication" in [part.text for part in why.parts]


def test_launches_that_failed_are_not_behind_a_number() -> None:
    view = two()
    first = replace(view.launches[0], status="failed")
    assert timed(view) == 5
    assert timed(replace(view, launches=(first, *view.launches[1:]))) == 4


def test_what_was_not_measured_does_not_hold() -> None:
    view = two()
    none = tuple(
        replace(row, cells={name: replace(cell, status="NOT_MEASURED") for name, cell in row.cells.items()}) for row in view.vector
    )
    assert standing(replace(view, vector=none, recommendations=()), "workers=2").tone == "absent"


SAVES = "rank 0 alone saves the checkpoints, 60 per launch of 23.5 ms each, and the other ranks wait for it: 15 % of their steps"
MEETS = "every step makes a blocking call (all_reduce of at most 8 B), which takes 4.50 ms, 13 % of a step, and makes every rank wait there"


@pytest.mark.parametrize(("rule", "evidence"), [("saving_alone", SAVES), ("small_collectives", MEETS)])
def test_a_cause_that_an_audit_names_stands_on_the_first_screen_with_its_remedy_as_the_next_step(rule: str, evidence: str) -> None:
    view = shown("NO GAIN")
    missing = next(column.key for column in view.columns if standing(view, column.key).tone == "bad")
    finding = FindingRow(rule, "warning", missing, evidence, "do it less often: it costs", where="2 workers")
    named = replace(view, findings=(finding, *view.findings), record="handmade-20261126T000000Z-77ab01")
    assert f"cause: {evidence}" in next(block for section in brief(named) for block in section.blocks if isinstance(block, Sum)).notes
    again, compared = answer(named).next
    assert (again.reason, again.command) == ("do it less often; then measure again", "assay run 77ab01")
    assert compared.command == "assay compare 77ab01 latest --varying code"
    slight = replace(named, findings=(replace(finding, severity="note"), *view.findings))
    assert "cause" not in answer(slight).next[0].reason
    assert len(answer(slight).next) == 1


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_few_steps_cost_much_only_where_the_mean_is_above_the_median(factor: float) -> None:
    view = shown("NO GAIN")
    missing = next(column.key for column in view.columns if standing(view, column.key).tone == "bad")
    row, median = view.metric("step_time"), view.estimate("step_time", missing)
    assert row is not None
    assert median is not None
    values = {**row.values(), missing: replace(median, value=factor * median.value)}
    other = replace(row, values=lambda: values)
    moved = replace(view, metrics=tuple(other if metric is row else metric for metric in view.metrics))
    notes = next(block for section in brief(moved) for block in section.blocks if isinstance(block, Sum)).notes
    assert any(note.startswith("few steps cost much") for note in notes) == (factor < 1.0)


def test_the_links_are_asked_about_the_bytes_of_a_step() -> None:
    """So that a row of their table can be found."""
    data = from_record(open_record(Path(__file__).parents[2] / "records" / "before"))
    (step,) = answer(build(data, judge(data))).next
    assert step.reason == "see how much of it the links explain, with 4.749 MB a step"


def test_the_bands_of_the_efficiencies_stand_below_the_table() -> None:
    view = shown("NO GAIN")  # efficiencies of 0.4 and 0.3
    assert "  scaling: 2 workers poor, 4 workers poor" in screen(view)
    cells = [cell for row in levels(view, "workers").rows for cell in row if isinstance(cell, Number)]
    assert [cell.extra for cell in cells if cell.extra] == ["poor", "poor"]
