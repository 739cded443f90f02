"""Did an engine make the image that was asked for?

1 if the answer is an image, with option `size` of that many pixels; else 0.  It says that there is something to score, not what it shows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from fireassay.quality.scoring.image_heads import described
from fireassay.quality.scoring.text_metric import Options, Prepared, TextMetric, by_item, text, wrong

NAME: Final = "image_made"
SIZE: Final = re.compile(r"[1-9][0-9]{0,4}x[1-9][0-9]{0,4}")


def _prepare(options: Options) -> Prepared:
    size = text(NAME, options, "size")
    if size and not SIZE.fullmatch(size):
        raise wrong(NAME, "size", size, "WIDTHxHEIGHT, as 1024x1024, or nothing")

    def made(answer: str, _: Sequence[str]) -> float:
        images = described(answer)
        return float(bool(images) and all(not size or image.size == size for image in images))

    return Prepared(signature=f"metric:{NAME}|size:{size or 'any'}|v:1", statistics=by_item(made))


METRIC = TextMetric(
    name=NAME,
    title="Image made",
    better="higher",
    scale=(0.0, 1.0),
    prepare=_prepare,
    options={"size": ""},
    reads="heads",
    caveat="It does not say whether the image shows what was asked for: clipscore, vqascore and people do.",
)
