"""Does a score survive small changes of the question?  Named, versioned and seeded changes of a text, as in HELM's robustness scenarios.

Every item is asked as it is and once for every change, with the same references.  The variants are told apart by the group
"perturbation"; the original item is the cluster of its variants (or its own cluster, which holds them all), so that robustness is the
mean or the worst score over the values of that group.  A seed gives the same text in every run and Python version: draws are SHA-256 of
seed, item and word.  Few-shot examples, labels at the beginning of a line ("Question:", "A.") and words with digits stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Final

from fireassay.errors import refuse
from fireassay.quality.scoring.items import Item, Task
from fireassay.spec.explain import did_you_mean, shown

GROUP: Final = "perturbation"
NONE: Final = "none"  # the label of an item as it is
_LABEL: Final = re.compile(r"[A-Z][A-Za-z]*(?: ?\d+)?:|[A-Z][.)]")
_WORD: Final = re.compile(r"[^\W\d_]+")
_KEYS: Final = """
    q:wa w:qes e:wrd r:etf t:ryg y:tuh u:yij i:uok o:ipl p:ol a:qsz s:awdx d:sefc
    f:drgv g:fthb h:gyjn j:hukm k:jil l:kop z:asx x:zdc c:xfv v:cgb b:vhn n:bjm m:nk
"""
_NEIGHBOURS: Final = {key[0]: key[2:] for key in _KEYS.split()}
_LONG: Final = {
    "are not": "aren't", "cannot": "can't", "could not": "couldn't", "did not": "didn't", "does not": "doesn't", "do not": "don't",
    "has not": "hasn't", "have not": "haven't", "is not": "isn't", "it is": "it's", "should not": "shouldn't", "that is": "that's",
    "they are": "they're", "was not": "wasn't", "we are": "we're", "were not": "weren't", "what is": "what's", "who is": "who's",
    "will not": "won't", "would not": "wouldn't", "you are": "you're",
}  # fmt: skip
_CONTRACTED: Final = re.compile(rf"\b(?:{'|'.join(_LONG)})\b", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Perturbation:
    """A change of a text: (text, key of the draws) -> text."""

    name: str
    version: int
    change: Callable[[str, str], str]

    @property
    def label(self) -> str:
        """ "typos@1"."""
        return f"{self.name}@{self.version}"


def _draw(key: str, index: int) -> float:
    """A number from 0 to 1, without 1."""
    return int.from_bytes(sha256(f"{key}\0{index}".encode("utf-8", "surrogatepass")).digest()[:7], "big") / 2**56


def _lower(text: str, _: str) -> str:
    return text.lower()


def _typos(text: str, key: str) -> str:
    """One letter of every tenth word or so, of four letters at least, becomes its neighbour on a QWERTY keyboard."""

    def change(found: re.Match[str]) -> str:
        word = found[0]
        if len(word) < 4 or _draw(key, found.start()) >= 0.1:
            return word
        at = int(_draw(key, found.start() + 1) * len(word))
        near = _NEIGHBOURS.get(word[at].lower())
        if near is None:
            return word
        letter = near[int(_draw(key, found.start() + 2) * len(near))]
        return word[:at] + (letter.upper() if word[at].isupper() else letter) + word[at + 1 :]

    return _WORD.sub(change, text)


def _spaces(text: str, key: str) -> str:
    """One to three spaces for one."""
    return re.sub(r"(?<=\S) (?=\S)", lambda found: " " * (1 + int(_draw(key, found.start()) * 3)), text)


def _contractions(text: str, _: str) -> str:
    """ "is not" becomes "isn't"."""

    def change(found: re.Match[str]) -> str:
        short = _LONG[found[0].lower()]
        return short[0].upper() + short[1:] if found[0][0].isupper() else short

    return _CONTRACTED.sub(change, text)


PERTURBATIONS: Final = {
    one.name: one
    for one in (
        Perturbation(name="lower_case", version=1, change=_lower),
        Perturbation(name="typos", version=1, change=_typos),
        Perturbation(name="spaces", version=1, change=_spaces),
        Perturbation(name="contractions", version=1, change=_contractions),
    )
}


def perturbed(task: Task, names: Sequence[str], seed: int) -> Task:
    """The task with every item as it is, and once for every change; the changes and the seed are options, which are conditions.

    Raises:
        SpecError: there is no such change.
    """
    for name in names:
        if name not in PERTURBATIONS:
            fix = did_you_mean(name, PERTURBATIONS)
            raise refuse("perturbations", shown(name), f"one of {', '.join(PERTURBATIONS)}", fix, source=task.name)
    changes = [PERTURBATIONS[name] for name in names]
    items = [variant for item in task.items for variant in _variants(item, changes, seed, task.shots)]
    used = {**task.options, "perturbations": ",".join(one.label for one in changes), "perturbation_seed": seed}
    return replace(task, items=tuple(items), options=used, cluster=task.cluster or "original item")


def _variants(item: Item, changes: Sequence[Perturbation], seed: int, shots: int) -> Sequence[Item]:
    cluster = item.cluster if item.cluster is not None else item.id
    variants = [replace(item, cluster=cluster, groups={**item.groups, GROUP: NONE})]
    for change in changes:
        key = f"{seed}\0{change.label}\0{item.id}"
        messages = tuple(
            {**one, "content": _changed(one["content"], change, key, 0)}
            if one["role"] == "user" and index == len(item.messages) - 1
            else one
            for index, one in enumerate(item.messages)
        )
        groups = {**item.groups, GROUP: change.name}
        prompt = _changed(item.prompt, change, key, shots)
        variants.append(replace(item, id=f"{item.id}~{change.name}", prompt=prompt, messages=messages, cluster=cluster, groups=groups))
    return variants


def _changed(text: str, change: Perturbation, key: str, shots: int) -> str:
    """The question changed; with few-shot examples it is what follows the last blank line."""
    begin = text.rfind("\n\n") + 2 if shots and "\n\n" in text else 0
    lines = text[begin:].split("\n")
    return text[:begin] + "\n".join(_line(line, change, f"{key}\0{number}") for number, line in enumerate(lines))


def _line(line: str, change: Perturbation, key: str) -> str:
    label = _LABEL.match(line)
    end = label.end() if label is not None else 0
    return line[:end] + change.change(line[end:], key)
