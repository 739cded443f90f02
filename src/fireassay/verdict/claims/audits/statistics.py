"""Does a claim say how many launches and trials stand behind its numbers, which were picked, and what they cost in quality?"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator
from typing import Final

from fireassay.estimates.format import count, given
from fireassay.spec.claim import Claim, ClaimedQuality, Number
from fireassay.spec.scores import has_word
from fireassay.stats.comparing.noninferiority import zero_flip_bound
from fireassay.stats.intervals.quantiles import least_two_sided
from fireassay.verdict.audits.every.launches import LAUNCHES_ENOUGH
from fireassay.verdict.audits.every.tails import PERCENTILE_TRIALS_CONFIDENCE
from fireassay.verdict.claims.claim import ClaimAudits
from fireassay.verdict.claims.claimed_numbers import found, improved, unsaid
from fireassay.verdict.claims.claimed_numbers import found as said_wrong
from fireassay.verdict.claims.stated.gains import MORE
from fireassay.verdict.claims.stated.kinds import (
    is_quality,
    is_relative,
    is_share,
    is_wait,
    lower_is_better,
    metric_name,
    statistic,
    unit_of,
)
from fireassay.verdict.claims.stated.objective import (
    confusion,
    direction_contradicts,
    is_proportion,
    lower_score_is_better,
    of_number,
    scale,
)
from fireassay.verdict.types import Finding

AUDITS = ClaimAudits()


MIN_CONFIDENCE = 0.8  # the lowest level accepted as a confidence interval


@AUDITS.add("launches")
def claim_launches(said: Claim) -> tuple[Finding, ...]:
    """Numbers without launches or without an interval."""
    return tuple(finding for number in said.number if not is_quality(number) for finding in _claimed(number))


def _claimed(number: Number) -> list[Finding]:
    missing = []
    if number.launches is None:
        trials = f"; {count(number.trials, 'trials')} inside a launch say nothing about the next launch" if number.trials else ""
        missing.append(f"no number of launches is given{trials}")
    elif number.launches < LAUNCHES_ENOUGH:
        missing.append(f"{count(number.launches, 'launches')}; a reliable interval needs {LAUNCHES_ENOUGH}")
    if number.interval is None:
        missing.append("no interval is given, which claims that there is no noise")
    elif number.interval.kind != "confidence":
        kind = number.interval.kind.replace("_", " ")
        missing.append(
            f"a {kind} is given, which is not an interval for the number" if kind != "unknown" else "the kind of interval is not stated"
        )
    elif number.interval.low is not None and number.interval.low == number.interval.high:
        missing.append(f"number.interval has no width ({given(number.interval.low)} to itself), which claims that there is no noise")
    elif number.interval.confidence is not None and number.interval.confidence < MIN_CONFIDENCE:
        missing.append(f"number.interval.confidence = {given(number.interval.confidence)}: the true value lies outside it too often")
    if not missing:
        return []
    evidence = "; ".join(missing)
    remedy = f"measure in at least {LAUNCHES_ENOUGH} launches, and publish the interval between launches"
    return [said_wrong("evidence_insufficient", "warning", number, evidence, remedy, "launch_values")]


MIDDLE: Final = ("mean", "median", "p50")
GAIN: Final = r"(a factor of\s+)?[\d.,]+\s*-?(x\b|×|times\b(?! (as many|as much data|the data))|%|percent\b|fold\b)"
RATE: Final = r"[\d.,]+\s*[kMGTP]?(tok\w*|samples?|images?|[bB]|bit|FLOPs?)(/s| per second|ps\b|S\b)"  # requests/s may be the offered load
BEST_CASE: Final = (
    rf"\b(up to|as much as)\s+({GAIN}|{RATE})|\b(as high as|as fast as|peaks? (at|of)|a peak of)\s+({GAIN}|[\d.,]+\s*[A-Za-z]+)"
    r"|\b(best|fastest) (run )?(out )?of (\d+|all|several|N)\b|\bbest-of-\w+"
)


@AUDITS.add("cherry_picked")
def claim_cherry_picked(said: Claim) -> tuple[Finding, ...]:
    """Best-of-N, a single launch, launches left out."""
    findings = [finding for number in said.number for finding in (*_extreme(said, number), *_picked(number))]
    return (
        *findings,
        *_in_words(said),
        *unsaid(
            "statistic_unsaid",
            [n for n in said.number if statistic(n) is None and not is_quality(n)],
            "which statistic of the measurements it is",
            "give the statistic (median, mean, p99 ...) of every number",
            "launch_values",
        ),
    )


def _in_words(said: Claim) -> list[Finding]:
    """Wording of the claim that admits a best case."""
    words = re.search(BEST_CASE, said.claim.text, flags=re.IGNORECASE)
    about = [
        n for n in said.number if not is_quality(n) and (is_relative(n) or not is_share(n)) and n.statistic not in ("best", "min", "max")
    ]
    if words is None or not about:
        return []
    evidence = f'claim.text says "{words[0].strip()}", which is the best of several cases or runs'
    remedy = "report every case, or the median over them with its interval"
    return [found("best_case_in_words", "invalid", about[0], evidence, remedy, "launch_values")]


def _extreme(said: Claim, number: Number) -> list[Finding]:
    """The most favourable of several; not an extreme given beside the middle of the same measurements."""
    middle = [
        n for n in said.number if metric_name(n.metric) == metric_name(number.metric) and n.of == number.of and statistic(n) in MIDDLE
    ]
    if number.statistic != "best" and (middle or number.statistic != ("min" if lower_is_better(number) else "max")):
        return []
    evidence = f"it is the {number.statistic} of several measurements (number.statistic), which improves with more measurements"
    return [found("best_of_n", "invalid", number, evidence, "report the median over launches with its interval", "launch_values")]


def _picked(number: Number) -> Iterator[Finding]:
    if number.launches == 1 or number.statistic == "single":
        evidence = "it comes from one launch, which says nothing about the next one"
        remedy = "repeat it in at least 5 launches, and report the median with its interval"
        yield found("one_launch", "warning", number, evidence, remedy, "launch_values")
    left = (number.planned_launches or 0) - (number.launches or number.planned_launches or 0)
    if left > 0:
        evidence = f"{left} of {count(number.planned_launches or 0, 'launches')} were left out of it"
        remedy = "report all launches, or the exclusion rule that was written down beforehand"
        yield found("launches_left_out", "invalid", number, evidence, remedy, "launch_values")


CENTRAL = ("mean", "median", "p50", None, "single")
TAIL = ("p90", "p95", "p99", "p999", "max")


@AUDITS.add("tail_blindness")
def claim_tail_blindness(said: Claim) -> tuple[Finding, ...]:
    """Waiting times given only by their middle."""
    tailed = {(metric_name(number.metric), number.of) for number in said.number if statistic(number) in TAIL}
    return tuple(
        found(
            "tail_not_reported",
            "warning",
            number,
            f"only its {statistic(number) or 'value'} is given, without a tail percentile",
            "publish p95 or p99 of the same launches with it",
            "tail",
        )
        for number in said.number
        if is_wait(number)
        and statistic(number) in CENTRAL
        and not {(metric_name(number.metric), number.of), (metric_name(number.metric), None)} & tailed
    )


PERCENTILES = {"p50": 0.50, "p90": 0.90, "p95": 0.95, "p99": 0.99, "p999": 0.999}


@AUDITS.add("percentile_trials")
def claim_percentile_trials(said: Claim) -> tuple[Finding, ...]:
    """Percentiles with too few trials, or with an unstated number."""
    named = [number for number in said.number if statistic(number) in PERCENTILES]
    few = [finding for number in named for finding in _few(number)]
    return (
        *few,
        *unsaid(
            "trials_unsaid",
            [number for number in named if number.trials is None],
            "how many trials the percentile rests on",
            "state trials",
            "percentile",
        ),
    )


def _few(number: Number) -> list[Finding]:
    p = PERCENTILES[str(statistic(number))]
    least = least_two_sided(p, PERCENTILE_TRIALS_CONFIDENCE)
    if number.trials is None or number.trials >= least:
        return []
    evidence = (
        f"a {statistic(number)} of {count(number.trials, 'trials')}; at least {least} independent ones are needed to bound it on both sides"
    )
    return [found("too_few_trials", "invalid", number, evidence, "measure more trials, or claim a lower percentile", "percentile")]


# Items of public benchmarks, for scores that come without their number.
BENCHMARK_ITEMS: Final = {
    "gsm8k": 1319, "mmlu": 14042, "mmlu_pro": 12032, "hellaswag": 10042, "arc_challenge": 1172, "arc_c": 1172, "winogrande": 1267,
    "truthfulqa": 817, "humaneval": 164, "mbpp": 500, "gpqa": 448, "ifeval": 541, "boolq": 3270, "piqa": 1838,
}  # fmt: skip
ITEMS_IN_TEXT: Final = r"(\d[\d,]*)\s+(?:held-out |test )?(?:items|questions|problems|examples|samples|prompts|instances|tasks)\b"
ITEM_KEYS: Final = ("items", "questions", "problems", "examples", "samples", "n")
Z_95: Final = 1.96


@AUDITS.add("score_difference", "Is the difference of the scores larger than chance?", title="difference of scores within chance")
def claim_score_difference(said: Claim) -> Iterator[Finding]:
    """Two scores of one benchmark that differ by less than chance would make them.

    The standard error of a share p of n items is sqrt(p (1 - p) / n), of a difference of two the root of the sum of squares if nothing is known
    of the items that both got right (Miller, "Adding error bars to evals", 2024). Records compare item by item, so this concerns claims.
    """
    if re.search(EQUAL_SCORES, said.claim.text, flags=re.IGNORECASE) or (
        improved(said) and not re.search(BETTER_SCORES, said.claim.text, flags=re.IGNORECASE)
    ):
        return  # a score beside a speed is claimed to be held: `quality_unmeasured` judges that
    for number, one, other, words in _score_pairs(said):
        items = _items(said, number)
        if items is None or one == other or not (0.0 <= one <= 1.0 and 0.0 <= other <= 1.0):
            continue
        errors = [math.sqrt(share * (1.0 - share) / items) for share in (one, other)]
        both = math.hypot(*errors)
        if abs(one - other) >= Z_95 * both:
            continue
        apart = f"{words}: {given(100.0 * abs(one - other), 3)} points apart over {items:,} items"
        chance = (
            f"the standard error of one is {given(100.0 * errors[0], 3)} points, of their difference {given(100.0 * both, 3)} unless paired"
        )
        remedy = "compare the answers item by item, and publish the interval of the difference; or claim no difference"
        yield found("scores_within_chance", "warning", number, f"{apart}; {chance}", remedy, "quality")


BETTER_SCORES: Final = (
    r"\b(outperforms?|beats?|surpass\w*|more accurate|(better|higher|best|improv\w+) (the |in |on )?(accuracy|quality|scores?|results?))\b"
)
EQUAL_SCORES: Final = (
    r"\b(on par|match(es|ed)?|as (good|accurate) as|same (accuracy|quality|score)|no (loss|difference)|within noise|(statistical )?tie)\b"
)
ASSUMED_SHARE: Final = 0.9  # of right answers, where only a difference is given: nearer to a half, chance is larger
SCORE_CHANGE: Final = ("difference", "delta", "lead", "margin", *MORE)


def _score_pairs(said: Claim) -> Iterator[tuple[Number, float, float, str]]:
    """(number, two shares of right answers that are held against each other, in words); a better one, or two systems."""
    scores = [n for n in said.number if is_quality(n) and is_proportion(n.metric)]
    for number in scores:
        base = number.baseline.value if number.baseline is not None else None
        if base is None and has_word(number.metric, (), SCORE_CHANGE):
            unit = 1.0 if unit_of(number).kind not in ("points", "percent") and abs(number.value) < 1.0 else 100.0
            yield number, ASSUMED_SHARE, ASSUMED_SHARE - number.value / unit, f"{number.label} is {given(number.value)}"
        elif base is not None and number.value > base and not _apart(number, base):
            yield _pair(number, base, "its baseline")
    for first, other in itertools.combinations([n for n in scores if n.baseline is None and n.of is not None], 2):
        same = metric_name(first.metric) == metric_name(other.metric) and first.of != other.of
        if same and not _apart(first, other.value) and not _apart(other, first.value):
            yield _pair(first, other.value, f"of {other.of}")


def _pair(number: Number, other: float, who: str) -> tuple[Number, float, float, str]:
    unit = 100.0 if max(abs(number.value), abs(other)) > 1.0 else 1.0
    return number, number.value / unit, other / unit, f"{number.label} is {given(number.value)}, {who} {given(other)}"


def _apart(number: Number, base: float) -> bool:
    """True if the number has an interval that excludes the other score."""
    interval = number.interval
    if interval is None or interval.kind != "confidence" or interval.low is None or interval.high is None:
        return False
    return not interval.low <= base <= interval.high


def _items(said: Claim, number: Number) -> int | None:
    """The items behind a score: as stated, in the claim's words, or those of the benchmark that it names."""
    stated = [number.trials, *(number.conditions.get(key) for key in ITEM_KEYS), said.quality.items if said.quality is not None else None]
    counts = [value for value in stated if isinstance(value, int) and not isinstance(value, bool) and value > 0]
    words = re.search(ITEMS_IN_TEXT, said.claim.text)
    named = [size for name, size in BENCHMARK_ITEMS.items() if has_word(f"{number.metric} {said.claim.text}", (name,))]
    return counts[0] if counts else int(words[1].replace(",", "")) if words else max(named, default=None)


QUALITY_UNMEASURED_CONFIDENCE = 0.95
QUALITY_UNMEASURED_REMEDY = "score held-out items in the timed launches, and write the margin down beforehand"


@AUDITS.add("quality_unmeasured")
def claim_quality_unmeasured(said: Claim) -> tuple[Finding, ...]:
    """The quality stated beside a speed or a lower cost."""
    better = improved(said)
    if not better:
        return ()
    in_numbers = tuple(_lost_in_numbers(said))
    if said.quality is not None:
        return (*_lost(said.quality), *_elsewhere(said.quality), *_too_few(said.quality), *in_numbers)
    if in_numbers:
        return in_numbers
    if any(is_quality(number) for number in said.number):
        return _unsure()
    evidence = "nothing is said about the quality of the faster or cheaper result"
    return (found("quality_not_measured", "warning", better[0], evidence, QUALITY_UNMEASURED_REMEDY, "quality"),)


def _unsure() -> tuple[Finding, ...]:
    evidence = "the claim gives scores, and does not say whether they come from the timed launches"
    return (found("quality_unsaid", "note", None, evidence, "add [quality] with same_launches and margin", "quality"),)


def _elsewhere(quality: ClaimedQuality) -> list[Finding]:
    if quality.same_launches is False:
        evidence = f"{quality.metric} was measured in other runs than the times"
        return [found("quality_of_other_runs", "invalid", None, evidence, QUALITY_UNMEASURED_REMEDY, "quality")]
    unsaid = [
        words
        for words, value in (
            ("whether it comes from the timed launches", quality.same_launches),
            ("which loss counts as equal (margin)", quality.margin),
            ("the baseline's score", quality.baseline),
            ("the candidate's score", quality.candidate),
        )
        if value is None
    ]
    if not unsaid:
        return []
    return [
        found(
            "quality_unsaid",
            "note",
            None,
            f"for {quality.metric}, the claim does not say {', '.join(unsaid)}",
            QUALITY_UNMEASURED_REMEDY,
            "quality",
        )
    ]


def _lost(quality: ClaimedQuality) -> list[Finding]:
    if direction_contradicts(quality):
        evidence = f'quality.direction = "{quality.direction}" contradicts the meaning of {quality.metric}'
        remedy = "leave quality.direction out, or name the score as it was published"
        return [found("direction_contradicts_metric", "warning", None, evidence, remedy, "quality")]
    if quality.baseline is None or quality.candidate is None or confusion(quality):
        return []  # `units` reports scores on two scales
    loss = quality.candidate - quality.baseline if lower_score_is_better(quality) else quality.baseline - quality.candidate
    change = (
        f"{quality.metric} went from {given(quality.baseline)} to {given(quality.candidate)}{_by(quality.metric, loss, quality.baseline)}"
    )
    if loss > 0.0 and quality.margin is None:
        evidence = f"{change}, and no quality.margin allows such a loss"
        remedy = "state the margin that was written down beforehand, or fix the loss and time it again"
        return [found("quality_lost_without_margin", "warning", None, evidence, remedy, "quality")]
    if quality.margin is None or loss <= quality.margin * (1.0 + 1e-9):
        return []
    evidence = f"{change}; the margin is {given(quality.margin)}"
    remedy = "fix the loss first (learning rate, warm-up, batch), then time it again"
    return [found("quality_lost", "invalid", None, evidence, remedy, "quality")]


def _by(metric: str, loss: float, base: float) -> str:
    """ ", worse by 2.2 points": of a share in points, else in its unit."""
    if loss <= 0.0:
        return ""
    in_points = is_proportion(metric)
    return f", worse by {given(100.0 * loss if in_points and abs(base) <= 1.0 else loss, digits=3)}{' points' if in_points else ''}"


def _lost_in_numbers(said: Claim) -> Iterator[Finding]:
    """Scores given as numbers, with their baseline's."""
    for number in filter(is_quality, said.number):
        same = said.quality is not None and said.quality.metric == number.metric
        score = of_number(number, said.quality.margin if same and said.quality is not None else None)
        yield from _lost(score) if score is not None else []


def _too_few(quality: ClaimedQuality) -> list[Finding]:
    score_scale = scale(quality)
    if quality.items is None or quality.margin is None or score_scale is None or not is_proportion(quality.metric):
        return []
    least = zero_flip_bound(quality.items, QUALITY_UNMEASURED_CONFIDENCE) * (100.0 if score_scale == "points" else 1.0)
    if least <= quality.margin:
        return []
    unit = " points" if score_scale == "points" else ""
    evidence = (
        f"{count(quality.items, 'items')} bound a change by {given(least, 2)}{unit} at best, even if no answer changed; "
        f"the margin is {given(quality.margin)}{unit}"
    )
    return [found("quality_items_too_few", "warning", None, evidence, "score more items, or claim a wider margin", "quality")]
