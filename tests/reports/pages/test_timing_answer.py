"""The answer of timed commands: how many times as fast, in the numbers of the comparison, and a row for each."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fireassay.estimates.estimate import Estimate
from fireassay.reports.page import Chart, Number, Table
from fireassay.reports.pages.timing import Summary, page, summary
from fireassay.verdict.comparison.compare import compare
from fireassay.verdict.comparison.types import Comparison, Side
from fireassay.verdict.judge import judge
from tests.handmade import Handmade
from tests.metrics.trials_made import timing
from tests.reports.pages.screens import EVIL, harmless, screen

pytestmark = pytest.mark.slow


def command(factor: float) -> Handmade:
    made = timing(*[[2.0 * factor, v * factor, v * factor] for v in (1.0, 1.02, 0.98, 1.01, 0.99)], warm_up=1)
    workload = made.experiment.workload.model_copy(update={"runner": "command"})
    made.experiment = made.experiment.model_copy(update={"workload": workload})
    made.manifest["session"] = {"id": "s"}
    return made


def timed(*factors: float) -> tuple[list[tuple[Summary, str]], Comparison | None]:
    sides = []
    for index, factor in enumerate(factors, 1):
        made = command(factor)
        made.manifest["id"] = f"{index}"
        measured = made.measured()
        sides.append(Side(label=f"python -c {index}", measured=measured, judgement=judge(measured)))
    found = [(summary(side.measured, side.judgement, side.label), f"records/python-2026-{index}a") for index, side in enumerate(sides, 1)]
    return found, compare(sides, varying=("workload",), primary="trial_time") if len(sides) > 1 else None


def test_one_command_has_its_time_in_the_first_line() -> None:
    (found,), _ = timed(1.0)
    lines = screen(page([found], None))
    assert lines[0].startswith("TIMED  python -c 1: 1,000 ms [980, 1,020]")
    assert "record       1a, 5 rounds, 10 starts" in lines[-1]


def test_two_warnings_are_two_sentences() -> None:
    (found, _), _ = timed(1.0, 1.0)
    made, path = found
    notes = (
        "other programs used up to 85.8 % of the processors; at most 10 % are allowed; it affected 5 of 5 timed launches (launches 0-4)",
        "3 successful launches; a reliable interval needs 5",
    )
    text = " ".join(" ".join(screen(page([(replace(made, notes=notes), path)], None))).split())
    assert "are allowed. 3 successful launches" in text


@pytest.mark.parametrize(
    ("factor", "line"),
    [(0.5, "FASTER  2 commands: 2 is 2 [2, 2] times as fast as 1"), (2.0, "SLOWER  2 commands: 2 takes 2 [2, 2] times as long as 1")],
)
def test_two_commands_are_compared_by_the_ratio_of_their_times(factor: float, line: str) -> None:
    summaries, comparison = timed(1.0, factor)
    assert comparison is not None
    (change,) = comparison.decisive()
    assert change.ratio == pytest.approx(factor)
    assert screen(page(summaries, comparison))[0] == line


def test_each_command_is_a_row_with_its_numbers_in_one_unit() -> None:
    summaries, comparison = timed(1.0, 0.5, 1.0)
    shown = page(summaries, comparison)
    table = next(block for section in shown.of_role("answer") for block in section.blocks if isinstance(block, Table))
    assert [head.text for head in table.heads][1] == "time, ms"
    for (made, _), row in zip(summaries, table.rows, strict=True):
        assert isinstance(row[1], Number)
        assert isinstance(made.time, Estimate)
        assert row[1].value == made.time
    assert screen(shown)[0].startswith("COMPARED  3 commands: 2 is 2 [2, 2] times as fast as 1; 3 against 1: 0 % [0, 0]")


def test_no_command_steers_the_terminal() -> None:
    summaries, comparison = timed(1.0, 0.5)
    harmless(page([(replace(made, label=EVIL, notes=(EVIL,)), path) for made, path in summaries], comparison))


def test_each_command_has_a_tile_and_several_are_drawn_on_one_scale() -> None:
    found, comparison = timed(1.0, 2.0)
    shown = page(found, comparison)
    assert shown.answer is not None
    assert [(tile.title, tile.big, tile.target) for tile in shown.answer.tiles] == [
        ("1 python -c 1", "1.000 s", "command-1"),
        ("2 python -c 2", "2.000 s", "command-2"),
    ]
    ((plot,),) = [section.blocks for section in shown.of_role("exhibit")]
    assert isinstance(plot, Chart)
    assert [row.number.value.value for row in plot.rows if isinstance(row.number.value, Estimate)] == pytest.approx([1.0, 2.0], rel=0.02)
    assert page(found[:1], None).of_role("exhibit") == ()
