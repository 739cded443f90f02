"""Is the most probable choice right, by the sum of its tokens' log probabilities?

lm-evaluation-harness calls it acc.  A longer choice has more tokens to lose probability on: see acc_norm.
"""

from __future__ import annotations

from collections.abc import Sequence

from fireassay.quality.scoring.likelihoods import chosen_right
from fireassay.quality.scoring.text_metric import Array, Options, Prepared, TextMetric


def statistics(answers: Sequence[str], references: Sequence[Sequence[str]]) -> Array:
    """1 where it is, else 0; shape [items, 1]."""
    return chosen_right(answers, references, lambda choice: 1.0)


def prepare(_: Options) -> Prepared:
    """No options, no library."""
    return Prepared(signature="metric:acc|impl:fireassay@1|norm:none|ties:first", statistics=statistics)


METRIC = TextMetric(
    name="acc",
    title="Choice accuracy",
    better="higher",
    scale=(0.0, 1.0),
    of_choices=True,
    prepare=prepare,
    reads="likelihoods",
    source="lm-evaluation-harness, acc of a multiple_choice task",
    caveat="Favours short choices.",
)
