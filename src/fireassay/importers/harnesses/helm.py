"""What did HELM find, instance by instance?  From a run's folder: run_spec.json, per_instance_stats.json, scenario_state.json, stats.json.

Every statistic of an instance keeps its name.  A perturbed copy of an instance is an item of its own, in the cluster of its original and
in the group of its perturbation; train trials are repetitions.  A request that HELM marks as failed was not answered.
Statistics that are derived from others (perplexity, calibration, worst case over perturbations) have no value per instance.
HELM gives no direction of a statistic in these files: the known ones are listed here, and all others count as higher is better.
(helm/benchmark/runner.py, metrics/metric.py and metrics/statistic.py of stanford-crfm/helm at commit 63754d0.)

What do the instances of a HELM run hold?  Their statistics are kept as numbers; requests and replies are read twice, one at a time.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from fireassay.importers.harnesses.support import base
from fireassay.importers.support.base import clean, inner, listed, mapping, text
from fireassay.importers.support.documents import Place, Spool, Words, documents
from fireassay.quality.tasks.support.grouping import grouping

UNPERTURBED: Final = "none"
KNOWN: Final = frozenset({"name", "robustness", "fairness", "computed_on", "seed"})
WHICH: Final = ("inputs", "prompts", "references")
MAX_TRIALS: Final = 1_000_000
ENDS: Final[Mapping[str, str]] = {"max_tokens": "length"}

Key = tuple[str, int]  # item, train trial


@dataclass(frozen=True, kw_only=True, slots=True)
class Instance:
    """What is known of an item in one trial."""

    original: str
    perturbation: str
    split: str
    scores: Mapping[str, float]


@dataclass
class Collected(base.Digests):
    """The statistics of every instance."""

    items: dict[str, None] = field(default_factory=dict)
    kinds: dict[str, type] = field(default_factory=dict)  # of the ids of instances
    instances: dict[Key, Instance] = field(default_factory=dict)
    scores: dict[str, None] = field(default_factory=dict)  # in the order in which they occur
    several: set[str] = field(default_factory=set)  # scores with more than one value in an instance
    perturbed: bool = False
    empty: int = 0
    failed: int = 0
    unusable: dict[str, int] = field(default_factory=dict)  # statistic -> values that are NaN, infinite or beyond use

    def balanced(self, name: str) -> bool:
        """True if HELM's mean, trial by trial, is the mean over items of their means: one value in every trial, and no failure."""
        times = Counter(item for (item, _), one in self.instances.items() if name in one.scores)
        return name not in self.several and len(set(times.values())) == 1 and not self.failed


def disturbed(perturbation: object) -> str:
    """The label of a perturbation, with the arguments that tell it from others."""
    if not isinstance(perturbation, Mapping):
        return UNPERTURBED
    arguments = ",".join(f"{key}={perturbation[key]}" for key in sorted(perturbation, key=str) if key not in KNOWN)
    return clean(f"{perturbation.get('name')}({arguments})" if arguments else str(perturbation.get("name")), 120)


def states(path: Path, stack: ExitStack) -> Spool:
    """The requests of a run, spooled. Raises SpecError: no scenario state."""
    place, found = next(documents(path, [("request_states",)], stack), (Place(path.name), None))
    requests = mapping(found, place).get("request_states")
    if not isinstance(requests, Spool):
        raise place.at("request_states").wrong(requests if requests is not None else Words("nothing"), "a list")
    return requests


def entries(path: Path, stack: ExitStack) -> Iterator[tuple[Place, Mapping[str, Any]]]:
    """The objects of a file that is one list. Raises SpecError: it is no list, or an element is no object."""
    document = next((document for _, document in documents(path, [()], stack)), None)
    if not isinstance(document, Spool):
        raise Place(path.name).wrong(Words("no list"), "a list of objects")
    for line, entry in document:
        place = Place(path.name, line)
        yield place, mapping(entry, place)


def collect(path: Path, asked: Spool | None, stack: ExitStack) -> Collected:
    """The statistics of every instance, and digests of what was asked.

    Raises:
        SpecError: an entry is invalid, or an instance occurs twice in one trial.
    """
    seen = Collected()
    for place, entry in entries(path, stack):
        _take(seen, entry, place)
    failed: dict[Key, bool] = {}
    sent: dict[str, type] = {}
    for place, state, key in _each(asked):
        base.one_kind(sent, inner(state, "instance").get("id"), place.at("instance.id"))
        failed[key] = failed.get(key, False) or _failed(state)
        _digests(seen, key[0], state, place)
        seen.empty += not _failed(state) and state.get("reference_index") is None and not _reply(state).strip()
    seen.failed = sum(failed.values())
    return seen


def _take(seen: Collected, entry: Mapping[str, Any], place: Place) -> None:
    original, perturbation = base.named(entry.get("instance_id"), place.at("instance_id")), disturbed(entry.get("perturbation"))
    base.one_kind(seen.kinds, entry.get("instance_id"), place.at("instance_id"))
    key = _key(original, perturbation, entry, place)
    scores: dict[str, float] = {}
    split = ""
    for stat in listed(entry, "stats", place):
        said = inner(stat, "name")
        if (value := _value(stat)) is None:
            if isinstance(stat, Mapping) and (base.unusable(stat.get("mean")) or base.unusable(stat.get("sum"))):
                seen.unusable[str(said.get("name"))] = seen.unusable.get(str(said.get("name")), 0) + 1
            continue
        name = base.named(said.get("name"), place.at("stats"), "a statistic")
        if name in scores or stat.get("count") != 1:
            seen.several.add(name)
        scores[name] = value
        seen.scores.setdefault(name)
        split = split or clean(str(said.get("split") or ""), 80)
    if key in seen.instances:  # the metrics of a run list their instances one after another
        before = seen.instances[key]
        if scores.keys() & before.scores.keys():
            raise place.wrong(Words(f"instance {key[0]} twice in trial {key[1]}"), "each instance once in every trial")
        scores, split = {**before.scores, **scores}, before.split or split
    seen.items.setdefault(key[0])
    seen.perturbed |= perturbation != UNPERTURBED
    seen.instances[key] = Instance(original=original, perturbation=perturbation, split=split, scores=scores)


def _key(original: str, perturbation: str, entry: Mapping[str, Any], place: Place) -> Key:
    trial = entry.get("train_trial_index", 0)
    if not isinstance(trial, int) or isinstance(trial, bool) or not 0 <= trial < MAX_TRIALS:
        raise place.at("train_trial_index").wrong(trial, f"a whole number from 0 to {MAX_TRIALS - 1:,}")
    return original if perturbation == UNPERTURBED else f"{original} {perturbation}", trial


def _value(stat: object) -> float | None:
    return base.score_of(stat.get("mean")) if isinstance(stat, Mapping) and base.score_of(stat.get("count")) else None


def _each(asked: Spool | None) -> Iterator[tuple[Place, Mapping[str, Any], Key]]:
    """Every request with its instance; those of a calibration are none of an item's."""
    for line, element in asked or ():
        place = Place("scenario_state.json", line, "request_states")
        state = mapping(element, place)
        instance = mapping(state.get("instance"), place.at("instance"))
        original = base.named(instance.get("id"), place.at("instance.id"))
        if state.get("request_mode") != "calibration":
            yield place, state, _key(original, disturbed(instance.get("perturbation")), state, place)


def _instances(asked: Spool | None) -> Iterator[Mapping[str, Any]]:
    """What is known of each instance beside its text, once."""
    told: set[str] = set()
    for _, state, key in _each(asked):
        if key[0] not in told:
            told.add(key[0])
            instance = inner(state, "instance")
            yield {"sub_split": instance.get("sub_split"), **inner(instance, "extra_data")}


def _failed(state: Mapping[str, Any]) -> bool:
    result = state.get("result")
    return not isinstance(result, Mapping) or result.get("success") is False


def _digests(seen: Collected, item: str, state: Mapping[str, Any], place: Place) -> None:
    instance = inner(state, "instance")
    references = [str(inner(one, "output").get("text", "")) for one in listed(instance, "references", place.at("instance"))]
    prompt = inner(state, "request").get("prompt")
    parts = ([str(inner(instance, "input").get("text", ""))], [prompt if isinstance(prompt, str) else ""], references)
    for which, words in zip(WHICH, parts, strict=True):
        seen.hashes[which].setdefault(item, base.digest(words))


def _reply(state: Mapping[str, Any]) -> str:
    completions = inner(state, "result").get("completions")
    first = completions[0] if isinstance(completions, list) and completions else None
    said = first.get("text") if isinstance(first, Mapping) else None
    return said if isinstance(said, str) else ""


def answered(asked: Spool | None, seen: Collected) -> Iterator[base.Answered]:
    """Every instance in every trial: with its first reply, and without a score if a request of it failed."""
    failed = {key for _, state, key in _each(asked) if _failed(state)}
    left = dict.fromkeys(seen.instances)
    for place, state, key in _each(asked):
        if key in left:
            del left[key]
            yield _answered(seen, key, state, key in failed, place)
    for key in left:
        yield _answered(seen, key, {}, False, Place(""))


def _answered(seen: Collected, key: Key, state: Mapping[str, Any], failed: bool, place: Place) -> base.Answered:
    instance = seen.instances[key]
    said = None if failed or not state else base.plain(_reply(state))
    request = inner(state, "request")
    found = said.strip() if said else ""
    mapped = inner(state, "output_mapping").get(found)
    answer = base.plain(mapped) if isinstance(mapped, str) else found
    groups = {"perturbation": instance.perturbation} | ({"split": instance.split} if instance.split else {})
    return base.Answered(
        item=key[0],
        repetition=key[1],
        prompt=base.plain(prompt) if isinstance(prompt := request.get("prompt"), str) else "",
        references=tuple(_right(state, place)),
        outcome="error" if failed else "ok",
        text=said,
        answer=answer or (None if state else ""),
        rule=("mapped" if mapped else "reply") if answer else "none" if state else "not logged",
        finish_reason=_end(state, place),
        cluster=instance.original if seen.perturbed else None,
        groups=groups,
        scores={} if failed else {name: (value,) for name, value in instance.scores.items()},
    )


def _right(state: Mapping[str, Any], place: Place) -> Iterator[str]:
    """The references that are tagged as correct."""
    for one in listed(inner(state, "instance"), "references", place):
        if isinstance(one, Mapping) and "correct" in listed(one, "tags", place):
            yield base.plain(str(inner(one, "output").get("text", "")))


def _end(state: Mapping[str, Any], place: Place) -> str | None:
    completions = inner(state, "result").get("completions")
    first = completions[0] if isinstance(completions, list) and completions else {}
    reason = text(inner(first, "finish_reason"), "reason", place, 40)
    return None if reason is None else ENDS.get(reason, reason)


SPEC: Final = "run_spec.json"
ITEMS: Final = "per_instance_stats.json"
STATES: Final = "scenario_state.json"
TOTALS: Final = "stats.json"
OF_MODEL: Final = ("model", "model_deployment")
# What a run counts beside what it scores: kept as reported numbers (helm/benchmark/metrics/basic_metrics.py, efficiency_metrics.py)
# fmt: off
COUNTED: Final = frozenset({
    "num_references", "num_train_trials", "num_prompt_tokens", "num_completion_tokens", "num_output_tokens", "num_train_instances",
    "prompt_truncated", "inference_runtime", "batch_size", "finish_reason_length", "finish_reason_stop", "finish_reason_endoftext",
    "finish_reason_unknown", "num_completions", "num_bytes", "training_co2_cost", "training_energy_cost", "inference_denoised_runtime",
    "inference_idealized_runtime", "inference_runtime_discrepancy", "max_prob", "num_perplexity_tokens", "logprob",
})
# fmt: on
LOWER: Final = frozenset({"inference_runtime", "ece_10_bin", "ece_1_bin", "bits_per_byte", "perplexity", "toxic_frac"})


def recognises(path: Path) -> bool:
    """True if it is a run's folder, or a folder of some."""
    return bool(_chosen(path))


def read(path: Path, stack: ExitStack) -> Sequence[base.Run]:
    return base.usable(partial(_run, folder, stack) for folder in _chosen(path) or [path])


def _chosen(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path.parent] if path.name in (SPEC, ITEMS, STATES, TOTALS) and _is_run(path.parent) else []
    below = [entry for entry in sorted(path.iterdir()) if entry.is_dir() and not entry.name.startswith(".")]
    return [folder for folder in (path, *below) if _is_run(folder)]


def _is_run(folder: Path) -> bool:
    return (folder / SPEC).is_file() and (folder / ITEMS).is_file()


def _run(folder: Path, stack: ExitStack) -> base.Run:
    place, found = next(documents(folder / SPEC, (), stack), (Place(SPEC), None))
    spec = mapping(found, place)
    adapter = inner(spec, "adapter_spec")
    asked = states(folder / STATES, stack) if (folder / STATES).is_file() else None
    seen = collect(folder / ITEMS, asked, stack)
    if not seen.scores:
        refused = Place(ITEMS).wrong(Words("no statistic of an instance"), "a run with per-instance statistics")
        raise base.WithoutScores(refused, f"the instances of {folder.name}: none has a statistic")
    scores = [name for name in seen.scores if name not in COUNTED] or list(seen.scores)
    task = _task(spec, place)
    made = base.TaskRun(
        name=task,
        file=ITEMS,
        scores=tuple(_score(name, spec) for name in scores),
        facts=_facts(spec, seen),
        rows=partial(answered, asked, seen),
        totals=tuple(_totals(folder / TOTALS, seen, scores, stack)),
        missing=() if asked is not None else (f"the replies: there is no {STATES}",),
        doubts=tuple(_doubts(seen)),
        empty=seen.empty,
        cluster="the instance of which perturbed copies were made" if seen.perturbed else "",
        grouping=grouping(_instances(asked), ()),
    )
    return base.Run(
        model=clean(str(adapter.get("model_deployment") or adapter.get("model") or "model"), 200),
        settings={key: base.setting(adapter.get(key)) for key in OF_MODEL if adapter.get(key)},
        tasks=(made,),
        files=tuple(file for name in (SPEC, ITEMS, STATES, TOTALS) if (file := folder / name).is_file()),
    )


def _task(spec: Mapping[str, Any], place: Place) -> str:
    """The run's name without its model, so that two models' runs are of one task."""
    name = base.named(spec.get("name"), place.at("name"), "a run's name")
    scenario, _, arguments = name.partition(":")
    kept = [part for part in arguments.split(",") if part and not part.startswith(("model=", "model_deployment="))]
    return f"{scenario}:{','.join(kept)}" if kept else scenario


def _score(name: str, spec: Mapping[str, Any]) -> base.ForeignScore:
    made = base.digest([json.dumps(spec.get("metric_specs"), sort_keys=True, default=str)])[:16]
    return base.ForeignScore(name=name, signature=f"metric:{name}|impl:helm|settings:{made}", better="lower" if name in LOWER else "higher")


def _facts(spec: Mapping[str, Any], seen: Collected) -> dict[str, Any]:
    """What identifies the task: anything here that differs makes two sides incomparable."""
    adapter = {key: value for key, value in inner(spec, "adapter_spec").items() if key not in OF_MODEL}
    facts = {
        "harness": "helm",
        "scenario": base.setting(spec.get("scenario_spec")),
        "adapter": base.setting(adapter),
        "perturbations": base.setting(spec.get("data_augmenter_spec")),
        "docs": seen.digest("inputs"),
        "prompts": seen.digest("prompts"),
        "targets": seen.digest("references"),
        "instances": base.digest(sorted(seen.items)),
    }
    return {key: value for key, value in facts.items() if value}


def _totals(path: Path, seen: Collected, scores: Sequence[str], stack: ExitStack) -> Iterator[base.Total]:
    """HELM's own means, each with the score and the group of ours that must equal it."""
    if not path.is_file():
        return
    for place, stat in entries(path, stack):
        said = mapping(stat.get("name"), place.at("name"))
        value, name = base.score_of(stat.get("mean")), said.get("name")
        if value is None or not isinstance(name, str):
            continue
        perturbation = said.get("perturbation")
        whole = not isinstance(perturbation, Mapping) or perturbation.get("computed_on", "perturbed") == "perturbed"
        group = {"perturbation": disturbed(perturbation)} if seen.perturbed else {}
        if (split := said.get("split")) is not None:
            group["split"] = clean(str(split), 80)
        known = name in scores
        same = known and whole and seen.balanced(name) and not said.get("sub_split")
        words = [name, *(f"{key} {label}" for key, label in group.items()), *([] if whole else [str(perturbation)[:200]])]
        yield base.Total(name=clean(", ".join(words), 200), value=value, score=name if known else "", same=same, group=group)


def _doubts(seen: Collected) -> Iterator[str]:
    for name, number in seen.unusable.items():
        yield f"{number:,} values of {clean(name, 80)} are NaN, infinite or beyond use, and count as no score"
    if seen.failed:
        yield f"{seen.failed:,} requests failed; HELM scored them, and they have no score here"


HARNESS = base.Harness(
    name="helm",
    title="HELM",
    files=f"a run's folder ({SPEC}, {ITEMS}, {STATES}, {TOTALS}), or a folder of runs",
    meanings={
        "items": f"an instance; a perturbed copy is another one, in the group of its perturbation ({UNPERTURBED}: the original)",
        "scores": "the mean of each statistic of an instance",
        "failures": "a request that HELM marks as failed was not answered",
    },
    missing=(
        "the harness's version",
        "as scores what a run counts (tokens, run times, ends): its means are reported numbers",
        "when each token came",
        "the machine, the engine and its flags",
    ),
    recognises=recognises,
    read=read,
)
