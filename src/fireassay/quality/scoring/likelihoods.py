"""How is the answer to an item of the method loglikelihood kept?  As JSON, one entry per choice, in the order of `Item.choices`.

    [{"logprob": -3.2, "tokens": 2, "characters": 5, "bytes": 6, "scored_bytes": 7, "request": 17}, ...]

`logprob` is the sum over the continuation's tokens, natural logarithm.  `characters` and `bytes` are those of the choice without the white
space before it, as lm-evaluation-harness counts them: there that space is the delimiter, no part of the choice.
`scored_bytes` are those of everything whose tokens were counted, white space before it included.  So every score can be computed
again from the record, under any normalisation.

How far are two next-token distributions apart at least, of which only the most probable tokens are known?
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any, Final

import numpy as np

from fireassay.errors import SpecError, refuse
from fireassay.quality.scoring.items import Item
from fireassay.quality.scoring.text_metric import Array
from fireassay.spec.explain import shown

METHOD: Final = "loglikelihood"


@dataclass(frozen=True, kw_only=True, slots=True)
class Likelihood:
    """How probable one continuation is."""

    logprob: float
    tokens: int
    characters: int
    bytes: int
    scored_bytes: int


def of_choice(context: str, choice: str, logprobs: Sequence[float], request: int | None) -> dict[str, Any]:
    text = choice.lstrip() or choice
    scored = context[len(context.rstrip()) :] + choice
    return {
        "logprob": math.fsum(logprobs),
        "tokens": len(logprobs),
        "characters": len(text),
        "bytes": _bytes(text),
        "scored_bytes": _bytes(scored),
        "request": request,
    }


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def to_text(entries: Sequence[Mapping[str, Any]]) -> str:
    return json.dumps(list(entries))


def of_text(text: str) -> tuple[Likelihood, ...]:
    """The choices of an answer's text. Raises ValueError: it is another text."""
    try:
        return tuple(
            Likelihood(
                logprob=float(entry["logprob"]),
                tokens=int(entry["tokens"]),
                characters=int(entry["characters"]),
                bytes=int(entry["bytes"]),
                scored_bytes=int(entry["scored_bytes"]),
            )
            for entry in json.loads(text)
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"no log probabilities of choices: {shown(text[:80])} ({error})") from None


def right_choices(item: Item) -> tuple[str, ...]:
    """The indices of an item's right choices. A reference is an index from 0, whatever the choices say; else a letter or a text.

    A single choice without references is a given text, and right.

    Raises:
        SpecError: an item without choices, a reference to none of them, or to two.
    """
    if not item.choices or not all(item.choices):
        raise _wrong(item, "an item without choices" if not item.choices else "an empty choice", "at least one choice, each with a text")
    if not item.references:
        if len(item.choices) > 1:
            raise _wrong(item, f"{len(item.choices)} choices and no reference", "which choice is right")
        return ("0",)
    return tuple(dict.fromkeys(str(_index(item, reference)) for reference in item.references))


def _index(item: Item, reference: str) -> int:
    texts, wanted = [choice.strip() for choice in item.choices], reference.strip()
    if wanted.isdecimal() and int(wanted) < len(texts):
        return int(wanted)
    found = {index for index, text in enumerate(texts) if text == wanted}
    if len(wanted) == 1 and wanted in ascii_uppercase[: len(texts)]:
        found.add(ascii_uppercase.index(wanted))
    if len(found) != 1:
        what = f"{shown(reference)}, which is {'no choice' if not found else 'two of the choices, by text or by letter'}"
        raise _wrong(item, what, f"the index of a choice from 0, its letter, or its text: {', '.join(map(shown, texts[:8]))}")
    return found.pop()


def chosen_right(answers: Sequence[str], references: Sequence[Sequence[str]], length: Callable[[Likelihood], float]) -> Array:
    """1 where the choice with the highest logprob / length is right, else 0; the first of equal ones. Shape [items, 1]."""
    rows = [
        [float(str(int(np.argmax([choice.logprob / length(choice) for choice in of_text(answer)]))) in wanted)]
        for answer, wanted in zip(answers, references, strict=True)
    ]
    return np.array(rows).reshape(-1, 1)


def right_texts(answers: Sequence[str], references: Sequence[Sequence[str]]) -> Array:
    """Negative log likelihood, tokens and bytes of each item's right choice, the most probable of several. Shape [items, 3]."""
    rows = []
    for answer, wanted in zip(answers, references, strict=True):
        choices = of_text(answer)
        best = max((choices[int(index)] for index in wanted), key=lambda choice: choice.logprob)
        rows.append([-best.logprob, float(best.tokens), float(best.scored_bytes)])
    return np.array(rows).reshape(-1, 3)


def _wrong(item: Item, found: str, allowed: str) -> SpecError:
    return refuse(f"item {item.id}", found, allowed, source="the task")


def kl_at_least(reference: Mapping[str, float], replica: Mapping[str, float]) -> float:
    """A lower bound of one position's KL, from the log probabilities of each side's most probable tokens.

    All tokens that both sides report stand for themselves, and the rest for one: merging outcomes never raises a KL (data processing
    inequality).  NaN: no common token.
    """
    common = sorted(reference.keys() & replica.keys())
    if not common:
        return math.nan
    p, q = (np.exp([side[token] for token in common]) for side in (reference, replica))
    rest_p, rest_q = max(0.0, 1.0 - float(p.sum())), max(0.0, 1.0 - float(q.sum()))
    bound = float((p * np.log(p / q)).sum())
    if rest_p > 0.0 and rest_q > 0.0:
        bound += rest_p * math.log(rest_p / rest_q)
    return max(0.0, bound)
