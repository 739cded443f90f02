"""What does a column of an external table mean, by its heading, and in which unit?

Matching is tolerant: case, spaces, dashes and "number of" are ignored; a unit may be in brackets or at the end.
An unknown heading gives None; its column is not used, and is named on the first screen if it looks like quality, cost or work.
Currencies other than US dollars are refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from fireassay.spec.scores import is_quality_heading, is_spread

SECONDS: Final = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("ms", "msec", "millisecond", "milliseconds"), 1e-3),
    **dict.fromkeys(("us", "µs", "μs", "usec", "microsecond", "microseconds"), 1e-6),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86400.0),
}
JOULES: Final = {"j": 1.0, "joule": 1.0, "joules": 1.0, "kj": 1e3, "mj": 1e6, "gj": 1e9, "wh": 3600.0, "kwh": 3.6e6, "mwh": 3.6e9}
WATTS: Final = {"w": 1.0, "watt": 1.0, "watts": 1.0, "kw": 1e3, "mw": 1e6}
UNITS: Final = {"seconds": SECONDS, "step_seconds": SECONDS, "joules": JOULES, "watts": WATTS}

_WORKER: Final = (
    r"(?:gpus?|devices?|workers?|nodes?|ranks?|machines?|accelerators?|chips?|cores?|cpus?|gcds?|process(?:es)?|servers?|instances?)"
)
_WORKERS: Final = re.compile(
    r"(?:workers|gpus|nodes|ranks|machines|devices|accelerators|chips|cores|cpus|tpus|gcds|processes|procs|processors|threads|replicas|servers|instances"
    r"|hosts|jobs|(?:mpi|cpu|gpu|ddp|omp|openmp|worker) (?:ranks|processes|procs|threads|cores|gpus|nodes)|world ?size|cluster size|parallelism"
    r"|n|p|np|nproc|nprocs|(?:gpu|node|worker|rank|device|process|core|cpu|machine|thread) ?(?:count|number)"
    rf"|(?:#(?: ?of)?|n|no\.?|nr\.?|num|numbers? of|total|count of|amount of) ?(?:mpi |cpu |gpu )?(?:{_WORKER}|procs|processors|threads|jobs))(?: used)?"
)
_PREFIX: Final = (
    r"(?:(?:total|est\.?|estimated|real|parallel|avg|average|mean|median|wall|wall ?clock|elapsed|execution|exec|run|running|training|train|job"
    r"|compute|end to end) )*"
)
_TIME: Final = re.compile(
    rf"{_PREFIX}(?:time|run ?time|wall ?time|wall ?clock|duration|makespan|elapsed|wall|seconds|secs|milliseconds|msecs?|ms|s|t|t ?p|t ?n|minutes|hours|ttt"
    r"|epoch (?:time|duration)|(?:time|secs?|seconds|min|minutes|hours?|s|h|ms) ?(?:per|/) ?epoch)"
    r"(?: to (?:train|solution|accuracy|target|convergence|finish))?(?: per epoch)?(?: with .*| using .*)?"
)
_STEP: Final = re.compile(
    r"(?:(?:device|gpu|cpu|wall|train|training|avg|average|mean|median) )?"
    r"(?:(?:time|s|secs?|seconds|ms|milliseconds) ?(?:per|/) ?(?:step|iter|iteration|it|batch)s?|(?:avg |average |mean |median )?"
    r"(?:step|iteration|iter|batch) (?:time|seconds|s|ms)|(?:s|sec|ms)/(?:step|iter|iteration|it|batch))"
)
_RATE: Final = re.compile(
    rf"(?P<thing>.*?)\s*(?:/|\bper)\s*(?P<time>s|secs?|seconds?|min|minutes?|h|hr|hours?|day)\b\s*(?P<each>(?:/|\bper)\s*{_WORKER})?"
)
_FLOPS: Final = re.compile(r"\b([kmgtpe]|tera|peta|giga)flops?(?:/s)?\b")
_QUALITY: Final = re.compile(
    r"(?:(?:val|valid|validation|test|eval|final|dev|best|model) )?(?:top ?[15](?: acc(?:uracy)?)?|accuracy|acc|quality|score|f1(?: score)?|bleu|rouge"
    r"|map|miou|auc|wer|perplexity|ppl|loss)(?: score)?"
)
_SPEEDUP: Final = re.compile(
    r"(?:(?:relative |strong |parallel )?(?:scaling )?(?:speed ?ups?|acceleration(?: rate| factor)?)(?: factor)?(?: (?:vs\.?|versus|over|against) .*)?"
    r"|s ?p)"
)
_EFFICIENCY: Final = re.compile(r"(?:(?:parallel |strong |weak )?(?:scaling )?eff(?:iciency|\.)?|e ?p)")
_SYMBOL: Final = re.compile(r"([ste]) ?\((?:p|n)\)")
_GLOBAL_BATCH: Final = re.compile(r"(?:global|total|effective|overall) batch(?: ?size)?|batch(?: ?size)? (?:total|global)|gbs")
_BATCH: Final = re.compile(r"(?:mini ?)?batch(?: ?size)?s?|bs")
_OWN_BATCH: Final = re.compile(rf"micro ?batch(?: size)?|mbs|batch(?: size)? ?(?:/|per) ?{_WORKER}|(?:local|per {_WORKER}) batch(?: size)?")
_ACCUMULATION: Final = re.compile(r"(?:grad(?:ient)?s? )?accum(?:ulation)?(?: steps)?")
_ENERGY: Final = re.compile(r"(?:total )?energy(?: to solution| consumption| consumed| used)?|joules?|k?j|k?wh")
_POWER: Final = re.compile(r"(?:total |avg |average |mean )?power(?: draw| consumption)?|watts")
_MONEY: Final = re.compile(r"\$|usd|dollars?|price|cost|\brate$")
_PARTS: Final = {  # of a cost, besides compute
    "storage_usd": re.compile(r"(?:total )?(?:storage|disk)(?: costs?)?|costs? of storage"),
    "egress_usd": re.compile(r"(?:total )?(?:(?:network )?egress|data (?:transfer|out)|transfer(?: out)?)(?: costs?)?|costs? of egress"),
    "lost_usd": re.compile(r"(?:(?:spot )?(?:interruptions?|preemptions?)|lost work)(?: costs?)?|costs? of (?:lost work|interruptions?)"),
}
_WHOLE: Final = {"total ": "total", "compute ": "compute", "gpu ": "compute"}  # what a cost includes
_PER_RUN: Final = re.compile(r"|(?P<of>total |compute |gpu |run )?(?:cost|price)(?: of (?:the )?run)?(?: ?(?:/|per) ?run)?|(?:/|per) ?run")
_PER_STEP: Final = re.compile(r"(?:(?:cost|price) ?)?(?:(?:/|per) ?)?(?:training |optimizer )?(?:step|iteration|iter)(?: (?:cost|price))?")
_COUNTED: Final = r"(work|unit|item|sample|token|image|example|request|sequence)"
_OTHER_MONEY: Final = re.compile(r"[€£¥₹]|\b(?:eur|euros?|gbp|cny|rmb|jpy)\b")
_WORK: Final = re.compile(r"(?:n |num |total |training )?(?:work|items|samples|tokens|images|examples|sequences)")
_STEPS: Final = re.compile(r"(?:n |num |total )?(?:steps|iterations|iters)")


@dataclass(frozen=True, kw_only=True)
class Heading:
    """A column's meaning. `factor`: multiplier of its numbers."""

    meaning: str
    factor: float = 1.0
    per_worker: bool = False
    percent: bool = False
    unit_said: bool = True
    word: str = ""  # of a rate: the unit counted; of workers: their name; of joules: "step" if they are those of one
    either: bool = False  # a batch that may be that of all workers, or of each


def heading(name: str) -> Heading | None:
    """The meaning of a heading; None: unknown."""
    name = re.sub(r"(?<=\S)#\d+$", "", name)  # "seconds#2": the second one of that name
    text = _plain(name)
    if is_spread(text):
        return None
    if (symbol := _SYMBOL.fullmatch(text)) is not None:
        return Heading(meaning={"s": "speedup", "e": "efficiency", "t": "seconds"}[symbol[1]], unit_said=symbol[1] != "t")
    inside = " ".join(re.findall(r"[\[(]([^\])]*)[\])]", text)).strip()
    base = re.sub(r"\s*[\[(].*?[\])]\s*", " ", text).strip().strip(":,.*").strip()
    plural = f"{base}{inside}" if inside in ("s", "es") else base  # "GPU(s)"
    if _WORKERS.fullmatch(plural) and (inside not in SECONDS or plural != base):
        return Heading(meaning="workers", word=base)
    return (
        _money(text)
        or _time(base, inside)
        or _power(base, inside)
        or _batch(base, inside)
        or _derived(base, inside)
        or _amount(base)
        or _rate(base, inside)
        or _quality(re.sub(r"[\[(].*?[\])]", " ", name).strip(" :.,*"), base, inside)
    )


_OF_SAME_WORK: Final = re.compile(r"\bttt\b|\bto (?:train|solution|accuracy|target|convergence)\b|\bepoch\b")


def says_same_work(name: str) -> bool:
    """True if a time is that of the same work in every row, whatever the batch: "time to train", "time per epoch"."""
    return _OF_SAME_WORK.search(_plain(name)) is not None


Looks = Literal["quality", "cost", "work", ""]
_WORK_WORDS: Final = re.compile(
    r"\b(?:epochs?|steps?|iterations?|iters?|samples?|items?|tokens?|images?|batch(?: ?size)?|data ?set|problem size|size|sequence|seq|params?|parameters?)\b"
)


def looks_like(name: str) -> Looks:
    """What an unused column may say nevertheless, by its name."""
    text = _plain(name)
    if is_quality_heading(name):
        return "quality"
    if re.search(r"\$|usd|dollars?|price|cost", text) or _OTHER_MONEY.search(text):
        return "cost"
    return "work" if text == "n" or (_WORK_WORDS.search(text) and not re.search(r"\b(?:time|memory|per|util)|/|%", text)) else ""


def _plain(name: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"[\s_-]+", " ", re.sub(r"\(@[^)]*\)", "", name.lower()).replace("µ", "μ"))).strip()


def _money(text: str) -> Heading | None:
    if _OTHER_MONEY.search(text):
        return Heading(meaning="other_money")
    if not _MONEY.search(text):
        return None
    per_worker = bool(re.search(rf"(?:/|per|\b)\s*{_WORKER}\b", text))
    flat = re.sub(r"[()\[\]]", " ", text)
    if re.search(r"(?:/|per|\s)\s*(?:h|hr|hour)s?\b", flat) or re.fullmatch(r"\s*(?:price|rate)\s*", flat):
        return Heading(meaning="usd_per_hour", per_worker=per_worker)
    if re.search(r"(?:/|per|\s)\s*(?:s|sec|second)s?\b", flat) and per_worker:
        return Heading(meaning="usd_per_hour", factor=3600.0, per_worker=True)
    whole = re.sub(r"\s+", " ", re.sub(r"\$|usd|dollars?", " ", flat)).strip()
    for meaning, pattern in _PARTS.items():
        if pattern.fullmatch(whole):
            return Heading(meaning=meaning)
    if (of := re.fullmatch(rf"{_COUNTED}(?:s|es)? ?(?:/|per)", whole)) is not None and flat.rstrip().endswith(("$", "usd", "dollar")):
        return Heading(meaning="items_per_usd", word=of[1])
    if (run := _PER_RUN.fullmatch(whole)) is not None:
        return Heading(meaning="usd", word=_WHOLE.get(run["of"] or "", ""))
    if _PER_STEP.fullmatch(whole):
        return Heading(meaning="usd_per_step")
    per = re.fullmatch(rf"(?:cost|price)? ?(?:/|per) ?(?:unit (?:of )?)?{_COUNTED}", whole)
    return Heading(meaning="usd_per_item", word=per[1]) if per is not None else None


def _unit(base: str, inside: str, units: dict[str, float]) -> tuple[str, float | None]:
    """The name without its unit, and the unit's factor; None: no unit of this kind."""
    for word in re.split(r"[\s,;]+", inside):
        if word in units:
            return base, units[word]
    head, _, last = base.replace(",", " ").rpartition(" ")
    if last in units and head:
        return head.strip(), units[last]
    return base, units.get(base)


def _time(base: str, inside: str) -> Heading | None:
    for meaning, pattern in (("step_seconds", _STEP), ("seconds", _TIME)):
        name, factor = _unit(base, inside, SECONDS)
        for known in (base, name):
            if pattern.fullmatch(known) or (pattern is _STEP and _STEP.fullmatch(inside) and _TIME.fullmatch(known)):
                unit = re.match(r"(ms|milliseconds|seconds|secs?|s)\b", base) if pattern is _STEP and factor is None else None
                seconds = SECONDS[unit[1]] if unit else factor
                return Heading(
                    meaning=meaning,
                    factor=1.0 if seconds is None else seconds,
                    unit_said=seconds is not None or bool(inside in ("s/it", "s/step")),
                )
    return None


def _power(base: str, inside: str) -> Heading | None:
    each = re.compile(rf"\s*(?:/|per)\s*{_WORKER}\b")
    per_worker = bool(each.search(base) or each.search(inside))
    base, inside = each.sub("", base).strip(), each.sub("", inside).strip()
    of_step = re.compile(r"\s*(?:/|per) ?step\b")
    word = "step" if of_step.search(base) or of_step.search(inside) else ""
    base, inside = of_step.sub("", base).strip(), of_step.sub("", inside).strip()
    for meaning, pattern, units in (("joules", _ENERGY, JOULES), ("watts", _POWER, WATTS)):
        name, factor = _unit(base, inside, units)
        if (pattern.fullmatch(name) or pattern.fullmatch(base)) and not (word and meaning == "watts"):
            return Heading(meaning=meaning, factor=factor or 1.0, per_worker=per_worker, unit_said=factor is not None, word=word)
    return None


def _batch(base: str, inside: str) -> Heading | None:
    name = f"{base} {inside}".strip()
    patterns = (("batch", _GLOBAL_BATCH, False), ("batch", _OWN_BATCH, True), ("accumulation", _ACCUMULATION, False))
    for meaning, pattern, per_worker in patterns:
        if pattern.fullmatch(base) or pattern.fullmatch(name):
            return Heading(meaning=meaning, per_worker=per_worker)
    return Heading(meaning="batch", either=True) if _BATCH.fullmatch(base) else None


def _derived(base: str, inside: str) -> Heading | None:
    """The meaning of derived numbers, and of those without a unit except percent."""
    percent = _is_percent(base, inside)
    name = re.sub(r"\s*(?:%|\bpct\b|\bpercent\b|\bin percent\b)\s*", " ", base).strip().removesuffix(" in").removesuffix(",").strip()
    patterns = (("quality", _QUALITY), ("speedup", _SPEEDUP), ("efficiency", _EFFICIENCY))
    return next((Heading(meaning=meaning, percent=percent) for meaning, pattern in patterns if pattern.fullmatch(name)), None)


def _is_percent(base: str, inside: str) -> bool:
    return "%" in inside or "%" in base or bool(re.search(r"\b(?:pct|percent)\b", f"{base} {inside}"))


def _quality(name: str, base: str, inside: str) -> Heading | None:
    """A score under any name: "held-out accuracy", "MMLU (%)", "pass@1", "valAcc", "error rate"."""
    return Heading(meaning="quality", percent=_is_percent(base, inside)) if is_quality_heading(name) else None


def _amount(base: str) -> Heading | None:
    patterns = (("work", _WORK), ("steps", _STEPS))
    return next((Heading(meaning=meaning) for meaning, pattern in patterns if pattern.fullmatch(base)), None)


def _rate(base: str, inside: str) -> Heading | None:
    each = bool(re.search(rf"(?:/|\bper)\s*{_WORKER}\b", f"{base} {inside}"))
    for text in (inside, base):
        match = _RATE.fullmatch(text.strip()) or _RATE.search(text)
        if match and (match["thing"].strip() or text is inside):
            word = (
                re.sub(r"^(?:(?:total|avg|average|mean|training|aggregate|achieved|throughput)\b\s*)+", "", match["thing"].strip())
                or "work"
            )
            return Heading(meaning="rate", factor=1.0 / SECONDS[_singular(match["time"])], per_worker=each, word=word)
    flops = _FLOPS.search(f"{base} {inside}")
    if flops:
        return Heading(meaning="rate", per_worker=each, word=f"{flops[1]}flop")
    known = {"qps": "queries", "fps": "frames", "tps": "tokens"}.get(re.sub(rf"^(?:total|avg|mean) | ?(?:/|per) ?{_WORKER}$", "", base))
    if known is None and not re.match(r"(?:training |total |aggregate |system )?throughput\b(?! speed)", base):
        return None
    return Heading(meaning="rate", per_worker=each, word=known or "work", unit_said=known is not None)


def _singular(word: str) -> str:
    return word if word in SECONDS else word.rstrip("s")


# ---- meanings that the user gives -------------------------------------------------------------------------------------

# The word in --use WORD="HEADING" -> the meaning, and whether the numbers are those of each worker.
GIVEN: Final[dict[str, tuple[str, bool]]] = {
    **{name: (name, False) for name in ("workers", "seconds", "step_seconds", "speedup", "efficiency", "quality", "work", "steps")},
    "throughput": ("rate", False),
    "cost": ("usd", False),
    "total_cost": ("usd", False),
    "compute_cost": ("usd", False),
    "storage": ("storage_usd", False),
    "egress": ("egress_usd", False),
    "lost_work": ("lost_usd", False),
    "price_per_hour": ("usd_per_hour", False),
    "price_per_worker_hour": ("usd_per_hour", True),
    "global_batch": ("batch", False),
    "batch_per_worker": ("batch", True),
}


def as_given(word: str, name: str) -> Heading:
    """A heading with the meaning that the user gives it; its unit is still its own."""
    meaning, per_worker = GIVEN[word]
    text = _plain(name)
    inside = " ".join(re.findall(r"[\[(]([^\])]*)[\])]", text)).strip()
    factor = _unit(text, inside, UNITS[meaning])[1] if meaning in UNITS else 1.0
    return Heading(
        meaning=meaning,
        factor=factor or 1.0,
        per_worker=per_worker,
        percent=meaning in ("quality", "efficiency") and _is_percent(text, inside),
        unit_said=factor is not None,
        word="work" if meaning == "rate" else word.removesuffix("_cost") if meaning == "usd" and word != "cost" else text,
    )
