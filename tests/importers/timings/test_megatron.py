"""Logs of trainings: every line is a mean over known steps; restarts are launches; other ranks, other text and torn lines change no number.

`megatron.log` is a log that people posted, shortened. Its time stamps are the values that times are held against.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fireassay.clock import FakeClock
from fireassay.errors import SpecError
from fireassay.frames.record_data import RecordData, from_record
from fireassay.importers.support.base import Imported
from fireassay.importers.timings.support.importing import import_timings, recognised
from fireassay.record.reader import open_record
from fireassay.reports.build_view import build
from fireassay.reports.pages.record import page
from fireassay.verdict.judge import judge
from tests.importers.timings.made import FILES, one, times, value_of
from tests.reports.pages.screens import flat

pytestmark = pytest.mark.slow
MEGATRON, TITAN = ((FILES / name).read_text() for name in ("megatron.log", "torchtitan.log"))
STEP = "training step"


def made(folder: Path, text: str) -> tuple[Imported, ...]:
    (path := folder / "train.log").write_bytes(text.encode("utf-8", "surrogateescape"))
    return import_timings(recognised([path]), [path], folder / "records", clock=FakeClock())


def read(folder: Path, text: str) -> tuple[Imported, RecordData]:
    (record,) = made(folder, text)
    return record, from_record(open_record(record.path))


def refusal(folder: Path, text: str, tool: str) -> str:
    (path := folder / "train.log").write_text(text)
    with pytest.raises(SpecError) as caught:
        import_timings(tool, [path], folder / "records", clock=FakeClock())
    return str(caught.value)


def lines(measured: RecordData) -> list[tuple[int, int, int]]:
    """(launch, steps, warm-up) of each line."""
    return measured.table("trials").sort("launch", "trial").select("launch", "calls", "warm_up").rows()


def test_the_mean_of_a_posted_log_agrees_with_its_time_stamps(tmp_path: Path) -> None:
    measured = one(tmp_path, "megatron.log")
    assert lines(measured) == [(0, 1, 1), *[(0, 10, 0)] * 9]
    assert value_of(times(measured)[STEP]) == pytest.approx(12.0905)  # the middle one of its nine lines
    assert value_of(times(measured)[STEP]) == pytest.approx(1087 / 90, rel=0.002)  # from 15:54:54 to 16:13:01
    told = measured.foreign or {}
    assert {(entry["name"], entry["value"], entry["unit"]) for entry in told["reported"]} == {
        ("median throughput per GPU", 876.0, "TFLOP/s")
    }
    assert told["doubts"] == ["16 steps made no update (a loss scale, or NaN), and their time is in the mean"]
    assert any("single steps" in sentence for sentence in told["missing"])
    assert "12.1 s a step: one launch" in flat(page(build(measured, judge(measured))))


def test_a_resumed_job_is_another_launch_whether_it_says_so_or_repeats_steps(tmp_path: Path) -> None:
    body = MEGATRON.splitlines(keepends=True)
    again = MEGATRON.replace("[before the start", "[resumed: before the start")
    for name, text in (
        ("said", MEGATRON + "".join(body)),
        ("repeated", MEGATRON + again.replace("[resumed: before the start of training step]", "")),
    ):
        (tmp_path / name).mkdir()
        record, measured = read(tmp_path / name, text)
        assert record.launches == 2
        assert lines(measured)[10] == (1, 1, 1), "the first line after a restart is warm-up again"


def test_a_newer_version_prints_the_first_iteration_alone_and_again_in_the_second_line(tmp_path: Path) -> None:
    first = MEGATRON.splitlines(keepends=True)[1].replace("      10/", "       1/").replace("13035.3", "99000.0")
    assert lines(read(tmp_path, first + MEGATRON.partition("\n")[2])[1])[:3] == [(0, 1, 1), (0, 9, 1), (0, 10, 0)]


@pytest.mark.parametrize("prefix", ["[default7]:", "[rank0]: ", "0: ", "[1,7]<stdout>:", "node3: ", "\x1b[32m", "2026-01-01T00:00:00Z "])
@pytest.mark.parametrize(
    ("text", "seconds"), [(MEGATRON, 12.0905), (re.sub(r"\[rank0\]:", "", TITAN), 0.0139)], ids=["megatron", "torchtitan"]
)
def test_prefixes_of_launchers_and_other_text_change_nothing(tmp_path: Path, prefix: str, text: str, seconds: float) -> None:
    noise = "\udcffWARNING: NCCL iteration 7 of tqdm 10%|#\r20%|##\n"
    _, measured = read(tmp_path, "".join(prefix + line + noise for line in text.splitlines(keepends=True)))
    assert value_of(times(measured)[STEP]) == pytest.approx(seconds, rel=0.05)


def test_torn_lines_and_a_cut_end_are_counted_and_give_no_number(tmp_path: Path) -> None:
    torn = MEGATRON.replace("12068.8 |", "12068") + MEGATRON.splitlines()[-1].replace("100/", "110/")[:150]
    record, measured = read(tmp_path, torn)
    assert lines(measured)[2] == (0, 20, 0), "the steps of the torn line belong to the next, whose mean it is not: they are counted"
    assert "2 lines about steps cannot be read, the first is line 7" in record.doubts


def test_steps_of_other_sizes_are_doubted(tmp_path: Path) -> None:
    ramp = MEGATRON.replace("global batch size:  1024", "global batch size:   512", 1)
    assert any("changed from 512 to 1,024" in doubt for doubt in read(tmp_path, ramp)[0].doubts)


@pytest.mark.parametrize(
    ("text", "tool", "said"),
    [
        (MEGATRON[: MEGATRON.index("Number")], "megatron", "no step time after the first"),
        (MEGATRON.replace(": 1", ": nan"), "megatron", "0 lines about steps"),
        ("", "megatron", "0 lines about steps"),
        (re.sub(r"\d{4}-\d\d-\d\d", "", TITAN), "torchtitan", "with their time stamps"),
        ("{}\n", "torchtitan", "0 lines about steps"),
    ],
)
def test_a_log_without_step_times_is_refused(tmp_path: Path, text: str, tool: str, said: str) -> None:
    assert said in refusal(tmp_path, text, tool)
