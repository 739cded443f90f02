"""The parts of a sum add up as they are printed, whatever the rounding leaves over."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.estimates.format import scale_for, show
from fireassay.reports.page import Number, Part, Sum
from fireassay.reports.writers.support.rows import written_sum

SCALE = scale_for("s", (0.1,))


def number(value: float, half: float = 0.0) -> Number:
    made = Estimate(
        value=value, low=value - half, high=value + half, unit="s", confidence=0.95, n_launches=5, n_trials=5, method="", signature=""
    )
    return Number(shown=show(made, SCALE))


def block(start: float, parts: list[float]) -> Sum:
    rows = tuple(Part(text=f"part {index}", number=number(value, 0.001)) for index, value in enumerate(parts))
    total = Part(text="total", number=number(start + sum(parts), 0.001))
    return Sum(name="why", title="", unit="ms", start=Part(text="start", number=number(start)), parts=rows, total=total)


@given(st.floats(0.001, 10.0), st.lists(st.floats(0.0, 10.0), min_size=1, max_size=6))
def test_what_is_printed_adds_up(start: float, parts: list[float]) -> None:
    written = written_sum(block(start, parts))
    numbers = [Decimal(row.number.replace("−", "-").replace(",", "")) for row in (written.start, *written.parts, written.total)]
    assert sum(numbers[:-1]) == numbers[-1]


def test_a_part_without_a_number_is_left_out() -> None:
    made = block(0.1, [0.02, 0.01])
    missing = Part(text="gone", number=Number(shown=show(Absent(reason="not_measured", detail="why"), SCALE)))
    rows = written_sum(Sum(**{**vars(made), "parts": (missing, *made.parts)})).parts
    assert [row.text for row in rows] == ["part 0", "part 1"]
    assert rows[0].number == "20"
    assert rows[0].interval == "[19, 21]"
