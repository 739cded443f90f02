"""A run of HELM as its source writes it (helm/benchmark/runner.py at 63754d0: asdict without None, lists of dataclasses), made by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

DIALECT = {"name": "dialect", "robustness": False, "fairness": True, "computed_on": "perturbed", "prob": 1.0}


def stat(name: str, values: Sequence[float], perturbation: dict[str, Any] | None = None, split: str = "test") -> dict[str, Any]:
    """A `Stat`, with the population variance that HELM computes."""
    mean = sum(values) / len(values)
    variance = sum(value * value for value in values) / len(values) - mean**2
    named = {"name": name, "split": split, **({"perturbation": perturbation} if perturbation else {})}
    return {
        "name": named,
        "count": len(values),
        "sum": sum(values),
        "sum_squared": sum(value * value for value in values),
        "min": min(values),
        "max": max(values),
        "mean": mean,
        "variance": max(0.0, variance),
        "stddev": max(0.0, variance) ** 0.5,
    }


def state(item: str, text: str, reference: str, trial: int, perturbation: dict[str, Any] | None, success: bool) -> dict[str, Any]:
    """A `RequestState`."""
    instance = {
        "input": {"text": f"What is {item}?"},
        "references": [{"output": {"text": reference}, "tags": ["correct"]}, {"output": {"text": "no"}, "tags": []}],
        "split": "test",
        "id": item,
        **({"perturbation": perturbation} if perturbation else {}),
    }
    completion = {"text": text, "logprob": -1.5, "tokens": [], "finish_reason": {"reason": "stop"}}
    return {
        "instance": instance,
        "train_trial_index": trial,
        "request": {"model_deployment": "simple/model1", "model": "simple/model1", "prompt": f"Question: What is {item}?\nAnswer:"},
        "result": {"success": success, "embedding": [], "completions": [completion] if success else [], "cached": False},
        "num_train_instances": 0,
        "prompt_truncated": False,
    }


def helm_run(
    folder: Path,
    right: Sequence[bool],
    *,
    trials: int = 1,
    perturbed: Sequence[bool] = (),
    failed: frozenset[int] = frozenset(),
    model: str = "simple/model1",
) -> Path:
    """A run over items of which these are answered rightly; `perturbed`: their perturbed copies, likewise."""
    folder.mkdir(parents=True, exist_ok=True)
    instances, states = [], []
    for trial in range(trials):
        for perturbation, verdicts in ((None, right), (DIALECT, perturbed)):
            for index, verdict in enumerate(verdicts):
                item = f"id{index}"
                counted = stat("num_references", [2.0], perturbation)
                stats = [counted, stat("exact_match", [float(verdict)], perturbation), stat("f1_score", [0.25 + verdict / 2], perturbation)]
                told = {"instance_id": item, **({"perturbation": perturbation} if perturbation else {})}
                instances.append({**told, "train_trial_index": trial, "stats": stats})
                states.append(state(item, "yes" if verdict else "no", "yes", trial, perturbation, index not in failed))
    totals = [stat("exact_match", [sum(right) / len(right)] * trials), stat("num_references", [2.0] * trials)]
    if perturbed:
        totals.append(stat("exact_match", [sum(perturbed) / len(perturbed)] * trials, DIALECT))
        worst = [float(one and other) for one, other in zip(right, perturbed, strict=True)]
        totals.append(stat("exact_match", [sum(worst) / len(worst)] * trials, {**DIALECT, "computed_on": "worst"}))
    spec = {
        "name": f"sums:subject=small,model={model.replace('/', '_')}",
        "scenario_spec": {"class_name": "sums.Sums", "args": {"subject": "small"}},
        "adapter_spec": {"method": "generation", "model": model, "model_deployment": model, "max_tokens": 5, "num_train_trials": trials},
        "metric_specs": [{"class_name": "helm.benchmark.metrics.basic_metrics.BasicGenerationMetric", "args": {"names": ["exact_match"]}}],
        "data_augmenter_spec": {"perturbation_specs": []},
        "groups": ["sums"],
    }
    documents = {
        "run_spec.json": spec,
        "scenario_state.json": {"adapter_spec": spec["adapter_spec"], "request_states": states},
        "per_instance_stats.json": instances,
        "stats.json": totals,
    }
    for name, document in documents.items():
        (folder / name).write_text(json.dumps(document, indent=2))
    return folder
