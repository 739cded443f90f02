"""Profiled steps in the reports: what people read, and what other programs do."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from fireassay.frames.record_data import RecordData
from fireassay.reports.build_view import build
from fireassay.reports.charts.steps import profile
from fireassay.reports.pages.profile import ENGINE, launch_lines, of_record, rank_lines
from fireassay.reports.view import View
from fireassay.spec.sections.workload import Profile
from fireassay.verdict.judge import judge
from tests.reports.conftest import pictures_of
from tests.reports.written import content, written
from tests.verdict.making import good

pytestmark = pytest.mark.slow


US = 1000


def rank(**changes: Any) -> dict[str, Any]:
    """2 steps of 10 ms on a GPU, half of each computing, 2 ms exposed."""
    parts = {"compute_ns": 5000 * US, "communication_ns": 2500 * US, "exposed_ns": 2000 * US, "copy_ns": 0, "idle_ns": 3000 * US}
    step = {"step": 5, "window_ns": 10_000 * US, **parts}
    kernel = {"name": "x" * 100, "class": "matmul", "calls": 3, "ns": 6000 * US, "total_ns": 6000 * US}
    return {
        "rank": 0,
        "file": "rank=0.pt.trace.json.gz",
        "absent": "",
        "steps": [step, step],
        "on_device": True,
        "kernels": [kernel],
        "operators": [],
        "classes": {"matmul": 6000 * US, "communication": 2000 * US, "copy": 0},
        "memory": [],
        "allocator": {"reserved_bytes": 2_000_000, "in_use_bytes": 1_000_000, "largest_free_bytes": 500_000},
        **changes,
    }


def measured(ranks: list[dict[str, Any]], **window: Any) -> RecordData:
    """A good record with one profiled launch."""
    made = good(levels=(1,))
    number = made.launch(workers=1, role="profile", block=5)
    asked = {"wait": 5, "warm_up": 2, "active": 3, "tool": "torch"}
    made.event(
        number,
        "profile",
        1.0,
        rank=0,
        incarnation=0,
        step=0,
        value=3.0,
        detail={"asked": asked, "seen": 10, "first": 0, "file": "f", "trouble": "", **window},
    )
    return replace(made.measured(), profiles=({"launch": number, "ranks": ranks, "nsys": []},))


def view(one: RecordData) -> View:
    return build(one, judge(one))


def test_a_step_divides_and_a_long_name_is_cut() -> None:
    lines = list(rank_lines(rank(), most=5))
    assert lines[0] == "rank 0: 2 steps of 10 ms on average: computing 50 %, exposed communication 20 %, copies 0 %, idle 30 %"
    assert lines[1] == "  communication: 25 %, 20 % of it hidden by computing"
    assert lines[2] == "  kernels by kind: matmul 75 %, communication 25 %"
    assert lines[4].endswith(f"3 ×  {'x' * 59}…")
    assert lines[-1] == "  allocator at the end: 2 MB reserved, 1 MB in use, largest free block 500 kB"


def test_a_node_of_the_backward_pass_and_the_engines_call_of_it_are_one_row() -> None:
    """Two rows of one name, with 12 and 1 ms, looked like a mistake: what of the node lies in no operator of its own is the sum."""
    node = {"name": "torch::autograd::AccumulateGrad", "class": "other", "calls": 12, "ns": 1000 * US, "total_ns": 0}
    called = {**node, "name": f"{ENGINE}{node['name']}", "ns": 12_000 * US}
    between = {**node, "name": "aten::mm", "ns": 5000 * US, "calls": 9}
    lines = list(rank_lines(rank(operators=[called, between, node]), most=5))
    rows = lines[lines.index("  operators by self time on the processor:") + 1 :][:2]
    assert rows == [f"    {'13 ms':>10}  {12:>6} ×  {node['name']}", f"    {'5 ms':>10}  {9:>6} ×  aten::mm"]


ON_PROCESSOR = {"step": 5, "window_ns": 100 * US, "compute_ns": 40 * US, "idle_ns": 60 * US} | dict.fromkeys(
    ("communication_ns", "exposed_ns", "copy_ns"), 0
)


def test_unknown_parts_of_a_trace_are_not_reported_as_zero() -> None:
    """Of a processor's trace copies are operators like others, and what is in none of them is Python; one worker communicates with
    nobody.
    """
    alone = rank(steps=[ON_PROCESSOR], on_device=False, workers=1, memory=[{"device": "cpu", "peak_bytes": 5000, "allocations": 3}])
    lines = list(rank_lines(alone, most=5))
    assert lines[0] == "rank 0: 1 step of 100 µs on average: computing 40 %, in no operator 60 %"
    assert "  memory: at most 5 kB more than when the window began on cpu, 3 allocations" in lines
    two = list(rank_lines(rank(steps=[ON_PROCESSOR], on_device=False, workers=2), most=5))
    assert two[0].endswith("computing 40 %, exposed communication 0 %, in no operator 60 %")


def test_the_largest_blocks_and_the_snapshot_are_named() -> None:
    held = {
        "reserved_bytes": 9,
        "in_use_bytes": 8,
        "largest_free_bytes": 1,
        "largest": [{"bytes": 6, "where": "model.py:12 block"}, {"bytes": 2, "where": ""}],
    }
    lines = list(rank_lines(rank(allocator=held, snapshot="rank=0.memory_snapshot.pickle"), most=5))
    assert lines[-2].split(maxsplit=2)[2] == "model.py:12 block"
    assert "rank=0.memory_snapshot.pickle, for https://pytorch.org/memory_viz" in lines[-1]


def test_every_report_shows_it() -> None:
    shown = view(measured([rank()]))
    sentence = "computing 50 %, exposed communication 20 %"
    for name in ("terminal", "markdown", "html"):
        text = written(shown, name)
        assert "profiled (launch 5" in " ".join(text.split()), name
        assert sentence in " ".join(text.split()), name
    (told,) = json.loads(content(shown, "json"))["profiles"]
    assert (told["launch"], told["configuration"], told["windows"][0]["kept"]) == (5, "workers=1", 3)
    assert told["ranks"][0]["classes"]["matmul"] == 6000 * US


def test_a_record_that_only_profiles_misses_no_timings() -> None:
    """Its report said that no timed launch succeeded, that no step was recorded, and that a processor in no operator idles."""
    made = good(levels=(1,), blocks=1)
    made.experiment = made.experiment.model_copy(update={"profile": Profile(only=True)})
    made.rows["launches"] = [(*row[:7], "profile", *row[8:]) for row in made.rows["launches"]]
    ranks = [rank(steps=[ON_PROCESSOR], on_device=False, kernels=[], workers=1)]
    shown = view(replace(made.measured(), profiles=({"launch": 0, "ranks": ranks, "nsys": []},)))
    (picture,) = pictures_of(shown).values()
    assert picture.chart.description == "rank 0: 100 µs: computing 40 %, in no operator 60 %."
    assert [key.text for key in picture.chart.key] == ["computing", "in no operator"]
    text = " ".join(written(shown, "terminal").split())
    assert "this record only profiles; no launch was timed" in text
    assert "no timed launch of" not in text


def test_a_record_without_profiled_launches_says_nothing_of_them() -> None:
    plain = view(good(levels=(1,)).measured())
    assert plain.profiles == ()
    assert "profiles" not in json.loads(content(plain, "json"))
    assert "Profile" not in written(plain, "markdown")


def test_a_name_out_of_a_trace_cannot_leave_its_place() -> None:
    evil = rank(kernels=[{"name": "<script>`|", "class": "other", "calls": 1, "ns": 1, "total_ns": 1}])
    shown = view(measured([evil]))
    assert written(shown, "html").count("<script>") == 1  # ours
    body = written(shown, "markdown").partition("## Profile")[2].partition("## ")[0]
    assert body.count("`") == 6  # the fence alone


def test_a_step_that_the_end_of_the_process_cut_is_none() -> None:
    """Ctrl-C in the third of three steps: the trace has 4 ms of it, and the mean was 8 ms of three."""
    whole = {"step": 5, "window_ns": 10_000 * US, "compute_ns": 0, "exposed_ns": 0, "copy_ns": 0, "idle_ns": 10_000 * US}
    made = good(levels=(1,))
    number = made.launch(workers=1, role="profile", block=5, status="aborted", reason="stopped by Ctrl-C")
    asked = {"wait": 5, "warm_up": 2, "active": 3, "tool": "torch"}
    detail = {"asked": asked, "seen": 9, "first": 0, "file": "f", "trouble": ""}
    made.event(number, "profile", 1.0, rank=0, incarnation=0, step=0, value=2.0, detail=detail)
    cut = {**whole, "window_ns": 4000 * US, "idle_ns": 4000 * US}
    left = {"launch": number, "ranks": [rank(steps=[whole, whole, cut])], "nsys": []}
    (told,) = of_record(replace(made.measured(), profiles=(left,)))
    assert any("2 steps of 10 ms on average" in line for line in launch_lines(told))


def test_what_went_wrong_is_said() -> None:
    lines = "\n".join(launch_lines(of_record(measured([rank(absent="the trace cannot be read: x")], seen=8))[0]))
    assert "made 8 steps and 10 are needed" in lines
    assert "the trace cannot be read" in lines
    (told,) = of_record(measured([], trouble="RuntimeError: CUPTI is in use"))
    assert "the profiler stopped: RuntimeError: CUPTI is in use" in "\n".join(launch_lines(told))
    failed = {**told, "status": "failed", "reason": "exit code 3", "windows": []}
    assert "failed: exit code 3" in "\n".join(launch_lines(failed))


def test_captures_of_nsight_systems_are_listed() -> None:
    (told,) = of_record(measured([]))
    capture = {"file": "nsys.nsys-rep", "absent": "", "reports": {"cuda_gpu_kern_sum": [{"name": "gemm", "calls": 3, "ns": 2000}]}}
    lines = list(launch_lines({**told, "nsys": [capture]}))
    assert lines[-2:] == ["    nsys cuda_gpu_kern_sum:", f"      {'2 µs':>10}  {3:>6} ×  gemm"]


def test_the_picture_has_a_bar_for_each_rank_that_left_a_trace() -> None:
    """Rank 0 as above, rank 1 without a trace that can be read, rank 2 idle throughout."""
    idle = [{"step": 5, "window_ns": 4000 * US, "compute_ns": 0, "exposed_ns": 0, "copy_ns": 0, "idle_ns": 4000 * US}]
    shown = view(measured([rank(), rank(rank=1, absent="damaged"), rank(rank=2, steps=idle)]))
    (drawing,) = profile(shown)
    assert len(drawing.panels[0].y.names) == 2
    assert drawing.description == ("rank 0: 10 ms: computing 50 %, exposed communication 20 %, idle 30 %. rank 2: 4 ms: idle 100 %.")
    assert [key.text for key in drawing.key] == ["computing", "exposed communication", "idle"]
    assert "profile" in pictures_of(shown)
    assert profile(view(good(levels=(1,)).measured())) == ()
