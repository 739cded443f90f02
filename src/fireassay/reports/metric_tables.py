"""Which metrics are the columns of a table, in which order and under which heads?

A table lists its own; a metric of a third party joins by declaring `shown=(Shown(table="engines"),)`, and comes last.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

from fireassay.metrics.metric import Shown


class Showable(Protocol):
    """A metric, or a row of its values."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def shown(self) -> tuple[Shown, ...]:
        """The tables that it asks for."""


M = TypeVar("M", bound=Showable)


@dataclass(frozen=True)
class MetricColumn:
    """A column: its metric, its head (empty: the metric's title) and the group head that it shares with its neighbours."""

    metric: str
    head: str = ""
    above: str = ""  # in RUNNING they share one column, which shows the first that has a value


@dataclass(frozen=True)
class MetricTable:
    """A table's name and the columns that it lists."""

    name: str
    columns: tuple[MetricColumn, ...]

    def of(self, metrics: Iterable[M]) -> tuple[tuple[MetricColumn, M], ...]:
        """Its columns from the left, as far as these metrics have them."""
        known = {metric.name: metric for metric in metrics}
        asked = (
            MetricColumn(name, one.head, one.above) for name, metric in known.items() for one in metric.shown if one.table == self.name
        )
        return tuple((column, known[column.metric]) for column in (*self.columns, *asked) if column.metric in known)


def _table(name: str, *columns: tuple[str, ...]) -> MetricTable:
    return MetricTable(name, tuple(MetricColumn(*column) for column in columns))


# ---- trainings and calls ---------------------------------------------------------------------------------------------

OVERVIEW: Final = _table(  # of a comparison
    "overview",
    *(("throughput",), ("step_time",), ("step_time_p50",), ("step_time_p95",), ("step_time_p99",), ("trial_time",)),
    *(("wall_time",), ("cost",), ("cost_per_item",), ("energy",), ("quality",)),
)
RESULTS: Final = _table(  # of a paper
    "results",
    *(("trial_time",), ("trial_cpu_time",), ("trial_memory",), ("step_time",), ("wall_time",), ("throughput",)),
    *(("speedup",), ("efficiency",), ("quality",), ("cost",), ("energy",)),
)
RUNNING: Final = _table(  # after each block
    "running",
    ("speedup", "speedup"),
    ("efficiency", "efficiency"),
    ("step_time", "step"),
    ("output_throughput", "output tokens/s", "throughput"),
    ("request_throughput", "requests/s", "throughput"),
    ("ttft_p50", "TTFT p50", "latency"),
    ("e2e_p50", "end to end p50", "latency"),
)

# ---- loads -----------------------------------------------------------------------------------------------------------

ENGINES: Final = _table(
    "engines",
    ("image_throughput", "images/s", "Throughput"),
    ("output_throughput", "output tokens/s", "Throughput"),
    ("request_throughput", "requests/s", "Throughput"),
    ("goodput", "goodput, requests/s", "Good"),
    ("slo_attainment", "met objectives", "Good"),
    *((f"ttft_p{percent}", f"p{percent}", "TTFT") for percent in (50, 95, 99)),
    ("ttft_uncertainty_p99", "uncertainty, p99", "TTFT"),
    *((f"tpot_p{percent}", f"p{percent}", "TPOT") for percent in (50, 95, 99)),
    *((f"e2e_p{percent}", f"p{percent}", "End to end") for percent in (50, 95, 99)),
    *((f"image_time_p{percent}", f"p{percent}", "Time to an image") for percent in (50, 95)),
    ("preview_time_p50", "first preview", "Time to an image"),
    ("real_time_factor_p50", "p50", "Real-time factor"),
    ("real_time_factor_p95", "p95", "Real-time factor"),
    ("server_kv_cache", "KV cache in use", "Memory"),
    ("engine_memory_device", "GPU, its processes", "Memory"),
    ("engine_memory_gpus", "GPUs, all programs", "Memory"),
    ("engine_memory_host", "host, its processes", "Memory"),
    ("engine_memory_reported", "host, own report", "Memory"),
    ("cost_per_token", "", "Cost"),
    ("cost_per_image", "", "Cost"),
    ("error_rate", "requests", "Failed"),
)
PAPER: Final = _table(
    "paper",
    *(("output_throughput",), ("request_throughput",), ("goodput",), ("slo_attainment",), ("ttft_p50",), ("ttft_p95",), ("ttft_p99",)),
    *(("tpot_p50",), ("tpot_p99",), ("e2e_p50",), ("e2e_p95",), ("e2e_p99",), ("cost_per_token",), ("error_rate",)),
)
WORKBOOK: Final = _table(
    "workbook",
    ("image_throughput", "Images/s"),
    ("real_time_factor_p50", "Real-time factor"),
    ("request_throughput", "Requests/s"),
    ("input_throughput", "Input throughput (tokens/s)"),
    ("output_throughput", "Output throughput (tokens/s)"),
    ("goodput", "Goodput (requests/s)"),
    ("slo_attainment", "SLO attainment"),
    ("error_rate", "Error rate"),
    ("cost_per_token", "Cost per output token (USD)"),
)
PANEL: Final = _table(
    "panel",
    ("image_throughput", "images/s"),
    ("real_time_factor_p50", "real-time factor"),
    ("output_throughput", "output tokens/s"),
    ("request_throughput", "requests/s"),
    ("input_throughput", "input tokens/s"),
    ("error_rate", "failed"),
    ("ttft_p50", "TTFT p50"),
    ("ttft_p95", "TTFT p95"),
    ("tpot_p50", "TPOT p50"),
    ("image_time_p50", "an image p50"),
    ("e2e_p95", "end to end p95"),
)


@dataclass(frozen=True)
class Plot:
    """Metrics upwards in one plot, and the metric across; empty: the load."""

    up: tuple[str, ...]
    across: str = ""


PLOTS: Final[Mapping[str, tuple[Plot, ...]]] = {  # the presets of genai-bench, by its names
    "2x4_default": (
        Plot(("tpot_p50",), "output_throughput"),
        Plot(("ttft_p50",), "output_throughput"),
        Plot(("e2e_p50",), "request_throughput"),
        Plot(("error_rate",)),
        Plot(("tpot_p50",), "input_throughput"),
        Plot(("ttft_p50",), "input_throughput"),
        Plot(("e2e_p95",), "request_throughput"),
        Plot(("e2e_p99",), "request_throughput"),
    ),
    "simple_2x2": (
        Plot(("e2e_p50",), "output_throughput"),
        Plot(("error_rate",), "request_throughput"),
        Plot(("ttft_p50",)),
        Plot(("output_throughput",)),
    ),
    "multi_line_latency": (
        Plot(("e2e_p50", "e2e_p95", "e2e_p99"), "request_throughput"),
        Plot(("ttft_p50", "ttft_p95"), "output_throughput"),
        Plot(("output_throughput",)),
        Plot(("error_rate",)),
    ),
    "2x4_tts": (
        Plot(("real_time_factor_p50",), "request_throughput"),
        Plot(("ttft_p50",), "request_throughput"),
        Plot(("e2e_p50",), "request_throughput"),
        Plot(("error_rate",)),
        Plot(("real_time_factor_p50",)),
        Plot(("ttft_p50",)),
        Plot(("e2e_p95",), "request_throughput"),
        Plot(("e2e_p99",), "request_throughput"),
    ),
}
CURVE_ACROSS: Final = _table("curve across", ("output_throughput",), ("request_throughput",), ("input_throughput",))
CURVE_UP: Final = _table("curve up", ("ttft_p95",), ("e2e_p95",), ("ttft_p50",), ("e2e_p50",))
FAULTS: Final = _table(
    "faults",
    ("outage_time", "outage"),
    ("outage_detect_time", "until visible"),
    ("recovery_time_serving", "recovery"),
    ("requests_lost", "requests lost"),
    ("slo_before", "before", "Met objectives"),
    ("slo_during", "during", "Met objectives"),
    ("slo_after", "after", "Met objectives"),
    ("goodput_under_failure", "goodput meanwhile, requests/s"),
)
COLD: Final = _table("cold", ("ttft_cold", "cold", "TTFT"), ("ttft_p50", "warm, p50", "TTFT"))
CHECKS: Final = _table(
    "checks",
    ("canaries_answered", "canaries answered"),
    ("cross_talk", "misrouted responses"),
    ("answers_identical", "prompts answered identically"),
)
