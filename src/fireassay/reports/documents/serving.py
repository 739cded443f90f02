"""What does the JSON of a load hold besides metrics?

Curves, timelines, failures, replicas and agreement, raw. Shape `assay-report/1`, key `serving`, in reports on a load only. Seconds and
counts; percentiles of curves pool the answered requests of the timed launches, those with an interval are in `metrics`.
"""

from __future__ import annotations

from typing import Any, Final

from fireassay.reports.charts.load_timeline import Bin, LoadTimeline, Span, load_timelines
from fireassay.reports.charts.percentiles import PercentileCurve, percentile_curves
from fireassay.reports.documents.values import Key, Keys
from fireassay.reports.rows.serving import Load, Replica
from fireassay.reports.rows.types import Column
from fireassay.reports.view import View

LOAD: Final[Keys[Column]] = (
    Key("configuration", "string", "key of the configuration", lambda column: column.key),
    Key("engine", "string", "name of the target"),
    Key("scenario", "string", "traffic scenario"),
    Key("load", "number or null", "requests in flight, or requests per second"),
)
CURVE: Final[Keys[PercentileCurve]] = (
    Key("configuration", "string", "key of the configuration"),
    Key("latency", "string", "`ttft_s`, `tpot_s` or `e2e_s`"),
    Key("requests", "integer", "answered requests behind the curve"),
    Key(
        "points",
        "list of [percent, seconds]",
        "ascending; a percentile is left out where fewer than ten requests lie beyond",
        lambda curve: [list(point) for point in curve.points],
    ),
)
BIN: Final[Keys[Bin]] = (
    Key("begin_s", "number", "seconds after the load began"),
    Key("end_s", "number", "likewise"),
    Key("due", "integer", "requests due in the bin"),
    Key("ok", "integer", "requests due in the bin that were answered"),
    Key("met", "integer", "requests due in the bin that met every objective"),
    Key("failed", "integer", "requests due in the bin that failed"),
    Key("ttft_s", "number or null", "median time to first token of those answered"),
)
SPAN: Final[Keys[Span]] = (
    Key("kind", "string", "`fault` or `down`"),
    Key("what", "string", "in words"),
    Key("begin_s", "number", "seconds after the load began"),
    Key("end_s", "number or null", "likewise; null: its end was not observed"),
)
TIMELINE: Final[Keys[LoadTimeline]] = (
    Key("launch", "integer", "number of the launch"),
    Key("configuration", "string", "key of the configuration"),
    Key("role", "string", "`timed` or `fault`"),
    Key("window_s", "[number, number] or null", "the measured window, seconds after the load began"),
    Key("bins", "list of objects", "requests by when they were due", shape=BIN),
    Key("spans", "list of objects", "faults and downtimes", shape=SPAN),
)
FAILURE: Final[Keys[tuple[str, str, int]]] = (
    Key("configuration", "string", "key of the configuration", lambda item: item[0]),
    Key("status", "string", "class of the failure, as in table `requests`", lambda item: item[1]),
    Key("requests", "integer", "their number", lambda item: item[2]),
)
REPLICA: Final[Keys[Replica]] = (
    Key("engine", "string", "name of the target"),
    Key("replica", "integer", "from 0"),
    Key("sent", "integer", "counted requests of timed launches"),
    Key("answered", "integer", "of these, answered"),
    Key("ttft_s", "number or null", "median of those answered"),
    Key(
        "readings",
        "object",
        "mean of `kv_cache_used`, `requests_running` and `requests_waiting`, where they were scraped",
        lambda replica: dict(sorted(replica.readings.items())),
    ),
)
AGREEMENT: Final[Keys[tuple[str, Any]]] = (
    Key("configuration", "string", "key of the configuration", lambda item: item[0]),
    Key(
        "shown",
        "string",
        "at least this grade: `fail`, `distribution_close`, `near_tie`, `token_identical` or `bitwise`",
        lambda item: item[1].shown,
    ),
    Key("possible", "string", "at most this one", lambda item: item[1].possible),
    Key("prompts", "integer", "prompts that were answered more than once", lambda item: item[1].prompts),
    Key("answers", "integer", "their answers", lambda item: item[1].answers),
    Key("differing", "integer", "answers whose text is not that of the first", lambda item: item[1].differing),
    Key("where", "string", "of the worst; empty if all texts are equal", lambda item: item[1].where),
)
LAUNCH: Final[Keys[tuple[int, Any]]] = (
    Key("launch", "integer", "number of the launch", lambda item: item[0]),
    Key("due", "integer", "requests that were due", lambda item: item[1].due),
    Key("answered", "integer", "of these, answered", lambda item: item[1].answered),
)
SERVING: Final[Keys[tuple[View, Load]]] = (
    Key(
        "load",
        "string",
        "what `load` counts: `concurrency`, `rate`, or empty where requests arrived as planned",
        lambda item: item[0].load_word,
    ),
    Key("loads", "list of objects", "the load of each configuration", lambda item: item[0].columns, LOAD),
    Key(
        "curves",
        "list of objects",
        "percentile curves, one for each configuration and latency",
        lambda item: list(percentile_curves(item[0].measured)),
        CURVE,
    ),
    Key(
        "timelines",
        "list of objects",
        "single launches in bins of equal length: those with faults, and one of each largest load",
        lambda item: list(load_timelines(item[0].measured)),
        TIMELINE,
    ),
    Key(
        "failures",
        "list of objects",
        "counted requests of timed launches that failed, by class",
        lambda item: [(key, status, number) for key, counts in item[1].errors.items() for status, number in counts.items()],
        FAILURE,
    ),
    Key("replicas", "list of objects", "requests to each replica in the measured windows", lambda item: item[1].replicas, REPLICA),
    Key(
        "agreement",
        "list of objects",
        "how similar the answers to equal prompts were, of configurations that repeated any",
        lambda item: item[1].agreement.items(),
        AGREEMENT,
    ),
    Key(
        "launches",
        "list of objects",
        "the requests of each launch, without the cold ones",
        lambda item: sorted(item[1].tallies.items()),
        LAUNCH,
    ),
)
