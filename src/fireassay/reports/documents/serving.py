"""What does the JSON of a load hold besides metrics?

Curves, timelines, failures, replicas and agreement, raw. Shape `assay-report/1`, key `serving`, in reports on a load only. Seconds and
counts; percentiles of curves pool the answered requests of the timed launches, those with an interval are in `metrics`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fireassay.reports.series.serving import LoadTimeline, ServingSeries
from fireassay.reports.view import View

FIELDS: Final[Mapping[str, tuple[tuple[str, str, str], ...]]] = {
    "serving": (
        ("load", "string", "what `load` counts: `concurrency`, `rate`, or empty where requests arrived as planned"),
        ("loads", "list of objects", "the load of each configuration"),
        ("curves", "list of objects", "percentile curves, one for each configuration and latency"),
        ("timelines", "list of objects", "single launches in bins of equal length: those with faults, and one of each largest load"),
        ("failures", "list of objects", "counted requests of timed launches that failed, by class"),
        ("replicas", "list of objects", "what each replica got and did in the measured windows"),
        ("agreement", "list of objects", "how nearly equal prompts were answered alike, of configurations that asked any again"),
        ("launches", "list of objects", "the requests of each launch, without the cold ones"),
    ),
    "serving.loads[]": (
        ("configuration", "string", "key of the configuration"),
        ("engine", "string", "name of the target"),
        ("scenario", "string", "traffic scenario"),
        ("load", "number or null", "requests in flight, or requests per second"),
    ),
    "serving.curves[]": (
        ("configuration", "string", "key of the configuration"),
        ("latency", "string", "`ttft_s`, `tpot_s` or `e2e_s`"),
        ("requests", "integer", "answered requests behind the curve"),
        ("points", "list of [percent, seconds]", "ascending; a percentile is left out where fewer than ten requests lie beyond"),
    ),
    "serving.timelines[]": (
        ("launch", "integer", "number of the launch"),
        ("configuration", "string", "key of the configuration"),
        ("role", "string", "`timed` or `fault`"),
        ("window_s", "[number, number] or null", "the measured window, seconds after the load began"),
        (
            "bins",
            "list of objects",
            "`begin_s`, `end_s`, `due`, `ok`, `met`, `failed`, `ttft_s` (median or null), by when requests were due",
        ),
        ("spans", "list of objects", "`kind` (`fault` or `down`), `what`, `begin_s`, `end_s` (null: nobody saw its end)"),
    ),
    "serving.failures[]": (
        ("configuration", "string", "key of the configuration"),
        ("status", "string", "class of the failure, as in table `requests`"),
        ("requests", "integer", "how many"),
    ),
    "serving.replicas[]": (
        ("engine", "string", "name of the target"),
        ("replica", "integer", "from 0"),
        ("sent", "integer", "counted requests of timed launches"),
        ("answered", "integer", "of these, answered"),
        ("ttft_s", "number or null", "median of those answered"),
        ("readings", "object", "mean of `kv_cache_used`, `requests_running` and `requests_waiting`, where they were scraped"),
    ),
    "serving.agreement[]": (
        ("configuration", "string", "key of the configuration"),
        ("shown", "string", "at least this grade: `fail`, `distribution_close`, `near_tie`, `token_identical` or `bitwise`"),
        ("possible", "string", "at most this one"),
        ("prompts", "integer", "prompts that were answered more than once"),
        ("answers", "integer", "their answers"),
        ("differing", "integer", "answers whose text is not that of the first"),
        ("where", "string", "of the worst; empty if all texts are equal"),
    ),
    "serving.launches[]": (
        ("launch", "integer", "number of the launch"),
        ("due", "integer", "requests that were due"),
        ("answered", "integer", "of these, answered"),
    ),
}


def serving(view: View, found: ServingSeries) -> dict[str, Any]:
    """Build the section, in the shape of FIELDS."""
    return {
        "load": view.load_word,
        "loads": [
            {"configuration": item.key, "engine": item.engine, "scenario": item.scenario, "load": item.load} for item in view.columns
        ],
        "curves": [
            {
                "configuration": item.configuration,
                "latency": item.latency,
                "requests": item.requests,
                "points": [list(point) for point in item.points],
            }
            for item in found.curves
        ],
        "timelines": [_timeline(item) for item in found.timelines],
        "failures": [
            {"configuration": key, "status": status, "requests": number}
            for key, counts in found.errors.items()
            for status, number in counts.items()
        ],
        "replicas": [
            {
                "engine": item.engine,
                "replica": item.replica,
                "sent": item.sent,
                "answered": item.answered,
                "ttft_s": item.ttft_s,
                "readings": dict(sorted(item.readings.items())),
            }
            for item in found.replicas
        ],
        "agreement": _agreement(found),
        "launches": [{"launch": launch, "due": item.due, "answered": item.answered} for launch, item in sorted(found.tallies.items())],
    }


def _timeline(timeline: LoadTimeline) -> dict[str, Any]:
    return {
        "launch": timeline.launch,
        "configuration": timeline.configuration,
        "role": timeline.role,
        "window_s": None if timeline.window_s is None else list(timeline.window_s),
        "bins": [
            {"begin_s": b.begin_s, "end_s": b.end_s, "due": b.due, "ok": b.ok, "met": b.met, "failed": b.failed, "ttft_s": b.ttft_s}
            for b in timeline.bins
        ],
        "spans": [{"kind": span.kind, "what": span.what, "begin_s": span.begin_s, "end_s": span.end_s} for span in timeline.spans],
    }


def _agreement(series: ServingSeries) -> list[dict[str, Any]]:
    return [
        {
            "configuration": key,
            "shown": agreement.shown,
            "possible": agreement.possible,
            "prompts": agreement.prompts,
            "answers": agreement.answers,
            "differing": agreement.differing,
            "where": agreement.where,
        }
        for key, agreement in series.agreement.items()
    ]
