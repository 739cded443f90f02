"""How alike in meaning are the answer and a reference to a model of language, token by token or as a whole?

BERTScore (Zhang et al. 2020): every token is matched with the token of the other text whose contextual embedding has the largest cosine; the mean
over the answer's tokens is the precision, over the reference's the recall, F1 their harmonic mean.  Special tokens can be matched and do not
count themselves, as in bert-score 0.3.  With `idf` a token counts by log((N + 1) / (n + 1)) of the N references, of which n have it.
Semantic similarity: the cosine of the means of all token embeddings of the last layer (Reimers & Gurevych 2019, mean pooling).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from fireassay.quality.scoring.text_metric import Array, Encoded, Encoder, Options, Prepared, TextMetric, flag, whole, without_model, yes

BATCH = 128  # items whose vectors are held at once
COLUMNS = ("f1", "precision", "recall")
MAX_LAYERS = 1000
Importance = Callable[[int], float]
Encode = Callable[[Sequence[str]], Sequence[Encoded]]


def prepare_bertscore(options: Options, encoder: Encoder) -> Prepared:
    """Options `model` (folder of the encoder), `layer` (0: the last) and `idf`."""
    layer, idf = whole("bertscore", options, "layer", 0, MAX_LAYERS), flag("bertscore", options, "idf")
    encode = _encoder_at(encoder, layer)

    def statistics(answers: Sequence[str], references: Sequence[Sequence[str]]) -> Array:
        importance = rarity(encode, [text for wanted in references for text in wanted]) if idf else None
        return _table(_best(encode, lambda answer, wanted: bertscore(answer, wanted, importance), answers, references), len(COLUMNS))

    words = f"layer:{layer or 'last'}|idf:{yes(idf)}|rescale:no|refs:max"
    return Prepared(signature=f"metric:bertscore|impl:fireassay@1|{words}|{encoder.signature}", statistics=statistics)


def prepare_similarity(options: Options, encoder: Encoder) -> Prepared:
    """Options `model` (folder of the encoder) and `layer` (0: the last)."""
    layer = whole("similarity", options, "layer", 0, MAX_LAYERS)
    encode = _encoder_at(encoder, layer)
    signature = f"metric:similarity|impl:fireassay@1|pool:mean|layer:{layer or 'last'}|refs:max|{encoder.signature}"
    return Prepared(signature=signature, statistics=lambda answers, references: _table(_best(encode, cosine, answers, references), 1))


def bertscore(answer: Encoded, reference: Encoded, importance: Importance | None = None) -> tuple[float, float, float]:
    """F1, precision and recall; 0 where a text has no token."""
    own, wanted = (_weights(text, importance) for text in (answer, reference))
    if all(answer.special) or all(reference.special):
        return 0.0, 0.0, 0.0
    cosines = _directions(answer.vectors) @ _directions(reference.vectors).T
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


def rarity(encode: Encode, references: Sequence[str], at_once: int = 256) -> Importance:
    """Inverse document frequency of a token among the references."""
    found: Counter[int] = Counter()
    for begin in range(0, len(references), at_once):
        for text in encode(references[begin : begin + at_once]):
            found.update(set(text.ids))
    most = len(references) + 1
    return lambda token: math.log(most / (found[token] + 1))


def cosine(answer: Encoded, reference: Encoded) -> tuple[float]:
    """Of the mean vectors of two texts."""
    if not len(answer.ids) or not len(reference.ids):
        return (0.0,)
    one, other = (_directions(text.vectors.mean(axis=0)) for text in (answer, reference))
    return (float(one @ other),)


def _best(
    encode: Encode, one: Callable[[Encoded, Encoded], tuple[float, ...]], answers: Sequence[str], references: Sequence[Sequence[str]]
) -> Iterator[tuple[float, ...] | None]:
    """For each answer the score that is highest in its first column over the references; None without one."""
    for begin in range(0, len(answers), BATCH):
        part = slice(begin, begin + BATCH)
        texts = list(dict.fromkeys([*answers[part], *(text for wanted in references[part] for text in wanted)]))
        known = dict(zip(texts, encode(texts), strict=True))
        for answer, wanted in zip(answers[part], references[part], strict=True):
            yield max((one(known[answer], known[text]) for text in wanted), key=lambda score: score[0], default=None)


def _table(rows: Iterator[tuple[float, ...] | None], width: int) -> Array:
    """Shape [items, width]; NaN for None."""
    return np.array([(np.nan,) * width if row is None else row for row in rows], dtype=np.float64).reshape(-1, width)


def _encoder_at(encoder: Encoder, layer: int) -> Encode:
    """The encoder after one of its layers."""
    return lambda texts: encoder.encode(texts, layer)


def _directions(vectors: Array) -> Array:
    """Vectors of length 1; a vector of zeros stays one."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.where(length > 0.0, length, 1.0))


METRICS = (
    TextMetric(
        name="bertscore",
        title="BERTScore",
        better="higher",
        scale=(-1.0, 1.0),
        prepare=without_model,
        prepare_with=prepare_bertscore,
        options={"model": "", "layer": 0, "idf": False},
        statistics=COLUMNS,
        source="Zhang et al., BERTScore, ICLR 2020",
        caveat="What the model takes to be alike, opposites included; the values of two models or layers cannot be compared. A text is cut at the "
        "model's longest length. With `idf` an item's score depends on which items were answered.",
    ),
    TextMetric(
        name="similarity",
        title="Semantic similarity",
        better="higher",
        scale=(-1.0, 1.0),
        prepare=without_model,
        prepare_with=prepare_similarity,
        options={"model": "", "layer": 0},
        source="Reimers & Gurevych, Sentence-BERT, EMNLP 2019",
        caveat="What the model takes to be alike, opposites included; the values of two models cannot be compared. A text is cut at the model's "
        "longest length.",
    ),
)
