"""Are the images those that were asked for?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

import polars as pl

from fireassay.estimates.format import count, percent
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.quality.scoring.image_heads import described
from fireassay.spec.plan import targets_of
from fireassay.spec.sections.scenario import parse
from fireassay.verdict.audits.audit import SERVING, Audits
from fireassay.verdict.evidence.affected import by_configuration, some
from fireassay.verdict.evidence.sent_requests import main, serving_of
from fireassay.verdict.types import Finding

AUDITS = Audits(about=SERVING)
TASK: Final = "text_to_image"
LINK: Final = r"(?m)^link$"


@AUDITS.add("image_size", "Do the images have the requested size?", title="images of another size")
def examine_image_size(measured: RecordData, _: Results) -> Iterator[Finding]:
    """A warning per configuration with images of another size than requested; a note where they came as links.

    Images per second depend on the number of pixels, and a model that knows few sizes answers with the nearest one. The size is the one in
    the head of each file. Cannot tell: whether an image of the right size was made in a smaller one and enlarged.
    """
    asked = _requested(measured)
    for name, rows in by_configuration(measured, _answers(measured)):
        sizes = [image.size for text in rows["text"] for image in described(text)]
        others = Counter(size for size in sizes if asked[name] and size != asked[name])
        if others:
            evidence = (
                f"{percent(others.total() / len(sizes))} of {count(len(sizes), 'images')} are not {asked[name]}, as requested: "
                f"{some((f'{size} ({number:,})' for size, number in others.most_common()), 3)}"
            )
            remedy = "ask for a size that the model makes; compare only with records of the same size"
            yield Finding("image_size_differs", "warning", name, evidence, remedy)
        links = rows.filter(pl.col("text").str.contains(LINK)).height
        if links:
            evidence = f"{links:,} of {count(rows.height, 'answers')} came with links in place of images, whose transfer is in no time"
            yield Finding(
                "images_as_links", "note", name, evidence, 'leave out "body.response_format", or compare with records of links only'
            )


def _requested(measured: RecordData) -> dict[str, str]:
    """Configuration -> "1024x1024"; empty: none was requested."""
    options = {target.name: str(target.options.get("image_size", "")) for target in targets_of(serving_of(measured))}
    found = {}
    for one in measured.varied:
        width, height, _ = parse(one.scenario).images if one.scenario else (0, 0, 0)
        found[one.name] = f"{width}x{height}" if width else options.get(one.target, "")
    return found


def _answers(measured: RecordData) -> pl.DataFrame:
    """(configuration, text) of the answered requests of a load of images."""
    answers = main(measured, "status", "text").filter((pl.col("status") == "ok") & pl.col("text").is_not_null())
    return answers if serving_of(measured).task == TASK else answers.clear()


@AUDITS.blind("image_size")
def blind_image_size(measured: RecordData, _: Results) -> str | None:
    """Blind without the answers' descriptions; another task has no images to be wrong."""
    if serving_of(measured).task != TASK or _answers(measured).height:
        return None
    return "no answer's description was kept (serving.client.keep_text)"
