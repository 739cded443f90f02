"""Which part of a text answers this question?  Neither the reasoning before it, nor the next question that a model makes up.

Reasoning stands in tags (`<think>...</think>`, `[THINK]`); the opening one may have been in the prompt.  Where reasoning was opened and
never closed, nothing has been answered.  A base model goes on with the next example of its few-shot prompt; what follows a line that
begins like one ("Question:", "Q:", "User:"), or a token that ends the text, answers another question.

Cannot tell: a model that repeats the question on a line of its own after other words from one that goes on with another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from fireassay.quality.scoring.items import Extraction, Extractor

NO_ANSWER: Final = Extraction(answer=None, rule="none")
Span = tuple[int, int]

_NAMES: Final = "(?:think|thinking|thought|reasoning)"
_TAG: Final = re.compile(rf"[<\[](?P<close>/?){_NAMES}[>\]]", re.IGNORECASE)
# A token ends the text wherever it stands; a heading begins another question only at the beginning of a line.
_STOP: Final = re.compile(
    r"(?P<token><\|(?:im_end|im_start|endoftext|end_of_text|eot_id|start_header_id|end|user|return)\|>|</s>|<end_of_turn>|<start_of_turn>)"
    r"|^[ \t]{0,8}(?:\#{1,6}[ \t]|\*\*)?(?:Question|Q|Problem|Exercise|Instruction|Human|User|Passage)(?:[ \t]?\#?\d{1,5})?(?:\*\*)?[ \t]?:",
    re.IGNORECASE | re.MULTILINE,
)


def visible(text: str, run_ons: bool = True) -> Span | None:
    """Begin and end of the part that answers, without white space around it; None if there is none.

    With `run_ons` false only reasoning is left out.
    """
    segments = list(_segments(text, run_ons))
    if not segments or segments[-1] is None:  # reasoning without an end
        return None
    for begin, end in reversed([segment for segment in segments if segment is not None]):
        trimmed = stripped(text, begin, end)
        if trimmed[0] < trimmed[1]:
            return trimmed
    return None


def extractor(
    name: str, title: str, find: Callable[[str, Span, Sequence[str]], Extraction], *, version: int = 1, run_ons: bool = True
) -> Extractor:
    """An extractor that finds something in the visible part of a text, given the item's choices."""

    def extract(text: str, choices: Sequence[str]) -> Extraction:
        part = visible(text, run_ons)
        return find(text, part, choices) if part is not None else NO_ANSWER

    return Extractor(name=name, version=version, title=title, extract=extract)


def stripped(text: str, begin: int, end: int) -> Span:
    """The same part without white space around it."""
    part = text[begin:end]
    left = begin + len(part) - len(part.lstrip())
    return left, max(left, begin + len(part.rstrip()))


def lines(text: str, begin: int, end: int) -> Iterator[Span]:
    """The lines of a part that are not blank, each without white space around it."""
    while begin < end:
        at = text.find("\n", begin, end)
        stop = end if at < 0 else at
        trimmed = stripped(text, begin, stop)
        if trimmed[0] < trimmed[1]:
            yield trimmed
        begin = stop + 1


def _segments(text: str, run_ons: bool) -> Iterator[Span | None]:
    """The parts outside of reasoning, in order, up to the first sign of another question; None: reasoning has no end."""
    at, answered = 0, False
    tag = _TAG.search(text)
    if tag is not None and tag["close"]:  # its opening tag was in the prompt
        at = tag.end()
        tag = _TAG.search(text, at)
    while True:
        end = tag.start() if tag is not None else len(text)
        stop = _stop(text, at, end, answered) if run_ons else None
        yield at, (end if stop is None else stop)
        if tag is None or stop is not None:
            return
        answered = answered or bool(text[at:end].strip())
        closing = tag if tag["close"] else _closing(text, tag.end())
        if closing is None:
            yield None
            return
        at = closing.end()
        tag = _TAG.search(text, at)


def _closing(text: str, at: int) -> re.Match[str] | None:
    return next((tag for tag in _TAG.finditer(text, at) if tag["close"]), None)


def _stop(text: str, begin: int, end: int, answered: bool) -> int | None:
    """Where something else than the answer begins; a heading before any word only repeats the question."""
    first = stripped(text, begin, end)[0]
    for found in _STOP.finditer(text, begin, end):
        if found["token"] or answered or found.start() > first or text[found.start() : first].strip():
            return found.start()
    return None
