"""Which counts does sacrebleu take of an answer and its references?

They come from `_extract_corpus_statistics`, which sacrebleu 2 itself resamples from; each text is tokenised once.  Batches keep
memory small: it holds the n-grams of all references of a call.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

from fireassay.errors import EnvironmentLacks
from fireassay.quality.scoring.text_metric import Array

BATCH = 512


def library() -> Any:
    """Module `sacrebleu.metrics`.

    Raises:
        EnvironmentLacks: sacrebleu is not installed.
    """
    try:
        import sacrebleu.metrics
    except ImportError:
        raise EnvironmentLacks("BLEU, chrF and TER need sacrebleu: pip install 'fireassay[quality]'") from None
    return sacrebleu.metrics


def signature(metric: Any) -> str:
    """sacrebleu's own; the number of references is that of each item."""
    metric.num_refs = -1
    return str(metric.get_signature())


def counts(metric: Any, answers: Sequence[str], references: Sequence[Sequence[str]], width: int) -> Array:
    """Shape [items, width], zeros where the metric has fewer columns; NaN for an item without a reference."""
    table = np.zeros((len(answers), width))
    for begin in range(0, len(answers), BATCH):
        part = slice(begin, begin + BATCH)
        streams = list(zip_longest(*(wanted or ("",) for wanted in references[part])))
        found = np.array(metric._extract_corpus_statistics(answers[part], streams), dtype=np.float64)
        table[part, : found.shape[1]] = found
    table[[not wanted for wanted in references]] = np.nan
    return table
