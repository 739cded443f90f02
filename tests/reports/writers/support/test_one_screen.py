"""One screen of text: numbers lose digits before a table loses columns, heads span, and no line begins with a unit."""

from __future__ import annotations

import pytest

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import Scale, show
from fireassay.reports.charts.model import Edge, Interval, intervals
from fireassay.reports.page import Answer, Chart, Head, Line, Mark, Number, Page, Section, Table
from fireassay.reports.writers.support.one_screen import Style, folded, write


def number(value: float, low: float, high: float) -> Number:
    return Number(
        shown=show(
            Estimate(value=value, low=low, high=high, unit="", confidence=0.95, n_launches=5, n_trials=5, method="m", signature="s"),
            Scale(factor=1.0),
        ),
        bare=True,
    )


def screen(*blocks: Table | Chart, width: int = 80, lines: tuple[Line, ...] = ()) -> list[str]:
    answer = Answer(mark=Mark(word="pass", tone="good"), headline="up to 8", lines=lines)
    sections = tuple(Section(key=block.name, title="", role="answer", content=(block,)) for block in blocks)
    page = Page(title="x", sections=sections, answer=answer)
    return write(page, answer, Style(width=width, colour=False, plain=False)).splitlines()


WIDE = Table(
    name="t",
    heads=(Head(text="load"), *(Head(text=f"column {place}") for place in range(4))),
    rows=((8, *(number(105.23, 98.51, 116.17),) * 4),),
)


def test_digits_go_before_columns() -> None:
    assert "105.2 [98.5, 116.2]" in screen(WIDE, width=100)[-1]
    narrow = screen(WIDE, width=70)
    assert narrow[-1].count("105 [98, 117]") == 4
    assert "more column" not in "\n".join(narrow)


def test_columns_go_where_fewer_digits_do_not_suffice_and_are_counted() -> None:
    lines = screen(WIDE, width=40)
    assert lines[-1] == "  (2 more columns in a wider window)"
    assert all(len(line) <= 40 for line in lines)


def test_columns_below_one_head_go_together() -> None:
    heads = (Head(text="load"), *(Head(text=f"{name} {side}", above=name) for name in ("speed", "price") for side in "ab"))
    lines = screen(Table(name="t", heads=heads, rows=((8, 1, 2, 3, 4),)), width=33)
    assert lines[-3].split() == ["load", "speed", "a", "speed", "b"]
    assert lines[-1] == "  (2 more columns in a wider window)"


def test_a_head_spans_its_columns_and_is_never_cut() -> None:
    heads = (Head(text="load"), *(Head(text=name, above="tokens per second, one user") for name in "ab"), Head(text="c", above="rest"))
    lines = screen(Table(name="t", heads=heads, rows=((8, 1, 2, 3),)))
    above, below = lines[-3], lines[-2]
    assert above.split() == ["tokens", "per", "second,", "one", "user", "rest"]
    assert above.index("rest") <= below.index("c")
    assert above.index("tokens") <= below.index(" a ") + 1


def test_no_line_begins_with_the_unit_of_a_number() -> None:
    for width in range(60, 90):
        told = "half of the requests " + "waited 99 % of 500 ms, then 3 s; " * 6
        lines = screen(lines=(Line(label="doubts", text=told),), width=width)
        assert not any(line.strip().startswith(("%", "ms", "s;")) for line in lines)
        assert all(len(line) <= width for line in lines)


def test_labels_of_an_axis_end_within_the_window() -> None:
    for width in range(50, 90):
        rows = tuple(Interval(name=str(low), number=number(low + 0.5, low, 1.0 + low)) for low in (98, 99))
        plot = intervals(name="p", title="met objectives, %", rows=rows, edges=(Edge(value=99.0),))
        assert all(len(line) <= width for line in screen(plot, width=width))


@pytest.mark.parametrize(
    ("name", "most", "lines"),
    [
        ("short", 14, ["short"]),
        ("vllm-0.9.1-fp8-h200", 14, ["vllm-0.9.1-", "fp8-h200"]),
        ("a word and another", 10, ["a word and", "another"]),
        ("x" * 30, 14, ["x" * 14, "x" * 14, "xx"]),
    ],
)
def test_a_long_name_is_folded_and_nothing_of_it_is_lost(name: str, most: int, lines: list[str]) -> None:
    assert folded(name, most) == lines


def test_a_folded_name_of_a_row_has_its_numbers_in_its_first_line() -> None:
    """A name of 30 letters in a window of 50 columns: the rest of it stands below, under the name alone."""
    table = Table(name="t", heads=(Head(text="engine"), Head(text="load")), rows=(("engine-of-a-name-that-is-long", 8), ("b", 16)), stub=1)
    lines = screen(table, width=50)
    begin = next(index for index, line in enumerate(lines) if line.startswith("engine  "))
    first, rest, other = lines[begin + 1 : begin + 4]
    assert (first.split(), rest.split(), other.split()) == (["engine-of-a-name-that-is-", "8"], ["long"], ["b", "16"])
