"""Progress is one rewritten line on a terminal, and an occasional plain line in a pipe."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fireassay.api.interim_analysis import Provisional
from fireassay.cli.support.progress import OneLine, PlainLines, SoFar, display, duration, line, load_words, running_words
from fireassay.errors import RecordError
from fireassay.printable import say
from fireassay.runners.experiment.progress import LaunchProgress, LoadProgress, Look, RunProgress
from tests.runners.making import kill_fault, planned, row

PLAN = (planned(slot=0, workers=1), planned(slot=1, workers=2), planned(slot=2, workers=2, role="fault", block=1, fault=kill_fault()))
DONE = row(slot=0, workers=1, end_ns=12_340_000_000)


class Minutes:
    """A clock that goes on by a minute whenever it is read."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 60.0
        return self.now


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
    tell = PlainLines(stream, now=Minutes())
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


def test_a_stopped_launch_names_no_time_left() -> None:
    stream = io.StringIO()
    tell = PlainLines(stream, now=Minutes())
    tell(progress())
    tell(progress(row("aborted", end_ns=1_000_000_000, reason="stopped by Ctrl-C"), left=25.0))
    assert stream.getvalue().splitlines()[-1].endswith("aborted after 1.0 s: stopped by Ctrl-C")


def test_a_pipe_hears_every_ten_seconds_what_a_load_gives() -> None:
    stream = io.StringIO()
    tell = PlainLines(stream)
    tell(progress())
    for into_s in (1.0, 9.9, 10.0, 12.0, 20.5):
        load = LoadProgress(
            state="load", into_s=into_s, left_s=1.0, due=500, sent=500, done=500, ok=461, failed={"5xx": 3}, in_flight=8, tokens=14_800,
            offered=None, ttft_ms={"p50": 52.1}, tpot_ms={"p50": 10.2}, e2e_ms={}, lag_p99_ms=None,
        )  # fmt: skip
        tell(progress(running=0, load=load))
    assert stream.getvalue().splitlines()[1:] == [
        "workers=1 round 0, 10 s: 46.1 requests/s, 1,480 tokens/s, TTFT 52.1 ms, TPOT 10.2 ms, 3 failed",
        "workers=1 round 0, 20 s: 22.5 requests/s, 722 tokens/s, TTFT 52.1 ms, TPOT 10.2 ms, 3 failed",
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
    assert line(replace(progress(), label="new"), {}) == "new: 0 of 3 launches"


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
    assert line(replace(progress(DONE), adaptive=True), {}) == "1 of at most 3 launches"


def test_a_launch_that_was_disturbed_is_told_with_the_reason_and_its_place_stays_open() -> None:
    stream = io.StringIO()
    tell = PlainLines(stream)
    tell(progress())
    tell(progress(row("contaminated", slot=0, workers=1, end_ns=1_000_000_000, reason="others used 40 %")))
    assert stream.getvalue().splitlines()[1] == "[1/3] workers=1 round 0 contaminated after 1.0 s: others used 40 %"
    assert line(progress(row("contaminated", slot=0, workers=1)), {}) == "0 of 3 launches"


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


def test_of_launches_that_go_well_a_line_is_told_each_ten_seconds() -> None:
    stream, now = io.StringIO(), [0.0]
    plan = tuple(planned(slot=slot, workers=1, block=slot) for slot in range(6))
    done = [
        row("failed" if slot == 2 else "ok", slot=slot, launch=slot, workers=1, reason="exit 3" if slot == 2 else "") for slot in range(6)
    ]
    tell = PlainLines(stream, now=lambda: now[0])
    for ended in range(7):
        now[0] = 4.0 * ended
        tell(replace(progress(), plan=plan, rows=tuple(done[:ended])))
    assert [text[:5] for text in stream.getvalue().splitlines()[1:]] == ["[1/6]", "[3/6]", "[6/6]"]


def test_a_terminal_gets_one_line_with_the_most_important_first() -> None:
    failed = row("failed", slot=1, workers=2, reason="exit 3")
    assert line(progress(DONE, failed, running=2, left=25.0), {}, "speedup so far 1.35 at 2") == (
        "2 of 3 launches, 1 failed, about 25 s left: workers=2 with fault kill, step 40, 190 ms a step, 8 s; speedup so far 1.35 at 2"
    )


def test_a_running_load_is_told_with_throughput_latencies_and_failures() -> None:
    load = LoadProgress(
        state="load",
        into_s=10.0,
        left_s=5.0,
        due=500,
        sent=480,
        done=470,
        ok=461,
        failed={"http": 2},
        in_flight=8,
        tokens=14_800,
        offered=None,
        ttft_ms={"p50": 52.1, "p99": 88.0},
        tpot_ms={"p50": 10.2},
        e2e_ms={},
        lag_p99_ms=None,
    )
    assert load_words(load) == ["46.1 requests/s", "1,480 tokens/s", "TTFT 52.1 ms", "TPOT 10.2 ms", "2 failed"]
    assert load_words(replace(load, state="loading")) == ["preparing"]


TABLE = Provisional(caption="provisional, 1 of 2 rounds, no verdict", heads=("workers", "speedup"), rows=(("1", "1"), ("2", "1.35")))
BLOCKS = (*(planned(slot=slot, workers=1 + slot % 2, block=slot // 2) for slot in range(4)),)


def test_between_two_launches_the_record_is_read_and_never_during_one() -> None:
    read: list[int] = []
    so_far = SoFar(lambda told: read.append(len(told.rows)) or TABLE)  # type: ignore[func-returns-value]
    rows = [row(slot=slot, launch=slot, workers=1 + slot % 2) for slot in range(4)]
    told = replace(progress(), plan=BLOCKS)
    seen = [
        so_far.words(replace(told, rows=(), running=None)),
        so_far.words(replace(told, rows=tuple(rows[:1]))),
        so_far.words(replace(progress(running=0), plan=BLOCKS, rows=tuple(rows[:2]))),  # the next launch has begun
        so_far.words(replace(told, rows=tuple(rows[:2]))),
        so_far.words(replace(told, rows=tuple(rows[:2]))),
        so_far.words(replace(told, rows=tuple(rows))),  # the verdict follows
    ]
    assert [bool(words) for words in seen] == [False, False, False, True, True, False]
    assert seen[3] == "speedup so far 1 at 1, 1.35 at 2"
    assert read == [2]


def test_the_numbers_so_far_stand_behind_the_launch_that_ended_a_round() -> None:
    stream = io.StringIO()
    tell = PlainLines(stream, SoFar(lambda _: TABLE), now=Minutes())
    tell(replace(progress(), plan=BLOCKS))
    tell(replace(progress(row(slot=0, launch=0, workers=1), row(slot=1, launch=1, workers=2)), plan=BLOCKS))
    assert stream.getvalue().splitlines()[-1] == "[2/4] workers=2 round 0 ok after 10.0 s; speedup so far 1 at 1, 1.35 at 2"


def test_a_record_that_cannot_be_read_costs_the_numbers_and_not_the_run() -> None:
    def broken(_: object) -> Provisional:
        raise RecordError("damaged")

    done = replace(progress(row(slot=0, launch=0, workers=1), row(slot=1, launch=1, workers=2)), plan=BLOCKS)
    assert SoFar(broken).words(done) == ""


def test_the_line_is_written_twice_a_second_and_whenever_a_launch_ends() -> None:
    lines: list[str] = []
    now = [0.0]
    tell = OneLine(lines.append, now=lambda: now[0])
    for second, told in ((0.0, progress(running=0)), (0.2, progress(running=0)), (0.3, progress(DONE)), (0.9, progress(DONE))):
        now[0] = second
        tell(told)
    assert len(lines) == 3


def test_the_line_of_a_running_launch_has_the_traffic_of_the_busiest_interface() -> None:
    lines: list[str] = []
    OneLine(lines.append, traffic=lambda: ("eth0", 1.2e6, 9e5))(progress(running=0))
    assert lines[0].endswith("; eth0 in 1.20 MB/s, out 900 kB/s")
    OneLine(lines.append, traffic=lambda: ("eth0", 1.2e6, 9e5))(progress(DONE))
    assert "eth0" not in lines[1], "between two launches"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_is_left_empty_and_what_is_said_meanwhile_stands_on_lines_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    stream = Terminal()
    with display(stream, quiet=False) as tell:
        assert tell is not None
        tell(progress(DONE, running=1, left=25.0))
        say("note: something", file=stream)
        tell(replace(progress(DONE, running=1, left=24.0), rows=(DONE, DONE)))
    text = stream.getvalue()
    assert [part for part in text.replace("\n", "\r").split("\r") if part.strip()] == [
        "1 of 3 launches, about 25 s left: worke",
        "note: something",
        "1 of 3 launches, about 24 s left: worke",
    ]
    assert text.endswith(f"\r{'':<39}\r")


def test_quiet_tells_nothing_and_a_pipe_gets_no_control_characters() -> None:
    with display(io.StringIO(), quiet=True) as tell:
        assert tell is None
    stream = io.StringIO()
    with display(stream, quiet=False) as tell:
        assert tell is not None
        tell(progress(running=0))
    assert "\x1b" not in stream.getvalue()


def test_the_last_launch_has_its_line_however_soon_it_ends() -> None:
    """A count that begins with [1/3] ends with [3/3], though ten seconds have not passed."""
    stream = io.StringIO()
    tell = PlainLines(stream, now=lambda: 0.0)
    ended = [row(slot=slot, workers=PLAN[slot].workers, end_ns=1_000_000_000) for slot in range(3)]
    for count in range(4):
        tell(progress(*ended[:count]))
    assert [text[:5] for text in stream.getvalue().splitlines()[1:]] == ["[1/3]", "[3/3]"]
