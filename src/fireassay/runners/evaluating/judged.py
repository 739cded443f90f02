"""How do a judge's replies become a record?  As a score of each answer, and as rows of `ratings` and `preferences`, which say who judged.

A scale asks for each answer by itself.  Pairs ask for each other side against the first one, in both orders: the value of an answer is the mean of both
(1 won, 0.5 tie, 0 lost), and that of the first side is 0.5, since it is what the others are compared with.  A judgement that cannot be read leaves the
answer without a score, in pairs that of either order: it is no loss and no tie.

Labels of people are written beside the judge's ratings, of the kind "person".  The replies themselves are kept as they come (`replies`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from fireassay.errors import refuse
from fireassay.quality.judging import gold as labelling
from fireassay.quality.judging import rubric as rubrics
from fireassay.quality.judging.cache import Cache, Reply
from fireassay.quality.judging.gold import Label
from fireassay.quality.judging.reading import Reading, reading
from fireassay.quality.judging.rubric import Material, Rubric
from fireassay.quality.rows import AT_ONCE, batch_of, write_recorded_scores
from fireassay.quality.scoring.elsewhere import judged_by
from fireassay.quality.scoring.text_metric import TextMetric
from fireassay.quality.tasks.ratings_file import side_name
from fireassay.record.batch_writer import BatchWriter
from fireassay.record.folder import RecordFolder
from fireassay.runners.evaluating import replies
from fireassay.runners.evaluating.asking import Asked, Failed, Messages, ask, check, keys_of
from fireassay.runners.evaluating.replies import Replies
from fireassay.spec.sections.evaluation import Evaluation
from fireassay.spec.sections.judge import JUDGED, Judge

MAX_CODE: Final = 40  # characters of a judge's name among the raters
NO_ANSWER: Final = "NO_ANSWER"
FAILED: Final = "failed"
Columns = dict[str, list[Any]]
Pass = tuple[str, int]  # a side, and which of its passes over the items, from 0
Key = tuple[str, str, int]  # task, item, repetition


@dataclass(frozen=True, kw_only=True)
class Text:
    """An answer with what was asked."""

    task: str
    item: str
    repetition: int
    prompt: str
    references: tuple[str, ...]
    text: str | None  # None: nothing was answered

    @property
    def key(self) -> Key:
        return self.task, self.item, self.repetition


@dataclass(frozen=True, kw_only=True)
class Said:
    """What the judge said of one answer."""

    key: Key
    value: float | None
    outcome: str
    seconds: float
    usd: float | None
    against: str | None = None


@dataclass(frozen=True, kw_only=True)
class Preferred:
    """What the judge said of a pair in one order."""

    key: Key
    first: str
    second: str
    said: Said


@dataclass(kw_only=True)
class Judgements:
    """What the judge said of one pass."""

    said: list[Said] = field(default_factory=list)
    preferred: list[Preferred] = field(default_factory=list)  # in which this side was shown first


class Judging:
    """A judge with its rubric, for the sides of one experiment."""

    def __init__(self, judge: Judge, folder: Path, sides: Sequence[str]) -> None:
        """Raises SpecError: the rubric, the folder of replies or an option cannot be used, or pairs have one side alone. EnvironmentLacks: its dialect."""
        self.judge, self.folder, self.sides = judge, folder, tuple(sides)
        check(judge)
        self.rubric: Rubric = rubrics.read(folder / Path(judge.rubric).expanduser())
        self.cache = Cache(folder / Path(judge.cache).expanduser() if judge.cache else None)
        self.labels: tuple[Label, ...] = ()
        self.unknown_labels = 0  # of items or sides that are not judged
        self.found: dict[Pass, Judgements] = {}
        self.notes: dict[str, Any] = {}
        if self.rubric.form == "pairs" and len(self.sides) < 2:
            fix = "Give the answers of two sides or more, the reference first, or a rubric of a scale."
            raise refuse("evaluation.judge.rubric", f"pairs of {len(self.sides)} side", "two sides or more", fix, source=judge.rubric)

    @property
    def signature(self) -> str:
        """Names everything that moves a judgement."""
        judge = self.judge
        sampling = f"temperature:{judge.temperature:g}|seed:{judge.seed}|max_tokens:{judge.max_tokens}|schema:{'yes' if judge.json_schema else 'no'}"
        options = "".join(f"|{name}:{value}" for name, value in sorted(judge.options.items()))
        return f"metric:{JUDGED}|judge:{judge.model}|dialect:{judge.backend}|{sampling}{options}|{self.rubric.signature}"

    @property
    def metric(self) -> TextMetric:
        """The score that it gives."""
        return judged_by(self.judge.model, self.rubric.scale, pairs=self.rubric.form == "pairs")

    @property
    def facts(self) -> dict[str, Any]:
        """What judging a record needs to know of the judge."""
        low, high = self.rubric.scale
        return {"model": self.judge.model, "form": self.rubric.form, "scale": [low, high], "good": self.rubric.good}

    def read_gold(self, items: Iterable[str]) -> None:
        """Read the labels of people, if a file of them was named. Raises SpecError: it has none of these items."""
        if self.judge.gold:
            path = self.folder / Path(self.judge.gold).expanduser()
            self.labels, self.unknown_labels = labelling.read(path, self.rubric, self.sides, frozenset(items))

    def ask(self, texts: Mapping[Pass, Sequence[Text]], record: RecordFolder, launches: Mapping[Pass, int]) -> None:
        """Have all of these judged; replies go into the launch of their pass, of a pair that of the other side.

        Raises:
            EnvironmentLacks: the judge cannot be asked.
        """
        plan = list(self._pairs(texts) if self.rubric.form == "pairs" else self._alone(texts))
        requests: list[Messages] = [self.rubric.messages(material) for _, _, material in plan]
        keys, about = keys_of(self.judge, requests), defaultdict[str, list[replies.Judged]](list)
        for key, (passes, text, _) in zip(keys, plan, strict=True):
            about[key].append(self._about(passes, text, launches))
        asked = ask(self.judge, requests, self.rubric.response_format, Replies(record, self.cache, self.rubric, about), keys)
        said = [self._said(text, reply) for (_, text, _), reply in zip(plan, asked.replies, strict=True)]
        self.found = {one: Judgements() for one in texts}
        if self.rubric.form == "pairs":
            self._fold_pairs(texts, [passes for passes, _, _ in plan], said)
        else:
            for (passes, _, _), one in zip(plan, said, strict=True):
                self.found[passes[0]].said.append(one)
        self.notes = self._noted(asked, said)

    def write(self, writer: BatchWriter, launch: int, passed: Pass) -> None:
        """The scores and ratings of one pass, and the labels of its side with the first one."""
        found, side = self.found[passed], passed[0]
        tasks = dict.fromkeys(one.key[0] for one in found.said)
        for task in tasks:
            scored = [(one.key[1], one.key[2], (one.value,)) for one in found.said if one.key[0] == task and one.value is not None]
            write_recorded_scores(writer, launch, task, JUDGED, scored)
        # in pairs the first side is what the others are compared with, which is no judgement of it
        judged = [one for one in found.said if self.rubric.form == "scale" or side != self.sides[0]]
        _append(writer, "ratings", self._ratings(launch, judged))
        _append(writer, "preferences", self._preferences(launch, found.preferred))
        if passed[1] == 0:
            of_item = {one.key[1]: one.key[0] for one in found.said}
            labels = [one for one in self.labels if one.side == side and one.item in of_item]
            _append(writer, "ratings", _labels(launch, [of_item[one.item] for one in labels], labels))

    # ---- what is asked

    def _alone(self, texts: Mapping[Pass, Sequence[Text]]) -> Iterator[tuple[tuple[Pass, ...], Text, Material]]:
        for passed, answers in texts.items():
            for one in answers:
                if one.text is not None:
                    yield (passed,), one, Material(prompt=one.prompt, references=one.references, answers=(one.text,))

    def _pairs(self, texts: Mapping[Pass, Sequence[Text]]) -> Iterator[tuple[tuple[Pass, ...], Text, Material]]:
        """Both orders of every pair, one after the other: the first side's answer first, then the other's."""
        for (side, number), answers in texts.items():
            before = {one.key: one for one in texts.get((self.sides[0], number), ())}
            for one in answers if side != self.sides[0] else ():
                base = before.get(one.key)
                if base is None or base.text is None or one.text is None:
                    continue
                orders: tuple[Pass, Pass] = ((self.sides[0], number), (side, number))
                yield orders, one, Material(prompt=one.prompt, references=one.references, answers=(base.text, one.text))
                yield orders[::-1], one, Material(prompt=one.prompt, references=one.references, answers=(one.text, base.text))

    def _about(self, passes: Sequence[Pass], text: Text, launches: Mapping[Pass, int]) -> replies.Judged:
        of_launch = next((one for one in passes if one[0] != self.sides[0]), passes[0])
        return replies.Judged(
            launch=launches[of_launch],
            task=text.task,
            item=text.item,
            repetition=text.repetition,
            side=passes[0][0],
            against=passes[1][0] if len(passes) > 1 else None,
        )

    # ---- what was said

    def _said(self, text: Text, reply: Reply | Failed) -> Said:
        """A reply as a judgement; of a pair the value of the answer shown first."""
        if isinstance(reply, Failed):
            return Said(key=text.key, value=None, outcome=FAILED, seconds=0.0, usd=None)
        found: Reading = reading(reply.text, reply.finish_reason, self.rubric)
        outcome = "ok" if found.value is not None else NO_ANSWER
        return Said(key=text.key, value=found.value, outcome=outcome, seconds=reply.seconds, usd=reply.usd(self.judge.price))

    def _fold_pairs(self, texts: Mapping[Pass, Sequence[Text]], orders: Sequence[tuple[Pass, ...]], said: Sequence[Said]) -> None:
        base = self.sides[0]
        for (side, number), answers in texts.items():
            if side == base:
                whole = [Said(key=one.key, value=0.5, outcome="ok", seconds=0.0, usd=None) for one in answers if one.text is not None]
                self.found[side, number].said += whole
        for at in range(0, len(said), 2):
            other = orders[at][1]
            ahead, behind = said[at], said[at + 1]  # the first side shown first, then the other
            for passes, one in zip(orders[at : at + 2], (ahead, behind), strict=True):
                self.found[passes[0]].preferred.append(Preferred(key=one.key, first=passes[0][0], second=passes[1][0], said=one))
            self.found[other].said.append(_of_both(ahead, behind, base))

    def _noted(self, asked: Asked, said: Sequence[Said]) -> dict[str, Any]:
        """What it took, equal requests once, and the digest of all replies."""
        kept = {key: one for key, one in zip(asked.keys, asked.replies, strict=True) if isinstance(one, Reply)}
        known, whole = list(kept.values()), sha256()
        for key in sorted(kept):
            reply = kept[key]
            whole.update(f"{key}{sha256(reply.text.encode('utf-8', 'surrogatepass')).hexdigest()}".encode())
        whys = Counter(why for one in asked.replies if isinstance(one, Reply) and (why := self._why(one)))
        refusals = [one.why for one in asked.replies if isinstance(one, Failed)]
        costs = [one.usd(self.judge.price) for one in known]
        return {
            "judgements": len(said),
            "sent": asked.sent,
            "schema": asked.schema,
            "unread": dict(whys.most_common()),
            "failed": len(refusals),
            **({"unknown_labels": self.unknown_labels} if self.unknown_labels else {}),
            **({"first_failure": refusals[0]} if refusals else {}),
            "tokens_in": _total(one.tokens_in for one in known),
            "tokens_out": _total(one.tokens_out for one in known),
            "seconds": round(sum(one.seconds for one in known), 3),
            "usd": None if not costs or None in costs else sum(one or 0.0 for one in costs),
            "replies": f"sha256:{whole.hexdigest()}",
        }

    def _why(self, reply: Reply) -> str:
        return reading(reply.text, reply.finish_reason, self.rubric).why

    # ---- rows

    @property
    def _rater(self) -> str:
        return side_name(self.judge.model)[:MAX_CODE]

    def _rated(self, launch: int, said: Sequence[Said]) -> Columns:
        count = len(said)
        return {
            "launch": [launch] * count,
            "task": [one.key[0] for one in said],
            "item": [one.key[1] for one in said],
            "repetition": [one.key[2] for one in said],
            "rater": [self._rater] * count,
            "kind": ["judge"] * count,
            "outcome": [one.outcome for one in said],
            "position": [None] * count,
            "gold": [0] * count,
            "seconds": [one.seconds for one in said],
            "usd": [one.usd for one in said],
        }

    def _ratings(self, launch: int, said: Sequence[Said]) -> Columns:
        return {**self._rated(launch, said), "rating": [one.value for one in said], "against": [one.against for one in said]}

    def _preferences(self, launch: int, preferred: Sequence[Preferred]) -> Columns:
        words = {1.0: "first", 0.5: "tie", 0.0: "second", None: None}
        return {
            **self._rated(launch, [one.said for one in preferred]),
            "first": [one.first for one in preferred],
            "second": [one.second for one in preferred],
            "shown": [1] * len(preferred),
            "choice": [words[one.said.value] for one in preferred],
        }


def judging_of(evaluation: Evaluation, folder: Path, sides: Sequence[str]) -> Judging | None:
    """The judge of an experiment; None without one. Raises SpecError: as `Judging`."""
    return None if evaluation.judge is None else Judging(evaluation.judge, folder, sides)


def _of_both(ahead: Said, behind: Said, base: str) -> Said:
    """The value of the other side's answer: `ahead` was said with the first side shown first, `behind` the other way round."""
    both = None if ahead.value is None or behind.value is None else (1.0 - ahead.value + behind.value) / 2.0
    worse = next((one.outcome for one in (ahead, behind) if one.outcome != "ok"), "ok")
    usd = None if ahead.usd is None or behind.usd is None else ahead.usd + behind.usd
    return Said(key=ahead.key, value=both, outcome=worse, seconds=ahead.seconds + behind.seconds, usd=usd, against=base)


def _total(numbers: Iterable[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None


def _labels(launch: int, tasks: Sequence[str], labels: Sequence[Label]) -> Columns:
    count = len(labels)
    return {
        "launch": [launch] * count,
        "task": list(tasks),
        "item": [one.item for one in labels],
        "repetition": [0] * count,
        "rater": [one.rater for one in labels],
        "kind": ["person"] * count,
        "outcome": ["ok"] * count,
        "position": [None] * count,
        "gold": [1] * count,
        "seconds": [one.seconds for one in labels],
        "usd": [None] * count,
        "rating": [one.value for one in labels],
        "against": [one.against for one in labels],
    }


def _append(writer: BatchWriter, table: str, columns: Columns) -> None:
    rows = len(columns["item"])
    for begin in range(0, rows, AT_ONCE):
        writer.append_batch(table, batch_of(table, {name: values[begin : begin + AT_ONCE] for name, values in columns.items()}))
