"""A kept gate is read back exactly, a stranger's line is refused by its number, and two machines are never in one series."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from fireassay.errors import RecordError
from fireassay.reports.documents.history import DOCUMENT, render
from fireassay.reports.pages.history import kept as page
from fireassay.reports.writers import html, terminal
from fireassay.verdict.checking.check import check
from fireassay.verdict.checking.kept import Kept, kept, line, read, trend
from fireassay.verdict.comparison.compare import compare
from tests.reports.writers.small import EVIL
from tests.verdict.sides import made, side

MACHINE = {"cpu.model": "Planted 9000", "cpu.usable": 4, "memory.total_bytes": 16_000_000_000, "gpu.models": ["G1", "G1"]}


def one(day: int = 1, value: float | None = 1.0, **more: Any) -> Kept:
    base = Kept(
        created_utc=f"2026-01-{day:02d}T00:00:00+00:00",
        verdict="PASS",
        sentence="+0.1 % [-1, 1] against main",
        name="work",
        workload="0123456789ab",
        metric="trial_time",
        title="Time of a call",
        unit="s",
        better="lower",
        configuration="workers=1",
        value=value,
        low=None if value is None else 0.9 * value,
        high=None if value is None else 1.1 * value,
        confidence=0.95,
        launch_values=() if value is None else (0.99 * value, value, 1.01 * value),
        change=1.001,
        change_low=0.99,
        change_high=1.01,
        base="b" * 40,
        commit=f"{day:040x}",
        digest=f"{day:064x}",
        base_digest="d" * 64,
        machine=MACHINE,
    )
    return replace(base, **more)


def test_a_line_is_read_back_as_it_was_and_later_keys_are_no_error() -> None:
    lines = [one(), one(2, None, verdict="NOT COMPARABLE"), one(3, low=None, high=None, sentence=EVIL)]
    text = "\n".join(map(line, lines))
    assert read(text.encode(), "here") == lines
    assert read(json.dumps({**json.loads(line(one())), "new": 1}).encode(), "here") == [one()]
    assert [json.loads(each)["schema"] for each in text.splitlines()] == ["assay-history/1"] * 3
    assert json.loads(render(lines))["gates"] == [
        {key: value for key, value in json.loads(each).items() if key != "schema"} for each in text.splitlines()
    ]
    assert set(json.loads(line(one()))) - {"schema"} == set(DOCUMENT.json_schema()["properties"]["gates"]["items"]["properties"])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ('{"schema": "other/1"}', "no object with schema assay-history/1"),
        ("[1]", "no object with schema"),
        ("{", "line 2"),
        (line(one()).replace('"value": 1.0', '"value": 1e999'), "line 2"),
        (line(one()).replace('"value": 1.0', '"value": "much"'), "value"),
        (line(one()).replace("b" * 40, "$(touch x)"), "base"),
        (line(one(name="n" * 501)), "name"),
        (line(one()).replace('"metric": "trial_time", ', ""), "metric"),
        ("[" * 5000, "line 2"),
    ],
)
def test_a_line_of_a_stranger_is_refused_with_its_number(wrong: str, said: str) -> None:
    with pytest.raises(RecordError, match=r"history, line 2 is not of a kept gate") as refused:
        read(f"{line(one())}\n{wrong}\n".encode(), "history")
    assert said in str(refused.value)


def test_a_gate_is_kept_with_its_number_interval_digest_and_machine() -> None:
    base, change = side("a", made(10.0)), side("b", made(12.0))
    found = check(compare((base, change), varying=("code",)), base, change)
    got = kept(found, "FAIL", "20 % slower", base, change)
    row = next(row for row in found.rows if row.primary)
    assert row.value is not None
    assert (got.metric, got.value, got.low, got.high) == (row.metric, row.value.value, row.value.low, row.value.high)  # type: ignore[union-attr]
    assert row.difference is not None
    assert (got.change, got.change_low, got.change_high) == (row.difference.value, row.difference.low, row.difference.high)
    assert got.digest == change.measured.seal
    assert len(got.launch_values) > 1
    assert read(line(got).encode(), "here") == [got]


def test_another_machine_is_another_series_and_the_page_says_in_what_it_differs() -> None:
    other = {**MACHINE, "cpu.model": "Planted 9001"}
    nearly = {**MACHINE, "memory.total_bytes": 16_100_000_000}
    lines = [one(day) for day in range(1, 6)] + [one(6, 2.0, machine=other), one(7, machine=nearly)]
    found = trend(lines)
    assert [len(each.points) for each in found.histories] == [6, 1]
    assert found.notes == ("machine 2 differs from machine 1 in cpu.model: their values are not compared",)
    shown = terminal.write(page(found))
    assert "Planted 9000, 4 processors" in " ".join(shown.split())
    assert "their values are not compared" in " ".join(shown.split())


def test_a_step_on_one_machine_is_found_and_the_same_step_between_two_is_not() -> None:
    values = [1.0] * 12 + [1.5] * 12
    same = [one(day, value * (1 + 0.001 * (day % 3))) for day, value in enumerate(values, start=1)]
    (found,) = trend(same).histories
    assert [change.index for change in found.certain] == [12]
    moved = [replace(each, machine={**MACHINE, "cpu.usable": 8}) if day > 12 else each for day, each in enumerate(same, start=1)]
    assert [each.certain for each in trend(moved).histories] == [(), ()]


def test_what_has_no_admissible_number_is_counted_and_in_no_series() -> None:
    lines = [one(), one(2, verdict="NOT COMPARABLE"), one(3, None, verdict="NOTHING MEASURED"), one(1)]
    found = trend(lines)
    assert [len(each.points) for each in found.histories] == [1]
    assert "2 gates without an admissible number" in found.notes[0]
    assert trend([]).histories == ()


def test_another_workload_or_unit_is_another_series() -> None:
    assert len(trend([one(), one(2, workload="ffffffffffff"), one(3, unit="1/s"), one(4, name="other")]).histories) == 4


def test_text_of_a_stranger_is_escaped() -> None:
    lines = [one(name=EVIL, title=EVIL, configuration=EVIL, verdict=EVIL, machine={"cpu.model": EVIL})]
    assert "<script>alert" not in html.write(page(trend(lines)))
