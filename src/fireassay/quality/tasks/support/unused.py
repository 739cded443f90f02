"""Which fields of a file of answers look like a grade or another answer, and are not used?

By their names, and by what stands in them: a grade is a number or true or false, an answer a text.  Where the file grades its own answers,
the grades are kept, to be held against ours.  Cannot tell: fields whose names say nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fireassay.spec.scores import has_word, is_score, is_spread

GRADES: Final = ("correct", "grade", "graded", "passed", "pass", "right", "wrong", "judge", "judgement", "judgment", "rating", "match")
ANSWERS: Final = (
    *("answer", "prediction", "pred", "predicted", "response", "output", "completion", "generation", "generated", "candidate"),
    *("reply", "hypothesis", "result", "model_output"),
)
NEITHER: Final = (
    *("gold", "golden", "expected", "reference", "ref", "target", "ideal", "key", "true", "truth", "label", "best", "type", "kind", "id"),
    *(
        "length",
        "len",
        "token",
        "word",
        "char",
        "start",
        "begin",
        "end",
        "letter",
        "idx",
        "index",
        "count",
        "n",
        "num",
        "number",
        "max",
        "min",
    ),
    *("time", "latency", "ms", "cost", "logprob", "prob", "probability", "confidence", "explanation", "reason", "prompt", "question"),
)
TRUE: Final = ("true", "yes", "correct", "pass", "passed", "right", "c")
FALSE: Final = ("false", "no", "incorrect", "fail", "failed", "wrong", "i")
MOST: Final = 6  # fields that are named


@dataclass(frozen=True, kw_only=True)
class Unused:
    """A field that is not used; `grades`: a number of each line (None: it has none), empty for an answer."""

    name: str
    grades: tuple[float | None, ...] = ()


class Fields:
    """Collects them while the lines of a file are read."""

    def __init__(self, used: Collection[str]) -> None:
        self.used, self.lines = frozenset(used), 0
        self.grades: dict[str, list[float | None]] = {}
        self.texts: dict[str, int] = {}  # the lines with a text
        self.seen: set[str] = set()

    def add(self, values: Mapping[str, Any]) -> None:
        """Take the next line."""
        for name in [name for name in values if name not in self.seen]:  # in their order
            self._meet(name)
        for name, grades in self.grades.items():
            grades.append(_grade(values.get(name)))
        for name in self.texts:
            self.texts[name] += isinstance(value := values.get(name), str) and bool(value.strip())
        self.lines += 1

    def _meet(self, name: str) -> None:
        self.seen.add(name)
        if name in self.used or len(self.grades) + len(self.texts) >= MOST:
            return
        kind = looks_like(name)
        if kind == "grade":
            self.grades[name] = [None] * self.lines
        elif kind == "answer":
            self.texts[name] = 0

    def found(self) -> tuple[Unused, ...]:
        """The fields of which half of the lines or more hold what the name says."""
        grades = [Unused(name=name, grades=tuple(values)) for name, values in self.grades.items() if 2 * _given(values) >= self.lines]
        return (*grades, *(Unused(name=name) for name, texts in self.texts.items() if 2 * texts >= self.lines))


def looks_like(name: str) -> str:
    """ "grade", "answer" or "", by the name of a field."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z0-9])", " ", name)
    if has_word(spaced, NEITHER) or is_spread(name):
        return ""
    answer = has_word(spaced, ANSWERS)
    if answer and has_word(spaced, ("correct", "right")):
        return "grade" if has_word(spaced, ("is",)) else ""  # a correct answer is a reference
    return "grade" if has_word(spaced, GRADES) or is_score(name) else "answer" if answer else ""


def _given(values: Sequence[float | None]) -> int:
    return sum(value is not None for value in values)


def _grade(value: object) -> float | None:
    if isinstance(value, str):
        word = value.strip().lower()
        if word in TRUE or word in FALSE:
            return float(word in TRUE)
        try:
            value = float(word)
        except ValueError:
            return None
    if not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < 1e100 and math.isfinite(value) else None


def against(grades: Sequence[float | None], ours: Sequence[float | None]) -> dict[str, float]:
    """Both means over the lines that both grade, how many these are, and of how many the grades differ, if all are right or wrong."""
    pairs = [(theirs, own) for theirs, own in zip(grades, ours, strict=True) if theirs is not None and own is not None]
    if not pairs:
        return {}
    told = {name: math.fsum(pair[side] for pair in pairs) / len(pairs) for side, name in enumerate(("theirs", "ours"))}
    if all(grade in (0.0, 1.0) for pair in pairs for grade in pair):
        told["differ"] = sum(theirs != own for theirs, own in pairs)
    return {**told, "both": len(pairs)}
