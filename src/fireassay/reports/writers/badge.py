"""How does a verdict look beside a repository's name: one SVG line with status, number and interval?

White on dark colours, at least 4.5 to 1 (WCAG 2.1, 1.4.3); the status is a word, so that nobody needs the colour.  No script, no font and no
address is loaded; untrusted text is escaped, and squeezed into its box by `textLength` where a viewer's font is wider.  The title, for
screen readers and on hover, holds the whole headline and the digest of the record.
"""

from __future__ import annotations

import re
from html import escape
from typing import Final

from fireassay.printable import one_line, printable
from fireassay.reports.page import Page, Tone
from fireassay.reports.writers.writer import Writer

LABEL: Final = "assay"
LABEL_FILL: Final = "#24292f"
FILLS: Final[dict[Tone, str]] = {"good": "#0a6639", "gain": "#0a6639", "bad": "#a11d17", "void": "#6b2a86", "open": "#7a4b00"}
OTHER: Final = "#50565d"
MOST: Final = 60  # letters
NUMBER: Final = re.compile(r".*?\d.*?(?=[,:;] [a-z])")  # a headline up to the end of the clause with its number
HEIGHT: Final = 20
PAD: Final = 6
NARROW, WIDE = frozenset("fijlrtI.,:;'|!()[] "), frozenset("mwMW%@")


def write(page: Page) -> str:
    """Render the verdict of the page; of a page without one, its title."""
    answer = page.answer
    mark = answer.mark if answer is not None else page.mark
    word = one_line(mark.word).upper() if mark is not None else ""
    headline = one_line(answer.headline if answer is not None else page.lead or page.title)
    tone: Tone = mark.tone if mark is not None else "plain"
    digest = page.properties.get("digest", "")
    title = f"{LABEL}: {word} {headline}{f' (sha256 {digest})' if digest else ''}"
    number = NUMBER.match(headline)
    return _svg(_cut(f"{word} {number[0] if number else headline}".strip()), FILLS.get(tone, OTHER), title)


def _cut(text: str) -> str:
    """At most `MOST` letters, or up to the end of the first interval: no number without it."""
    most = max(MOST, text.find("]", 0, 2 * MOST) + 1)
    if len(text) <= most:
        return text
    kept = text[: most + 1].rpartition(" ")[0].rstrip(",;:") or text[:most]
    return (kept if kept.count("[") == kept.count("]") else kept.rpartition("[")[0].rstrip()) + "…"


def width(text: str) -> int:
    """Pixels that a text takes at 11 pixels in Verdana or DejaVu Sans, roughly."""
    return round(sum(4.2 if letter in NARROW else 10.2 if letter in WIDE else 7.2 for letter in text))


def _svg(text: str, fill: str, title: str) -> str:
    left, right = width(LABEL) + 2 * PAD, width(text) + 2 * PAD
    whole, title = left + right, escape(printable(title))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{whole}" height="{HEIGHT}" viewBox="0 0 {whole} {HEIGHT}" role="img" aria-label="{title}">'
        f"<title>{title}</title>"
        f'<rect width="{whole}" height="{HEIGHT}" rx="3" fill="{fill}"/>'
        f'<path fill="{LABEL_FILL}" d="M{left} 0v{HEIGHT}h-{left - 3}a3 3 0 0 1-3-3v-{HEIGHT - 6}a3 3 0 0 1 3-3z"/>'
        f'<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">{_text(PAD, LABEL)}{_text(left + PAD, text)}</g></svg>\n'
    )


def _text(left: int, text: str) -> str:
    return f'<text x="{left}" y="14" textLength="{width(text)}" lengthAdjust="spacingAndGlyphs">{escape(printable(text))}</text>'


WRITER = Writer(name="badge", suffix=".svg", summary="a badge as SVG: status, number and interval in one line", write=write)
