"""How is the answer to an item of the method loglikelihood kept?  As JSON, one entry per choice, in the order of `Item.choices`.

    [{"logprob": -3.2, "tokens": 2, "characters": 5, "bytes": 6, "request": 17}, ...]

`logprob` is the sum over the continuation's tokens, natural logarithm.  `characters` and `bytes` are those of the choice without the white
space before it, as lm-evaluation-harness counts them: there that space is the delimiter, no part of the choice.
So every score can be computed again from the record, under any normalisation.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any, Final

from fireassay.errors import Problem, SpecError
from fireassay.scoring.items import Item
from fireassay.spec.explain import shown

METHOD: Final = "loglikelihood"


@dataclass(frozen=True, kw_only=True, slots=True)
class Likelihood:
    """How probable one continuation is."""

    logprob: float
    tokens: int
    characters: int
    bytes: int


def of_choice(choice: str, logprobs: Sequence[float], request: int | None) -> dict[str, Any]:
    """A choice's entry."""
    text = choice.lstrip() or choice
    return {
        "logprob": math.fsum(logprobs),
        "tokens": len(logprobs),
        "characters": len(text),
        "bytes": len(text.encode("utf-8", "surrogatepass")),
        "request": request,
    }


def to_text(entries: Sequence[Mapping[str, Any]]) -> str:
    """The answer's text."""
    return json.dumps(list(entries))


def of_text(text: str) -> tuple[Likelihood, ...]:
    """The choices of an answer's text.

    Raises:
        ValueError: it is another text.
    """
    try:
        return tuple(
            Likelihood(
                logprob=float(entry["logprob"]),
                tokens=int(entry["tokens"]),
                characters=int(entry["characters"]),
                bytes=int(entry["bytes"]),
            )
            for entry in json.loads(text)
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"no log probabilities of choices: {shown(text[:80])} ({error})") from None


def right_choices(item: Item) -> tuple[str, ...]:
    """The indices of an item's right choices. A reference is a choice's text, its letter (A is the first), or its index from 0.

    A single choice without references is a given text, and right.

    Raises:
        SpecError: an item without choices, a reference that is none of them, or one that is two of them.
    """
    if not item.choices or not all(item.choices):
        raise _wrong(item, "an item without choices" if not item.choices else "an empty choice", "at least one choice, each with a text")
    if not item.references:
        if len(item.choices) > 1:
            raise _wrong(item, f"{len(item.choices)} choices and no reference", "which choice is right")
        return ("0",)
    return tuple(dict.fromkeys(str(_index(item, reference)) for reference in item.references))


def _index(item: Item, reference: str) -> int:
    texts = [choice.strip() for choice in item.choices]
    wanted = reference.strip()
    found = {index for index, text in enumerate(texts) if text == wanted}
    if len(wanted) == 1 and wanted in ascii_uppercase[: len(texts)]:
        found.add(ascii_uppercase.index(wanted))
    if wanted.isdecimal() and int(wanted) < len(texts):
        found.add(int(wanted))
    if len(found) != 1:
        what = f"{shown(reference)}, which is {'no choice' if not found else 'the text of one choice and the index or letter of another'}"
        raise _wrong(item, what, f"one of the choices {', '.join(map(shown, texts[:8]))}, its letter, or its index from 0")
    return found.pop()


def _wrong(item: Item, found: str, allowed: str) -> SpecError:
    return SpecError((Problem(where=f"item {item.id}", found=found, allowed=allowed),), "the task")
