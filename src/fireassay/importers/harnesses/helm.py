"""What did HELM find, instance by instance?  From a run's folder: run_spec.json, per_instance_stats.json, scenario_state.json, stats.json.

Every statistic of an instance keeps its name.  A perturbed copy of an instance is an item of its own, in the cluster of its original and
in the group of its perturbation; train trials are repetitions.  A request that HELM marks as failed was not answered.
Statistics that are derived from others (perplexity, calibration, worst case over perturbations) have no value per instance.
HELM gives no direction of a statistic in these files: the known ones are listed here, and all others count as higher is better.
(helm/benchmark/runner.py, metrics/metric.py and metrics/statistic.py of stanford-crfm/helm at commit 63754d0.)
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Final

from fireassay.importers.harnesses.support.base import ForeignScore, Harness, Run, TaskRun, Total, digest, named, score_of, setting
from fireassay.importers.harnesses.support.helm_instances import UNPERTURBED, Collected, answered, collect, disturbed, entries, states
from fireassay.importers.support.base import clean, inner, mapping
from fireassay.importers.support.documents import Place, Words, documents

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
    """Whether it is a run's folder, or a folder of some."""
    return bool(_chosen(path))


def read(path: Path, stack: ExitStack) -> Sequence[Run]:
    """The run in each folder."""
    return [_run(folder, stack) for folder in _chosen(path) or [path]]


def _chosen(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path.parent] if path.name in (SPEC, ITEMS, STATES, TOTALS) and _is_run(path.parent) else []
    below = [entry for entry in sorted(path.iterdir()) if entry.is_dir() and not entry.name.startswith(".")]
    return [folder for folder in (path, *below) if _is_run(folder)]


def _is_run(folder: Path) -> bool:
    return (folder / SPEC).is_file() and (folder / ITEMS).is_file()


def _run(folder: Path, stack: ExitStack) -> Run:
    place, found = next(documents(folder / SPEC, (), stack), (Place(SPEC), None))
    spec = mapping(found, place)
    adapter = inner(spec, "adapter_spec")
    asked = states(folder / STATES, stack) if (folder / STATES).is_file() else None
    seen = collect(folder / ITEMS, asked, stack)
    if not seen.scores:
        raise Place(ITEMS).wrong(Words("no statistic of an instance"), "a run with per-instance statistics")
    scores = [name for name in seen.scores if name not in COUNTED] or list(seen.scores)
    task = _task(spec, place)
    made = TaskRun(
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
    )
    return Run(
        model=clean(str(adapter.get("model_deployment") or adapter.get("model") or "model"), 200),
        settings={key: setting(adapter.get(key)) for key in OF_MODEL if adapter.get(key)},
        tasks=(made,),
        files=tuple(file for name in (SPEC, ITEMS, STATES, TOTALS) if (file := folder / name).is_file()),
    )


def _task(spec: Mapping[str, Any], place: Place) -> str:
    """The run's name without its model, so that two models' runs are of one task."""
    name = named(spec.get("name"), place.at("name"), "a run's name")
    scenario, _, arguments = name.partition(":")
    kept = [part for part in arguments.split(",") if part and not part.startswith(("model=", "model_deployment="))]
    return f"{scenario}:{','.join(kept)}" if kept else scenario


def _score(name: str, spec: Mapping[str, Any]) -> ForeignScore:
    made = digest([json.dumps(spec.get("metric_specs"), sort_keys=True, default=str)])[:16]
    return ForeignScore(name=name, signature=f"metric:{name}|impl:helm|settings:{made}", better="lower" if name in LOWER else "higher")


def _facts(spec: Mapping[str, Any], seen: Collected) -> dict[str, Any]:
    """What identifies the task: anything here that differs makes two sides incomparable."""
    adapter = {key: value for key, value in inner(spec, "adapter_spec").items() if key not in OF_MODEL}
    facts = {
        "harness": "helm",
        "scenario": setting(spec.get("scenario_spec")),
        "adapter": setting(adapter),
        "perturbations": setting(spec.get("data_augmenter_spec")),
        "docs": seen.digest("inputs"),
        "prompts": seen.digest("prompts"),
        "targets": seen.digest("references"),
        "instances": digest(sorted(seen.items)),
    }
    return {key: value for key, value in facts.items() if value}


def _totals(path: Path, seen: Collected, scores: Sequence[str], stack: ExitStack) -> Iterator[Total]:
    """HELM's own means, each with the score and the group of ours that must equal it."""
    if not path.is_file():
        return
    for place, stat in entries(path, stack):
        said = mapping(stat.get("name"), place.at("name"))
        value, name = score_of(stat.get("mean")), said.get("name")
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
        yield Total(name=clean(", ".join(words), 200), value=value, score=name if known else "", same=same, group=group)


def _doubts(seen: Collected) -> Iterator[str]:
    if seen.failed:
        yield f"{seen.failed:,} requests failed; HELM scored them, and they have no score here"


HARNESS = Harness(
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
