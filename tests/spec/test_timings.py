"""Tables from elsewhere: tolerant of names, strict with numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.errors import Problem, SpecError
from fireassay.spec.timings import Stated, parse_timings, read_timings


def problems(text: str) -> tuple[Problem, ...]:
    with pytest.raises(SpecError) as caught:
        parse_timings(text, "t.csv")
    return caught.value.problems


@pytest.mark.parametrize(
    "header", ["workers,seconds", "Nodes,Time (s)", " p , time_s ", '"GPUs",T', "num-workers,Wall Seconds", "P,runtime"]
)
def test_columns_are_found_by_many_names(header: str) -> None:
    (row,) = parse_timings(f"{header}\n4,10.5\n", "t.csv").rows
    assert (row.workers, row.seconds, row.row, row.usd, row.scores, row.work, row.steps) == (4, 10.5, 2, None, (), None, None)


@pytest.mark.parametrize(
    ("column", "price"),
    [("price_per_hour", 32.0), ("$/h", 32.0), ("USD per hour", 32.0), ("usd_per_worker_hour", 8.0), ("usd_per_node_second", 8.0 / 3600)],
)
def test_every_kind_of_price_gives_the_same_cost(column: str, price: float) -> None:
    # 4 workers at $8 an hour each are $32 an hour together; 450 s are an eighth of an hour: $4.
    (row,) = parse_timings(f"workers,seconds,{column}\n4,450,{price!r}\n", "t.csv").rows
    assert row.usd == pytest.approx(4.0)


def test_the_time_of_one_step_is_one_step() -> None:
    timings = parse_timings("nodes,step_seconds\n2,7.69\n", "t.csv")
    assert (timings.rows[0].steps, timings.rows[0].seconds, timings.worker_word) == (1.0, 7.69, "nodes")


def test_rows_come_by_workers_and_remarks_empty_lines_and_other_columns_are_passed_over() -> None:
    text = "# measured on Monday\nhost,p,s\n\nb,4,5\na,1,10\n,,\n"
    rows = parse_timings(text, "t.csv").rows
    assert [(row.workers, row.row) for row in rows] == [(1, 5), (4, 4)]


@pytest.mark.parametrize("text", ["p;s\n1;2\n", "p\ts\n1\t2\n", "p|s\n1|2\n", "| p | s |\n|---|---|\n| 1 | **2** |\n", "p,s\n1,2 s\n"])
def test_columns_may_stand_between_commas_tabs_semicolons_or_bars(text: str) -> None:
    (row,) = parse_timings(text, "t.csv").rows
    assert (row.workers, row.seconds) == (1, 2.0)


def test_a_row_with_an_empty_time_is_left_out_like_one_that_says_n_a() -> None:
    timings = parse_timings("p,s\n1,10\n2,\n4,n/a\n8,2\n", "t.csv")
    assert [row.workers for row in timings.rows] == [1, 8]
    assert timings.doubts[:2] == ("Row 3 is left out: its s is empty.", 'Row 4 is left out: its s is "n/a".')


@pytest.mark.parametrize("text", ["p,speedup\n8,7.6\n", "p,efficiency\n8,95%\n", "p,speedup,acc\n8,7.6,0.9\n"])
def test_a_speedup_whose_base_is_not_in_the_table_is_that_over_one_worker(text: str) -> None:
    """7.6 on 8 is 0.95 of 8."""
    timings = parse_timings(text, "t.csv")
    assert [(row.workers, row.work) for row in timings.rows] == [(1, 1.0), (8, pytest.approx(7.6))]
    assert timings.doubts[0].startswith("The base of the speedups is not in the table: taken as 1 of the workers")
    assert timings.scores == ()


@pytest.mark.parametrize(
    "text", ["p,speedup\n2,1\n8,3.8\n", "p,efficiency\n2,100%\n8,95%\n", "p,speedup\n1,1\n8,7.6\n", "p,samples/s\n8,7.6\n"]
)
def test_a_table_with_its_own_base_keeps_it(text: str) -> None:
    timings = parse_timings(text, "t.csv")
    assert [row.row for row in timings.rows] == list(range(2, 2 + text.count("\n") - 1))
    assert not timings.doubts


def test_rows_with_equal_counts_are_repetitions_and_their_medians_are_taken() -> None:
    timings = parse_timings("p,s\n1,2\n4,1\n1,3\n1,2.5\n", "t.csv")
    assert [(row.workers, row.seconds) for row in timings.rows] == [(1, 2.5), (4, 1.0)]
    assert "1 workers stand in 3 rows (2, 4, 5): their medians are taken." in timings.notes


def test_work_for_all_rows_may_be_given_beside_the_table(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("p,s\n1,10\n", encoding="utf-8")
    assert read_timings(path, work=7.0).rows[0].work == 7.0
    assert parse_timings("p,s,items\n1,10,3\n", "t.csv", work=7.0).rows[0].work == 3.0


def test_a_spreadsheet_s_byte_order_mark_is_no_problem(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"\xef\xbb\xbfp,s\r\n1,10\r\n")
    assert read_timings(path).rows[0].seconds == 10.0


@pytest.mark.parametrize(
    ("text", "where", "found", "fix"),
    [
        ("", "the file", "no rows", "workers,seconds"),
        ("p,s\n", "the file", "a header alone", ""),
        ("seconds\n1\n", "row 1", "seconds", ""),
        ("workers,secnods\n1,2\n", "row 1", "workers, secnods", "Did one column mean seconds?"),
        ("p,s,nodes\n1,2,3\n", "row 1", "p and nodes, which both say workers", "Leave one out."),
        ("p,s,s\n1,2,3\n", "row 1", "s and s#2, which both say the time", '--use "s"'),
        ("p,s,step_s\n1,2,3\n", "row 1", "s and step_s, which both say the time", "Leave one out."),
        ("p,s,$/h,usd_per_node_hour\n1,2,3,4\n", "row 1", "$/h and usd_per_node_hour, which both say the price", ""),
        ("p,s\n1,fast\n", "row 2, column seconds", '"fast"', ""),
        ("p,s\n1,12 parsecs\n", "row 2, column seconds", '"12 parsecs"', "Write one number in one unit, with the unit in the heading."),
        ("p,s\n1,1,5\n", "row 2", "3 cells", "thousands separators"),
        ("p,s\n1,0\n", "row 2, column seconds", "0", ""),
        ("p,s\n1,-2\n", "row 2, column seconds", "-2", ""),
        ("p,s\n1,nan\n", "row 2, column seconds", "nan", ""),
        ("p,s\n1,inf\n", "row 2, column seconds", "inf", ""),
        ("p,s\n1,1e308\n", "row 2, column seconds", "1e308", ""),
        ("p,s\n1\n", "row 2, column seconds", "an empty cell", ""),
        ("p,s\n0,1\n", "row 2, column workers", "0", ""),
        ("p,s\n1.5,1\n", "row 2, column workers", "1.5", ""),
        ("p,s,$/h\n1,1,-1\n", "row 2, column usd_per_hour", "-1", ""),
        ("p,s,acc\n1,1,nan\n", "row 2, column quality", "nan", ""),
        ("p,s,acc\n1,2,\n2,1,.9\n4,1,\n", "row 2, column quality", "an empty cell", "Fill it in"),
        ("p,s,$/h\n1,2,1\n2,1,\n", "row 3, column usd_per_hour", "an empty cell", "Fill it in"),
        ('p,s\n1,"2\n', "row 2 or later", "broken CSV", "quotation mark"),
    ],
)
def test_a_bad_table_is_told_with_row_column_value_and_mend(text: str, where: str, found: str, fix: str) -> None:
    (problem,) = problems(text)
    assert (problem.where, problem.found) == (where, found)
    assert fix in problem.fix


def test_all_problems_of_a_table_are_told_at_once() -> None:
    found = problems("p,s,acc\n1,x,y\n0,5,1\n2,0,1\n3,1,1\n4,1,\n")
    assert [problem.where for problem in found] == [
        "row 2, column seconds",
        "row 2, column quality",
        "row 3, column workers",
        "row 4, column seconds",
    ]


@pytest.mark.parametrize(("raw", "found"), [(b"p,s\n1,\xff\n", "the byte 0xff"), ("p,s\n1,2\n".encode("utf-16"), "the byte 0xff")])
def test_a_table_that_is_not_utf8_is_told(tmp_path: Path, raw: bytes, found: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(raw)
    with pytest.raises(SpecError) as caught:
        read_timings(path)
    assert caught.value.problems[0].found == found


def test_a_missing_file_and_a_folder_are_told(tmp_path: Path) -> None:
    for path, found in ((tmp_path / "none.csv", "no such file"), (tmp_path, "a folder")):
        with pytest.raises(SpecError) as caught:
            read_timings(path)
        assert caught.value.problems[0].found == found


def understood(text: str) -> bool:
    """Whether the reader gives sane rows or a list of problems; anything else is an error of the test."""
    try:
        rows = parse_timings(text, "t.csv").rows
    except SpecError as error:
        return bool(error.problems)
    return bool(rows) and all(row.seconds > 0 and row.workers >= 1 for row in rows)


@given(st.text(alphabet="workersnd,;.0123456789-+eE \n\r\"'#$/p\0ä"))
def test_no_text_whatever_breaks_the_reader(text: str) -> None:
    assert understood(text)


@given(st.text(alphabet='0123456789.,-+eEnaif \n"#'))
def test_no_body_whatever_breaks_the_reader(body: str) -> None:
    assert understood("p,s,price,acc\n" + body)


@pytest.mark.parametrize("separator", ["\t", ";"])
def test_a_score_with_decimal_commas_counts(separator: str) -> None:
    """It was called no number, and the row that lost a point was recommended."""
    table = "GPUs,time [s],accuracy\n1,1.234|5,0|75\n2,700|2,0|75\n4,400|0,0|74\n".replace(",", separator).replace("|", ",")
    timings = parse_timings(table, "t")
    assert [row.scores for row in timings.rows] == [(0.75,), (0.75,), (0.74,)]
    assert timings.rows[0].seconds == 1234.5
    assert timings.doubts == ()


def test_repetitions_with_decimal_commas_are_no_settings() -> None:
    table = "GPUs;img/s;acc\n1;1.234,5 img/s;76,1\n1;1.244,5 img/s;76,3\n2;2.400,2 img/s;76,2\n"
    assert [row.workers for row in parse_timings(table, "t").rows] == [1, 2]


@pytest.mark.parametrize(
    ("heading", "times", "stated", "scaling", "doubted"),
    [
        ("Time to train (h)", (29, 1.05), "", "strong", False),
        ("Epoch time (s)", (100, 98), "", "strong", False),
        ("Time (h)", (29, 1.05), "", "strong", True),  # 32 times the work in a twenty-seventh of the time is none
        ("Time (s)", (100, 104), "", "weak", True),
        ("Time (s)", (100, 104), "strong", "strong", False),
        ("Time (h)", (29, 1.05), "weak", "weak", False),
    ],
)
def test_a_batch_for_each_worker_says_the_work_of_a_step_and_not_of_a_run(
    heading: str, times: tuple[float, float], stated: Literal["", "strong", "weak"], scaling: str, doubted: bool
) -> None:
    table = f"GPUs\tGlobal batch\t{heading}\n8\t256\t{times[0]}\n256\t8192\t{times[1]}\n"
    timings = parse_timings(table, "t", asked=Stated(scaling=stated))
    assert (timings.scaling, any("Global batch grows" in doubt for doubt in timings.doubts)) == (scaling, doubted)
