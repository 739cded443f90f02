"""What did EleutherAI's lm-evaluation-harness (0.4) find, item by item?  From results_DATE.json and the samples_TASK_DATE.jsonl of its date.

`--log_samples` writes one line for every document and filter, with the document's own scores; they become scores of one item, named as
in the results without the filter `none`: "acc", "exact_match,strict-match".  A score whose aggregate is no mean of the documents' scores
(BLEU, F1, perplexity) has none per document, and remains a reported number.
lm-eval gives a failed request an empty text and scores it; empty replies are counted, for nothing tells them apart.
(lm_eval/evaluator.py, api/task.py and loggers/evaluation_tracker.py of EleutherAI/lm-evaluation-harness 0.4.13.)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from fireassay.importers.harnesses.support.base import Harness, Of, Run, TaskRun, Total, named, score_of, setting
from fireassay.importers.harnesses.support.lm_eval_rows import Collected, answered, collect
from fireassay.importers.harnesses.support.lm_eval_scores import Kept, kept_scores
from fireassay.importers.support.base import clean, inner, mapping, time_of_day
from fireassay.importers.support.documents import Place, Words, documents, head

RESULTS: Final = re.compile(r"results_(?P<date>.+)\.json", re.DOTALL)
SAMPLES: Final = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT.+)\.jsonl", re.DOTALL)
AGAIN: Final = "Evaluate again with --log_samples and --output_path."
SETTINGS: Final = ("model", "model_args", "model_revision", "model_sha", "model_dtype", "model_num_parameters", "batch_size", "device")
CONDITIONS: Final = ("gen_kwargs", "limit", "random_seed", "numpy_seed", "torch_seed", "fewshot_seed")
OF_TASK: Final = ("output_type", "repeats", "generation_kwargs", "fewshot_delimiter", "target_delimiter", "doc_to_text", "doc_to_target")
LAST_S: Final = 1e11  # since 1970: the year 5138


def recognises(path: Path) -> bool:
    """Whether it is a results or samples file of lm-eval, or a folder with one."""
    return bool(_chosen(path))


def read(path: Path, stack: ExitStack) -> Sequence[Run]:
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


def _run(path: Path, only: str, stack: ExitStack) -> Run:
    place, found = next(documents(path, (), stack), (Place(path.name), None))
    results = mapping(found, place)
    date = RESULTS.fullmatch(path.name)["date"]  # type: ignore[index]
    # Names in a results file are not trusted as paths: only files that the folder lists are opened.
    samples = {file.name: file for file in path.parent.iterdir() if file.is_file() and SAMPLES.fullmatch(file.name)}
    tasks: list[TaskRun] = []
    files, without = [path], []
    for key, totals in mapping(results.get("results"), place.at("results")).items():
        task = named(key, place.at("results"), "a task")
        if only and task != only:
            continue
        file = samples.get(f"samples_{task}_{date}.jsonl")
        if file is None:
            without.append(task)
            continue
        files.append(file)
        tasks.append(_task(task, file, results, mapping(totals, place.at("results").at(task)), place))
    if not tasks:
        raise place.wrong(Words("no samples_TASK_DATE.jsonl of its date beside it"), "at least one task with its samples", AGAIN)
    return Run(
        model=_model(results, path),
        settings=_settings(results),
        tasks=tuple(tasks),
        files=tuple(files),
        version=_text(results, "lm_eval_version"),
        begin_utc=time_of_day(seconds) if 0.0 < (seconds := score_of(results.get("date")) or 0.0) < LAST_S else "",
        duration_s=_seconds(results),
        missing=tuple(f"the items of {task}: it has a result and no samples (a group, or it was not logged)" for task in without),
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
    return setting(source.get(key))


def _settings(results: Mapping[str, Any]) -> dict[str, str]:
    """What says how the model was run."""
    config = inner(results, "config")
    given = {key: _text(config, key) for key in SETTINGS}
    given |= {key: _text(results, key) for key in ("model_source", "tokenizer_eos_token", "max_length", "transformers_version")}
    return {key: value for key, value in given.items() if value}


# ---- one task --------------------------------------------------------------------------------------------------------


def _task(task: str, file: Path, results: Mapping[str, Any], totals: Mapping[str, Any], place: Place) -> TaskRun:
    config = inner(results, "configs", task)
    better = inner(results, "higher_is_better", task)
    version = _text(results, "lm_eval_version") or "unknown"
    kept = kept_scores(totals, config, better, version, place.at("results").at(task))
    seen = collect(file, kept.columns)
    scores = tuple(score for score in kept.scores if score.name in seen.forms)
    if not scores:
        found = Words(f"no score per item among {', '.join(kept.names) or 'none'}")
        raise Place(file.name).wrong(found, "at least one score that is a number in each line")
    none = [f"a score of each item for {name}: {why}" for name, why in {**kept.left, **seen.left}.items()]
    chosen = kept.filter_of[scores[0].name]
    return TaskRun(
        name=task,
        file=file.name,
        scores=tuple(replace(score, form=seen.forms[score.name]) for score in scores),
        facts=_facts(task, results, config, seen, chosen),
        rows=partial(answered, file, seen, chosen),
        totals=tuple(_totals(totals, kept, seen)),
        missing=tuple(none),
        doubts=tuple(_doubts(task, results, seen)),
        empty=seen.empty,
    )


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


def _totals(totals: Mapping[str, Any], kept: Kept, seen: Collected) -> Iterator[Total]:
    """lm-eval's own aggregates, each with the score of ours that must equal it."""
    for key, value in totals.items():
        reported = score_of(value)
        metric, _, by = key.rpartition(",")
        if reported is None or not metric or len(key) > 200:
            continue
        of: Of = "stderr" if metric.endswith("_stderr") else "mean"
        name = kept.name(metric.removesuffix("_stderr"), by)
        form = seen.forms.get(name)
        same = (form == "mean" and name in kept.means) or (form == "ratio" and of == "mean")
        yield Total(name=clean(key, 200), value=reported, score=name if form else "", of=of, same=same)


def _doubts(task: str, results: Mapping[str, Any], seen: Collected) -> Iterator[str]:
    effective = score_of(inner(results, "n-samples", task).get("effective"))
    if effective is not None and effective != len(seen.items):
        yield f"{task}: it reports {effective:,.0f} items, and {len(seen.items):,} are logged"


HARNESS = Harness(
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
