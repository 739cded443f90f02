"""Does a model that answers questions about an image say that it shows the text?

VQAScore (Lin et al. 2024): P("Yes") given the image and 'Does this figure show "{}"? Please answer yes or no.', as t2v_metrics asks up to release
3.0 (3.1 asks "Yes or No."): the softmax of the raw logits over the whole vocabulary at the first position of the answer, for the answer's token.
An answer of several tokens is refused.  The best over an item's references.
Over HTTP the engine lists its most probable tokens: an answer that is not among them has a probability between 0 and a bound, the least of
the listed ones or what they leave of 1. Half of the bound is the score, and the column `error`, where the bound is at most option `bound`;
else the item has no score.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fireassay.quality.scoring.metrics.clip_scores import DEVICE, OTHER_MODELS, template_of
from fireassay.quality.scoring.pictures import TEXT, Picture, Questioned
from fireassay.quality.scoring.text_metric import Array, Options, Prepared, TextMetric, text, without_model, wrong

COLUMNS = ("score", "error")  # error: by how much the score may be off


def prepare_vqascore(options: Options, model: Questioned) -> Prepared:
    """Options `model` (folder or address), `served` (its name there), `api_key_env` (variable with the key), `template`, `answer`, `bound`, `device`."""
    template, answer = template_of("vqascore", options), text("vqascore", options, "answer")
    bound = options["bound"]
    if isinstance(bound, bool) or not isinstance(bound, int | float) or not 0.0 <= bound <= 1.0:
        raise wrong("vqascore", "bound", bound, "a number from 0 to 1")
    if not answer:
        raise wrong("vqascore", "answer", answer, "the answer whose probability is the score", 'vqascore.answer = "Yes"')
    model.check(answer)
    words = f"template:{template}|answer:{answer}|token:first|softmax:vocabulary|bound:{bound:g}|refs:max"
    return Prepared(
        signature=f"metric:vqascore|impl:fireassay@1|{words}|{model.signature}",
        of_images=lambda pictures, references: asked(model, pictures, references, (template, answer, float(bound))),
    )


def asked(model: Questioned, pictures: Sequence[Picture], references: Sequence[Sequence[str]], how: tuple[str, str, float]) -> Array:
    """Rows (score, error), shape [images, 2], of the template, the answer and the largest bound in `how`; NaN: no score."""
    template, answer, bound = how
    pairs = [(index, template.replace(TEXT, wanted)) for index, of_item in enumerate(references) for wanted in of_item]
    rows = np.full((len(pictures), len(COLUMNS)), np.nan)
    if not pairs:
        return rows
    found = np.asarray(model.answered([pictures[index] for index, _ in pairs], [question for _, question in pairs], answer))
    found = np.where(2.0 * found[:, 1:] <= bound, found, np.nan)
    for (index, _), row in zip(pairs, found, strict=True):
        if not row[0] <= rows[index, 0]:  # the first of an item, or a better one
            rows[index] = row
    return rows


METRICS = (
    TextMetric(
        name="vqascore",
        title="VQAScore",
        better="higher",
        scale=(0.0, 1.0),
        prepare=without_model,
        prepare_images=prepare_vqascore,
        model="questions",
        options={
            "model": "",
            "served": "",
            "api_key_env": "",
            "template": f'Does this figure show "{TEXT}"? Please answer yes or no.',
            "answer": "Yes",
            "bound": 0.001,
            "dtype": "float32",
            **DEVICE,
        },
        statistics=COLUMNS,
        reads="images",
        source="Lin et al., Evaluating Text-to-Visual Generation with Image-to-Text Generation, ECCV 2024",
        caveat=f"As sure as the model is, not as right. {OTHER_MODELS} Nor can two templates, or two spellings of the answer.",
    ),
)
