"""How well does each token of the answer match some token of a reference in meaning, and the other way round?

BERTScore (Zhang et al. 2020): every token is matched with the token of the other text whose contextual embedding has the largest cosine; the mean
over the answer's tokens is the precision, over the reference's the recall, F1 their harmonic mean.  Special tokens can be matched and do not
count themselves, as in bert-score 0.3.  With `idf` a token counts by log((N + 1) / (n + 1)) of the N references, of which n have it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from fireassay.quality.scoring.support.embeddings import best, directions, encoder_at, table, without_model
from fireassay.quality.scoring.support.options import flag, whole, yes
from fireassay.quality.scoring.text_metric import Array, Encoded, Encoder, Options, Prepared, TextMetric

COLUMNS = ("f1", "precision", "recall")
MOST_LAYERS = 1000
Importance = Callable[[int], float]


def prepare_with(options: Options, encoder: Encoder) -> Prepared:
    """Options `model` (folder of the encoder), `layer` (0: the last) and `idf`."""
    layer, idf = whole("bertscore", options, "layer", 0, MOST_LAYERS), flag("bertscore", options, "idf")
    encode = encoder_at(encoder, layer)

    def statistics(answers: Sequence[str], references: Sequence[Sequence[str]]) -> Array:
        importance = rarity(encode, [text for wanted in references for text in wanted]) if idf else None
        return table(best(encode, lambda answer, wanted: bertscore(answer, wanted, importance), answers, references), len(COLUMNS))

    words = f"layer:{layer or 'last'}|idf:{yes(idf)}|rescale:no|refs:max"
    return Prepared(signature=f"metric:bertscore|impl:fireassay@1|{words}|{encoder.signature}", statistics=statistics)


def bertscore(answer: Encoded, reference: Encoded, importance: Importance | None = None) -> tuple[float, float, float]:
    """F1, precision and recall; 0 where a text has no token."""
    own, wanted = (_weights(text, importance) for text in (answer, reference))
    if all(answer.special) or all(reference.special):
        return 0.0, 0.0, 0.0
    cosines = directions(answer.vectors) @ directions(reference.vectors).T
    with np.errstate(invalid="ignore"):
        precision = float(cosines.max(axis=1) @ own / own.sum())
        recall = float(cosines.max(axis=0) @ wanted / wanted.sum())
    f1 = 2.0 * precision * recall / (precision + recall) if precision + recall else 0.0
    return (f1, precision, recall) if math.isfinite(f1) else (0.0, precision, recall)


def _weights(text: Encoded, importance: Importance | None) -> Array:
    plain = [0.0 if special else 1.0 for special in text.special]
    if importance is None:
        return np.array(plain)
    return np.array([weight * importance(token) for weight, token in zip(plain, text.ids, strict=True)])


def rarity(encode: Callable[[Sequence[str]], Sequence[Encoded]], references: Sequence[str], at_once: int = 256) -> Importance:
    """Inverse document frequency of a token among the references."""
    found: Counter[int] = Counter()
    for begin in range(0, len(references), at_once):
        for text in encode(references[begin : begin + at_once]):
            found.update(set(text.ids))
    most = len(references) + 1
    return lambda token: math.log(most / (found[token] + 1))


METRIC = TextMetric(
    name="bertscore",
    title="BERTScore",
    better="higher",
    scale=(-1.0, 1.0),
    prepare=without_model,
    prepare_with=prepare_with,
    options={"model": "", "layer": 0, "idf": False},
    statistics=COLUMNS,
    source="Zhang et al., BERTScore, ICLR 2020",
    caveat="What the model takes to be alike, opposites included; the values of two models or layers cannot be compared. A text is cut at the "
    "model's longest length. With `idf` an item's score depends on which items were answered.",
)
