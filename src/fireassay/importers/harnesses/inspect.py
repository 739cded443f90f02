"""What did Inspect (inspect_ai 0.3) find, sample by sample?  From a log: .eval (a zip file of JSON) or .json.

A scorer's value becomes a number as Inspect makes it: C = 1, P = 0.5, I = N = 0, yes and no, numbers; a dictionary of values is several
scores, named scorer/key.  Epochs are repetitions of a sample.  A sample that ended in an error was not answered: it is neither right nor
wrong.  Reductions of epochs other than their mean, and metrics other than accuracy, mean and their standard error, are kept as reported.
(inspect_ai/log/_log.py, log/_recorders/eval.py and scorer/_metric.py of UKGovernmentBEIS/inspect_ai 0.3.285.)

What do the samples of an Inspect log hold?  They are read twice, one at a time; only numbers and digests stay in memory.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from fireassay.importers.harnesses.support import base
from fireassay.importers.support.base import clean, inner, mapping
from fireassay.importers.support.documents import Place, Spool, Words, archive, documents, head
from fireassay.quality.tasks.support.grouping import grouping

HEADER: Final = "header.json"
START: Final = "_journal/start.json"
SAMPLE: Final = re.compile(r"samples/.+\.json", re.DOTALL)
VALUES: Final[Mapping[str, float]] = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
WORDS: Final[Mapping[str, float]] = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?")
ENDS: Final[Mapping[str, str]] = {"max_tokens": "length", "model_length": "length"}
ATTACHED: Final = "attachment://"
WHICH: Final = ("inputs", "targets", "choices")
MAX_EPOCHS: Final = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Samples:
    """A log: its header, and its samples as often as they are read."""

    place: Place
    header: Mapping[str, Any]
    each: Callable[[], Iterator[tuple[Place, Mapping[str, Any]]]]


@dataclass
class Collected(base.Digests):
    """Which samples and scores there are."""

    samples: set[str] = field(default_factory=set)
    seen: set[tuple[str, int]] = field(default_factory=set)
    scores: dict[str, None] = field(default_factory=dict)  # in the order in which they occur
    left: dict[str, str] = field(default_factory=dict)
    custom: set[str] = field(default_factory=set)  # scores with texts of their own, whose numbers the scorer alone knows
    unscored: int = 0
    unusable: dict[str, int] = field(default_factory=dict)  # score -> values that are NaN, infinite or beyond use


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
    """The names of all scores, and digests of what was asked. Raises SpecError: a sample is invalid, or occurs twice in one epoch."""
    seen = Collected()
    kinds: dict[str, type] = {}
    for place, sample in source.each():
        item, epoch = _key(sample, place)
        base.one_kind(kinds, sample.get("id"), place.at("id"))
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
                    if value is None and base.unusable(_raw(sample, name)):
                        seen.unusable[name] = seen.unusable.get(name, 0) + 1
                    seen.scores.setdefault(base.named(name, place.at("scores"), "a score"))
            seen.unscored += not found
        for which, value in zip(WHICH, (sample.get("input"), sample.get("target"), sample.get("choices")), strict=True):
            if value is not None:
                seen.hashes[which].setdefault(item, base.digest([_prompt(value, sample)]))
    for name in seen.left:
        if name in seen.scores:
            seen.custom.add(name)
    return seen


def _key(sample: Mapping[str, Any], place: Place) -> tuple[str, int]:
    item, epoch = base.named(sample.get("id"), place.at("id"), "a sample's id"), sample.get("epoch", 1)
    if not isinstance(epoch, int) or isinstance(epoch, bool) or not 1 <= epoch <= MAX_EPOCHS:
        raise place.at("epoch").wrong(epoch, f"a whole number from 1 to {MAX_EPOCHS:,}")
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


def _raw(sample: Mapping[str, Any], name: str) -> object:
    """What the log holds for a score."""
    scorer, _, part = name.rpartition("/")
    scores = inner(sample, "scores")
    value = inner(scores, name if name in scores else scorer).get("value")
    return value.get(part) if isinstance(value, Mapping) else value


def _metadata(source: Samples) -> Iterator[Mapping[str, Any]]:
    """The metadata of each sample, once."""
    told: set[str] = set()
    for place, sample in source.each():
        if (item := _key(sample, place)[0]) not in told:
            told.add(item)
            yield inner(sample, "metadata")


def as_number(value: object) -> float | str | None:
    """A scorer's value as Inspect's `value_to_float` makes it; a text says why it is no number."""
    if isinstance(value, str):
        if value in VALUES:
            return VALUES[value]
        if value.lower() in WORDS:
            return WORDS[value.lower()]
        if NUMBER.fullmatch(value.strip()):
            return base.score_of(float(value))
        return "some values are texts that only the scorer can turn into numbers"
    if isinstance(value, list | Mapping):
        return "some values are lists"
    return base.score_of(value)


def answered(source: Samples, seen: Collected, deciding: str) -> Iterator[base.Answered]:
    """Every sample, with its epoch as repetition."""
    for place, sample in source.each():
        item, epoch = _key(sample, place)
        failed = _failed(sample)
        scores = {} if failed else {name: (value,) for name, value in _values(sample) if isinstance(value, float)}
        text = _reply(sample)
        given = None if failed else _answer(sample, deciding)
        answer = "" if failed else text.strip() if given is None else given
        target = sample.get("target")
        yield base.Answered(
            item=item,
            repetition=epoch - 1,
            prompt=base.plain(_prompt(sample.get("input"), sample)),
            references=tuple(
                base.plain(_prompt(one, sample)) for one in (target if isinstance(target, list) else [target]) if one is not None
            ),
            outcome="error" if failed else "ok",
            text=None if failed else base.plain(text),
            answer=base.plain(answer) or None,
            rule="none" if not answer else "reply" if given is None else f"scorer {deciding}"[:80],
            finish_reason=_end(sample),
            scores={name: value for name, value in scores.items() if name in seen.scores},
        )


def _prompt(value: object, sample: Mapping[str, Any]) -> str:
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
        return "\n".join(_prompt(part, sample) for part in parts if isinstance(part, str))
    return _prompt(value, sample)


def _reply(sample: Mapping[str, Any]) -> str:
    choice = _choice(sample)
    completion = inner(sample, "output").get("completion")
    return _prompt(completion, sample) if isinstance(completion, str) else _content(inner(choice, "message").get("content"), sample)


def _choice(sample: Mapping[str, Any]) -> Mapping[str, Any]:
    choices = inner(sample, "output").get("choices")
    return choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], Mapping) else {}


def _answer(sample: Mapping[str, Any], deciding: str) -> str | None:
    score = inner(sample, "scores").get(deciding.partition("/")[0])
    answer = score.get("answer") if isinstance(score, Mapping) else None
    return _prompt(answer, sample) if isinstance(answer, str) else None


def _end(sample: Mapping[str, Any]) -> str | None:
    reason = _choice(sample).get("stop_reason")
    return base.plain(ENDS.get(reason, reason))[:40] if isinstance(reason, str) else None


MEANS: Final = ("accuracy", "mean")
ERRORS: Final = ("stderr",)
HEAD: Final = '"eval"'


def recognises(path: Path) -> bool:
    """True if it is a log of Inspect, or a folder with one."""
    return bool(_chosen(path))


def read(path: Path, stack: ExitStack) -> Sequence[base.Run]:
    chosen = _chosen(path) or [path]
    return base.usable(partial(_run, file, stack) for file in chosen)


def _chosen(path: Path) -> list[Path]:
    if path.is_dir():
        return [file for file in sorted(path.iterdir()) if file.is_file() and _is_log(file)]
    return [path] if _is_log(path) else []


def _is_log(path: Path) -> bool:
    if path.suffix == ".eval":
        return path.is_file()
    beginning = head(path, 4096) if path.suffix == ".json" else ""
    return HEAD in beginning and '"version"' in beginning and '"status"' in beginning


def _run(path: Path, stack: ExitStack) -> base.Run:
    source: Samples = in_json(path, stack) if path.suffix == ".json" else in_zip(path, stack)
    place, header = source.place, source.header
    spec = mapping(header.get("eval"), place.at("eval"))
    version = clean(str(inner(spec, "packages").get("inspect_ai") or "unknown"), 40)
    task = base.named(spec.get("task"), place.at("eval.task"), "a task")
    seen = collect(source)
    if not seen.samples:
        refused = place.wrong(Words("no sample"), "a log with samples", "Evaluate again with log_samples.")
        raise base.WithoutScores(refused, f"the samples of {path.name}: it holds none")
    scores = tuple(_score(name, spec, version) for name in seen.scores)
    if not scores:
        refused = place.wrong(Words("no score that is a number"), "samples with scores", "Score it first: inspect score LOG.")
        raise base.WithoutScores(refused, f"the samples of {path.name}: none has a score that is a number")
    made = base.TaskRun(
        name=task,
        file=path.name,
        scores=scores,
        facts=_facts(spec, header, seen, version),
        rows=partial(answered, source, seen, scores[0].name),
        totals=tuple(_totals(header, seen)),
        missing=tuple(f"a score of each sample for {name}: {why}" for name, why in seen.left.items()),
        doubts=tuple(_doubts(header, seen)),
        grouping=grouping(_metadata(source), ()),
    )
    return base.Run(
        model=clean(str(spec.get("model") or "model"), 200),
        settings=_settings(spec),
        tasks=(made,),
        files=(path,),
        version=version,
        begin_utc=clean(value, 40) if isinstance(value := inner(header, "stats").get("started_at"), str) else "",
    )


def _score(name: str, spec: Mapping[str, Any], version: str) -> base.ForeignScore:
    scorer = name.partition("/")[0]
    entries = spec.get("scorers")
    entry = (
        next((one for one in entries if isinstance(one, Mapping) and one.get("name") == scorer), {}) if isinstance(entries, list) else {}
    )
    options = base.digest([json.dumps(entry.get("options"), sort_keys=True, default=str)])[:16]
    return base.ForeignScore(name=name, signature=f"metric:{name}|impl:inspect_ai@{version}|options:{options}")


def _settings(spec: Mapping[str, Any]) -> dict[str, str]:
    given = {key: base.setting(spec.get(key)) for key in ("model", "model_args", "model_base_url", "model_roles")}
    return {key: value for key, value in given.items() if value}


def _facts(spec: Mapping[str, Any], header: Mapping[str, Any], seen: Collected, version: str) -> dict[str, Any]:
    """What identifies the task: anything here that differs makes two sides incomparable."""
    config = inner(spec, "config")
    facts = {
        "harness": f"inspect_ai@{version}",
        "version": base.setting(spec.get("task_version")),
        "arguments": base.setting(spec.get("task_args")),
        "solver": base.setting(inner(header, "plan").get("steps")) or base.setting([spec.get("solver"), spec.get("solver_args")]),
        "generation": base.setting({**inner(spec, "model_generate_config"), **inner(header, "plan", "config")}),
        "docs": seen.digest("inputs"),
        "targets": seen.digest("targets"),
        "choices": seen.digest("choices"),
        "epochs": base.setting(config.get("epochs")),
        **{key: base.setting(config.get(key)) for key in ("message_limit", "token_limit", "time_limit", "working_limit", "score_on_error")},
    }
    return {key: value for key, value in facts.items() if value}


def _totals(header: Mapping[str, Any], seen: Collected) -> Iterator[base.Total]:
    """Inspect's own metrics, each with the score of ours that must equal it."""
    entries = inner(header, "results").get("scores")
    for entry in entries if isinstance(entries, list) else []:
        if not isinstance(entry, Mapping):
            continue
        scorer, name, reducer = entry.get("scorer"), entry.get("name"), entry.get("reducer")
        score = next((known for known in (f"{scorer}/{name}", str(name), str(scorer)) if known in seen.scores), "")
        for key, metric in inner(entry, "metrics").items():
            value = base.score_of(metric.get("value")) if isinstance(metric, Mapping) else None
            if value is None:
                continue
            plain_name = key.rpartition("/")[2]
            same = bool(score) and reducer in (None, "mean") and plain_name in (*MEANS, *ERRORS) and not _clustered(metric)
            same = same and score not in seen.custom
            title = " ".join(str(part)[:60] for part in (name, reducer, key) if part)
            yield base.Total(name=title, value=value, score=score, of="stderr" if plain_name in ERRORS else "mean", same=same)


def _clustered(metric: Mapping[str, Any]) -> bool:
    parameters = inner(metric, "params")
    return any(parameters.get(key) not in (None, {}) for key in ("cluster", "finite_population"))


def _doubts(header: Mapping[str, Any], seen: Collected) -> Iterator[str]:
    status = header.get("status")
    if status != "success":
        yield f"the run ended with the status {clean(str(status), 40)}: samples may be missing"
    total = base.score_of(inner(header, "results").get("total_samples"))
    if total is not None and total != len(seen.seen):
        yield f"it reports {total:,.0f} samples, epochs counted, and {len(seen.seen):,} are logged"
    for name, number in seen.unusable.items():
        yield f"{number:,} values of {name} are NaN, infinite or beyond use, and count as no score"
    if seen.unscored:
        yield f"{seen.unscored:,} samples ended without an error and without a score"


HARNESS = base.Harness(
    name="inspect",
    title="Inspect",
    files="a log (.eval or .json), or a folder of logs",
    meanings={
        "items": "a sample; epochs are its repetitions",
        "scores": "of each scorer, as a number: C 1, P 0.5, I and N 0",
        "failures": "a sample with an error was not answered",
    },
    missing=("when each token came", "the machine, the engine and its flags"),
    recognises=recognises,
    read=read,
)
