"""Names that others chose (hosts, kernels, ranks' files, samples) are shown, and never run: on the page, in pictures, in Markdown."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fireassay.frames.links import pairs
from fireassay.reports.charts import links
from fireassay.reports.view import LayerRow, View
from fireassay.reports.writers.support import svg
from tests.paired import kinds, matrix, record
from tests.reports.conftest import EVIL
from tests.reports.written import written

pytestmark = pytest.mark.slow


def hostile(view: View) -> View:
    """A profile whose trace names its kernels so, and a layer whose evidence quotes a parameter."""
    row = {"name": EVIL, "ns": 1_000_000, "calls": 3}
    rank: dict[str, Any] = {
        "rank": 0,
        "file": EVIL,
        "absent": "",
        "steps": [{"window_ns": 100, "compute_ns": 60, "communication_ns": 20, "exposed_ns": 10, "copy_ns": 0, "idle_ns": 30}],
        "classes": {EVIL: 5},
        "on_device": True,
        "kernels": [row],
        "operators": [row],
        "memory": [{"device": EVIL, "peak_bytes": 8, "allocations": 1}],
    }
    profile = {
        "launch": 9,
        "configuration": EVIL,
        "status": "failed",
        "reason": EVIL,
        "windows": [],
        "ranks": [rank],
        "nsys": [{"absent": EVIL, "reports": {EVIL: [row]}}],
    }
    layer = LayerRow(configuration="workers=2", label=EVIL, layer="B", title=EVIL, state="fail", sentence=EVIL)
    return replace(view, profiles=(profile,), layers=(layer,))


def test_no_name_of_a_profile_or_a_layer_is_markup(view: View) -> None:
    made = hostile(view)
    page, text, shown = written(made, "html"), written(made, "markdown"), written(made, "terminal")
    assert page.count("<script") == 1  # ours
    assert "alert(" in page
    assert "\x1b" not in page + text + shown
    profile = text.partition("## Profile")[2].partition("\n## ")[0]
    assert profile.count("```") == 2  # nothing leaves its block


def test_no_host_name_is_markup_in_the_map_of_pairs() -> None:
    names = tuple(EVIL if rank < 2 else "b" for rank in range(4))
    found = matrix(record(kinds(2, 1, 2), hosts=names))
    picture = svg.picture(links.maps(found, pairs.classes(found)))
    assert "<script" not in picture.svg
    assert "0 =cmd()" in picture.svg
