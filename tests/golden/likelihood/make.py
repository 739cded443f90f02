"""What does lm-evaluation-harness make of the items of `byte_models`?  The log likelihood of every choice, and its scores.

    HF_DATASETS_OFFLINE=1 PYTHONPATH=. python tests/golden/likelihood/make.py tests/golden/likelihood/lm_eval.json

Needs lm_eval 0.4.13 with torch and transformers, which the project's tests do not.
"""

from __future__ import annotations

import json
import sys
import tempfile
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.instruments import byte_models

TASK = """task: t
dataset_path: json
dataset_kwargs: {{data_files: {{test: {items}}}}}
test_split: test
output_type: multiple_choice
doc_to_text: "{{{{prompt}}}}"
doc_to_choice: "{{{{choices}}}}"
doc_to_target: label
target_delimiter: " "
metric_list: [{{metric: acc}}, {{metric: acc_norm}}, {{metric: acc_bytes}}]
metadata: {{version: 1}}
"""
SCORES = ("acc", "acc_norm", "acc_bytes")


def made(folder: Path) -> dict[str, Any]:
    """Every item with its log likelihoods and scores."""
    harness, tasks, models = (import_module(name) for name in ("lm_eval", "lm_eval.tasks", "lm_eval.models.huggingface"))
    items = folder / "items.jsonl"
    items.write_text("".join(f"{json.dumps(item, ensure_ascii=False)}\n" for item in byte_models.items()))
    (folder / "t.yaml").write_text(TASK.format(items=items))
    model = models.HFLM(pretrained=byte_models.llama(), tokenizer=byte_models.tokenizer(), max_length=256, batch_size=1)
    manager = tasks.TaskManager(include_path=str(folder), include_defaults=False)
    told = harness.simple_evaluate(model=model, tasks=["t"], task_manager=manager, log_samples=True, bootstrap_iters=0)
    samples = sorted(told["samples"]["t"], key=lambda sample: sample["doc_id"])
    return {
        "versions": {name: version(name) for name in ("lm_eval", "torch", "transformers", "tokenizers")},
        "results": {name: told["results"]["t"][f"{name},none"] for name in SCORES},
        "items": [
            {**sample["doc"], "loglikelihoods": [answer[0][0] for answer in sample["resps"]], **{name: sample[name] for name in SCORES}}
            for sample in samples
        ],
    }


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made_in:
        Path(sys.argv[1]).write_text(f"{json.dumps(made(Path(made_in)), ensure_ascii=False, indent=1)}\n")
