"""What do the lines of lm-eval's samples hold?  One line for each document and filter; they are read twice, in memory of numbers only."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from fireassay.importers.harnesses.support.base import Answered, Form, digest, named, plain, score_of
from fireassay.importers.harnesses.support.lm_eval_scores import NO_FILTER
from fireassay.importers.support.base import mapping
from fireassay.importers.support.documents import Place, lines, loads

HASHES: Final = ("doc_hash", "prompt_hash", "target_hash")
INVALID: Final = "[invalid]"  # what lm-eval's filters leave where nothing was found


@dataclass
class Collected:
    """The numbers of every document."""

    items: dict[str, dict[str, tuple[float, ...]]] = field(default_factory=dict)  # item -> score -> statistics
    filters: dict[str, list[str]] = field(default_factory=dict)  # item -> filters, as met
    forms: dict[str, Form] = field(default_factory=dict)  # score -> how many items' score is made of theirs
    left: dict[str, str] = field(default_factory=dict)  # score -> why it has none per document
    hashes: dict[str, dict[str, str]] = field(default_factory=lambda: {name: {} for name in HASHES})
    empty: int = 0

    def digest(self, which: str) -> str:
        """One SHA-256 over a hash of all documents, in the order of their ids; empty if the log has none."""
        known = self.hashes[which]
        return digest([f"{item} {known[item]}" for item in sorted(known)]) if known else ""


def collect(path: Path, columns: Mapping[tuple[str, str], str]) -> Collected:
    """The scores of every document.

    Raises:
        SpecError: a line is no sample, or a document occurs twice with one filter.
    """
    seen = Collected()
    for place, row in _rows(path):
        item, by = _item(row, place), _filter(row, columns)
        filters = seen.filters.setdefault(item, [])
        if by in filters:
            raise place.at("doc_id").wrong(item, f"each document once with the filter {by}", "Was the file written twice?")
        filters.append(by)
        scores = seen.items.setdefault(item, {})
        for (metric, of), name in columns.items():
            if of == by and metric in row:
                _take(seen, scores, name, row[metric])
        if len(filters) == 1:
            seen.empty += _is_empty(row.get("resps"))
            for which in HASHES:
                if isinstance(value := row.get(which), str):
                    seen.hashes[which][item] = value[:200]
    for name in seen.left:
        seen.forms.pop(name, None)
    return seen


def _rows(path: Path) -> Iterator[tuple[Place, Mapping[str, Any]]]:
    for place, line in lines(path):
        yield place, mapping(loads(line, place), place)


def _item(row: Mapping[str, Any], place: Place) -> str:
    return named(row.get("doc_id"), place.at("doc_id"), "a document's number")


def _filter(row: Mapping[str, Any], columns: Mapping[tuple[str, str], str]) -> str:
    value = row.get("filter")
    return value if isinstance(value, str) else next((by for _, by in columns), NO_FILTER)


def _take(seen: Collected, scores: dict[str, tuple[float, ...]], name: str, value: object) -> None:
    """A document's score: a number, or a list of verdicts, of which many documents make the share that is true."""
    if isinstance(value, list) and value and all(isinstance(one, bool) for one in value):
        form: Form = "ratio"
        statistics: tuple[float, ...] = (float(sum(value)), float(len(value)))
    elif isinstance(value, list | dict | str):
        seen.left[name] = "its lines hold no number but what the aggregate is made of"
        return
    elif (number := score_of(value)) is not None:
        form, statistics = "mean", (number,)
    else:
        return  # null or NaN: this document has none
    if seen.forms.setdefault(name, form) != form:
        seen.left[name] = "some lines hold a number, and some a list"
    scores[name] = statistics


def _is_empty(replies: object) -> bool:
    """Whether there is no text in any reply."""
    if isinstance(replies, list):
        return all(_is_empty(reply) for reply in replies)
    return replies is None or (isinstance(replies, str) and not replies.strip())


def answered(path: Path, seen: Collected, chosen: str) -> Iterator[Answered]:
    """Every document once, with the reply as the chosen filter leaves it."""
    for place, row in _rows(path):
        item = _item(row, place)
        filters = seen.filters[item]
        by = row.get("filter")
        if isinstance(by, str) and by != (chosen if chosen in filters else filters[0]):
            continue
        asked = _arguments(row.get("arguments"))
        choices = [given[1] for given in asked if len(given) > 1 and isinstance(given[1], str)]
        text, answer = _reply(row, choices)
        yield Answered(
            item=item,
            prompt=plain(_words(asked[0][0])) if asked and asked[0] else "",
            references=tuple(plain(reference) for reference in _references(row.get("target"), choices)),
            text=plain(text),
            answer=None if answer is None else plain(answer),
            rule="none" if answer is None else f"filter {by or NO_FILTER}"[:80],
            scores=seen.items[item],
        )


def _arguments(value: object) -> list[list[Any]]:
    """The arguments of each request: in 0.4 an object of objects, before a list of lists."""
    requests = list(value.values()) if isinstance(value, Mapping) else value if isinstance(value, list) else []
    return [list(one.values()) if isinstance(one, Mapping) else one for one in requests if isinstance(one, Mapping | list)]


def _words(value: object) -> str:
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):  # a conversation, as JSON in a list
        return value[0]
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _reply(row: Mapping[str, Any], choices: list[str]) -> tuple[str, str | None]:
    """The reply's text, and what the filter made of it; of choices the likeliest."""
    replies, filtered = row.get("resps"), row.get("filtered_resps")
    likelihoods = _likelihoods(filtered)
    if likelihoods is not None and len(likelihoods) == len(choices):
        best = choices[likelihoods.index(max(likelihoods))]
        return best, best
    text = _first(replies)
    answer = _first(filtered)
    return text, None if answer.strip() in ("", INVALID) else answer


def _likelihoods(value: object) -> list[float] | None:
    """The log-likelihood of each choice; lm-eval writes numbers as texts here."""
    if not isinstance(value, list) or len(value) < 2 or not all(isinstance(one, list) and len(one) == 2 for one in value):
        return None
    try:
        return [float(one[0]) for one in value]
    except (TypeError, ValueError, OverflowError):
        return None


def _first(value: object) -> str:
    """The first text in nested lists; anything else as JSON."""
    while isinstance(value, list) and value and (isinstance(value[0], list) or len(value) == 1 or isinstance(value[0], str)):
        value = value[0]
    return "" if value is None or value == [] else _words(value)


def _references(target: object, choices: list[str]) -> list[str]:
    if isinstance(target, list):
        return [_words(one) for one in target]
    index = int(target) if isinstance(target, str) and target.isascii() and target.isdigit() and len(target) < 6 else target
    if isinstance(index, int) and not isinstance(index, bool) and 0 <= index < len(choices) > 1:
        return [choices[index]]
    return [] if target is None else [_words(target)]
