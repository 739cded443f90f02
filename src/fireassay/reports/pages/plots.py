"""How do throughput, latency and load lie against each other, in the plots of genai-bench's presets?

One chart for each preset: 2x4_default, simple_2x2 and multi_line_latency; of speech also 2x4_tts.
"""

from __future__ import annotations

from typing import Final

from fireassay.reports.charts.plots import preset
from fireassay.reports.metric_tables import PLOTS
from fireassay.reports.page import Page, RecordPage, Section
from fireassay.reports.view import View

OF_SPEECH: Final = "2x4_tts"


def page(view: View) -> Page:
    """The presets of a load, of which each plot needs its metrics."""
    serving = view.measured.experiment.serving
    speaks = serving is not None and serving.task == "text_to_speech"
    charts = tuple(preset(view, name) for name in PLOTS if name != OF_SPEECH or speaks)
    return Page(title=view.name, lead=view.sentence, sections=(Section(key="plots", title="Plots", content=charts),))


PAGE = RecordPage(name="plots", summary="the plots of genai-bench's presets, with intervals", page=page, writer="html")
