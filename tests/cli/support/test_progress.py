"""The progress of an experiment is told in plain lines to a pipe and in a grid to a terminal."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from fireassay.cli.support.progress import Grid, PlainLines, display, duration, picture, status_line
from fireassay.runners.experiment.progress import LaunchProgress, Look, RunProgress
from tests.runners.making import kill_fault, planned, row

PLAN = (planned(slot=0, workers=1), planned(slot=1, workers=2), planned(slot=2, workers=2, role="fault", block=1, fault=kill_fault()))
DONE = row(slot=0, workers=1, end_ns=12_340_000_000)


def progress(*rows: dict[str, Any], running: int | None = None, left: float | None = None, **now: Any) -> RunProgress:
    started = None
    if running is not None:
        known = {"elapsed_s": 8.0, "steps": 40, "steps_per_s": 5.25, "ranks": 2, "incarnation": 0, **now}
        started = LaunchProgress(number=running, planned=PLAN[running], **known)  # type: ignore[arg-type]
    return RunProgress(record=Path("records/made"), plan=PLAN, rows=rows, running=started, seconds_left=left)


@pytest.mark.parametrize(
    ("seconds", "told"), [(0.4, "0 s"), (59.4, "59 s"), (59.6, "1 min"), (200, "3 min 20 s"), (3600, "1 h"), (7500, "2 h 5 min")]
)
def test_a_duration_is_told_as_people_say_it(seconds: float, told: str) -> None:
    assert duration(seconds) == told


def test_a_pipe_gets_one_line_when_a_launch_starts_and_one_when_it_ends() -> None:
    stream = io.StringIO()
    tell = PlainLines(stream)
    failed = row("failed", slot=1, workers=2, end_ns=1_000_000_000, reason="exit 3")
    for one in (
        progress(),
        progress(running=0),
        progress(running=0),
        progress(DONE, left=25.0),
        progress(DONE, running=1),
        progress(DONE, failed),
        progress(DONE, failed, running=2),
    ):
        tell(one)
    assert stream.getvalue().splitlines() == [
        "record records/made: 3 launches",
        "[1/3] workers=1 block 0 started",
        "[1/3] workers=1 block 0 ok after 12.3 s, about 25 s left",
        "[2/3] workers=2 block 0 started",
        "[2/3] workers=2 block 0 failed after 1.0 s: exit 3",
        "[3/3] workers=2 with fault kill started",
    ]


def test_what_a_server_said_cannot_steer_the_terminal() -> None:
    """A reason quotes the last error of a request, which is another's text: no escape sequence, no further line."""
    stream = io.StringIO()
    hostile = row("failed", slot=1, workers=2, end_ns=1_000_000_000, reason="HTTP 500: \x1b[31mred\x1b]0;title\x07\nPASS")
    tell = PlainLines(stream)
    tell(progress())
    tell(progress(hostile))
    assert "\x1b" not in stream.getvalue()
    assert "\x07" not in stream.getvalue()
    assert stream.getvalue().splitlines()[-1].endswith("title\N{REPLACEMENT CHARACTER} PASS")
    shown = io.StringIO()
    Console(file=shown, width=100).print(picture(progress(hostile)))
    assert "\x1b" not in shown.getvalue()
    assert "red" in shown.getvalue()


def test_the_arms_of_a_session_are_told_apart() -> None:
    stream = io.StringIO()
    tell = PlainLines(stream)
    for label in ("base", "new"):
        for one in (progress(running=0), progress(DONE)):
            tell(replace(one, record=Path(f"records/{label}"), label=label))
    assert stream.getvalue().splitlines() == [
        "base: record records/base: 3 launches",
        "base: [1/3] workers=1 block 0 started",
        "base: [1/3] workers=1 block 0 ok after 12.3 s",
        "new: record records/new: 3 launches",
        "new: [1/3] workers=1 block 0 started",
        "new: [1/3] workers=1 block 0 ok after 12.3 s",
    ]
    assert status_line(replace(progress(), label="new")).startswith("new  ·  0/3 launches")


def test_with_looks_the_plan_is_a_bound_and_every_look_is_told_once() -> None:
    stream = io.StringIO()
    tell = PlainLines(stream)
    seen = Look(blocks=5, confidence=0.975, enough=False, widths={}, sentence="after 5 blocks: not yet")
    for one in (progress(), progress(DONE, left=9.0), progress(DONE)):
        tell(replace(one, adaptive=True, looks=(seen,) if one.rows else ()))
    assert stream.getvalue().splitlines() == [
        "record records/made: at most 3 launches",
        "[1/3] workers=1 block 0 ok after 12.3 s, about 9 s to the next interim analysis",
        "interim analysis: after 5 blocks: not yet",
    ]
    assert "1/at most 3 launches" in status_line(replace(progress(DONE), adaptive=True))


def test_a_launch_that_was_disturbed_is_told_with_the_reason_and_its_place_stays_open() -> None:
    stream = io.StringIO()
    tell = PlainLines(stream)
    tell(progress())
    tell(progress(row("contaminated", slot=0, workers=1, end_ns=1_000_000_000, reason="others used 40 %")))
    assert stream.getvalue().splitlines()[1] == "[1/3] workers=1 block 0 contaminated after 1.0 s: others used 40 %"
    assert status_line(progress(row("contaminated", slot=0, workers=1))).startswith("0/3 launches")


def test_a_resumed_experiment_says_how_much_was_done_before() -> None:
    stream = io.StringIO()
    PlainLines(stream)(progress(DONE, row("aborted", slot=1)))
    assert stream.getvalue() == "record records/made: 3 launches, 1 of them already done\n"


def test_a_reader_that_goes_away_does_not_stop_the_experiment() -> None:
    class Gone(io.StringIO):
        def write(self, _: str) -> int:
            raise BrokenPipeError

    PlainLines(Gone())(progress(running=0))


def test_the_status_line_tells_the_running_launch_and_the_time_left() -> None:
    assert status_line(progress(DONE, running=1, left=25.0)) == (
        "1/3 launches  ·  about 25 s left  ·  workers=2 block 0 for 8 s  ·  2/2 ranks  ·  step 40  ·  5.2 steps/s"
    )
    unseen = progress(running=0, ranks=0, steps_per_s=None)
    assert status_line(unseen).endswith("time left unknown  ·  workers=1 block 0 for 8 s  ·  no step seen yet")
    assert status_line(progress(running=2, incarnation=1)).endswith("restart 1")


def drawn(told: RunProgress, width: int = 80) -> list[str]:
    from rich.console import Console

    stream = io.StringIO()
    Console(file=stream, width=width, force_terminal=False).print(picture(told))
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def test_a_terminal_gets_the_plan_as_a_grid_with_a_sign_for_every_launch() -> None:
    failed = row("failed", slot=1, workers=2, reason="exit 3")
    assert drawn(progress(DONE, failed, running=2))[:5] == [
        "records/made",
        "workers=1       ●",
        "workers=2       ✗",
        "workers=2 fault ▶",
        "workers=2 failed: exit 3",
    ]


def test_the_status_stays_on_one_line_in_a_narrow_terminal() -> None:
    lines = drawn(progress(DONE, running=1, left=25.0), width=40)
    assert lines[-1].startswith("1/3 launches  ·  about 25 s left")
    assert len(lines) == 5


def test_the_grid_is_drawn_twice_a_second_and_whenever_a_launch_ends() -> None:
    pictures: list[object] = []
    now = [0.0]
    grid = Grid(pictures.append, now=lambda: now[0])
    for second, told in ((0.0, progress(running=0)), (0.2, progress(running=0)), (0.3, progress(DONE)), (0.9, progress(DONE))):
        now[0] = second
        grid(told)
    assert len(pictures) == 3


def test_quiet_tells_nothing_and_a_pipe_gets_no_control_characters() -> None:
    with display(io.StringIO(), quiet=True) as tell:
        assert tell is None
    stream = io.StringIO()
    with display(stream, quiet=False) as tell:
        assert tell is not None
        tell(progress(running=0))
    assert "\x1b" not in stream.getvalue()
