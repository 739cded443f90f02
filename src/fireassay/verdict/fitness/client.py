"""Is this client fit to measure on this machine?

Its calibration against one limit each, with a remedy.
fit: reported times are right to 0.2 ms at the median and to 1 ms at p99. noisy: within five times that, enough for answers that take
seconds. unfit: beyond, or more than one first token in 100 arrived outside of the reported time and its uncertainty. This is also
provoked, by stopping the client and by delaying it: it may then not know a time, but must say so. The limits are a promise of the
serving part, not derived from a use.
Cannot tell: encrypted connections, answers other than short words, and a machine between client and server.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from fireassay.estimates.format import count, number, percent
from fireassay.spec.sections.serving import Client
from fireassay.verdict.fitness.machine import Check, Fitness

LIMITS_MS: Final[Mapping[str, float]] = {"p50": 0.2, "p99": 1.0}
COARSE: Final = 5.0  # multiple of the limit up to which a reading is noisy
FOREIGN: Final = 0.15  # cores in use by other programs, at most
TIMER_MS: Final = 2.0  # timer lateness; the audit send_lag compares it with the latencies of a run
WORDS: Final = {"ttft_ms": "time to first token", "itl_ms": "time between tokens"}
WITHIN: Final = 0.99  # share of first tokens that must arrive within the reported uncertainty
STATES: Final[Mapping[str, str]] = {"": "", "stopped": "stopped repeatedly", "busy": "next to a busy loop on every processor"}
WRONG: Final = "report it: this client understates its uncertainty; until it is fixed, trust no time that it reports on this machine"
QUIET: Final = "end other programs, or measure at a quieter time"


def examine_client(
    errors: Sequence[Mapping[str, Any]],
    ceiling: Mapping[str, Any] | None,
    timer: Mapping[str, float] | None,
    provoked: Sequence[Mapping[str, Any]] = (),
) -> tuple[Check, ...]:
    """All checks, fewest streams first."""
    known = (*errors, *provoked)
    return (
        *(check for result in errors for check in _errors(result)),
        *(check for result in known for check in _uncertainty(result)),
        *_ceiling(ceiling),
        *_timer(timer),
    )


def inadmissible(one: Mapping[str, Any]) -> bool:
    """True if such uncertain times would make a record INVALID (audit stamp_uncertainty with its defaults)."""
    limits = Client()
    admissible_ms = max(limits.most_uncertainty * one["told_ms"]["p50"], 1e3 * limits.free_uncertainty_s)
    return bool(one["unsure_ms"]["p99"] > admissible_ms)


def _uncertainty(result: Mapping[str, Any]) -> Iterator[Check]:
    """True if its times are right within their reported uncertainty."""
    how = STATES[str(result.get("disturbed", ""))]
    name = f"uncertainty at {count(int(result['streams']), 'streams')}{how and ', '}{how}"
    within, unsure = result.get("within"), result.get("unsure_ms")
    if within is None or not unsure:
        words = "the uncertainty of its times is unknown: no answer came in time, or its kernel does not stamp"
        yield Check(name=name, fitness="unknown", evidence=words, mend="give it more time: assay doctor client --seconds 120")
        return
    evidence = (
        f"a first token came within its own uncertainty in {percent(float(within), 3, way='down')} of "
        f"{count(int(result['requests']), 'answers')}; p99 of the uncertainty {number(unsure['p99'], 2)} ms"
        f"{', for which a record is INVALID' if inadmissible(result) else ''}"
    )
    right = within >= WITHIN
    yield Check(name=name, fitness="fit" if right else "unfit", evidence=evidence, mend="" if right else WRONG)


def _errors(result: Mapping[str, Any]) -> Iterator[Check]:
    streams = int(result["streams"])
    for key, words in WORDS.items():
        yield _error(f"{key.removesuffix('_ms').upper()} at {count(streams, 'streams')}", words, result[key], result)
    if result["unpaired"]:
        evidence = f"{count(int(result['unpaired']), 'answers')} at {count(streams, 'streams')} were not what the server had sent"
        yield Check(name="answers", fitness="unfit", evidence=evidence, mend="report it: this is a defect in assay's client")


def _error(name: str, words: str, spread: Mapping[str, float], result: Mapping[str, Any]) -> Check:
    if not spread:
        return Check(
            name=name, fitness="unknown", evidence="no answer came in time", mend="give it more time: assay doctor client --seconds 120"
        )
    fitness = _worst(spread[key] / limit for key, limit in LIMITS_MS.items())
    evidence = f"a {words} is off by {number(spread['p50'], 2)} ms at the median, by at most {number(spread['p99'], 2)} ms in 99 of 100"
    foreign = result.get("foreign_cores")
    disturbed = isinstance(foreign, int | float) and foreign > FOREIGN
    if disturbed:
        evidence += f" (other programs used {number(float(foreign or 0.0), 2)} cores)"
    return Check(name=name, fitness=fitness, evidence=evidence, mend="" if fitness == "fit" else _remedy(result, disturbed))


def _remedy(result: Mapping[str, Any], disturbed: bool) -> str:
    if disturbed:
        return QUIET
    if result["streams"] == 1:
        return "the processor sleeps between tokens and wakes up late: disable deep idle states, or load it with more streams"
    return "distribute the streams over more client processes (serving.client.processes), on a machine with more processors"


def _worst(shares: Iterator[float]) -> Fitness:
    worst = max(shares)
    return "fit" if worst <= 1.0 else "noisy" if worst <= COARSE else "unfit"


def _ceiling(ceiling: Mapping[str, Any] | None) -> Iterator[Check]:
    for key, words in (("requests", "requests"), ("chunks", "chunks")) if ceiling else ():
        assert ceiling is not None
        rate = ceiling[key]
        per_s = f"{_round(rate['measured'])} {words} per second at {ceiling['streams']} streams of {ceiling['tokens']} tokens"
        if rate["limited_by"] == "client":
            evidence = f"one client process carries {per_s}"
        else:
            evidence = (
                f"one client process carries at least {per_s}; {_who(rate['limited_by'])} the limit, and at the processor time that it "
                f"took ({percent(float(rate['client_cores']))} of a core) it would carry about {_round(rate['reachable'])}"
            )
        yield Check(name=f"ceiling, {words}", fitness="fit", evidence=evidence, mend="")


def _round(per_s: float) -> str:
    """A rate to three digits."""
    return count(int(float(f"{per_s:.3g}")))


def _who(limit: str) -> str:
    return "the reference server was" if limit == "server" else "other programs on this machine were"


def _timer(timer: Mapping[str, float] | None) -> Iterator[Check]:
    if timer:
        evidence = f"a request leaves {number(timer['p50'], 2)} ms after it is due at the median, at most {number(timer['p99'], 2)} ms in 99 of 100"
        fitness: Fitness = "fit" if timer["p99"] <= TIMER_MS else "noisy"
        yield Check(name="timer", fitness=fitness, evidence=evidence, mend="" if fitness == "fit" else QUIET)
