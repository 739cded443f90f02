"""How much would people like this image for this prompt, as a BLIP model with a trained head says?

ImageReward (Xu et al. 2023): the first token of BLIP's text encoder, which attends to the image, through five linear layers; less the mean
0.16717362830052426 of the training set's rewards, divided by their standard deviation 1.0333394966054072, both as published.  A prompt is cut
at 35 tokens; an image is scaled to its shortest side, cropped in the middle and normalised as for CLIP.  The best over an item's references.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fireassay.quality.scoring.metrics.clip_scores import COLUMNS, DEVICE, OTHER_MODELS
from fireassay.quality.scoring.pictures import Picture, RewardModel
from fireassay.quality.scoring.text_metric import Array, Options, Prepared, TextMetric, without_model


def prepare_image_reward(options: Options, model: RewardModel) -> Prepared:
    """Options `model` (folder) and `device`."""
    signature = f"metric:image_reward|impl:fireassay@1|resize:shortest|refs:max|{model.signature}"
    return Prepared(signature=signature, of_images=lambda pictures, references: rewarded(model, pictures, references))


def rewarded(model: RewardModel, pictures: Sequence[Picture], references: Sequence[Sequence[str]]) -> Array:
    """Rows (score, cut), shape [images, 2]; NaN without a text."""
    pairs = [(index, wanted) for index, of_item in enumerate(references) for wanted in of_item]
    rows = np.full((len(pictures), len(COLUMNS)), np.nan)
    if not pairs:
        return rows
    rewards, cut = model.rewards([pictures[index] for index, _ in pairs], [wanted for _, wanted in pairs])
    for (index, _), reward, was_cut in zip(pairs, rewards, cut, strict=True):
        rows[index] = np.fmax(rows[index], (reward, float(was_cut)))
    return rows


METRICS = (
    TextMetric(
        name="image_reward",
        title="ImageReward",
        better="higher",
        scale=(-math.inf, math.inf),
        prepare=without_model,
        prepare_images=prepare_image_reward,
        model="reward",
        options={"model": "", **DEVICE},
        statistics=COLUMNS,
        reads="images",
        source="Xu et al., ImageReward, NeurIPS 2023",
        caveat=f"Compares images of one prompt; prompts differ in their level. {OTHER_MODELS}",
    ),
)
