"""Is this client fit to measure on this machine?  Its calibration against a limit each, with what to do about it.

fit: a time that it tells is right to 0.2 ms in the middle and to 1 ms in 99 of 100.  noisy: to five times that, good enough
for answers that take seconds.  unfit: beyond.  The limits are the promise of the serving part (issue 4), not derived from a use.
Cannot tell: encrypted connections, other answers than short words, and a machine between client and server.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from assay.metrics.format import count, number, percent
from assay.verdict.fitness import Check, Fitness

LIMITS_MS: Final[Mapping[str, float]] = {"p50": 0.2, "p99": 1.0}
COARSE: Final = 5.0  # times the limit: noisy up to here
FOREIGN: Final = 0.15  # cores that other programs may use
TIMER_MS: Final = 2.0  # lateness of a timer; the audit send_lag judges it against the latencies of a run
WORDS: Final = {"ttft_ms": "time to first token", "itl_ms": "time between tokens"}
QUIET: Final = "end other programs, or measure at a quieter time"


def examine_client(
    errors: Sequence[Mapping[str, Any]], ceiling: Mapping[str, Any] | None, timer: Mapping[str, float] | None
) -> tuple[Check, ...]:
    """Every check, the fewest streams first."""
    return (*(check for one in errors for check in _errors(one)), *_ceiling(ceiling), *_timer(timer))


def _errors(one: Mapping[str, Any]) -> Iterator[Check]:
    streams = int(one["streams"])
    for key, words in WORDS.items():
        yield _error(f"{key.removesuffix('_ms').upper()} at {count(streams, 'streams')}", words, one[key], one)
    if one["unpaired"]:
        evidence = (
            f"{count(int(one['unpaired']), 'answers')} at {count(streams, 'streams')} were not what the server had sent"
        )
        yield Check(name="answers", fitness="unfit", evidence=evidence, mend="tell us: this is our own client at fault")


def _error(name: str, words: str, spread: Mapping[str, float], one: Mapping[str, Any]) -> Check:
    if not spread:
        return Check(
            name=name,
            fitness="unknown",
            evidence="no answer came in time",
            mend="give it more time: assay doctor client --seconds 120",
        )
    fitness = _worst(spread[key] / limit for key, limit in LIMITS_MS.items())
    evidence = f"a {words} is off by {number(spread['p50'], 2)} ms in the middle, by at most {number(spread['p99'], 2)} ms in 99 of 100"
    foreign = one.get("foreign_cores")
    disturbed = isinstance(foreign, int | float) and foreign > FOREIGN
    if disturbed:
        evidence += f" (other programs used {number(float(foreign or 0.0), 2)} cores)"
    return Check(name=name, fitness=fitness, evidence=evidence, mend="" if fitness == "fit" else _mend(one, disturbed))


def _mend(one: Mapping[str, Any], disturbed: bool) -> str:
    if disturbed:
        return QUIET
    if one["streams"] == 1:
        return "the processor sleeps between tokens and wakes up late: turn deep idle states off, or load it with more streams"
    return (
        "share the streams out over more client processes (serving.client.processes), on a machine with more processors"
    )


def _worst(shares: Iterator[float]) -> Fitness:
    worst = max(shares)
    return "fit" if worst <= 1.0 else "noisy" if worst <= COARSE else "unfit"


def _ceiling(ceiling: Mapping[str, Any] | None) -> Iterator[Check]:
    for key, words in (("requests", "requests"), ("chunks", "chunks")) if ceiling else ():
        assert ceiling is not None
        found = ceiling[key]
        per_s = f"{_round(found['measured'])} {words} per second at {ceiling['streams']} streams of {ceiling['tokens']} tokens"
        if found["limited_by"] == "client":
            evidence = f"one client process carries {per_s}"
        else:
            evidence = (
                f"one client process carries at least {per_s}; {_who(found['limited_by'])} the limit, and at the processor time that it "
                f"took ({percent(float(found['client_cores']))} of a core) it would carry about {_round(found['reachable'])}"
            )
        yield Check(name=f"ceiling, {words}", fitness="fit", evidence=evidence, mend="")


def _round(per_s: float) -> str:
    """A rate to three digits."""
    return count(int(float(f"{per_s:.3g}")))


def _who(limit: str) -> str:
    return "the reference server was" if limit == "server" else "other programs on this machine were"


def _timer(timer: Mapping[str, float] | None) -> Iterator[Check]:
    if timer:
        evidence = f"a request leaves {number(timer['p50'], 2)} ms after it is due in the middle, at most {number(timer['p99'], 2)} ms in 99 of 100"
        fitness: Fitness = "fit" if timer["p99"] <= TIMER_MS else "noisy"
        yield Check(name="timer", fitness=fitness, evidence=evidence, mend="" if fitness == "fit" else QUIET)
