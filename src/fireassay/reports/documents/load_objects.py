"""What does the JSON of a load hold besides metrics?

Curves, timelines, failures, replicas and agreement, raw. Shape `assay-report/1`, key `serving`, in reports on a load only. Seconds and
counts; percentiles of curves pool the answered requests of the timed launches, those with an interval are in `metrics`.
"""

from __future__ import annotations

from typing import Any

from fireassay.reports.charts.load_timeline import load_timelines
from fireassay.reports.charts.percentiles import percentile_curves
from fireassay.reports.documents.json_object import JsonObject, key
from fireassay.reports.view import View


class Load(JsonObject):  # of `Column`
    configuration: str = key("key of the configuration", "key")
    engine: str = key("name of the target")
    scenario: str = key("traffic scenario")
    load: float | None = key("requests in flight, or requests per second")


class Curve(JsonObject):  # of `PercentileCurve`
    configuration: str = key("key of the configuration")
    latency: str = key("`ttft_s`, `tpot_s` or `e2e_s`")
    requests: int = key("answered requests behind the curve")
    points: list[tuple[float, float]] = key("ascending; a percentile is left out where fewer than ten requests lie beyond")


class Bin(JsonObject):  # of `Bin`
    begin_s: float = key("seconds after the load began")
    end_s: float = key("likewise")
    due: int = key("requests due in the bin")
    ok: int = key("requests due in the bin that were answered")
    met: int = key("requests due in the bin that met every objective")
    failed: int = key("requests due in the bin that failed")
    ttft_s: float | None = key("median time to first token of those answered")


class Span(JsonObject):  # of `Span`
    kind: str = key("`fault` or `down`")
    what: str = key("in words")
    begin_s: float = key("seconds after the load began")
    end_s: float | None = key("likewise; null: its end was not observed")


class Timeline(JsonObject):  # of `LoadTimeline`
    launch: int = key("number of the launch")
    configuration: str = key("key of the configuration")
    role: str = key("`timed` or `fault`")
    window_s: tuple[float, float] | None = key("the measured window, seconds after the load began")
    bins: list[Bin] = key("requests by when they were due")
    spans: list[Span] = key("faults and downtimes")


class Failures(JsonObject):
    """Failures of one class."""

    configuration: str = key("key of the configuration")
    status: str = key("class of the failure, as in table `requests`")
    requests: int = key("their number")


class Replica(JsonObject):  # of `Replica`
    engine: str = key("name of the target")
    replica: int = key("from 0")
    sent: int = key("counted requests of timed launches")
    answered: int = key("of these, answered")
    ttft_s: float | None = key("median of those answered")
    readings: dict[str, Any] = key(
        "mean of `kv_cache_used`, `requests_running` and `requests_waiting`, where they were scraped",
        lambda replica: dict(sorted(replica.readings.items())),
    )


class Agreement(JsonObject):
    """How similar the answers of a configuration were; all but its key from an `Agreement`."""

    configuration: str = key("key of the configuration", lambda item: item[0])
    shown: str = key(
        "at least this grade: `fail`, `distribution_close`, `near_tie`, `token_identical` or `bitwise`", lambda item: item[1].shown
    )
    possible: str = key("at most this one", lambda item: item[1].possible)
    prompts: int = key("prompts that were answered more than once", lambda item: item[1].prompts)
    answers: int = key("their answers", lambda item: item[1].answers)
    differing: int = key("answers whose text is not that of the first", lambda item: item[1].differing)
    where: str = key("of the worst; empty if all texts are equal", lambda item: item[1].where)


class Launch(JsonObject):
    """The requests of a launch."""

    launch: int = key("number of the launch")
    due: int = key("requests that were due")
    answered: int = key("of these, answered")


def _failures(view: View) -> list[Failures]:
    errors = view.load.errors.items()
    return [Failures(configuration=key, status=status, requests=number) for key, by in errors for status, number in by.items()]


def _launches(view: View) -> list[Launch]:
    return [Launch(launch=number, due=tally.due, answered=tally.answered) for number, tally in sorted(view.load.tallies.items())]


class LoadObjects(JsonObject):  # of `View` of a load
    load: str = key("what `load` counts: `concurrency`, `rate`, or empty where requests arrived as planned", "load_word")
    loads: list[Load] = key("the load of each configuration", "columns")
    curves: list[Curve] = key(
        "percentile curves, one for each configuration and latency", lambda view: list(percentile_curves(view.measured))
    )
    timelines: list[Timeline] = key(
        "single launches in bins of equal length: those with faults, and one of each largest load",
        lambda view: list(load_timelines(view.measured)),
    )
    failures: list[Failures] = key("counted requests of timed launches that failed, by class", _failures)
    replicas: list[Replica] = key("requests to each replica in the measured windows", "load.replicas")
    agreement: list[Agreement] = key(
        "how similar the answers to equal prompts were, of configurations that repeated any", lambda view: view.load.agreement.items()
    )
    launches: list[Launch] = key("the requests of each launch, without the cold ones", _launches)
