"""What do the samples of an Inspect log hold?  They are read twice, one at a time; only numbers and digests stay in memory."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from fireassay.importers.harnesses.support.base import Answered, digest, named, plain, score_of
from fireassay.importers.harnesses.support.zipped import archive
from fireassay.importers.support.base import inner, mapping
from fireassay.importers.support.documents import Place, Spool, Words, documents

HEADER: Final = "header.json"
START: Final = "_journal/start.json"
SAMPLE: Final = re.compile(r"samples/.+\.json", re.DOTALL)
VALUES: Final[Mapping[str, float]] = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
WORDS: Final[Mapping[str, float]] = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?")
ENDS: Final[Mapping[str, str]] = {"max_tokens": "length", "model_length": "length"}
ATTACHED: Final = "attachment://"
WHICH: Final = ("inputs", "targets", "choices")
MOST_EPOCHS: Final = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Samples:
    """A log: its header, and its samples as often as they are read."""

    place: Place
    header: Mapping[str, Any]
    each: Callable[[], Iterator[tuple[Place, Mapping[str, Any]]]]


@dataclass
class Collected:
    """Which samples and scores there are."""

    samples: set[str] = field(default_factory=set)
    seen: set[tuple[str, int]] = field(default_factory=set)
    scores: dict[str, None] = field(default_factory=dict)  # in the order in which they occur
    left: dict[str, str] = field(default_factory=dict)
    custom: set[str] = field(default_factory=set)  # scores with texts of their own, whose numbers the scorer alone knows
    hashes: dict[str, dict[str, str]] = field(default_factory=lambda: {which: {} for which in WHICH})
    unscored: int = 0

    def digest(self, which: str) -> str:
        """One SHA-256 over all samples, in the order of their ids."""
        known = self.hashes[which]
        return digest([f"{item} {known[item]}" for item in sorted(known)]) if known else ""


def in_json(path: Path, stack: ExitStack) -> Samples:
    """A log in one JSON file."""
    place, found = next(documents(path, [("samples",), ("reductions",)], stack), (Place(path.name), None))
    log = mapping(found, place)
    samples = log.get("samples")

    def each() -> Iterator[tuple[Place, Mapping[str, Any]]]:
        for line, sample in samples if isinstance(samples, Spool) else ():
            at = Place(path.name, line, "samples")
            yield at, mapping(sample, at)

    return Samples(place=place, header={key: value for key, value in log.items() if key != "samples"}, each=each)


def in_zip(path: Path, stack: ExitStack) -> Samples:
    """A log in a zip file; of a run that was cut off there is a journal only."""
    members = stack.enter_context(archive(path))
    name = HEADER if HEADER in members else START
    if name not in members:
        raise Place(path.name).wrong(Words("neither header.json nor a journal"), "a log of Inspect")
    header = mapping(members.json(name), members.place(name))

    def each() -> Iterator[tuple[Place, Mapping[str, Any]]]:
        for member in members.names():
            if SAMPLE.fullmatch(member):
                yield members.place(member), mapping(members.json(member), members.place(member))

    return Samples(place=members.place(name), header={"status": "started", **header}, each=each)


def collect(source: Samples) -> Collected:
    """The names of all scores, and digests of what was asked.

    Raises:
        SpecError: a sample is invalid, or occurs twice in one epoch.
    """
    seen = Collected()
    for place, sample in source.each():
        item, epoch = _key(sample, place)
        if (item, epoch) in seen.seen:
            raise place.wrong(Words(f"sample {item} twice in epoch {epoch}"), "each sample once in every epoch")
        seen.seen.add((item, epoch))
        seen.samples.add(item)
        if not _failed(sample):
            found = list(_values(sample))
            for name, value in found:
                if isinstance(value, str):
                    seen.left.setdefault(name, value)
                else:
                    seen.scores.setdefault(named(name, place.at("scores"), "a score"))
            seen.unscored += not found
        for which, value in zip(WHICH, (sample.get("input"), sample.get("target"), sample.get("choices")), strict=True):
            if value is not None:
                seen.hashes[which].setdefault(item, digest([_asked(value, sample)]))
    for name in seen.left:
        if name in seen.scores:
            seen.custom.add(name)
    return seen


def _key(sample: Mapping[str, Any], place: Place) -> tuple[str, int]:
    item, epoch = named(sample.get("id"), place.at("id"), "a sample's id"), sample.get("epoch", 1)
    if not isinstance(epoch, int) or isinstance(epoch, bool) or not 1 <= epoch <= MOST_EPOCHS:
        raise place.at("epoch").wrong(epoch, f"a whole number from 1 to {MOST_EPOCHS:,}")
    return item, epoch


def _failed(sample: Mapping[str, Any]) -> bool:
    return sample.get("error") is not None


def _values(sample: Mapping[str, Any]) -> Iterator[tuple[str, float | str | None]]:
    """(name, number) of each score; a text says why there is none, None that the sample was left unscored."""
    for scorer, score in inner(sample, "scores").items():
        value = score.get("value") if isinstance(score, Mapping) else None
        if isinstance(value, Mapping):
            for key, part in value.items():
                yield f"{scorer}/{key}", as_number(part)
        else:
            yield scorer, as_number(value)


def as_number(value: object) -> float | str | None:
    """A scorer's value as Inspect's `value_to_float` makes it; a text says why it is no number."""
    if isinstance(value, str):
        if value in VALUES:
            return VALUES[value]
        if value.lower() in WORDS:
            return WORDS[value.lower()]
        if NUMBER.fullmatch(value.strip()):
            return score_of(float(value))
        return "some values are texts that only the scorer can turn into numbers"
    if isinstance(value, list | Mapping):
        return "some values are lists"
    return score_of(value)


def answered(source: Samples, seen: Collected, deciding: str) -> Iterator[Answered]:
    """Every sample, with its epoch as repetition."""
    for place, sample in source.each():
        item, epoch = _key(sample, place)
        failed = _failed(sample)
        scores = {} if failed else {name: (value,) for name, value in _values(sample) if isinstance(value, float)}
        text = _reply(sample)
        given = None if failed else _answer(sample, deciding)
        answer = "" if failed else text.strip() if given is None else given
        target = sample.get("target")
        yield Answered(
            item=item,
            repetition=epoch - 1,
            prompt=plain(_asked(sample.get("input"), sample)),
            references=tuple(plain(_asked(one, sample)) for one in (target if isinstance(target, list) else [target]) if one is not None),
            outcome="error" if failed else "ok",
            text=None if failed else plain(text),
            answer=plain(answer) or None,
            rule="none" if not answer else "reply" if given is None else f"scorer {deciding}"[:80],
            finish_reason=_end(sample),
            scores={name: value for name, value in scores.items() if name in seen.scores},
        )


def _asked(value: object, sample: Mapping[str, Any]) -> str:
    """A text or the messages of a conversation; long ones are attachments of the sample."""
    if isinstance(value, str):
        attached = inner(sample, "attachments").get(value.removeprefix(ATTACHED)) if value.startswith(ATTACHED) else None
        return attached if isinstance(attached, str) else value
    if isinstance(value, list) and value and all(isinstance(one, Mapping) and "role" in one for one in value):
        said = [f"{one['role']}: {_content(one.get('content'), sample)}" for one in value]
        return said[0].partition(": ")[2] if len(said) == 1 else "\n".join(said)
    return "" if value is None else json.dumps(value, ensure_ascii=False, sort_keys=True)


def _content(value: object, sample: Mapping[str, Any]) -> str:
    if isinstance(value, list):
        parts = [one.get("text") for one in value if isinstance(one, Mapping) and one.get("type") == "text"]
        return "\n".join(_asked(part, sample) for part in parts if isinstance(part, str))
    return _asked(value, sample)


def _reply(sample: Mapping[str, Any]) -> str:
    choice = _choice(sample)
    completion = inner(sample, "output").get("completion")
    return _asked(completion, sample) if isinstance(completion, str) else _content(inner(choice, "message").get("content"), sample)


def _choice(sample: Mapping[str, Any]) -> Mapping[str, Any]:
    choices = inner(sample, "output").get("choices")
    return choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], Mapping) else {}


def _answer(sample: Mapping[str, Any], deciding: str) -> str | None:
    score = inner(sample, "scores").get(deciding.partition("/")[0])
    answer = score.get("answer") if isinstance(score, Mapping) else None
    return _asked(answer, sample) if isinstance(answer, str) else None


def _end(sample: Mapping[str, Any]) -> str | None:
    reason = _choice(sample).get("stop_reason")
    return plain(ENDS.get(reason, reason))[:40] if isinstance(reason, str) else None
