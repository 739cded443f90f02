"""Tables in columns of white space, as programs print them; the expected cells are those that a reader sees."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.errors import SpecError
from fireassay.spec.tables import spaced
from fireassay.spec.tables.cells import read_table
from fireassay.spec.timings import Stated, parse_timings

# Two textbooks' printed outputs, as a browser copies them: single blanks, sentences below.
RUBRIC = """\
p Tp(s) speedup eff quality $/run $/work work/$
1 3600 1.00 1.000 0.871 1.00 8.333e-07 1200000
2 1880 1.91 0.957 0.871 1.04 8.704e-07 1148936
4 1010 3.56 0.891 0.871 1.12 9.352e-07 1069307
8 560 6.43 0.804 0.871 1.24 1.037e-06 964286
16 340 10.59 0.662 0.870 1.51 1.259e-06 794118
32 250 14.40 0.450 0.871 2.22 1.852e-06 540000
Amdahl serial fraction s : 0.0376
Amdahl speedup ceiling 1/s : 26.6x
speedup at p=32 vs Amdahl : measured 14.40x, model 14.77x
quality held constant : True (max drift 0.001)
cheapest config ($/work) : p = 1
efficiency>=0.70 holds up to: p = 8
"""
STEPS = """\
nodes step_s speedup efficiency cost/step($)
1 10.00 1.00 100% 0.2000
2 7.69 1.30 65% 0.3076
4 5.00 2.00 50% 0.4000
8 3.85 2.60 32% 0.6160
"""
THREE = ((1, 3600.0), (2, 1880.0), (8, 560.0))
# The same three rows, as programs print them around a table.
PRINTED = {
    "formatted numbers wider than their gaps": "p     Tp(s)  speedup   eff\n1      3600   1.00 1.000\n2      1880   1.91 0.957\n8       560   6.43 0.804\n",
    "a heading of several words": "p wall time (s) speed up\n1 3600 1.00\n2 1880 1.91\n8 560 6.43\n",
    "prompts and rules": "$ python rubric.py\n>>> table\n\np   T_p   eff\n-----------\n1   3600  1\n2   1880  0.957\n8   560   0.804\n-----------\n$\n",
    "marks": "  nodes  seconds  efficiency, %\n▸     1     3600     100\n      2     1880      96\n✗     8      560      80   <- recommended\n",
    "an index": "   workers  seconds  quality\n0        1   3600.0    0.871\n1        2   1880.0    0.871\n2        8    560.0    0.871\n",
    "a comment as header": "# p Tp(s)\n1 3600\n2 1880\n8 560\n",
    "blank lines between rows": "p Tp(s)\n\n1 3600\n\n2 1880\n\n8 560\n",
    "a repeated header": "p Tp(s)\n1 3600\n2 1880\np Tp(s)\n8 560\n",
    "on its side": "Number of GPUs   1   2   8\nTime (s)   3,600  1,880  560\nMeasured in May with 8 links\n",
    "psql": " p | seconds \n---+---------\n 1 |    3600\n 2 |    1880\n 8 |     560\n(3 rows)\n",
    "org": "| p | seconds |\n|---+---------|\n| 1 | 3600 |\n| 2 | 1880 |\n| 8 | 560 |\n",
    "rich": "┏━━━┳━━━━━━━━━┓\n┃ p ┃ seconds ┃\n┡━━━╇━━━━━━━━━┩\n│ 1 │    3600 │\n│ 2 │    1880 │\n│ 8 │     560 │\n└───┴─────────┘\n",
    "polars": "shape: (3, 2)\n┌───┬───┐\n│ p ┆ s │\n│ --- ┆ --- │\n│ i64 ┆ f64 │\n╞═══╪═══╡\n│ 1 ┆ 3600 │\n│ 2 ┆ 1880 │\n│ 8 ┆ 560 │\n└───┴───┘\n",
    "an empty cell": "p   T(p)   quality  speedup\n1   3600     0.871     1.00\n2   1880               1.91\n8    560     0.871     6.43\n",
}


@pytest.mark.parametrize("text", PRINTED.values(), ids=PRINTED)
def test_rows_are_read_whatever_is_printed_around_them(text: str) -> None:
    timings = parse_timings(text, "t")
    assert tuple((row.workers, row.seconds) for row in timings.rows) == THREE
    assert timings.doubts == ()


def test_an_empty_cell_moves_no_other() -> None:
    assert [row.scores for row in parse_timings(PRINTED["an empty cell"], "t").rows] == [(0.871,), (None,), (0.871,)]


def test_a_printed_rubric_is_read_unchanged() -> None:
    timings = parse_timings(RUBRIC, "t")
    assert [row.usd for row in timings.rows] == [1.00, 1.04, 1.12, 1.24, 1.51, 2.22]
    assert [row.own_items_per_usd for row in timings.rows] == [1200000, 1148936, 1069307, 964286, 794118, 540000]
    assert timings.doubts == ()
    assert [note for note in timings.notes if note.startswith("6 lines beside the table are not read")]


def test_a_cost_of_a_step_is_that_of_its_row() -> None:
    assert [row.usd for row in parse_timings(STEPS, "t").rows] == [0.2, 0.3076, 0.4, 0.616]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("p Tp(s) speedup quality\n1 3600 1.00 0.871\n8 560 0.871\n", "line 3: found 3 cells; allowed: 4"),
        ("p Tp(s) speedup\n1 3600 1.00\n8 5 600 6.43\n", "line 3: found 4 cells; allowed: 3"),
    ],
)
def test_a_row_of_other_cells_is_refused_not_shifted(text: str, found: str) -> None:
    with pytest.raises(SpecError) as caught:
        parse_timings(text, "t")
    assert found in str(caught.value)


def test_a_second_table_is_a_doubt_not_more_rows() -> None:
    timings = parse_timings("p Tp(s)\n1 10\n2 6\n\np Tp(s)\n1 9\n2 5\n", "t")
    assert [row.seconds for row in timings.rows] == [10, 6]
    assert timings.doubts == ("Line 5 begins another table, which is not read.",)


@pytest.mark.parametrize("separator", [",", "\t", ";", " | "])
def test_a_table_with_separators_keeps_them(separator: str) -> None:
    """ "Total time" and "Top-1 acc" are more known headings by their words than by their cells."""
    rows = (("GPUs", "Total time", "Top-1 acc"), ("1", "10", "0.8"), ("2", "6", "0.8"))
    table = read_table("\n".join(separator.join(row) for row in rows), "t")
    assert table is not None
    assert tuple(cell.strip() for cell in table.header) == rows[0]


@pytest.mark.parametrize("text", ["p rate\n1 100\n8 650\n"])
def test_a_rate_without_a_time_names_both_readings(text: str) -> None:
    with pytest.raises(SpecError, match="If it is a throughput: --use throughput=.rate."):
        parse_timings(text, "t")
    assert [row.work for row in parse_timings(text, "t", asked=Stated(use=("throughput=rate",))).rows] == [100, 650]


def test_one_price_for_every_count_is_a_doubt() -> None:
    timings = parse_timings("p,Tp,rate\n1,3600,2\n8,560,2\n", "t")
    assert "is taken as the price of all workers together" in timings.doubts[0]
    of_each = parse_timings("p,Tp,rate\n1,3600,2\n8,450,2\n", "t", asked=Stated(use=("price_per_worker_hour=rate",)))
    assert [row.usd for row in of_each.rows] == [2.0, 2.0]  # 8 x $2/h x 450 s
    assert of_each.doubts == ()


CELL = st.floats(0.01, 1e6).map(lambda value: f"{value:.6g}")


@given(
    rows=st.lists(st.tuples(CELL, CELL, CELL), min_size=1, max_size=8),
    gap=st.integers(1, 6),
    before=st.sampled_from(["", "$ run\n", "Results of today\n\n"]),
    after=st.sampled_from(["", "\n\ndone in 3.2 s\n", "\n-----\nbest : p = 1\n"]),
)
def test_any_padding_gives_the_same_cells(rows: list[tuple[str, str, str]], gap: int, before: str, after: str) -> None:
    """Right-aligned columns with any gap; sentences before and after."""
    table = [("p", "Tp(s)", "quality", "$/run"), *((str(index + 1), *row) for index, row in enumerate(rows))]
    widths = [max(len(row[column]) for row in table) for column in range(4)]
    text = "\n".join((" " * gap).join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in table)
    found = read_table(f"{before}{text}{after}", "t")
    assert found is not None
    assert (found.header, tuple(cells for _, cells in found.rows)) == (table[0], tuple(table[1:]))


@given(st.text(alphabet="pT 18.\n|-$%\t,;x/", max_size=120))
def test_no_text_raises_anything_but_an_error_for_the_user(text: str) -> None:
    with suppress(SpecError):
        assert parse_timings(text, "t").rows


def test_of_a_line_that_is_too_long_no_cell_is_read_as_a_heading(monkeypatch: pytest.MonkeyPatch) -> None:
    """100,000 columns took 42 s to refuse."""
    read: list[str] = []
    monkeypatch.setattr(spaced, "heading", lambda cell: read.append(cell))
    row = ",".join(f"column {number}" for number in range(2_000))
    with pytest.raises(SpecError, match="more than 20,000 characters"):
        read_table(f"{row}\n{row}\n", "t.csv")
    assert len(read) <= 1
