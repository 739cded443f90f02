"""What did EleutherAI's lm-evaluation-harness (0.4) find, item by item?  From results_DATE.json and the samples_TASK_DATE.jsonl of its date.

`--log_samples` writes one line for every document and filter, with the document's own scores; they become scores of one item, named as
in the results without the filter `none`: "acc", "exact_match,strict-match".  A score whose aggregate is no mean of the documents' scores
(BLEU, F1, perplexity) has none per document, and remains a reported number.
lm-eval gives a failed request an empty text and scores it; empty replies are counted, for nothing tells them apart.
(lm_eval/evaluator.py, api/task.py and loggers/evaluation_tracker.py of EleutherAI/lm-evaluation-harness 0.4.13.)

Which scores of lm-eval's results are means of the documents' scores, and what are they called?

What do the lines of lm-eval's samples hold?  One line for each document and filter; they are read twice, in memory of numbers only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from fireassay.importers.harnesses.support import base
from fireassay.importers.support.base import clean, inner, mapping, time_of_day
from fireassay.importers.support.documents import Place, Words, documents, head, lines, loads
from fireassay.quality.tasks.support.grouping import grouping

NO_FILTER: Final = "none"
MEANS: Final = ("mean", "nanmean")
# aggregation of the metrics that have another one unless the task says so (lm_eval/api/metrics.py)
DEFAULTS: Final[Mapping[str, str]] = {
    "bypass": "bypass",
    "f1": "f1",
    "mcc": "matthews_corrcoef",
    "bleu": "bleu",
    "chrf": "chrf",
    "ter": "ter",
    "perplexity": "perplexity",
    "word_perplexity": "weighted_perplexity",
    "byte_perplexity": "weighted_perplexity",
    "bits_per_byte": "bits_per_byte",
    "brier_score": "brier_score",
}
OTHERS: Final = frozenset({*DEFAULTS.values(), "median"})  # that cannot be computed from one number of each document


@dataclass(frozen=True, kw_only=True)
class Kept:
    """The scores of a task that may have a value for each document."""

    scores: tuple[base.ForeignScore, ...]
    columns: Mapping[tuple[str, str], str]  # (metric, filter) -> name of the score
    filter_of: Mapping[str, str]  # name of the score -> filter
    means: frozenset[str]  # names of the scores whose aggregate is a mean
    left: Mapping[str, str]  # the others -> why

    @property
    def names(self) -> tuple[str, ...]:
        """Every score's name."""
        return (*self.filter_of, *self.left)

    def name(self, metric: str, by: str) -> str:
        """The score's name; empty if it has none per document."""
        return self.columns.get((metric, by), "")


def kept_scores(totals: Mapping[str, Any], config: Mapping[str, Any], better: Mapping[str, Any], version: str, place: Place) -> Kept:
    """The scores in a task's results, the deciding one first: the task's own order of metrics, then of filters."""
    entries = {entry["metric"]: entry for entry in _dicts(config.get("metric_list")) if isinstance(entry.get("metric"), str)}
    found = [key.rpartition(",")[::2] for key in totals if "," in key]
    pairs = [(metric, by) for metric, by in found if not metric.endswith("_stderr")]
    order = list(entries)
    pairs.sort(key=lambda pair: order.index(pair[0]) if pair[0] in order else len(order))
    scores, columns, means, left = [], {}, set(), {}
    for metric, by in pairs:
        name = base.named(metric if by == NO_FILTER else f"{metric},{by}", place, "a score")
        entry = entries.get(metric, {})
        aggregation = entry.get("aggregation") or DEFAULTS.get(metric, "mean")
        if isinstance(aggregation, str) and aggregation in OTHERS:
            left[name] = f"its aggregate is {aggregation}, no mean over items"
            continue
        if aggregation in MEANS:
            means.add(name)
        columns[metric, by] = name
        scores.append(
            base.ForeignScore(
                name=name,
                signature=_signature(
                    metric, by, entry, next((entry for entry in _dicts(config.get("filter_list")) if entry.get("name") == by), {}), version
                ),
                better="lower" if better.get(metric) is False else "higher",
            )
        )
    filters = {name: by for (_, by), name in columns.items()}
    return Kept(scores=tuple(scores), columns=columns, filter_of=filters, means=frozenset(means), left=left)


def _dicts(value: object) -> list[Mapping[str, Any]]:
    return [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list) else []


def _signature(metric: str, by: str, entry: Mapping[str, Any], filtered: Mapping[str, Any], version: str) -> str:
    """Everything in the log that moves the score."""
    made = base.digest([json.dumps(part, sort_keys=True, default=str) for part in (entry, filtered)])[:16]
    return f"metric:{metric}|impl:lm-eval@{version}|filter:{by}|settings:{made}"


HASHES: Final = ("doc_hash", "prompt_hash", "target_hash")
INVALID: Final = "[invalid]"  # what lm-eval's filters leave where nothing was found


@dataclass
class Collected(base.Digests):
    """The numbers of every document."""

    items: dict[str, dict[str, tuple[float, ...]]] = field(default_factory=dict)  # item -> score -> statistics
    filters: dict[str, list[str]] = field(default_factory=dict)  # item -> filters, as met
    forms: dict[str, base.Form] = field(default_factory=dict)  # score -> how many items' score is made of theirs
    left: dict[str, str] = field(default_factory=dict)  # score -> why it has none per document
    repeated: set[str] = field(default_factory=set)  # items that stand more than once, with equal contents
    unusable: dict[str, int] = field(default_factory=dict)  # score -> values that are NaN, infinite or beyond use
    empty: int = 0

    def repeat(self, item: str, by: str, row: Mapping[str, Any], columns: Mapping[tuple[str, str], str], place: Place) -> None:
        """Take note of a document that stands again. Raises SpecError: it is another document or has another score."""
        again: dict[str, tuple[float, ...]] = {}
        for (metric, of), name in columns.items():
            if of == by and metric in row:
                _take(self, again, name, row[metric])
        hashes = {which: row[which][:200] for which in HASHES if isinstance(row.get(which), str)}
        same = bool(hashes) and all(self.hashes[which].get(item) == value for which, value in hashes.items())
        if not same or any(self.items[item].get(name) != value for name, value in again.items()):
            found = Words(f"{item} again, with {'other scores' if same else 'another text'}")
            raise place.at("doc_id").wrong(found, f"each document once with the filter {by}", "Were two runs written into one file?")
        self.repeated.add(item)


def collect(path: Path, columns: Mapping[tuple[str, str], str]) -> Collected:
    """The scores of every document. Raises SpecError: a line is no sample, or a document occurs twice with different contents."""
    seen = Collected()
    kinds: dict[str, type] = {}
    for place, row in _rows(path):
        item, by = _item(row, place), _filter(row, columns)
        base.one_kind(kinds, row.get("doc_id"), place.at("doc_id"))
        filters = seen.filters.setdefault(item, [])
        if by in filters:
            seen.repeat(item, by, row, columns, place)
            continue
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
    return base.named(row.get("doc_id"), place.at("doc_id"), "a document's number")


def _filter(row: Mapping[str, Any], columns: Mapping[tuple[str, str], str]) -> str:
    value = row.get("filter")
    return value if isinstance(value, str) else next((by for _, by in columns), NO_FILTER)


def _take(seen: Collected, scores: dict[str, tuple[float, ...]], name: str, value: object) -> None:
    """A document's score: a number, or a list of verdicts, of which many documents make the share that is true."""
    if isinstance(value, list) and value and all(isinstance(one, bool) for one in value):
        form: base.Form = "ratio"
        statistics: tuple[float, ...] = (float(sum(value)), float(len(value)))
    elif isinstance(value, list | dict | str):
        seen.left[name] = "its lines hold no number but what the aggregate is made of"
        return
    elif (number := base.score_of(value)) is not None:
        form, statistics = "mean", (number,)
    else:
        if value is not None:
            seen.unusable[name] = seen.unusable.get(name, 0) + 1
        return  # null or NaN: this document has none
    if seen.forms.setdefault(name, form) != form:
        seen.left[name] = "some lines hold a number, and some a list"
    scores[name] = statistics


def _is_empty(replies: object) -> bool:
    """True if there is no text in any reply."""
    if isinstance(replies, list):
        return all(_is_empty(reply) for reply in replies)
    return replies is None or (isinstance(replies, str) and not replies.strip())


def answered(path: Path, seen: Collected, chosen: str) -> Iterator[base.Answered]:
    """Every document once, with the reply as the chosen filter leaves it."""
    told: set[str] = set()
    for place, row in _rows(path):
        item = _item(row, place)
        filters = seen.filters[item]
        by = row.get("filter")
        if item in told:
            continue
        if isinstance(by, str) and by != (chosen if chosen in filters else filters[0]):
            continue
        told.add(item)
        asked = _arguments(row.get("arguments"))
        choices = [given[1] for given in asked if len(given) > 1 and isinstance(given[1], str)]
        text, answer = _reply(row, choices)
        yield base.Answered(
            item=item,
            prompt=base.plain(_words(asked[0][0])) if asked and asked[0] else "",
            references=tuple(base.plain(reference) for reference in _references(row.get("target"), choices)),
            text=base.plain(text),
            answer=None if answer is None else base.plain(answer),
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


RESULTS: Final = re.compile(r"results_(?P<date>.+)\.json", re.DOTALL)
SAMPLES: Final = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT.+)\.jsonl", re.DOTALL)
AGAIN: Final = "Evaluate again with --log_samples and --output_path."
SETTINGS: Final = ("model", "model_args", "model_revision", "model_sha", "model_dtype", "model_num_parameters", "batch_size", "device")
CONDITIONS: Final = ("gen_kwargs", "limit", "random_seed", "numpy_seed", "torch_seed", "fewshot_seed")
OF_TASK: Final = ("output_type", "repeats", "generation_kwargs", "fewshot_delimiter", "target_delimiter", "doc_to_text", "doc_to_target")
ANSWERS: Final = ("answer", "answers", "answerKey", "target", "label", "gold", "choices")  # fields of documents that are no groups
LAST_S: Final = 1e11  # since 1970: the year 5138


def recognises(path: Path) -> bool:
    """True if it is a results or samples file of lm-eval, or a folder with one."""
    return bool(_chosen(path))


def read(path: Path, stack: ExitStack) -> Sequence[base.Run]:
    """The runs in a file or folder, one for each results file."""
    chosen = _chosen(path)
    if not chosen:
        raise Place(path.name).wrong(Words("no results_DATE.json"), "results of lm-eval", AGAIN)
    return [_run(results, only, stack) for results, only in chosen.items()]


def _chosen(path: Path) -> dict[Path, str]:
    """The results files, each with the one task to read, or all."""
    if path.is_dir():
        below = [entry for entry in sorted(path.iterdir()) if entry.is_dir() and not entry.name.startswith(".")]
        return {file: "" for folder in (path, *below) for file in sorted(folder.iterdir()) if file.is_file() and _is_results(file)}
    if sample := SAMPLES.fullmatch(path.name):
        results = path.with_name(f"results_{sample['date']}.json")
        return {results: sample["task"]} if results.is_file() and _is_results(results) else {}
    return {path: ""} if path.is_file() and _is_results(path) else {}


def _is_results(path: Path) -> bool:
    return RESULTS.fullmatch(path.name) is not None and bool(re.match(r'\s*\{\s*"results"\s*:', head(path, 200)))


def _run(path: Path, only: str, stack: ExitStack) -> base.Run:
    place, found = next(documents(path, (), stack), (Place(path.name), None))
    results = mapping(found, place)
    date = RESULTS.fullmatch(path.name)["date"]  # type: ignore[index]
    # Names in a results file are not trusted as paths: only files that the folder lists are opened.
    samples = {file.name: file for file in path.parent.iterdir() if file.is_file() and SAMPLES.fullmatch(file.name)}
    tasks: list[base.TaskRun] = []
    files, without, lacking = [path], [], list[base.WithoutScores]()
    for key, totals in mapping(results.get("results"), place.at("results")).items():
        task = base.named(key, place.at("results"), "a task")
        if only and task != only:
            continue
        file = samples.get(f"samples_{task}_{date}.jsonl")
        if file is None:
            without.append(task)
            continue
        files.append(file)
        try:
            tasks.append(_task(task, file, results, mapping(totals, place.at("results").at(task)), place))
        except base.WithoutScores as lack:
            lacking.append(lack)
    if lacking and not tasks:
        raise lacking[0]
    if not tasks:
        raise place.wrong(Words("no samples_TASK_DATE.jsonl of its date beside it"), "at least one task with its samples", AGAIN)
    return base.Run(
        model=_model(results, path),
        settings=_settings(results),
        tasks=tuple(tasks),
        files=tuple(files),
        version=_text(results, "lm_eval_version"),
        begin_utc=time_of_day(seconds) if 0.0 < (seconds := base.score_of(results.get("date")) or 0.0) < LAST_S else "",
        duration_s=_seconds(results),
        missing=(
            *(f"the items of {task}: it has a result and no samples (a group, or it was not logged)" for task in without),
            *(lack.sentence for lack in lacking),
        ),
    )


def _seconds(results: Mapping[str, Any]) -> float | None:
    try:
        seconds = float(results.get("total_evaluation_time_seconds", ""))
    except (TypeError, ValueError, OverflowError):
        return None
    return seconds if 0.0 < seconds < 1e8 else None


def _model(results: Mapping[str, Any], path: Path) -> str:
    arguments = inner(results, "config").get("model_args")
    pretrained = arguments.get("pretrained") if isinstance(arguments, Mapping) else None
    given = (results.get("model_name"), pretrained, inner(results, "config").get("model"), path.parent.name)
    return next((clean(value, 200) for value in given if isinstance(value, str) and value.strip()), "model")


def _text(source: Mapping[str, Any], key: str) -> str:
    """A setting as text, redacted; empty if there is none."""
    return base.setting(source.get(key))


def _settings(results: Mapping[str, Any]) -> dict[str, str]:
    """What says how the model was run."""
    config = inner(results, "config")
    given = {key: _text(config, key) for key in SETTINGS}
    given |= {key: _text(results, key) for key in ("model_source", "tokenizer_eos_token", "max_length", "transformers_version")}
    return {key: value for key, value in given.items() if value}


# ---- one task --------------------------------------------------------------------------------------------------------


def _task(task: str, file: Path, results: Mapping[str, Any], totals: Mapping[str, Any], place: Place) -> base.TaskRun:
    config = inner(results, "configs", task)
    better = inner(results, "higher_is_better", task)
    version = _text(results, "lm_eval_version") or "unknown"
    kept = kept_scores(totals, config, better, version, place.at("results").at(task))
    seen = collect(file, kept.columns)
    scores = tuple(score for score in kept.scores if score.name in seen.forms)
    if not scores:
        found = Words(f"no score per item among {', '.join(kept.names) or 'none'}")
        refused = Place(file.name).wrong(found, "at least one score that is a number in each line")
        raise base.WithoutScores(refused, f"the items of {task}: none of its scores ({', '.join(kept.names) or 'none'}) is one of an item")
    none = [f"a score of each item for {name}: {why}" for name, why in {**kept.left, **seen.left}.items()]
    chosen = kept.filter_of[scores[0].name]
    return base.TaskRun(
        name=task,
        file=file.name,
        scores=tuple(replace(score, form=seen.forms[score.name]) for score in scores),
        facts=_facts(task, results, config, seen, chosen),
        rows=partial(answered, file, seen, chosen),
        totals=tuple(_totals(totals, kept, seen)),
        missing=tuple(none),
        doubts=tuple(_doubts(task, results, seen)),
        empty=seen.empty,
        grouping=grouping(_documents(file), ANSWERS),
    )


def _documents(file: Path) -> Iterator[Mapping[str, Any]]:
    """The fields of each document, once."""
    told: set[str] = set()
    for place, row in _rows(file):
        if (item := _item(row, place)) not in told:
            told.add(item)
            yield inner(row, "doc")


def _facts(task: str, results: Mapping[str, Any], config: Mapping[str, Any], seen: Collected, chosen: str) -> dict[str, Any]:
    """What identifies the task: anything here that differs makes two sides incomparable."""
    ran = inner(results, "config")
    facts: dict[str, Any] = {
        "harness": f"lm-eval@{_text(results, 'lm_eval_version') or 'unknown'}",
        "version": _text(inner(results, "versions"), task),
        "shots": _text(inner(results, "n-shot"), task) or _text(config, "num_fewshot"),
        "filter": chosen,
        "filters": _text(config, "filter_list"),
        "docs": seen.digest("doc_hash"),
        "prompts": seen.digest("prompt_hash"),
        "targets": seen.digest("target_hash"),
        "template": _text(results, "chat_template_sha"),
        "system": _text(results, "system_instruction_sha"),
        "multiturn": _text(results, "fewshot_as_multiturn"),
        **{key: _text(config, key) for key in OF_TASK},
        **{key: _text(ran, key) for key in CONDITIONS},
    }
    return {key: value for key, value in facts.items() if value}


def _totals(totals: Mapping[str, Any], kept: Kept, seen: Collected) -> Iterator[base.Total]:
    """lm-eval's own aggregates, each with the score of ours that must equal it."""
    for key, value in totals.items():
        reported = base.score_of(value)
        metric, _, by = key.rpartition(",")
        if reported is None or not metric or len(key) > 200:
            continue
        of: base.Of = "stderr" if metric.endswith("_stderr") else "mean"
        name = kept.name(metric.removesuffix("_stderr"), by)
        form = seen.forms.get(name)
        same = (form == "mean" and name in kept.means) or (form == "ratio" and of == "mean")
        yield base.Total(name=clean(key, 200), value=reported, score=name if form else "", of=of, same=same)


def _doubts(task: str, results: Mapping[str, Any], seen: Collected) -> Iterator[str]:
    if seen.repeated:
        yield (
            f"{task}: {len(seen.repeated):,} of {len(seen.items):,} items stand more than once, with equal contents (padding, so that all "
            "processes have as many): each counts once here; a mean of lm-eval that counts them twice differs"
        )
    effective = base.score_of(inner(results, "n-samples", task).get("effective"))
    for name, number in seen.unusable.items():
        yield f"{task}: {number:,} values of {name} are NaN, infinite or beyond use, and count as no score"
    if effective is not None and effective != len(seen.items):
        yield f"{task}: it reports {effective:,.0f} items, and {len(seen.items):,} are logged"


HARNESS = base.Harness(
    name="lm_eval",
    title="lm-evaluation-harness",
    files="results_DATE.json with samples_TASK_DATE.jsonl (--log_samples), or the folder",
    meanings={
        "items": "a document; its number in the data is its id",
        "scores": "as logged for each document and filter",
        "failures": "an empty reply, which is scored; nothing tells it from a reply without text",
    },
    missing=(
        "which requests failed, and how each reply ended",
        "when each request was sent and answered",
        "the requests as they were sent: stop strings and limits are those that were intended",
    ),
    recognises=recognises,
    read=read,
)
