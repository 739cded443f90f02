"""The answer of a profile: the largest part of a step in the first line, the parts of every rank below."""

from __future__ import annotations

from typing import Any

import pytest

from fireassay.reports.page import Table, said
from fireassay.reports.pages.profile import page
from tests.reports.pages.screens import EVIL, flat, harmless, screen
from tests.reports.pages.test_profile import rank

pytestmark = pytest.mark.slow

ASKED = {"wait": 5, "warm_up": 2, "active": 3, "tool": "torch"}
WINDOWS = [{"rank": 0, "kept": 3, "asked": ASKED, "seen": 10, "first": 0, "file": "f", "trouble": ""}]


def report(*ranks: dict[str, Any], **launch: Any) -> dict[str, Any]:
    made = {"launch": 5, "configuration": "workers=2", "status": "ok", "reason": "", "windows": [], "ranks": list(ranks), "nsys": []}
    return {"record": "vit-8f0b5f", "launches": [{**made, "folder": "records/vit-8f0b5f/profiles", **launch}]}


def test_the_first_line_has_the_largest_part_of_a_step() -> None:
    shown = page(report(rank(), windows=WINDOWS))
    assert flat(shown).startswith("PROFILED vit-8f0b5f: computing takes 50 % of a step of 10 ms at workers=2, rank 0 (2 steps)")
    assert "profiled steps are slower than timed ones" in flat(shown)
    assert "traces 1 file in records/vit-8f0b5f/profiles, for https://ui.perfetto.dev" in flat(shown)


def test_traces_of_several_launches_are_below_their_common_folder() -> None:
    whole = report(rank(), windows=WINDOWS)
    launch = whole["launches"][0]
    whole["launches"] = [{**launch, "folder": f"records/vit-8f0b5f/traces/launch={number:04d}"} for number in (5, 6)]
    assert "traces 2 files below records/vit-8f0b5f/traces, for https://ui.perfetto.dev" in flat(page(whole))


def test_the_parts_of_a_step_are_those_of_the_trace() -> None:
    shown = page(report(*(rank(rank=number, file=f"{number}") for number in range(12))))
    table = next(block for section in shown.of_role("answer") for block in section.blocks if isinstance(block, Table))
    assert len(table.rows) == 8
    texts = dict(zip([head.text for head in table.heads], [said(cell).text for cell in table.rows[0]], strict=True))
    assert texts["step, ms"] == "10"
    assert (texts["computing, %"], texts["exposed, %"], texts["idle, %"]) == ("50", "20", "30")
    assert "4 more ranks: --full" in flat(shown)


def test_nothing_profiled_says_why() -> None:
    shown = page(report(status="failed", reason="rank 0 exited with code 1"))
    assert screen(shown)[0] == "NOTHING PROFILED  vit-8f0b5f: workers=2: failed: rank 0 exited with code 1"
    assert screen(page(report()))[0].startswith("NOTHING PROFILED  vit-8f0b5f: no step was seen: the script does not")


def test_no_kernel_steers_the_terminal() -> None:
    kernel = {"name": EVIL, "class": "matmul", "calls": 3, "ns": 6000, "total_ns": 6000}
    harmless(page({**report(rank(kernels=[kernel], file=EVIL), configuration=EVIL), "record": EVIL}))
