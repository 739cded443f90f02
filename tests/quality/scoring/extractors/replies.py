"""Which replies were judged by hand?  Those of `replies.txt` and `replies_later.txt`, whose heads say how they are written."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class Reply(NamedTuple):
    """A reply, and the answer that a reader takes from it; None: no answer."""

    extractor: str
    language: str
    choices: tuple[str, ...]
    answer: str | None
    text: str


def judged(file: str = "replies.txt") -> list[Reply]:
    extractor, language, choices = "", "", ()
    found: list[Reply] = []
    for line in Path(__file__).with_name(file).read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            head, *named = line[3:].split(" | ")
            extractor, language = head.split()
            choices = tuple(f" {name}" for name in named) or (tuple(" ABCD"[1:]) if extractor == "choice_letter" else ())
        elif extractor and line:
            answer, _, text = line.partition(" | ")
            found.append(Reply(extractor, language, choices, None if answer == "∅" else answer, text.replace("⏎", "\n")))
    return found
