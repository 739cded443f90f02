"""The answer of an external table: the row to choose, the rows beside it, and that nothing has an interval."""

from __future__ import annotations

from pathlib import Path

import pytest

from fireassay.reports.page import Figure, Table
from fireassay.reports.pages.rubric import MAX_ROWS, page
from fireassay.spec.timings import parse_timings, read_timings
from fireassay.verdict.claims.rubric import rubric
from fireassay.verdict.claims.rubric_types import Limits, Rubric
from tests.reports.pages.screens import EVIL, flat, harmless, screen


def judged(text: str) -> Rubric:
    return rubric(parse_timings(text, "table.csv"), Limits())


@pytest.fixture
def scaling(repository: Path) -> Rubric:
    return rubric(read_timings(repository / "examples" / "rubric" / "scaling.csv"), Limits(), predict_at=64.0)


def table(made: Rubric) -> Table:
    ((block,),) = [section.blocks for section in page(made).of_role("answer")]
    assert isinstance(block, Table)
    return block


def test_the_first_line_names_the_row_and_the_table_marks_it(scaling: Rubric) -> None:
    assert screen(page(scaling, "scaling.csv"))[0] == "RECOMMENDED  scaling.csv: 8 workers: 6.43 times as fast as 1, efficiency 0.80"
    assert [row[1] for row in table(scaling).rows if row[0].tone == "gain"] == [8]  # type: ignore[union-attr]
    assert "nothing here has an interval" in flat(page(scaling))
    assert scaling.predicted is not None
    assert f"predicted {scaling.predicted.sentence[:30]}" in flat(page(scaling))


def test_limits_that_decide_are_in_the_first_line_and_energy_has_its_column() -> None:
    table_ = "workers,seconds,energy (kWh)\n1,3600,0.30\n4,1010,0.35\n8,560,0.40\n"
    made = rubric(parse_timings(table_, "table.csv"), Limits(joules=1.3e6, deadline_s=2000.0))
    assert "quality not measured, 1010 s (at most 2000 s), 1.26e+06 J (at most 1.3e+06 J); from single timings" in flat(page(made))
    heads = [head.text for head in table(made).heads]
    assert "J" in heads
    assert "J" not in [head.text for head in table(rubric(parse_timings(table_, "table.csv"), Limits())).heads]


def test_the_tiles_are_the_chosen_row(scaling: Rubric) -> None:
    answer = page(scaling).answer
    assert answer is not None
    tiles = {tile.title: tile for tile in answer.tiles}
    assert (tiles["Speedup"].big, tiles["Speedup"].small) == ("6.43×", "8 workers")
    assert tiles["Efficiency"].big == "0.80"
    assert tiles["Speedup"].text == "single timings: no interval"


def test_the_speedups_are_those_of_the_rows(scaling: Rubric) -> None:
    made = table(scaling)
    at = [head.text for head in made.heads].index("speedup")
    shown = [row[at] for row in made.rows]
    assert [cell.value for cell in shown if isinstance(cell, Figure)] == [row.speedup for row in scaling.rows]


def test_a_published_ratio_alone_is_the_one_on_the_screen() -> None:
    shown = flat(page(judged("workers,speedup\n8,7.6\n")))
    assert "8 workers: 7.60 times as fast as 1, efficiency 0.95" in shown
    assert "not in the table" in shown


def test_a_single_row_of_times_is_not_recommended() -> None:
    shown = flat(page(judged("workers,seconds\n8,474\n")))
    assert shown.startswith("NOTHING COMPARED ")
    assert "8 workers alone: a single row has nothing to compare with" in shown


def test_two_worker_counts_foretell_no_ceiling_and_no_price_is_no_pick() -> None:
    """7.6 on 8 would be a ceiling of 133, without any row that could contradict it."""
    made = judged("workers,seconds\n1,3600\n8,473.7\n")
    assert made.fit is not None
    assert (made.fit.ceiling, made.fit.half_efficiency_workers) == (None, None)
    assert "which check no law" in flat(page(made))
    assert "cheapest" not in flat(page(made))


def test_medians_of_repeated_rows_are_no_single_timings() -> None:
    shown = flat(page(judged("workers,seconds\n1,1000\n1,1040\n1,990\n8,131\n8,133\n")))
    assert "7.58 times as fast as 1" in shown  # 1000 / 132
    assert "from medians of repeated timings, without intervals" in shown
    assert "one number per row" not in shown


def test_many_rows_keep_the_first_the_recommended_and_the_last() -> None:
    made = judged("workers,seconds\n" + "".join(f"{n},{100.0 / n}\n" for n in range(1, 21)))
    rows = table(made).rows
    assert len(rows) <= MAX_ROWS
    assert {1, 20, made.recommended} <= {row[1] for row in rows}
    screen(page(made))


def test_no_title_steers_the_terminal(scaling: Rubric) -> None:
    harmless(page(scaling, EVIL))


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ("system,workers,seconds\nserial python,1,4000\npytorch,8,500\n", "The base is another system: serial python, not pytorch."),
        (
            "workers,hardware,seconds\n8,8x H100,500\n1,1x V100,4000\n4,4x H100,900\n",
            "The base is another hardware: 1x V100, not 8x H100, 4x H100.",
        ),
        ("hardware,workers,seconds\n1x H100,1,4000\n8x H100,8,550\n", ""),
        ("system,workers,seconds\npytorch,1,4000\npytorch,8,550\n", ""),
        ("system,workers,seconds\n,1,4000\npytorch,8,550\n", ""),
        ("name,workers,seconds\nrun a,1,4000\nrun b,8,550\n", ""),
        ("hardware,GPUs,seconds\n2080 Ti,1,4000\n3090 Ti,8,300\n", "The base is another hardware: 2080 Ti, not 3090 Ti."),
        ("GPU model,GPUs,seconds\nV100,1,4000\nH100,8,300\n", "The base is another GPU model: V100, not H100."),
        ("version,GPUs,seconds\n3.9,1,4000\n3.12,8,550\n", "The base is another version: 3.9, not 3.12."),
        ("machine,GPUs,seconds\nlaptop,1,4000\nDGX,8,300\nDGX,4,700\n", "The base is another machine: laptop, not DGX."),
        ('machine,GPUs,seconds\nnode01,1,4000\n"node02,node03",8,550\n', ""),
        ("implementation,ranks,seconds\nserial,1,4000\nMPI,8,550\n", ""),
        ("node,GPUs,seconds\nalpha,1,4000\nbeta,8,550\n", ""),
        ("device memory (GB),GPUs,seconds\n70.5,1,4000\n35.2,4,1100\n", ""),
        *(
            (f'hardware,GPUs,seconds\n"{one}",1,4000\n"{eight}",8,550\n', "")
            for one, eight in (
                ("A100 x1", "A100 x8"),
                ("DGX A100 (1 GPU)", "DGX A100 (8 GPUs)"),
                ("1 node", "8 nodes"),
                ("one A100", "eight A100s"),
                ("A100 (x1)", "A100 (x8)"),
                ("A100", "2×4×A100"),
                ("a2-highgpu-1g", "a2-highgpu-8g"),
                ("p3.2xlarge", "p3.16xlarge"),
                ("cuda:0", "cuda:0,1,2,3,4,5,6,7"),
                ("1 x H100 SXM", "8 x H100 SXM"),
                ("A100-80G", "8x A100-80G"),
            )
        ),
    ],
)
def test_a_speedup_over_another_program_or_machine_is_no_scaling(table: str, told: str) -> None:
    """The weak baseline of a blog: of the rows only the first is another system."""
    answer = page(rubric(parse_timings(table, "t.csv"), Limits())).answer
    assert answer is not None
    assert answer.headline.startswith(told)
    assert (answer.mark.word == "not comparable") == bool(told)
