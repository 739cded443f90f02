"""How does a page show the items that changed?  Side by side, what was asked and what both sides said; a filter of the page searches them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fireassay.estimates.format import count
from fireassay.frames.evaluation.flipped import Flip
from fireassay.reports.page import Figure, Table, Words, heads
from fireassay.reports.words import cut

MOST: Final = 200  # on a page
MOST_IN_TEXT: Final = 10  # where nothing can be searched
LONGEST: Final = 600  # characters of a text on a page
SHOWN: Final = 120  # of them before the reader opens the others
LONGEST_BRIEF: Final = 28  # characters of a text on one screen


def table(flips: Sequence[Flip]) -> Table:
    """The first of these, in their order; columns that hold nothing are left out."""
    tasks, sides = len({flip.task for flip in flips}) > 1, len({flip.side for flip in flips}) > 1
    asked = any(flip.prompt for flip in flips)  # a file of answers need not say what was asked
    names = (*(("Side",) if sides else ()), "Score", *(("Asked",) if asked else ()), "Reference", "Answer of the reference side", "Answer")
    changed = count(len(flips), "changes") if sides else f"{count(len(flips), 'items')} changed"
    return Table(
        name="flips",
        heads=heads("Item", *names),
        rows=tuple(
            (
                Words(text=cut(f"{flip.task} {flip.item}" if tasks else flip.item)),
                *((Words(text=flip.side),) if sides else ()),
                _scores(flip),
                *(_long(text) for text in (*((flip.prompt,) if asked else ()), flip.reference, flip.before, flip.after)),
            )
            for flip in flips[:MOST]
        ),
        notes=(f"{len(flips) - MOST:,} further changes are left out; the record has them all.",) if len(flips) > MOST else (),
        folded=f"{changed}, the {MOST} largest shown" if len(flips) > MOST else changed,
        opened=True,
        most=MOST_IN_TEXT,
    )


def brief(flips: Sequence[Flip], most: int) -> Table:
    """The first of them, each on one line."""
    sides = len({flip.side for flip in flips}) > 1
    rows = tuple(
        (
            Words(text=cut(flip.item, LONGEST_BRIEF)),
            *((Words(text=flip.side),) if sides else ()),
            Words(text=_scores(flip).text),
            *(Words(text=cut(" ".join(text.split()), LONGEST_BRIEF)) for text in (flip.before, flip.after)),
        )
        for flip in flips[:most]
    )
    left = (f"{count(len(flips) - most, 'more changes')}: --full, or searchable with --html",) if len(flips) > most else ()
    return Table(name="flips", heads=heads("item", *(("side",) if sides else ()), "score", "before", "after"), rows=rows, notes=left)


def _scores(flip: Flip) -> Figure:
    return Figure(value=flip.score_after - flip.score_before, text=f"{flip.score_before:.3g} to {flip.score_after:.3g}")


def _long(text: str) -> Words:
    """A text whose end opens, up to a limit."""
    if len(text) <= SHOWN:
        return Words(text=text)
    return Words(text=cut(text, SHOWN), title="whole" if len(text) <= LONGEST else "more", fold=cut(text, LONGEST))
