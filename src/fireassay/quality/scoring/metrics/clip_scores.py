"""How near are an image and its text (or a reference image) in the space of a CLIP model?

clipscore: 2.5 * max(cosine, 0) of each item (Hessel et al. 2021), with the paper's prefix "A photo depicts" before a text.
pickscore: exp(logit_scale) * cosine (Kirstain et al. 2023), the number before their softmax over candidates, which depends on the other candidates.
hpsv2: 100 * cosine, as in the tables of Wu et al. 2023; images are scaled to their longest side and padded with black, as in their code.
Each is the best over an item's references.  Vectors are normalised in double precision.
Cannot tell: what a text says behind the model's last token (77 of CLIP); such texts are marked in the column `cut`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from fireassay.quality.scoring.pictures import TEXT, PairEncoder, Picture, Resize
from fireassay.quality.scoring.text_metric import Array, Options, Prepared, TextMetric, choice, text, without_model, wrong

COLUMNS = ("score", "cut")  # cut: 1 if a text was longer than the model reads
WEIGHT = 2.5  # of Hessel et al.
DEVICE: Options = {"device": "cpu"}  # of every model that reads images
OTHER_MODELS = "The values of two models cannot be compared."


def template_of(metric: str, options: Options) -> str:
    """Option `template`: a text with {} for the item's own."""
    given = text(metric, options, "template")
    if given.count(TEXT) != 1:
        raise wrong(
            metric, "template", given, "a text with {} once, for the text that an image is to show", f'{metric}.template = "{TEXT}"'
        )
    return given


def prepare_clipscore(options: Options, model: PairEncoder) -> Prepared:
    """Options `model` (folder), `template`, `against` (text: the references are texts; image: images) and `device`."""
    template = template_of("clipscore", options)
    images = choice("clipscore", options, "against", ("text", "image")) == "image"

    def score(cosine: float) -> float:
        return WEIGHT * max(cosine, 0.0)

    if images:
        return Prepared(
            signature=f"metric:clipscore|impl:fireassay@1|w:{WEIGHT:g}|against:image|resize:config|refs:max|{model.signature}",
            of_images=lambda pictures, references: against_images(model, pictures, references, score),
            against="images",
        )
    return Prepared(
        signature=f"metric:clipscore|impl:fireassay@1|w:{WEIGHT:g}|against:text|template:{template}|resize:config|refs:max|{model.signature}",
        of_images=lambda pictures, references: against_texts(model, pictures, references, score, template=template),
    )


def prepare_pickscore(options: Options, model: PairEncoder) -> Prepared:
    """Options `model` (folder) and `device`."""
    scale = model.scale
    return Prepared(
        signature=f"metric:pickscore|impl:fireassay@1|softmax:no|scale:{scale:.6g}|resize:config|refs:max|{model.signature}",
        of_images=lambda pictures, references: against_texts(model, pictures, references, lambda cosine: scale * cosine),
    )


def prepare_hpsv2(options: Options, model: PairEncoder) -> Prepared:
    """Options `model` (folder), `resize` (longest, as published; config: as the folder says) and `device`."""
    resize: Resize = "config" if choice("hpsv2", options, "resize", ("longest", "config")) == "config" else "longest"
    return Prepared(
        signature=f"metric:hpsv2|impl:fireassay@1|resize:{resize}|refs:max|{model.signature}",
        of_images=lambda pictures, references: against_texts(model, pictures, references, lambda cosine: 100.0 * cosine, resize=resize),
    )


def against_texts(
    model: PairEncoder,
    pictures: Sequence[Picture],
    references: Sequence[Sequence[str]],
    score: Callable[[float], float],
    *,
    template: str = TEXT,
    resize: Resize = "config",
) -> Array:
    """Rows (score, cut) of images against the texts that they are to show, shape [images, 2]; NaN without a text."""
    every = list(dict.fromkeys(wanted for of_item in references for wanted in of_item))
    if not every:
        return np.full((len(pictures), len(COLUMNS)), np.nan)
    vectors, cut = model.texts([template.replace(TEXT, wanted) for wanted in every])
    known = dict(zip(every, zip(directions(vectors), cut, strict=True), strict=True))
    images = directions(model.images(pictures, resize))
    return _table([_best(image, [known[wanted] for wanted in of_item], score) for image, of_item in zip(images, references, strict=True)])


def against_images(
    model: PairEncoder, pictures: Sequence[Picture], references: Sequence[Sequence[Picture]], score: Callable[[float], float]
) -> Array:
    """Likewise, of images against reference images; none is cut."""
    every = list({wanted.sha256: wanted for of_item in references for wanted in of_item}.values())
    known = {one.sha256: (vector, False) for one, vector in zip(every, directions(model.images(every, "config")), strict=True)}
    images = directions(model.images(pictures, "config"))
    return _table(
        [_best(image, [known[wanted.sha256] for wanted in of_item], score) for image, of_item in zip(images, references, strict=True)]
    )


def directions(vectors: Array) -> Array:
    """Vectors of length 1 in double precision; NaN for a vector of zeros."""
    whole = np.asarray(vectors, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(whole / np.linalg.norm(whole, axis=-1, keepdims=True))


def _best(image: Array, wanted: Sequence[tuple[Array, Any]], score: Callable[[float], float]) -> tuple[float, float]:
    """The best score over the references, and whether a text among them was cut."""
    cosines = [float(image @ vector) for vector, _ in wanted]
    if not cosines or not all(map(math.isfinite, cosines)):
        return math.nan, math.nan
    return score(max(cosines)), float(any(bool(cut) for _, cut in wanted))


def _table(rows: Sequence[tuple[float, float]]) -> Array:
    return np.array(rows, dtype=np.float64).reshape(-1, len(COLUMNS))


OF_PAIRS = partial(TextMetric, prepare=without_model, model="pairs", statistics=COLUMNS, reads="images")
METRICS = (
    OF_PAIRS(
        name="clipscore",
        title="CLIPScore",
        better="higher",
        scale=(0.0, WEIGHT),
        prepare_images=prepare_clipscore,
        options={"model": "", "template": f"A photo depicts {TEXT}", "against": "text", **DEVICE},
        source="Hessel et al., CLIPScore, EMNLP 2021",
        caveat=f"What the model takes to be alike; it counts, orders and negates poorly. {OTHER_MODELS}",
    ),
    OF_PAIRS(
        name="pickscore",
        title="PickScore",
        better="higher",
        scale=(-math.inf, math.inf),
        prepare_images=prepare_pickscore,
        options={"model": "", **DEVICE},
        source="Kirstain et al., Pick-a-Pic, NeurIPS 2023",
        caveat=f"Compares images of one prompt; prompts differ in their level. {OTHER_MODELS}",
    ),
    OF_PAIRS(
        name="hpsv2",
        title="HPSv2",
        better="higher",
        scale=(-100.0, 100.0),
        prepare_images=prepare_hpsv2,
        options={"model": "", "resize": "longest", **DEVICE},
        source="Wu et al., Human Preference Score v2, arXiv:2306.09341",
        caveat=f"Compares images of one prompt; prompts differ in their level. Weights 2.0 and 2.1 give other values. {OTHER_MODELS}",
    ),
)
