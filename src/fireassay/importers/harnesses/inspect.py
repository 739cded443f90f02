"""What did Inspect (inspect_ai 0.3) find, sample by sample?  From a log: .eval (a zip file of JSON) or .json.

A scorer's value becomes a number as Inspect makes it: C = 1, P = 0.5, I = N = 0, yes and no, numbers; a dictionary of values is several
scores, named scorer/key.  Epochs are repetitions of a sample.  A sample that ended in an error was not answered: it is neither right nor
wrong.  Reductions of epochs other than their mean, and metrics other than accuracy, mean and their standard error, are kept as reported.
(inspect_ai/log/_log.py, log/_recorders/eval.py and scorer/_metric.py of UKGovernmentBEIS/inspect_ai 0.3.285.)
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Final

from fireassay.importers.harnesses.support.base import ForeignScore, Harness, Run, TaskRun, Total, digest, named, score_of, setting
from fireassay.importers.harnesses.support.inspect_samples import Collected, Samples, answered, collect, in_json, in_zip
from fireassay.importers.support.base import clean, inner, mapping
from fireassay.importers.support.documents import Words, head

MEANS: Final = ("accuracy", "mean")
ERRORS: Final = ("stderr",)
HEAD: Final = '"eval"'


def recognises(path: Path) -> bool:
    """Whether it is a log of Inspect, or a folder with one."""
    return bool(_chosen(path))


def read(path: Path, stack: ExitStack) -> Sequence[Run]:
    """The run in each log."""
    chosen = _chosen(path) or [path]
    return [_run(file, stack) for file in chosen]


def _chosen(path: Path) -> list[Path]:
    if path.is_dir():
        return [file for file in sorted(path.iterdir()) if file.is_file() and _is_log(file)]
    return [path] if _is_log(path) else []


def _is_log(path: Path) -> bool:
    if path.suffix == ".eval":
        return path.is_file()
    beginning = head(path, 4096) if path.suffix == ".json" else ""
    return HEAD in beginning and '"version"' in beginning and '"status"' in beginning


def _run(path: Path, stack: ExitStack) -> Run:
    source: Samples = in_json(path, stack) if path.suffix == ".json" else in_zip(path, stack)
    place, header = source.place, source.header
    spec = mapping(header.get("eval"), place.at("eval"))
    version = clean(str(inner(spec, "packages").get("inspect_ai") or "unknown"), 40)
    task = named(spec.get("task"), place.at("eval.task"), "a task")
    seen = collect(source)
    if not seen.samples:
        raise place.wrong(Words("no sample"), "a log with samples", "Evaluate again with log_samples.")
    scores = tuple(_score(name, spec, version) for name in seen.scores)
    if not scores:
        raise place.wrong(Words("no score that is a number"), "samples with scores", "Score it first: inspect score LOG.")
    made = TaskRun(
        name=task,
        file=path.name,
        scores=scores,
        facts=_facts(spec, header, seen, version),
        rows=partial(answered, source, seen, scores[0].name),
        totals=tuple(_totals(header, seen)),
        missing=tuple(f"a score of each sample for {name}: {why}" for name, why in seen.left.items()),
        doubts=tuple(_doubts(header, seen)),
    )
    return Run(
        model=clean(str(spec.get("model") or "model"), 200),
        settings=_settings(spec),
        tasks=(made,),
        files=(path,),
        version=version,
        begin_utc=clean(value, 40) if isinstance(value := inner(header, "stats").get("started_at"), str) else "",
    )


def _score(name: str, spec: Mapping[str, Any], version: str) -> ForeignScore:
    scorer = name.partition("/")[0]
    entries = spec.get("scorers")
    entry = (
        next((one for one in entries if isinstance(one, Mapping) and one.get("name") == scorer), {}) if isinstance(entries, list) else {}
    )
    options = digest([json.dumps(entry.get("options"), sort_keys=True, default=str)])[:16]
    return ForeignScore(name=name, signature=f"metric:{name}|impl:inspect_ai@{version}|options:{options}")


def _settings(spec: Mapping[str, Any]) -> dict[str, str]:
    given = {key: setting(spec.get(key)) for key in ("model", "model_args", "model_base_url", "model_roles")}
    return {key: value for key, value in given.items() if value}


def _facts(spec: Mapping[str, Any], header: Mapping[str, Any], seen: Collected, version: str) -> dict[str, Any]:
    """What identifies the task: anything here that differs makes two sides incomparable."""
    config = inner(spec, "config")
    facts = {
        "harness": f"inspect_ai@{version}",
        "version": setting(spec.get("task_version")),
        "arguments": setting(spec.get("task_args")),
        "solver": setting(inner(header, "plan").get("steps")) or setting([spec.get("solver"), spec.get("solver_args")]),
        "generation": setting({**inner(spec, "model_generate_config"), **inner(header, "plan", "config")}),
        "docs": seen.digest("inputs"),
        "targets": seen.digest("targets"),
        "choices": seen.digest("choices"),
        "epochs": setting(config.get("epochs")),
        **{key: setting(config.get(key)) for key in ("message_limit", "token_limit", "time_limit", "working_limit", "score_on_error")},
    }
    return {key: value for key, value in facts.items() if value}


def _totals(header: Mapping[str, Any], seen: Collected) -> Iterator[Total]:
    """Inspect's own metrics, each with the score of ours that must equal it."""
    entries = inner(header, "results").get("scores")
    for entry in entries if isinstance(entries, list) else []:
        if not isinstance(entry, Mapping):
            continue
        scorer, name, reducer = entry.get("scorer"), entry.get("name"), entry.get("reducer")
        score = next((known for known in (f"{scorer}/{name}", str(name), str(scorer)) if known in seen.scores), "")
        for key, metric in inner(entry, "metrics").items():
            value = score_of(metric.get("value")) if isinstance(metric, Mapping) else None
            if value is None:
                continue
            plain_name = key.rpartition("/")[2]
            same = bool(score) and reducer in (None, "mean") and plain_name in (*MEANS, *ERRORS) and not _clustered(metric)
            same = same and score not in seen.custom
            title = " ".join(str(part)[:60] for part in (name, reducer, key) if part)
            yield Total(name=title, value=value, score=score, of="stderr" if plain_name in ERRORS else "mean", same=same)


def _clustered(metric: Mapping[str, Any]) -> bool:
    parameters = inner(metric, "params")
    return any(parameters.get(key) not in (None, {}) for key in ("cluster", "finite_population"))


def _doubts(header: Mapping[str, Any], seen: Collected) -> Iterator[str]:
    status = header.get("status")
    if status != "success":
        yield f"the run ended with the status {clean(str(status), 40)}: samples may be missing"
    total = score_of(inner(header, "results").get("total_samples"))
    if total is not None and total != len(seen.seen):
        yield f"it reports {total:,.0f} samples, epochs counted, and {len(seen.seen):,} are logged"
    if seen.unscored:
        yield f"{seen.unscored:,} samples ended without an error and without a score"


HARNESS = Harness(
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
