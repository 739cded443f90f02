"""What does the JSON of a load hold besides metrics?

Curves, timelines, failures, replicas and agreement, raw. Shape `assay-report/1`, key `serving`, in reports on a load only. Seconds and
counts; percentiles of curves pool the answered requests of the timed launches, those with an interval are in `metrics`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from assay.reports.series.serving import LoadTimeline, ServingSeries
from assay.reports.view import View

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
        "loads": [{"configuration": one.key, "engine": one.engine, "scenario": one.scenario, "load": one.load} for one in view.columns],
        "curves": [
            {
                "configuration": one.configuration,
                "latency": one.latency,
                "requests": one.requests,
                "points": [list(point) for point in one.points],
            }
            for one in found.curves
        ],
        "timelines": [_timeline(one) for one in found.timelines],
        "failures": [
            {"configuration": key, "status": status, "requests": number}
            for key, own in found.errors.items()
            for status, number in own.items()
        ],
        "replicas": [
            {
                "engine": one.engine,
                "replica": one.replica,
                "sent": one.sent,
                "answered": one.answered,
                "ttft_s": one.ttft_s,
                "readings": dict(sorted(one.readings.items())),
            }
            for one in found.replicas
        ],
        "agreement": _agreement(found),
        "launches": [{"launch": launch, "due": one.due, "answered": one.answered} for launch, one in sorted(found.tallies.items())],
    }


def _timeline(one: LoadTimeline) -> dict[str, Any]:
    return {
        "launch": one.launch,
        "configuration": one.configuration,
        "role": one.role,
        "window_s": None if one.window_s is None else list(one.window_s),
        "bins": [
            {"begin_s": b.begin_s, "end_s": b.end_s, "due": b.due, "ok": b.ok, "met": b.met, "failed": b.failed, "ttft_s": b.ttft_s}
            for b in one.bins
        ],
        "spans": [{"kind": span.kind, "what": span.what, "begin_s": span.begin_s, "end_s": span.end_s} for span in one.spans],
    }


def _agreement(found: ServingSeries) -> list[dict[str, Any]]:
    return [
        {
            "configuration": key,
            "shown": one.shown,
            "possible": one.possible,
            "prompts": one.prompts,
            "answers": one.answers,
            "differing": one.differing,
            "where": one.where,
        }
        for key, one in found.agreement.items()
    ]
