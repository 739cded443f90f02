"""How is untrusted text set in TeX?

Every character that TeX interprets is escaped, so that a name that looks like a command stays a name.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

MAX_WORD_LENGTH: Final = 18  # characters; a longer one may not fit on a line, so it may break
PIECE: Final = 9
_ESCAPES: Final = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "$": r"\$",
        "&": r"\&",
        "#": r"\#",
        "_": r"\_",
        "%": r"\%",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"$<$",
        ">": r"$>$",
        "|": r"$|$",
        '"': "''",
        "−": r"$-$",
        "×": r"$\times$",
        "≥": r"$\geq$",
        "≤": r"$\leq$",
        "µ": r"$\mu$",
        "μ": r"$\mu$",
        "–": "--",
        "±": r"$\pm$",
        "∞": r"$\infty$",
        "\n": " ",
        "\r": " ",
        "[": "{[}",
        "]": "{]}",
    }
)
_BREAK: Final = "\\allowbreak{}"


def tex(text: str) -> str:
    """Escape untrusted text for TeX; characters that plain TeX cannot set become question marks."""
    pieces = ("{}-" if pair == ("-", "-") else pair[1].translate(_ESCAPES) for pair in pairwise(f" {text}"))  # {}: two hyphens, no dash
    return "".join(piece if piece.isascii() and (piece.isprintable() or piece == " ") else "?" for piece in pieces)


def breakable(text: str) -> str:
    """Escaped text whose long words (paths, digests, names of records) may break, so that none sticks out of a column."""
    return " ".join(map(_broken, re.split("[ \n\r]", text)))


def _broken(word: str) -> str:
    if len(word) <= MAX_WORD_LENGTH:
        return tex(word)
    return _BREAK.join(tex(word[at : at + PIECE]) for at in range(0, len(word), PIECE))
