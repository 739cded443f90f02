"""The progress of an experiment is told in plain lines to a pipe and in one region to a terminal."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from fireassay.api.interim_analysis import Provisional
from fireassay.cli.support.progress import Between, Grid, PlainLines, display, duration, picture, running_words, title
from fireassay.errors import RecordError
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


def test_a_pipe_gets_one_line_when_a_launch_ends() -> None:
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
        "[1/3] workers=1 round 0 ok after 12.3 s, about 25 s left",
        "[2/3] workers=2 round 0 failed after 1.0 s: exit 3",
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
        "base: [1/3] workers=1 round 0 ok after 12.3 s",
        "new: record records/new: 3 launches",
        "new: [1/3] workers=1 round 0 ok after 12.3 s",
    ]
    assert title(replace(progress(), label="new")).startswith("new: 2 configurations x 1 launch")


def test_with_looks_the_plan_is_a_bound_and_every_look_is_told_once() -> None:
    stream = io.StringIO()
    tell = PlainLines(stream)
    seen = Look(blocks=5, confidence=0.975, enough=False, widths={}, sentence="after 5 rounds: not yet")
    for one in (progress(), progress(DONE, left=9.0), progress(DONE)):
        tell(replace(one, adaptive=True, looks=(seen,) if one.rows else ()))
    assert stream.getvalue().splitlines() == [
        "record records/made: at most 3 launches",
        "[1/3] workers=1 round 0 ok after 12.3 s, about 9 s to the next interim analysis",
        "interim analysis: after 5 rounds: not yet",
    ]
    assert "1 of at most 3" in drawn(replace(progress(DONE), adaptive=True))[1]


def test_a_launch_that_was_disturbed_is_told_with_the_reason_and_its_place_stays_open() -> None:
    stream = io.StringIO()
    tell = PlainLines(stream)
    tell(progress())
    tell(progress(row("contaminated", slot=0, workers=1, end_ns=1_000_000_000, reason="others used 40 %")))
    assert stream.getvalue().splitlines()[1] == "[1/3] workers=1 round 0 contaminated after 1.0 s: others used 40 %"
    assert "blocks  1 ~·  fault ·   0 of 3" in drawn(progress(row("contaminated", slot=0, workers=1)))


def test_a_resumed_experiment_says_how_much_was_done_before() -> None:
    stream = io.StringIO()
    PlainLines(stream)(progress(DONE, row("aborted", slot=1)))
    assert stream.getvalue() == "record records/made: 3 launches, 1 of them already done\n"


def test_a_reader_that_goes_away_does_not_stop_the_experiment() -> None:
    class Gone(io.StringIO):
        def write(self, _: str) -> int:
            raise BrokenPipeError

    PlainLines(Gone())(progress(DONE))


def test_the_running_launch_is_told_with_its_step_and_of_how_many_once_another_has_shown_it() -> None:
    running = progress(DONE, running=1).running
    assert running is not None
    assert running_words(running, {}) == "workers=2 round 0, step 40, 190 ms a step, 8 s"
    assert running_words(running, {"workers=2": 60}) == "workers=2 round 0, step 40 of 60, 190 ms a step, 8 s"
    assert running_words(running, {"workers=2": 39}) == "workers=2 round 0, step 40, 190 ms a step, 8 s"
    assert running_words(replace(running, ranks=1, incarnation=1), {}).startswith("workers=2 round 0, 1 of 2 ranks, step 40")
    assert "restart 1" in running_words(replace(running, incarnation=1), {})
    assert running_words(replace(running, ranks=0, steps_per_s=None), {}) == "workers=2 round 0, no step seen yet, 8 s"


def drawn(told: RunProgress, width: int = 80) -> list[str]:
    from rich.console import Console

    stream = io.StringIO()
    Console(file=stream, width=width, force_terminal=False).print(picture(told))
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def test_a_terminal_gets_the_blocks_with_a_mark_for_every_launch() -> None:
    failed = row("failed", slot=1, workers=2, reason="exit 3")
    assert drawn(progress(DONE, failed, running=2, left=25.0)) == [
        "2 configurations x 1 launch, 1 with a fault; record records/made",
        "blocks  1 ✓✗  fault …   2 of 3, about 25 s left",
        "now     workers=2 with fault kill, step 40, 190 ms a step, 8 s",
        "doubts  workers=2 failed: exit 3",
    ]


def test_every_line_stays_one_in_a_narrow_terminal() -> None:
    lines = drawn(progress(DONE, running=1, left=25.0), width=40)
    assert [line.partition(" ")[0] for line in lines] == ["2", "blocks", "now"]
    assert all(len(line) <= 40 for line in lines)


TABLE = Provisional(caption="provisional, 1 of 2 rounds, no verdict", heads=("workers", "speedup"), rows=(("1", "1"), ("2", "1.35")))
BLOCKS = (*(planned(slot=slot, workers=1 + slot % 2, block=slot // 2) for slot in range(4)),)


def test_between_two_launches_the_record_is_read_and_never_during_one() -> None:
    read: list[int] = []
    between = Between(lambda told: read.append(len(told.rows)) or TABLE, lambda _, launch: "others" if launch == 1 else "")  # type: ignore[func-returns-value]
    rows = [row(slot=slot, launch=slot, workers=1 + slot % 2) for slot in range(4)]
    told = replace(progress(), plan=BLOCKS)
    seen = [
        between.update(replace(told, rows=(), running=None)),
        between.update(replace(told, rows=tuple(rows[:1]))),
        between.update(replace(progress(running=0), plan=BLOCKS, rows=tuple(rows[:2]))),  # the next launch has begun
        between.update(replace(told, rows=tuple(rows[:2]))),
        between.update(replace(told, rows=tuple(rows[:2]))),
        between.update(replace(told, rows=tuple(rows))),  # the verdict follows
    ]
    assert [found is not None for found in seen] == [False, False, False, True, False, False]
    assert read == [2]
    assert [between.doubt(told, one) for one in rows] == ["", "others", "", ""]


def test_a_table_is_printed_after_its_block_and_stays_in_the_region() -> None:
    between = Between(lambda _: TABLE, lambda _, __: "others used 41 %")
    done = replace(progress(row(slot=0, launch=0, workers=1), row(slot=1, launch=1, workers=2)), plan=BLOCKS)
    stream = io.StringIO()
    tell = PlainLines(stream, between)
    tell(replace(progress(), plan=BLOCKS))
    tell(done)
    assert stream.getvalue().splitlines()[-5:] == [
        "[2/4] workers=2 round 0 ok after 10.0 s; ~ others used 41 %",
        "provisional, 1 of 2 rounds, no verdict",
        "  workers  speedup",
        "        1        1",
        "        2     1.35",
    ]
    shown = io.StringIO()
    Console(file=shown, width=80).print(picture(done, between))
    lines = [line.rstrip() for line in shown.getvalue().splitlines()]
    assert lines[1:5] == ["provisional, 1 of 2 rounds, no verdict", "  workers  speedup", "        1        1", "        2     1.35"]
    assert lines[-2:] == ["doubts  ~ launch 0: others used 41 %", "        ~ launch 1: others used 41 %"]


def test_a_record_that_cannot_be_read_costs_the_table_and_not_the_run() -> None:
    def broken(_: object) -> Provisional:
        raise RecordError("damaged")

    def unread(_: object, __: int) -> str:
        raise RecordError("damaged")

    done = replace(progress(row(slot=0, launch=0, workers=1), row(slot=1, launch=1, workers=2)), plan=BLOCKS)
    assert Between(broken, unread).update(done) is None


def test_of_a_long_plan_the_blocks_around_the_running_launch_are_shown() -> None:
    plan = tuple(planned(slot=slot, workers=1, block=slot) for slot in range(20))
    done = tuple(row(slot=slot, launch=slot, workers=1) for slot in range(10))
    assert drawn(replace(progress(), plan=plan, rows=done))[1] == "blocks  8 ✓  9 ✓  10 ✓  11 ·  12 ·  13 ·   10 of 20"


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
