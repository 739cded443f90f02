"""Of which kind is a published number: rate, time, latency, score, price, share, or change against a baseline?

Derived from words in the metric's name and from the unit.

Which metric and statistic does a name such as "p99 TTFT (ms)" or "median time per output token" denote?

Names are normalised to words joined by one underscore. A statistic in the name counts if `statistic` is not given.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from fireassay.spec.claim import Claim, Number
from fireassay.spec.scores import WORSE_IF_HIGHER, folded_name, has_word, is_score, words
from fireassay.verdict.claims.stated.units import Unit, parse

LEVELS: Final = {"min": 0.0, "p50": 0.50, "median": 0.50, "p90": 0.90, "p95": 0.95, "p99": 0.99, "p999": 0.999, "max": 1.0}
IN_NAMES: Final = (  # first match wins
    (r"p_?99_9|p999|99_9th|99_9_percentile", "p999"),
    (r"p_?99|99th|99_percentile", "p99"),
    (r"p_?95|95th|95_percentile", "p95"),
    (r"p_?90|90th|90_percentile", "p90"),
    (r"p_?50|50th|median", "median"),
    (r"mean|average|avg", "mean"),
)
SYNONYMS: Final = (  # usual names of one latency
    (r"ttft|time_to_first_token|(first|1st)_token(_latency|_time)?|time_to_first_chunk", "ttft"),
    (r"tpot|time_per_output_token", "tpot"),
    (r"itl|inter_token_latency|inter_token_time|tbt|time_between_tokens", "itl"),
    (r"e2el?(_latency|_time)?|end_to_end(_latency|_time)?|request_latency|response_time|response_latency|latency", "e2e"),
)


@cache
def statistic_in(text: str) -> str | None:
    """The statistic named in a metric's name or an objective."""
    name = folded_name(text)
    return next((known for pattern, known in IN_NAMES if re.search(rf"(^|_)({pattern})(_|$)", name)), None)


def statistic(number: Number) -> str | None:
    """Its statistic: as stated, or from its name."""
    return number.statistic or statistic_in(number.metric)


@cache
def metric_name(text: str) -> str:
    """A metric's canonical name without statistic and unit: "p99 TTFT (ms)" and "time to first token" are both "ttft"."""
    name = folded_name(re.sub(r"\([^)]*\)", " ", text))
    for pattern, _ in IN_NAMES:
        name = re.sub(rf"(^|_)({pattern})(?=_|$)", "", name).strip("_")
    name = re.sub(r"_(ms|s|us|seconds|milliseconds)$", "", name)
    name = re.sub(r"(^|_)(tail|lower|higher|faster|better|reduced|improved)(?=_|$)", "", name).strip("_") or name
    return next((short for pattern, short in SYNONYMS if re.fullmatch(pattern, name)), name)


CHANGES: Final = words(
    "speedup speed_up efficienc faster slower improvement gain reduction saving saved acceleration increase decrease slowdown overhead "
    "cheaper times_as higher lower"
)
NO_RATIOS: Final = ("compression", "communication", "hit", "miss", "compute", "acceptance", "cache", "data", "utilisation", "utilization")
RATES: Final = words("throughput goodput per_second per_s rate flops bandwidth busbw algbw qps rps tps speed")
NO_RATES: Final = words(
    "learning hit miss error failure drop dropout success win pass acceptance compression sampling speed_up acceleration"
)
TIMES: Final = ("time", "latency", "ttft", "tpot", "duration", "seconds", "hours", "delay", "runtime", "walltime", "elapsed")
WAITS: Final = ("ttft", "tpot", "itl", "e2e", "e2el", "tbt", "ttlt", "ttfb", "rtt", "queue", "tail", "wait", "decode", "prefill", "lag")
WAITS_BEGIN: Final = words(
    "latenc delay response waiting queueing queuing inter_token inter_chunk time_to_first time_to_last_token time_per_output "
    "time_between_tokens end_to_end round_trip turnaround first_token 1st_token"
)
NO_WAITS: Final = ("train", "epoch", "step", "iteration", "job", "data", "loader", "straggler", "barrier", "build", "compile")
COLLECTIVES: Final = words(
    "busbw algbw bus_bandwidth algorithm_bandwidth all_reduce allreduce all_gather allgather reduce_scatter all_to_all alltoall broadcast "
    "nccl collective network_bandwidth link_bandwidth memory_bandwidth p2p_bandwidth"
)
SHARES: Final = ("mfu", "hfu", "utilisation", "utilization", "availability", "occupancy", "hit_rate", "hit_ratio", "attainment", "uptime")
COSTS: Final = ("cost", "price", "dollar", "usd", "spend", "tco")
ENERGIES: Final = ("energy", "joule", "power", "watt", "kwh", "carbon", "co2", "emission")
LAST_UNIT: Final = r"_(ms|us|s|seconds|milliseconds|percent|pct|usd|joules|hours|minutes|gbps|tflops|qps|rps|tps)$"
OTHER_EFFICIENCIES: Final = ("energy", "power", "cost", "memory", "sample", "data", "token", "bandwidth", "compute", "model")
EFFORT_TO: Final = r"(time|hours|minutes|seconds|days|steps|epochs|iterations|samples|tokens|cost|energy)(_\w+)?_(to|until|till)(_|$)"
WHOLE_RUN: Final = r"(^|_)(train(ing)?_time|total_train\w*_time|makespan|time_of_training|(wall|wall_clock|end_to_end)_training_time)(_|$)"
MAX_WAIT: Final = 3600.0  # s; longer durations are no user's wait
SERVING: Final = r"\b(serv(e|es|ed|ing)|inference|requests?|decod|prompt|output tok|generat|concurren|rps|qps|req/s|chat|streaming)"


def unit_of(number: Number) -> Unit:
    """Its unit: as stated, or from its name ("latency_ms", "TTFT (ms)", "tokens per second")."""
    if number.unit is not None:
        return parse(number.unit)
    inside = re.search(r"[(\[]([^)\]]+)[)\]]\s*$", number.metric)
    if inside and parse(inside[1]).kind is not None:
        return parse(inside[1])
    spelt = re.search(r"(\w+) per (second|sec|s)\b|([a-z]+)_per_(second|sec|s)\b", number.metric.casefold())
    if spelt:
        return parse(f"{spelt[1] or spelt[3]}/s")
    last = re.search(LAST_UNIT, folded_name(number.metric))
    return parse(last[1]) if last else Unit(kind=None)


def is_quality(number: Number) -> bool:
    """Quality of the result; "time to accuracy" is a time."""
    if re.search(EFFORT_TO, folded_name(number.metric)) or unit_of(number).kind in (
        "time",
        "worker time",
        "rate",
        "money",
        "energy",
        "power",
    ):
        return False
    return is_score(number.metric)


def is_share(number: Number) -> bool:
    """A part of a whole, at most 1."""
    if has_word(number.metric, ("goodput",)) and unit_of(number).kind == "percent":
        return True  # share of the paid time
    return has_word(number.metric, SHARES)


def is_cost(number: Number) -> bool:
    """Money."""
    return has_word(number.metric, COSTS) or unit_of(number).kind == "money"


def is_energy(number: Number) -> bool:
    """Joules, watts, carbon."""
    return has_word(number.metric, ENERGIES) or unit_of(number).kind in ("energy", "power")


def is_collective(number: Number) -> bool:
    """A collective operation or a link: it has no data loader, no users and no held-out score."""
    return has_word(number.metric, COLLECTIVES)


def is_relative(number: Number) -> bool:
    """A speedup or other number relative to a baseline."""
    if number.baseline is not None:
        return True
    kind = unit_of(number).kind
    if has_word(number.metric, (), ("efficienc",)) and has_word(number.metric, OTHER_EFFICIENCIES):
        return False  # "energy efficiency" in tokens/J
    if has_word(number.metric, ("ratio",)) and not has_word(number.metric, NO_RATIOS):
        return True
    if has_word(number.metric, (), CHANGES) and (
        kind is None or kind in ("ratio", "percent") or has_word(number.metric, ("saved", "saving"))
    ):
        return True
    return kind == "ratio" and number.unit not in ("fraction", "1") and (_named_rate(number) or has_word(number.metric, TIMES, WAITS_BEGIN))


def is_rate(number: Number) -> bool:
    """Work per time."""
    return not is_share(number) and (_named_rate(number) or unit_of(number).kind == "rate")


def _named_rate(number: Number) -> bool:
    return has_word(number.metric, RATES) and not has_word(number.metric, NO_RATES)


def is_whole_run(number: Number) -> bool:
    """The time of a run from its start to its goal, which includes its data loading and its cold start."""
    name = folded_name(number.metric)
    return (
        unit_of(number).kind in ("time", "worker time")
        and (re.search(rf"{EFFORT_TO}|{WHOLE_RUN}", name) is not None)
        and not has_word(number.metric, ("step", "iteration", "iter", "epoch", "batch"))
    )


def is_time(number: Number) -> bool:
    """A duration."""
    return has_word(number.metric, (*TIMES, *WAITS), WAITS_BEGIN) or unit_of(number).kind == "time"


def is_speed(number: Number) -> bool:
    """A performance number."""
    if is_quality(number) or is_share(number) or is_cost(number) or is_energy(number):
        return False
    return is_relative(number) or is_rate(number) or is_time(number)


def is_wait(number: Number) -> bool:
    """A latency: a time that a user waits."""
    if is_collective(number) or has_word(number.metric, NO_WAITS, ("train", "compil")) or is_rate(number):
        return False
    unit = unit_of(number)
    if unit.noun is not None and unit.kind is None:
        return False  # "queue length" in requests
    if unit.kind not in (None, "time", "ratio", "percent") or (unit.kind == "time" and unit.factor >= MAX_WAIT):
        return False
    if has_word(number.metric, (), CHANGES):  # "end-to-end speedup" may be a training's
        return has_word(
            number.metric,
            ("ttft", "tpot", "itl", "tbt", "queue"),
            ("latenc", "response", "time_to_first", "time_per_output", "inter_token"),
        )
    return has_word(number.metric, WAITS, WAITS_BEGIN)


def lower_is_better(number: Number) -> bool:
    """True if lower is better: times, costs, energies, some scores."""
    if is_quality(number):
        return has_word(number.metric, WORSE_IF_HIGHER)
    if has_word(number.metric, ("overhead", "slowdown"), ("overhead", "slowdown")) or _is_size(number):
        return True
    if has_word(number.metric, (), CHANGES):
        return False
    return not is_rate(number) and (is_time(number) or is_cost(number) or is_energy(number))


def _is_size(number: Number) -> bool:
    """Memory in use."""
    return has_word(number.metric, ("memory", "footprint", "vram", "rss")) and not (is_rate(number) or has_word(number.metric, (), CHANGES))


def is_serving(claim: Claim) -> bool:
    """True if the claim is about serving requests."""
    words = " ".join([claim.claim.text, *(f"{number.metric} {number.unit or ''}" for number in claim.number)]).casefold()
    return claim.slo is not None or any(map(is_wait, claim.number)) or bool(re.search(SERVING, words))
