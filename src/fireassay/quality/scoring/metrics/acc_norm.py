"""Is the choice right that has the highest log probability per character?

lm-evaluation-harness calls it acc_norm, and counts characters, not bytes: acc_bytes counts those.  Without the white space before the choice.
"""

from __future__ import annotations

from collections.abc import Sequence

from fireassay.quality.scoring.likelihoods import chosen_right
from fireassay.quality.scoring.text_metric import Array, Options, Prepared, TextMetric


def statistics(answers: Sequence[str], references: Sequence[Sequence[str]]) -> Array:
    """1 where it is, else 0; shape [items, 1]."""
    return chosen_right(answers, references, lambda choice: choice.characters)


def prepare(_: Options) -> Prepared:
    """No options, no library."""
    return Prepared(signature="metric:acc_norm|impl:fireassay@1|norm:characters|ties:first", statistics=statistics)


METRIC = TextMetric(
    name="acc_norm",
    title="Choice accuracy, per character",
    better="higher",
    scale=(0.0, 1.0),
    of_choices=True,
    prepare=prepare,
    reads="likelihoods",
    source="lm-evaluation-harness, acc_norm of a multiple_choice task",
    caveat="Favours long choices.",
)
