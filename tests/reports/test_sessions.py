"""Are a session's steps, its time, its external calls and its warm cache what a record by hand says?"""

from __future__ import annotations

import pytest

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.kinds.serving.tables import details
from fireassay.reports.build_view import build
from fireassay.reports.cell import said
from fireassay.reports.session_table import UNREPORTED, session_table
from fireassay.reports.sessions import SessionRow, session_rows
from fireassay.verdict.judge import judge
from tests.serving_made import ServingMade

SESSIONS = 20


def made(*, cached: bool = True, turns: int = 3) -> ServingMade:
    """Three launches of twenty sessions.  Step k takes k x 0.1 s to its first token and as long again; a tool of 0.5 s comes before each later one.

    The prompt of step k has 100 k tokens, of which those of the step before are cached.
    """
    load = ServingMade(concurrency=(2,), blocks=3, seconds=200.0)
    for block in range(3):
        launch = load.launch(block=block, wall_s=400.0)
        for session in range(SESSIONS):
            due_s = 4.0 * session + 0.001
            for turn in range(turns):
                first_s = 0.1 * (turn + 1)
                load.request(
                    launch,
                    due_s,
                    at_s=(first_s, 2.0 * first_s),
                    tokens_out=2,
                    tokens_in=100 * (turn + 1),
                    cached=100 * turn if cached else None,
                    session=session,
                    turn=turn,
                    stream=session % 2,
                    pause_s=0.5 if turn else 0.0,
                    pause_kind="tool" if turn else "none",
                )
                due_s += 2.0 * first_s + 0.5
    return load


def value(found: Value) -> float:
    assert isinstance(found, Estimate)
    return found.value


def by_name(load: ServingMade) -> dict[str, SessionRow]:
    return {row.name: row for row in session_rows(load.measured())}


def test_steps_and_parts_by_hand() -> None:
    """A session: 0.2 + 0.4 + 0.6 s of generation and 2 x 0.5 s of tools, 2.2 s together."""
    rows = by_name(made())
    assert list(rows) == [
        *("step 1", "step 2", "step 3", "session", "of it generation", "of it external calls"),
        *("cold: nothing cached", "warm: part cached"),
    ]
    assert [value(rows[f"step {k}"].ttft) for k in (1, 2, 3)] == pytest.approx([0.1, 0.2, 0.3])
    assert [value(rows[f"step {k}"].time) for k in (1, 2, 3)] == pytest.approx([0.2, 0.4, 0.6])
    assert [value(rows[f"step {k}"].tpot) for k in (1, 2, 3)] == pytest.approx([0.1, 0.2, 0.3])
    assert value(rows["session"].time) == pytest.approx(2.2)
    assert value(rows["of it generation"].time) == pytest.approx(1.2)
    assert value(rows["of it external calls"].time) == pytest.approx(1.0)
    assert value(rows["cold: nothing cached"].ttft) == pytest.approx(0.1)
    assert [rows[f"step {k}"].cached for k in (1, 2, 3)] == pytest.approx([0.0, 1 / 2, 2 / 3])
    assert rows["warm: part cached"].cached == pytest.approx(3 / 5)  # (100 + 200) / (200 + 300)


def test_an_unreported_cache_is_said_and_is_not_zero() -> None:
    load = made(cached=False)
    rows = session_rows(load.measured())
    assert all(row.cached is None for row in rows)
    assert not any(row.name.startswith(("cold", "warm")) for row in rows)
    (table,) = session_table(rows, {"concurrency=2": "2 in flight"})
    assert UNREPORTED in table.notes
    assert "Cached, %" not in [head.text for head in table.heads]


def test_later_steps_of_long_sessions_share_a_row() -> None:
    names = [row.name for row in session_rows(made(turns=11).measured())]
    assert names[7:9] == ["step 8", "steps 9 to 11"]


def test_a_load_without_sessions_has_no_such_table() -> None:
    assert session_rows(made(turns=1).measured()) == ()
    assert session_table((), {}) == ()


def test_the_table_stands_behind_the_numbers_of_a_load() -> None:
    measured = made().measured()
    table = next(one for one in details(build(measured, judge(measured))) if one.name == "sessions")
    assert [said(row[0]).text for row in table.rows][:3] == ["step 1", "step 2", "step 3"]
    assert said(table.rows[3][2]).text == "–"  # a session has no first token of its own


def test_too_few_sessions_are_absent_and_not_guessed() -> None:
    load = ServingMade(concurrency=(1,), blocks=1, seconds=20.0)
    launch = load.launch()
    for turn in range(2):
        load.request(launch, 1.0 + turn, session=0, turn=turn, stream=0)
    assert all(isinstance(row.time_p95, Absent) for row in session_rows(load.measured()))
