"""Is the choice right that has the highest log probability per byte of UTF-8?

lm-evaluation-harness calls it acc_bytes.  Equal to acc_norm for ASCII.  Without the white space before the choice.
"""

from __future__ import annotations

from collections.abc import Sequence

from fireassay.quality.scoring.likelihoods import chosen_right
from fireassay.quality.scoring.text_metric import Array, Options, Prepared, TextMetric


def statistics(answers: Sequence[str], references: Sequence[Sequence[str]]) -> Array:
    """1 where it is, else 0; shape [items, 1]."""
    return chosen_right(answers, references, lambda choice: choice.bytes)


def prepare(_: Options) -> Prepared:
    """No options, no library."""
    return Prepared(signature="metric:acc_bytes|impl:fireassay@1|norm:bytes|ties:first", statistics=statistics)


METRIC = TextMetric(
    name="acc_bytes",
    title="Choice accuracy, per byte",
    better="higher",
    scale=(0.0, 1.0),
    of_choices=True,
    prepare=prepare,
    reads="likelihoods",
    source="lm-evaluation-harness, acc_bytes of a multiple_choice task",
    caveat="Favours long choices.",
)
