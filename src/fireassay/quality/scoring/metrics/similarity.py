"""How alike in meaning are the answer and a reference as a whole?

Cosine of the means of all token embeddings of the last layer (Reimers & Gurevych 2019, mean pooling).
"""

from __future__ import annotations

from collections.abc import Sequence

from fireassay.quality.scoring.support.embeddings import best, directions, encoder_at, table, without_model
from fireassay.quality.scoring.support.options import whole
from fireassay.quality.scoring.text_metric import Array, Encoded, Encoder, Options, Prepared, TextMetric

MOST_LAYERS = 1000


def prepare_with(options: Options, encoder: Encoder) -> Prepared:
    """Options `model` (folder of the encoder) and `layer` (0: the last)."""
    layer = whole("similarity", options, "layer", 0, MOST_LAYERS)
    encode = encoder_at(encoder, layer)

    def statistics(answers: Sequence[str], references: Sequence[Sequence[str]]) -> Array:
        return table(best(encode, cosine, answers, references), 1)

    signature = f"metric:similarity|impl:fireassay@1|pool:mean|layer:{layer or 'last'}|refs:max|{encoder.signature}"
    return Prepared(signature=signature, statistics=statistics)


def cosine(answer: Encoded, reference: Encoded) -> tuple[float]:
    """Of the mean vectors of two texts."""
    if not len(answer.ids) or not len(reference.ids):
        return (0.0,)
    one, other = (directions(text.vectors.mean(axis=0)) for text in (answer, reference))
    return (float(one @ other),)


METRIC = TextMetric(
    name="similarity",
    title="Semantic similarity",
    better="higher",
    scale=(-1.0, 1.0),
    prepare=without_model,
    prepare_with=prepare_with,
    options={"model": "", "layer": 0},
    source="Reimers & Gurevych, Sentence-BERT, EMNLP 2019",
    caveat="What the model takes to be alike, opposites included; the values of two models cannot be compared. A text is cut at the model's "
    "longest length.",
)
