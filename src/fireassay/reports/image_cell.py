"""How is an image of an answer named in a cell: by its file, its digest and what it scores?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fireassay.reports.cell import Images, Mark, Shot
from fireassay.reports.words import cut

if TYPE_CHECKING:
    from fireassay.frames.evaluation.images import ItemImage, Scores

CHOSEN: Final = Mark(word="chosen", tone="gain", sign="✓")
MAX_REASON: Final = 120  # characters


def shot(image: ItemImage, *scores: str, mark: Mark | None = None) -> Shot:
    """An image with these words about it."""
    return Shot(
        name=cut(" ".join(image.name.split())),
        digest=image.sha256,
        caption=scores,
        mark=mark,
        missing=cut(image.missing, MAX_REASON),
        copy=image.copy,
    )


def one(image: ItemImage, *scores: str) -> Images:
    """An image alone in its cell."""
    return Images(shots=(shot(image, *scores),))


def score_words(scores: Scores) -> tuple[str, ...]:
    """ "CLIPScore 0.910", one for each score."""
    return tuple(f"{title} {score_text(value)}" for title, value in scores)


def score_text(score: float) -> str:
    """ "0.910": three digits, for an image's score has no interval."""
    return f"{score:#.3g}".removesuffix(".").replace("-", "−")


def change_text(change: float) -> str:
    """ "−0.410"."""
    return f"+{score_text(change)}" if change > 0 else score_text(change)
