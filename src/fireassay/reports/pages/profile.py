"""What does the page of a profile show?

The contents of each profiled launch's traces, and how to open them.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any, Final

from fireassay.reports.answers import profile as answers
from fireassay.reports.page import Blocks, Page, Prose, Section
from fireassay.reports.rows.profile import launch_lines

SHOWN: Final = 8  # rows per list


def page(report: Mapping[str, Any]) -> Page:
    """The page of a record's profiled launches."""
    return Page(
        title=str(report["record"]),
        sections=(*answers.brief(report), *_sections(report)),
        answer=answers.answer(report),
        footer=(f"record: {report['record']}",),
        properties={"verb": "profile"},
    )


def _sections(report: Mapping[str, Any]) -> Iterator[Section]:
    for index, launch in enumerate(report["launches"], 1):
        head, *lines = launch_lines(launch, most=SHOWN)
        yield Section(key=f"profile-{index}", title=head, content=(Prose(text="\n".join(lines), weight="code"),))
    yield Section(key="charts", title="Charts", depth="first", content=lambda: _charts(report))
    if lines := list(_how_to_open(report)):
        yield Section(key="traces", title="Traces", content=(Prose(text="\n".join(lines), weight="code"),))


def _charts(report: Mapping[str, Any]) -> Blocks:
    """The parts of the mean step of each rank, for formats that show charts."""
    from fireassay.reports.charts.steps import profiled

    return profiled((str(launch["configuration"]), launch) for launch in report["launches"])


def _how_to_open(report: Mapping[str, Any]) -> Iterator[str]:
    traces = [f"{launch['folder']}/{rank['file']}" for launch in report["launches"] for rank in launch["ranks"]]
    captures = [f"{launch['folder']}/{part['file']}" for launch in report["launches"] for part in launch["nsys"] if part["file"]]
    yield from (f"trace: {path}" for path in (*traces, *captures))
    if traces:
        yield "open it: https://ui.perfetto.dev (Open trace file), chrome://tracing, or with TensorBoard:"
        yield f"    pip install torch-tb-profiler && tensorboard --logdir {shlex.quote(traces[0].rpartition('/')[0])}"
    if captures:
        yield f"open it: nsys-ui {shlex.quote(captures[0])}"
