"""Which quantity does a unit such as "ms", "out tok/s/GPU", "%" or "USD/million tokens" stand for, and are two units comparable?

A unit is a kind with a factor to its kind's base (s, 1/s, B/s ...), what is counted, its denominator, and which tokens it counts.
An unknown unit has no kind and is never compared with another.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Final

RATIOS: Final = ("", "ratio", "x", "×", "times", "fold", "-fold", "fraction", "factor", "1")
PERCENTS: Final = ("%", "percent", "per cent", "pct", "percentage")
POINTS: Final = ("points", "point", "pp", "percentage points", "percentage point", "%-points")
TIMES: Final = {
    "s": 1.0,
    "sec": 1.0,
    "secs": 1.0,
    "second": 1.0,
    "seconds": 1.0,
    "ms": 1e-3,
    "msec": 1e-3,
    "millisecond": 1e-3,
    "milliseconds": 1e-3,
    "us": 1e-6,
    "µs": 1e-6,
    "μs": 1e-6,
    "microsecond": 1e-6,
    "microseconds": 1e-6,
    "ns": 1e-9,
    "nanosecond": 1e-9,
    "nanoseconds": 1e-9,
    "min": 60.0,
    "mins": 60.0,
    "minute": 60.0,
    "minutes": 60.0,
    "h": 3600.0,
    "hr": 3600.0,
    "hrs": 3600.0,
    "hour": 3600.0,
    "hours": 3600.0,
    "day": 86400.0,
    "days": 86400.0,
}
ABBREVIATIONS: Final = {
    "tps": "tokens/s",
    "tok/sec": "tokens/s",
    "wps": "tokens/s",
    "rps": "requests/s",
    "qps": "requests/s",
    "flops": "flop/s",
    "kflops": "kflop/s",
    "mflops": "mflop/s",
    "gflops": "gflop/s",
    "tflops": "tflop/s",
    "pflops": "pflop/s",
    "teraflops": "tflop/s",
    "petaflops": "pflop/s",
    "gigaflops": "gflop/s",
    "gbps": "gbit/s",
    "mbps": "mbit/s",
    "hz": "1/s",
}
NOUNS: Final = {
    "token": ("token", "tok", "word"),
    "request": ("request", "req", "query", "querie", "call", "prompt"),
    "item": ("sample", "item", "image", "img", "example", "sequence", "seq", "record", "row", "frame", "document", "doc"),
    "step": ("step", "iteration", "iter", "it", "batche", "batch", "epoch"),
    "flop": ("flop",),
    "byte": ("b", "byte", "bit"),
}
PARTS: Final = {
    "output": ("output", "out", "generated", "completion", "decode", "decoded"),
    "input": ("input", "in", "prompt", "prefill"),
    "total": ("total", "all", "combined", "overall", "input+output", "in+out", "input + output"),
}
WORKER: Final = ("gpu", "device", "worker", "accelerator", "chip", "rank", "card", "replica", "node", "tpu", "npu")
PREFIXES: Final = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12, "p": 1e15, "ki": 2.0**10, "mi": 2.0**20, "gi": 2.0**30, "ti": 2.0**40}
ENERGIES: Final = {"j": 1.0, "kj": 1e3, "mj": 1e6, "wh": 3600.0, "kwh": 3.6e6, "mwh": 3.6e9, "joule": 1.0, "joules": 1.0}


@dataclass(frozen=True, kw_only=True)
class Unit:
    """A parsed unit; kind is None if unknown."""

    kind: str | None  # time, rate, ratio, percent, points, energy, power, money, flop, ...
    factor: float = 1.0  # to the base unit of its kind
    noun: str | None = None  # what is counted: token, request, item, step, flop, byte
    part: str | None = None  # which tokens: output, input, total
    per: str | None = None  # denominator: worker, user, ...

    @property
    def is_change(self) -> bool:
        """True if it is dimensionless."""
        return self.kind in ("ratio", "percent")


@cache
def parse(text: str | None) -> Unit:
    """Parse a unit; its kind is None if missing or unknown."""
    if text is None:
        return Unit(kind=None)
    plain = re.sub(r"\s+", " ", text.strip().casefold())
    for kind, names in (("ratio", RATIOS), ("percent", PERCENTS), ("points", POINTS)):
        if plain in names:
            return Unit(kind=kind)
    plain = ABBREVIATIONS.get(plain, plain)
    if re.fullmatch(r"(gpu|node|worker|device|accelerator|chip|tpu|core)[- ]?(h|hours?|hrs?|seconds?|days?)", plain):
        return Unit(kind="worker time", factor=TIMES[re.split(r"[- ]|(?<=gpu)|(?<=node)|(?<=core)|(?<=chip)|(?<=tpu)", plain)[-1]])
    head, *below = (part.strip() for part in re.split(r"/|\bper\b", plain))
    return _composed(head, below)


def _composed(head: str, below: list[str]) -> Unit:
    per = next((_per(part) for part in below if _per(part)), None)
    seconds = next((TIMES[part] for part in below if part in TIMES), None)
    if head in TIMES:
        return Unit(kind="time", factor=TIMES[head], per=per, noun=_noun(below[0]) if below else None)
    if head in ABBREVIATIONS:  # "tflops/gpu"
        return Unit(
            kind="rate", factor=_counted(ABBREVIATIONS[head].split("/")[0])[0], noun=_noun(ABBREVIATIONS[head].split("/")[0]), per=per
        )
    if head in ENERGIES:
        return Unit(kind="energy", factor=ENERGIES[head], noun=_noun(below[0]) if below else None)
    if head in ("w", "kw", "mw", "watt", "watts"):
        return Unit(kind="power", factor={"kw": 1e3, "mw": 1e6}.get(head, 1.0))
    if head in ("usd", "$", "us$", "dollar", "dollars", "eur", "€", "cent", "cents"):
        return _money(below)
    factor, noun = _counted(head)
    if seconds is not None:
        return Unit(kind="rate", factor=factor / seconds, noun=noun, part=part_of(head), per=per)
    if noun == "flop":
        return Unit(kind="flop", factor=factor, noun=noun, per=per)
    return Unit(kind=None, noun=noun)


def _money(below: list[str]) -> Unit:
    many = " ".join(below)
    factor = 1e-6 if re.search(r"\bm\b|million|1m", many) else 1e-3 if re.search(r"\bk\b|thousand|1k|1,?000\b", many) else 1.0
    return Unit(kind="money", factor=factor, noun=_noun(many.split()[-1]) if many else None)


def _per(text: str) -> str | None:
    words = re.findall(r"[a-z]+", text)
    if any(word.rstrip("s") in WORKER for word in words):
        return "worker"
    return next((word.rstrip("s") for word in words if word.rstrip("s") in ("user", "stream", "client", "session", "dollar")), None)


def _noun(text: str) -> str | None:
    return _counted(text)[1]


def _counted(text: str) -> tuple[float, str | None]:
    """(factor, counted noun) of "ktok", "output tokens", "GB", "TFLOP"."""
    word = (re.findall(r"[a-z]+", text) or [""])[-1]
    single = word.removesuffix("s") if len(word) > 1 else word
    for noun, names in NOUNS.items():
        for name in names:
            prefix = single.removesuffix(name)
            if single.endswith(name) and prefix in PREFIXES and (noun != "byte" or name != "b" or single == prefix + "b"):
                return PREFIXES[prefix] / (8.0 if name == "bit" else 1.0), noun
    return 1.0, None


def part_of(text: str) -> str | None:
    """Which tokens a unit or a name counts: output, input or total."""
    words = re.sub(r"[_-]+", " ", text.casefold())
    parts = {part for part, names in PARTS.items() if any(re.search(rf"(^|[\s(]){re.escape(name)}($|[\s)])", words) for name in names)}
    if {"input", "output"} <= parts:
        return "total"
    return next(iter(sorted(parts)), None)


def difference(first: Unit, second: Unit) -> str | None:
    """Why two units measure different things; None if comparable or one is unknown."""
    if first.kind is None or second.kind is None:
        return None
    if first.kind != second.kind and {first.kind, second.kind} != {"rate", "flop"}:
        return f"one is a {first.kind}, the other a {second.kind}"
    if first.noun and second.noun and first.noun != second.noun:
        return f"one counts {first.noun}s, the other {second.noun}s"
    if first.kind in ("energy", "money") and (first.noun is None) is not (second.noun is None):
        return f"one is per {first.noun or second.noun}, the other a total"
    if first.part and second.part and first.part != second.part:
        return f"one counts {first.part} tokens, the other {second.part} tokens"
    if first.per != second.per:
        return f"one is per {first.per or 'system'}, the other per {second.per or 'system'}"
    return None


def convertible(first: Unit, second: Unit) -> bool:
    """True if both are known and measure the same quantity."""
    return first.kind is not None and second.kind is not None and difference(first, second) is None
