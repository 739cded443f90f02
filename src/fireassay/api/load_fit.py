"""How long must a load be for its requests, and what will it not be able to say?  Asked before it starts, of one request sent alone.

A launch lasts at least ten times as long as that request, unless the user said how long.  The request warms the server: what `cold` then
measures is a first request of a load, not of a server.
"""

from __future__ import annotations

import argparse
import math
import shlex
from collections.abc import Iterator, Mapping
from typing import Final

import polars as pl

from fireassay.api.serving_check import check, of_ten
from fireassay.errors import AssayError, Interrupted, WorkloadError
from fireassay.estimates.format import given, reading
from fireassay.record.secrets.redact import redact
from fireassay.spec.experiment import Experiment
from fireassay.spec.plan import Configuration, configurations, targets_of
from fireassay.spec.sections.serving import Target
from fireassay.stats.comparing.noninferiority import items_needed_without_flips
from fireassay.stats.intervals.quantiles import BEYOND
from fireassay.units import NS_PER_S, SECONDS

REQUEST_TIMES: Final = 10  # that a launch lasts at least
MAX_QUICK_S: Final = 40.0  # of a quick launch: its screen comes within a minute
LONG_LAUNCHES: Final = 5  # the fewest where a launch had to become longer
FITTING: Final = ("closed", "constant", "poisson", "gamma", "users")  # arrivals whose length is free
SHARES: Final = (99, 95)  # percentiles that are quoted


def fitted(experiment: Experiment, *, fixed: bool) -> tuple[Experiment, tuple[str, ...]]:
    """The experiment with launches that fit its requests, and what to tell the user.

    Args:
        fixed: the user said how long a launch lasts: it stays so, and only notes are made.

    Raises:
        Interrupted: stopped by a signal.
        WorkloadError: an engine left a request alone unanswered.
    """
    serving = experiment.serving
    times = {target.name: time_s for target in targets_of(serving) if (time_s := one_request(experiment, target))} if serving else {}
    if serving is None or not times:
        return experiment, ()
    slowest, notes = max(times.values()), []
    least_s = min(math.ceil(REQUEST_TIMES * slowest), MAX_QUICK_S if experiment.launches.quick else math.inf)
    shown = f"one request takes {reading(slowest, SECONDS)}"
    length_s = serving.arrivals.duration_s
    if least_s > length_s and serving.arrivals.process in FITTING:
        if fixed:
            notes.append(
                f"{shown}: a launch of {length_s:g} s holds few of them in turn. --duration {least_s:g}s is {int(least_s / slowest)} of them."
            )
        else:
            launches = _fewer(experiment, least_s)
            notes.append(
                f"{shown}, so a launch lasts {least_s:g} s instead of {length_s:g} s{f', {launches} times' if launches > 1 else ''}."
            )
            experiment = longer(experiment, least_s, launches)
    return experiment, (*notes, *unknowable(experiment, times, fixed=fixed))


def may_change(experiment: Experiment, *, fixed: bool) -> str:
    """What a plan has to say that `fitted` may change once it knows the requests: "5 to 9 where a request takes longer than 1 s"; else ""."""
    serving, planned = experiment.serving, experiment.launches.per_configuration
    if serving is not None and experiment.launches.quick and not fixed:
        return f"up to {MAX_QUICK_S:g} s long where a request takes over {reading(serving.arrivals.duration_s / REQUEST_TIMES, SECONDS)}"
    if fixed or serving is None or serving.arrivals.process not in FITTING or planned <= LONG_LAUNCHES:
        return ""
    return f"{LONG_LAUNCHES} to {planned}, and longer ones, where a request takes over {reading(serving.arrivals.duration_s / REQUEST_TIMES, SECONDS)}"


def _fewer(experiment: Experiment, least_s: float) -> int:
    """So many that the load in all is not shorter: a percentile and a share need requests, an interval needs launches."""
    planned = experiment.launches.per_configuration
    assert experiment.serving is not None
    whole_s = planned * experiment.serving.arrivals.duration_s
    return min(planned, max(LONG_LAUNCHES, math.ceil(whole_s / least_s)))


def says_how_long(arguments: argparse.Namespace) -> bool:
    """True if a flag of `assay load` fixes how long a launch lasts, or how many there are."""
    flags = (arguments.key_duration, arguments.key_requests, arguments.key_trace, arguments.key_launches)
    return any(flag is not None for flag in flags)


def longer(experiment: Experiment, duration_s: float, launches: int) -> Experiment:
    """The experiment with other lengths."""
    serving = experiment.serving
    assert serving is not None
    arrivals = serving.arrivals.model_copy(update={"duration_s": duration_s})
    counts = experiment.launches.model_copy(update={"per_configuration": launches})
    return experiment.model_copy(update={"serving": serving.model_copy(update={"arrivals": arrivals}), "launches": counts})


def unknowable(experiment: Experiment, times: Mapping[str, float], *, fixed: bool) -> Iterator[str]:
    """What this plan's requests cannot carry, percentiles and the objectives, and the shortest launch that does.

    `fixed`: --duration leaves the number of launches as it is.
    """
    serving = experiment.serving
    assert serving is not None
    expected = {configuration.name: _requests(experiment, configuration, times) for configuration in configurations(experiment)}
    if experiment.launches.quick or None in expected.values() or serving.arrivals.requests is not None:
        return
    known = {name: number for name, number in expected.items() if number is not None}
    fewest = min(known.values(), default=math.inf)
    missing = {what: number for what, number in _needs(experiment).items() if fewest < number}
    if missing:
        first = min(known, key=lambda name: known[name])
        planned = experiment.launches.per_configuration
        whole_s = serving.arrivals.duration_s * planned / (planned if fixed else min(planned, LONG_LAUNCHES))
        ways = (
            f"{what} needs {number:,}: --duration {math.ceil(whole_s * number / max(fewest, 1.0))}s" for what, number in missing.items()
        )
        yield f"{first} sends about {fewest:,.0f} requests in all; {'; '.join(ways)}."


def _needs(experiment: Experiment) -> dict[str, int]:
    """Requests of a load by what they have to show."""
    serving = experiment.serving
    assert serving is not None
    needs = {f"p{share}": needed(share) for share in SHARES}
    missed = 1.0 - serving.objectives.attainment
    if serving.objectives.any and missed > 0.0:
        name = f"{given(100.0 * serving.objectives.attainment)} % within the objectives"
        needs[name] = items_needed_without_flips(missed, 1.0 - (1.0 - experiment.launches.confidence) / 2.0)
    return needs


def needed(share: int) -> int:
    """Independent requests that a percentile needs."""
    return round(BEYOND / (1.0 - share / 100.0))


def _requests(experiment: Experiment, configuration: Configuration, times: Mapping[str, float]) -> float | None:
    """The requests of all its launches, at most; None if the arrivals say it themselves."""
    serving, load = experiment.serving, configuration.load
    assert serving is not None
    time_s = times.get(configuration.target)
    whole_s = serving.arrivals.duration_s * experiment.launches.per_configuration
    if load is None or time_s is None:
        return None
    return whole_s * load if serving.rate else whole_s * load / time_s


def one_request(experiment: Experiment, target: Target) -> float | None:
    """Seconds of one request sent alone; None if it was not answered, or the engine is not running yet."""
    if not target.urls:
        return None
    serving = of_ten(experiment).serving
    assert serving is not None
    alone = serving.model_copy(
        update={"targets": (target,), "concurrency": (1,), "arrivals": serving.arrivals.model_copy(update={"requests": 1, "cold": 0})}
    )
    small = of_ten(experiment).model_copy(update={"serving": alone})
    try:
        seen = check(small)
    except Interrupted:
        raise
    except AssayError:  # the run itself will say it
        return None
    if "timeout" in seen.requests["status"] and not experiment.limits.keep_going:
        raise _silent(target.urls[0], alone.client.timeout_s)
    seconds = seen.answered.select((pl.col("done_ns") - pl.col("sent_ns")) / NS_PER_S).to_series().median()
    return float(seconds) if isinstance(seconds, float) else None


def _silent(url: str, waited_s: float) -> WorkloadError:
    """That a load would be silent too, for longer."""
    shown = redact(url)
    fix = f"Nothing was recorded. --request-timeout {math.ceil(5 * waited_s)}s waits longer; see how the server answers:"
    return WorkloadError(
        f"{shown} did not answer one request in {reading(waited_s, SECONDS)}\n{fix}\n  assay load {shlex.quote(shown)} --check"
    )
