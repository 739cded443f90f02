"""Is this machine fit to measure?

Each reading of `assay doctor` against a limit, with a remedy.
fit: differences of a few per cent can be resolved. noisy: only with more launches, or not at all. unfit: measurements here say little.
unknown: the machine does not report it, which counts as no fault. The overall verdict is the worst of the known parts. Limits are those
of `[noise]` in an experiment if it sets them; the others are defined here, chosen and not derived.
Cannot tell: the machine's behaviour on another day, or for work that is not bound by the CPU.

Is this client fit to measure on this machine?

Its calibration against one limit each, with a remedy.
fit: reported times are right to 0.2 ms at the median and to 1 ms at p99. noisy: within five times that, enough for answers that take
seconds. unfit: beyond, or more than one first token in 100 arrived outside of the reported time and its uncertainty. This is also
provoked, by stopping the client and by delaying it: it may then not know a time, but must say so. The limits are a promise of the
serving part, not derived from a use.
Cannot tell: encrypted connections, answers other than short words, and a machine between client and server.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from fireassay.estimates.format import bracketed, count, number, percent, reading
from fireassay.spec.sections.serving import Client
from fireassay.spec.sections.workload import Noise
from fireassay.stats.comparing.aa_test import MIN_LAUNCHES, SIDE, Alike, Rate
from fireassay.stats.series.trend import Drift, memory_limit
from fireassay.units import FRACTION, SECONDS

Fitness = Literal["fit", "noisy", "unfit", "unknown"]
ORDER: Final[tuple[Fitness, ...]] = ("unfit", "noisy", "fit", "unknown")
LIMITS: Final[Mapping[str, tuple[float, float]]] = {  # fit up to the first; noisy up to the second; unfit above
    "noise_floor": (0.02, 0.10),
    "minimum_detectable_effect": (0.05, 0.20),
    "drift": (0.02, 0.10),  # over the run, if it is certain
    "clock_step": (1e-6, 1e-3),  # seconds
    "clock_read": (1e-6, 1e-5),
    "sleep_overshoot": (1e-3, 1e-1),  # a timer that is late delays faults and requests; it does not falsify durations
    "wall_drift_ppm": (100.0, 10_000.0),
    "foreign": (Noise().most_foreign, 0.5),
    "steal": (Noise().most_steal, 0.10),
    "pressure": (Noise().most_pressure, 0.5),
    "throttled": (Noise().most_throttled, 0.05),
}
FALSE_ALARMS: Final = 0.05
CERTAIN: Final = 0.01


@dataclass(frozen=True, kw_only=True)
class Check:
    """One reading and what it means."""

    name: str
    fitness: Fitness
    evidence: str  # a clause with the number
    mend: str  # remedy; empty if none is needed


def whole(checks: tuple[Check, ...]) -> Fitness:
    """The worst known state; unknown only if all are."""
    return min((check.fitness for check in checks), key=ORDER.index, default="unknown")


def examine(
    found: Alike | None,
    trend: Drift | None,
    memory: float | None,
    launches: int,
    clock: Mapping[str, Any],
    context: Mapping[str, Any],
    shares: Mapping[str, Any],
    seconds: float,
) -> tuple[Check, ...]:
    """All checks, the A/A test first; `seconds`: what the examination took."""
    return (*_alike(found, launches, seconds), *_series(trend, memory, launches), *_clock(clock), *_shares(shares), *_settings(context))


def _against(value: float, name: str) -> Fitness:
    first, second = LIMITS[name]
    return "fit" if value <= first else "noisy" if value <= second else "unfit"


def _check(name: str, fitness: Fitness, evidence: str, remedy: str) -> Check:
    return Check(name=name, fitness=fitness, evidence=evidence, mend="" if fitness == "fit" else remedy)


# ---- the A/A test ----------------------------------------------------------------------------------------------------

QUIET = "end other programs, measure at a quieter time or on a dedicated machine, and make launches longer"


CLIENT_TIME: Final = "give it more time: assay doctor client --seconds 120"
MAX_SECONDS: Final = 300  # that an examination may take


def more_time(launches: int, seconds: float) -> str:
    """The time in which enough launches fit at the pace that was seen; without one it is the machine that is too slow or too busy."""
    needed = 10 * math.ceil(1.2 * seconds * MIN_LAUNCHES / max(1, launches) / 10)
    return f"give it more time: assay doctor --seconds {max(60, needed)}" if needed <= MAX_SECONDS else QUIET


def _alike(result: Alike | None, launches: int, seconds: float) -> Iterator[Check]:
    if result is None:
        yield Check(
            name="A/A test",
            fitness="unknown",
            evidence=f"{count(launches, 'launches')}; {MIN_LAUNCHES} or more are needed",
            mend=more_time(launches, seconds),
        )
        return
    floor, effect = result.noise_floor, result.minimum_detectable_effect
    evidence = f"{percent(floor, 3)} in turn, {percent(result.noise_floor_apart, 3)} one after the other"
    yield _check("noise floor", _against(floor, "noise_floor"), evidence, QUIET)
    yield _check(
        "detectable",
        _against(effect, "minimum_detectable_effect"),
        f"a change of {percent(effect, 3, way='up')} is detected in 80 % of comparisons of {SIDE} launches per side",
        f"use more launches, or: {QUIET}",
    )
    yield _rate("false alarms", result.false_alarms, "in turn", "compare in turn, and report it: this is a defect in assay's test")
    yield _rate(
        "false alarms apart", result.false_alarms_apart, "one after the other", "compare in turn (one session), never record by record"
    )


def _rate(name: str, rate: Rate, how: str, remedy: str) -> Check:
    fitness: Fitness = "noisy" if rate.low > FALSE_ALARMS else "fit"
    text, interval = bracketed(rate.value, rate.low, rate.high, FRACTION)
    evidence = f"{text} of {rate.comparisons:,} comparisons of equal launches {how} {interval}"
    return _check(name, fitness, evidence, remedy)


def _series(trend: Drift | None, memory: float | None, launches: int) -> Iterator[Check]:
    if trend is not None:
        certain = trend.p_value < CERTAIN
        evidence = (
            f"{percent(trend.over_the_run, 3)} from the first launch to the last"  # over the run only: no extrapolation to an hour
            if certain
            else "none that is certain"
        )
        fitness = _against(abs(trend.over_the_run), "drift") if certain else "fit"
        yield _check("drift", fitness, evidence, "let the machine warm up first, and compare in turn, which cancels a drift")
    if memory is not None:
        resembles = abs(memory) > memory_limit(launches)
        evidence = f"{number(memory, 2)} between successive launches" + ("" if resembles else ", as of independent ones")
        remedy = "compare in turn; intervals of one record alone may be too narrow"
        yield _check("autocorrelation", "noisy" if resembles else "fit", evidence, remedy)


# ---- clock and surroundings --------------------------------------------------------------------------------------------


def _clock(clock: Mapping[str, Any]) -> Iterator[Check]:
    checks = (
        ("clock step", "step_s", "clock_step", "smallest step", "time more calls together"),
        ("clock cost", "read_s", "clock_read", "one reading", "the clock source is slow (see /sys/devices/system/clocksource)"),
        (
            "sleep",
            "sleep_overshoot_s",
            "sleep_overshoot",
            "a sleep of 1 ms lasts too long by",
            "timers are late: use a quieter machine for load tests",
        ),
    )
    for name, key, limit, words, remedy in checks:
        if isinstance(value := clock.get(key), float | int):
            yield _check(name, _against(float(value), limit), f"{words} {reading(float(value), SECONDS)}", remedy)
    if isinstance(ppm := clock.get("wall_drift_ppm"), float | int):
        evidence = f"the wall clock moves by {number(ppm, 2)} parts per million against the monotonic one"
        remedy = "let a time service run steadily; assay times by the monotonic clock only"
        yield _check("wall clock", _against(abs(float(ppm)), "wall_drift_ppm"), evidence, remedy)


SHARES: Final = (
    ("other programs", "foreign", "foreign", "of the processors", "end them, or measure at another time"),
    ("steal", "steal", "steal", "of the processors taken by the hypervisor", "use a dedicated machine, or one with dedicated processors"),
    (
        "pressure cpu",
        "pressure_cpu",
        "pressure",
        "of the time some task waited for a processor",
        "run fewer programs, or fewer workers than processors",
    ),
    (
        "pressure io",
        "pressure_io",
        "pressure",
        "of the time some task waited for a disk",
        "end programs that read and write; put data on a separate disk",
    ),
    ("pressure memory", "pressure_memory", "pressure", "of the time some task waited for memory", "use less memory, or a larger machine"),
    ("throttling", "throttled", "throttled", "of the time stopped by a quota", "raise the processor quota of the container"),
)


def _shares(shares: Mapping[str, Any]) -> Iterator[Check]:
    for name, key, limit, words, remedy in SHARES:
        value = shares.get(key)
        if not isinstance(value, float | int):
            yield Check(name=name, fitness="unknown", evidence="not reported by this machine", mend="")
        else:
            yield _check(name, _against(float(value), limit), f"{percent(float(value), 3)} {words}", remedy)


Fits = Callable[[Any], bool]
SETTINGS: Final[tuple[tuple[str, str, Fits, str], ...]] = (
    ("governor", "cpu.governors", lambda v: v == ["performance"], "cpupower frequency-set -g performance, and back afterwards"),
    ("turbo", "cpu.turbo", lambda v: v == "off", "turn it off while measuring: frequencies then do not depend on heat"),
    ("SMT", "cpu.smt", lambda v: v != "on", "use one worker per physical core, or turn SMT off while measuring"),
    ("ASLR", "host.aslr", lambda _: True, ""),  # on: launches should differ a little in their addresses
)


def _settings(context: Mapping[str, Any]) -> Iterator[Check]:
    """Machine settings, with the commands that would change them; nothing is changed here."""
    for name, key, is_fit, remedy in SETTINGS:
        yield _setting(name, context.get(key), is_fit, remedy)
    used = _swap_used(context)
    if used is None:
        yield Check(name="swap", fitness="unknown", evidence="not reported by this machine", mend="")
    else:
        yield _check("swap", "noisy" if used else "fit", "in use" if used else "not in use", "free memory, then swapoff -a and swapon -a")


def _setting(name: str, value: Any, is_fit: Fits, remedy: str) -> Check:
    if value is None or (isinstance(value, Mapping) and "absent" in value):
        return Check(name=name, fitness="unknown", evidence="not reported by this machine", mend="")
    shown = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return _check(name, "fit" if is_fit(value) else "noisy", shown, remedy)


def _swap_used(context: Mapping[str, Any]) -> bool | None:
    total, free = context.get("memory.swap_total_bytes"), context.get("memory.swap_free_bytes")
    return total != free if isinstance(total, int) and isinstance(free, int) else None


# ---- client ----

LIMITS_MS: Final[Mapping[str, float]] = {"p50": 0.2, "p99": 1.0}
COARSE: Final = 5.0  # multiple of the limit up to which a reading is noisy
FOREIGN: Final = 0.15  # cores in use by other programs, at most
TIMER_MS: Final = 2.0  # timer lateness; the audit send_lag compares it with the latencies of a run
WORDS: Final = {"ttft_ms": "time to first token", "itl_ms": "time between tokens"}
WITHIN: Final = 0.99  # share of first tokens that must arrive within the reported uncertainty
STATES: Final[Mapping[str, str]] = {"": "", "stopped": "stopped repeatedly", "busy": "next to a busy loop on every processor"}
WRONG: Final = "report it: this client understates its uncertainty; until it is fixed, trust no time that it reports on this machine"
CLIENT_QUIET: Final = "end other programs, or measure at a quieter time"


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
        yield Check(name=name, fitness="unknown", evidence=words, mend=CLIENT_TIME)
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
        return Check(name=name, fitness="unknown", evidence="no answer came in time", mend=CLIENT_TIME)
    fitness = _worst(spread[key] / limit for key, limit in LIMITS_MS.items())
    evidence = f"a {words} is off by {number(spread['p50'], 2)} ms at the median, by at most {number(spread['p99'], 2)} ms in 99 of 100"
    foreign = result.get("foreign_cores")
    disturbed = isinstance(foreign, int | float) and foreign > FOREIGN
    if disturbed:
        evidence += f" (other programs used {number(float(foreign or 0.0), 2)} cores)"
    return Check(name=name, fitness=fitness, evidence=evidence, mend="" if fitness == "fit" else _remedy(result, disturbed))


def _remedy(result: Mapping[str, Any], disturbed: bool) -> str:
    if disturbed:
        return CLIENT_QUIET
    if result["streams"] == 1:
        return "the processor sleeps between tokens and wakes up late: disable deep idle states, or load it with more streams"
    return "distribute the streams over more client processes (--processes of assay load), on a machine with more processors"


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
        yield Check(name="timer", fitness=fitness, evidence=evidence, mend="" if fitness == "fit" else CLIENT_QUIET)
