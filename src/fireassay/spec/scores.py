"""Which names denote a score of the result, and is a higher one better?

By the words of a name, in a table's heading as in a claim's metric.  Cannot tell: the meaning of a name without any of them.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Final


@lru_cache(4096)  # names come from files, and a hostile one has many
def folded_name(text: str) -> str:
    """ "TTFT (ms)" -> "ttft_ms"."""
    return re.sub(r"[^0-9a-zµ@]+", "_", text.casefold()).strip("_")


@lru_cache(4096)
def has_word(text: str, words: tuple[str, ...], beginnings: tuple[str, ...] = ()) -> bool:
    """True if a name contains one of the words, or a word with one of the prefixes."""
    return _pattern(words, beginnings).search(folded_name(text)) is not None


@cache
def _pattern(words: tuple[str, ...], beginnings: tuple[str, ...]) -> re.Pattern[str]:
    whole, begun = ("|".join(map(re.escape, some)) or "(?!)" for some in (words, beginnings))
    return re.compile(rf"(?:^|_)(?:(?:{whole})s?(?:_|$)|(?:{begun}))")


def words(text: str) -> tuple[str, ...]:
    """Words or beginnings of words that a name may contain."""
    return tuple(text.split())


PROPORTIONS: Final = words(
    "accuracy top_1 top1 top_5 top5 exact_match em pass_1 pass@1 pass_at_1 mmlu mmlu_pro gsm8k humaneval hellaswag winogrande truthfulqa "
    "boolq piqa arc arc_c arc_challenge bbh gpqa ifeval mbpp aime success_rate win_rate acc"
)
BOUNDED: Final = words("f1 auc auroc recall precision_at rouge bleu map miou ndcg mrr iou dice ssim meteor chrf score quality")
UNBOUNDED: Final = words("psnr r2 mcc kappa elo cider spice bertscore reward pearson spearman")
WORSE_IF_HIGHER: Final = words(
    "perplexity ppl loss wer cer fid mse rmse mae bits_per_byte bits_per_token top_1_error top_5_error test_error validation_error"
)
OWN_SCALE: Final = words(
    "perplexity ppl loss fid mse rmse mae bits_per_byte bits_per_token psnr elo cider reward"
)  # neither shares nor points
NO_SCORES: Final = ("packet", "work", "sample", "request", "weight", "data", "power")  # "packet loss" is no score
NO_HEADINGS: Final = (
    "time",
    "memory",
    "margin",
    "tolerance",
    "scale",
    "delta",
    "per",
)  # beside a score's word: "loss scale", "time to accuracy"
SPREADS: Final = ("std", "stdev", "sd", "se", "sem", "stderr", "ci")  # beside a score: how far it varies
NO_ERRORS: Final = ("bar", "bars", "margin", "code", "codes", "message", "count")
_BEGIN: Final = ("accurac", "perplexit")


def is_score(metric: str) -> bool:
    """True if a metric's name denotes a score."""
    if has_word(metric, NO_SCORES) and not has_word(metric, PROPORTIONS):
        return False
    return has_word(metric, (*PROPORTIONS, *BOUNDED, *WORSE_IF_HIGHER), _BEGIN)


def is_quality_heading(name: str) -> bool:
    """True if a column of a table of timings holds the quality of the result: a score, or how often or how far it was wrong."""
    if has_word(name, NO_HEADINGS) or is_spread(name):
        return False
    forms = (name, _parted(name))
    return any(
        is_score(form) or has_word(form, UNBOUNDED, ("pass@", "recall@", "hit@", "hits@", "p@", "r@")) or _is_error(form) for form in forms
    )


def is_spread(name: str) -> bool:
    """True if a column says how far another one varies: "accuracy std", "acc (SE)"."""
    return has_word(name, SPREADS)


def lower_is_better(name: str) -> bool:
    """True if a lower score is better: a loss, a perplexity, an error."""
    return any(has_word(form, WORSE_IF_HIGHER, ("perplexit",)) or _is_error(form) for form in (name, _parted(name)))


def has_own_scale(name: str) -> bool:
    """True if a score is neither a share nor in points: a loss, a perplexity, a rating."""
    return any(has_word(form, OWN_SCALE, ("perplexit",)) for form in (name, _parted(name)))


def _parted(name: str) -> str:
    """A heading with its words apart: "valAcc" as "val Acc", "Err@1" as "Err 1", "top1acc" as "top 1 acc", "mAP50" as "mAP 50"."""
    apart = re.sub(r"(?<=[a-z]{2})(?=[A-Z])|(?<=[A-Za-z])(?=\d)|(?<=\d)(?=[A-Za-z])", " ", name)
    return apart.replace("@", " ")


def _is_error(name: str) -> bool:
    return has_word(name, ("error", "err", "error_rate")) and not has_word(name, NO_ERRORS)
