"""Are a timing's lines right, and are the things to beware of named?"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from fireassay.reports.documents.timing import DOCUMENT, render
from fireassay.reports.pages.timing import Summary, answer, summary, text
from fireassay.verdict.judge import judge
from tests.handmade import Handmade, S
from tests.metrics.trials_made import timing, trials
from tests.reports.documents.conforming import conforming

pytestmark = pytest.mark.slow


def floors(made: Handmade, seconds: float, rss: float) -> None:
    for launch, begin in made.begin.items():
        for counter, value, unit in (("start", seconds, "s"), ("start_rss", rss, "B")):
            made.rows["telemetry"].append((launch, begin + S, "h", "spawn", counter, value, unit, "self"))


def shown(made: Handmade) -> tuple[Summary, str]:
    found = summary(made.measured(), judge(made.measured()), "work --fast")
    return found, text(found)


def same(k: int, seconds: Sequence[float]) -> Handmade:
    return timing(*[list(seconds)] * k, warm_up=1)


def test_the_lines_of_a_quiet_command() -> None:
    made = timing(*[[2.0, v, v] for v in (1.0, 1.02, 0.98, 1.01, 0.99)], warm_up=1)
    floors(made, 0.001, 1e7)
    found, words = shown(made)
    lines = dict(line.strip().split(maxsplit=1) for line in words.splitlines()[1:6] if line.startswith("  "))
    assert words.splitlines()[0] == "work --fast"
    assert lines["time"].endswith("95 % over 5 launches")
    assert lines["spread"] == ("launches 980 ms to 1.02 s; 10 starts 980 ms to 1.02 s, 2 in each launch, after 5 for warm-up")
    assert lines["floor"] == "1 ms for starting an empty command; not subtracted"
    assert (found.trials, found.warm_ups) == (10, 5)


def test_a_command_that_is_mostly_its_start_is_told_so() -> None:
    made = timing(*[[0.002, v] for v in (0.0010, 0.0011, 0.0012)], warm_up=1)
    floors(made, 0.0008, 1e7)
    assert any("much of this is process start-up" in note for note in shown(made)[0].notes)


def test_a_floor_above_the_time_is_called_a_disturbance() -> None:
    """A command cannot start faster than an empty one: between them the machine changed."""
    made = timing(*[[0.002, v] for v in (0.0010, 0.0011, 0.0012)], warm_up=1)
    floors(made, 0.004, 1e7)
    found, words = shown(made)
    slower = "longer than the command itself: the machine was slower while that was measured"
    assert f"4 ms for starting an empty command; not subtracted; {slower}" in words
    assert any(note.startswith("all of this is process start-up: an empty command takes as long; do more") for note in found.notes)
    (line,) = [line for line in answer([(found, "r-1")], None).lines if line.label == "floor"]
    assert line.text == f"starting an empty command takes 4 ms, not subtracted; {slower}"


def test_memory_that_is_the_starters_own_is_only_a_bound() -> None:
    made = Handmade(levels=(1,), blocks=3)
    workload = made.experiment.workload.model_copy(update={"runner": "command"})
    made.experiment = made.experiment.model_copy(update={"workload": workload})
    for block in range(3):
        trials(made, made.launch(workers=1, block=block), [1.0], rss=10_000_000)
    floors(made, 0.001, 10_000_000)
    assert "at most 10 MB, the memory of assay's starter itself" in shown(made)[1]


def test_kept_output_is_said_to_be_inside_of_the_time() -> None:
    made = same(3, [1.0, 1.0])
    kept = made.experiment.timing.model_copy(update={"keep_output": True})
    assert not any("printed" in note for note in shown(made)[0].notes)
    made.experiment = made.experiment.model_copy(update={"timing": kept})
    assert any("the time includes passing the output" in note for note in shown(made)[0].notes)


def test_outliers_failures_and_drift_are_named_and_nothing_is_dropped() -> None:
    launches = [[1.0 + 0.1 * place] * 6 + [1.01 + 0.1 * place, 30.0] for place in range(8)]
    found, _ = shown(timing(*launches))
    assert found.trials == 64
    assert any(note.startswith("the launches drift") for note in found.notes)


def test_json_holds_no_infinity() -> None:
    found, _ = shown(same(1, [1.0, 1.0]))
    (whole,) = conforming(DOCUMENT, render([(found, "records/x")], None))["commands"]
    assert (whole["time"]["low"], whole["time"]["high"]) == (0.0, None)
