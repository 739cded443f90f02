"""What does lm-evaluation-harness make of GSM8K's answers and of MMLU's choices?  Its prompts' scores, item by item, for made data.

    HF_DATASETS_OFFLINE=1 PYTHONPATH=. python tests/golden/harness/make.py tests/golden/harness/lm_eval.json

Needs lm_eval 0.4.13, without torch.  Its own tasks gsm8k and mmlu_anatomy are read with the data replaced; the model is `answer` and `likely`:
the likelihood of a choice is a digest of all that was sent, so that equal scores say that every byte of the prompts is equal.
"""

from __future__ import annotations

import json
import sys
import tempfile
from hashlib import sha256
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

VALUES = [3, 12, 40, 125, 1008, 2500, 12750, 7, 96, 1000000]
ANSWERS = (  # {n}: the right number, {c}: with commas, {w}: a wrong one
    "They have {n} in all.\n#### {n}",
    "2 + 3 = 5 pens.\n#### {c}",
    "So it is {w}.\n#### {w}",
    "The answer is {n}.",
    "The answer is {w}.",
    "First 2, then 5, so ${c}",
    "First 2, then 5, so ${w}",
    "#### {n}\n\nQuestion: Ann has 9 bags. How many?\nAnswer: 9\n#### 9",
    "I do not know.",
    "It costs {n} dollars",
    "#### {w}\nWait, it is {n}.",
    "{n}</s> and 5 more",
)
TRAIN = [(f"Tom has {n} bags of 12 pens. How many pens?", f"{n} * 12 = <<{n}*12={n * 12}>>{n * 12}\n#### {n * 12:,}") for n in range(1, 6)]
LETTERS = "ABCD"
SUBJECT = "anatomy"


def problems() -> list[dict[str, str]]:
    """120 word problems, each with an answer of a model."""
    rows = []
    for number, (value, answer) in enumerate((value, answer) for value in VALUES for answer in ANSWERS):
        text = answer.replace("{n}", str(value)).replace("{c}", f"{value:,}").replace("{w}", str(value + 1))
        rows.append({"question": f"Case {number}: how many?", "answer": f"It is {value}.\n#### {value:,}", "said": f" {text}"})
    return rows


def questions(count: int, first: int) -> list[dict[str, Any]]:
    """Multiple-choice questions in the fields of the public data set."""
    return [
        {
            "question": f" How many bones has a made animal of kind {n}? ",
            "subject": SUBJECT,
            "choices": [f"{n + k} bones" + " or so" * k for k in range(4)],
            "answer": n * 7 % 4,
        }
        for n in range(first, first + count)
    ]


def likely(context: str, continuation: str) -> float:
    """A log likelihood that depends on every byte."""
    return -float(int.from_bytes(sha256(f"{context}\0{continuation}".encode()).digest()[:4], "big")) / 2**27


def _task(found: Path, folder: Path, **more: Any) -> None:
    """The harness's own task with other data."""
    yaml, name = import_module("yaml"), found.stem
    template = found.parent / "_default_template_yaml"
    loaded = {**(yaml.safe_load(template.read_text()) if template.is_file() else {}), **yaml.safe_load(found.read_text())}
    kept = {key: value for key, value in loaded.items() if key not in ("include", "tag", "dataset_name", "training_split")}
    data = {split: str(folder / f"{name}.{split}.jsonl") for split in ("fewshot", "test")}
    own = {"dataset_path": "json", "dataset_kwargs": {"data_files": data}, "fewshot_split": "fewshot", "test_split": "test"}
    (folder / f"{name}.yaml").write_text(yaml.safe_dump({**kept, **own, "fewshot_config": {"sampler": "first_n"}, **more}))


def _lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def made(folder: Path) -> dict[str, Any]:
    """Scores of both tasks."""
    harness, tasks, models = (import_module(name) for name in ("lm_eval", "lm_eval.tasks", "lm_eval.api.model"))
    said = {row["question"]: row["said"] for row in problems()}

    class Model(models.LM):  # type: ignore[misc, name-defined]
        def loglikelihood(self, requests: list[Any]) -> list[tuple[float, bool]]:
            return [(likely(*request.args), False) for request in requests]

        def loglikelihood_rolling(self, requests: list[Any]) -> list[float]:
            raise NotImplementedError

        def generate_until(self, requests: list[Any]) -> list[str]:
            answers = []
            for context, options in (request.args for request in requests):
                text = said[context.rpartition("Question: ")[2].partition("\n")[0]]
                for stop in options["until"]:
                    text = text.split(stop)[0]
                answers.append(text)
            return answers

    own = Path(tasks.__file__).parent
    _lines(folder / "gsm8k.fewshot.jsonl", [{"question": question, "answer": answer, "said": ""} for question, answer in TRAIN])
    _lines(folder / "gsm8k.test.jsonl", problems())
    _lines(folder / "mmlu_anatomy.fewshot.jsonl", questions(5, 100))
    _lines(folder / "mmlu_anatomy.test.jsonl", questions(60, 0))
    _task(own / "gsm8k" / "gsm8k.yaml", folder)
    _task(own / "mmlu" / "default" / "mmlu_anatomy.yaml", folder, num_fewshot=5, metric_list=[{"metric": "acc"}, {"metric": "acc_norm"}])
    manager = tasks.TaskManager(include_path=str(folder), include_defaults=False)
    told = harness.simple_evaluate(
        model=Model(), tasks=["gsm8k", "mmlu_anatomy"], task_manager=manager, log_samples=True, bootstrap_iters=0
    )
    ordered = {name: sorted(samples, key=lambda one: one["doc_id"]) for name, samples in told["samples"].items()}
    return {
        "versions": {"lm_eval": version("lm_eval")},
        "gsm8k": {
            key: [one["exact_match"] for one in ordered["gsm8k"] if one["filter"] == key] for key in ("strict-match", "flexible-extract")
        },
        "mmlu": {key: [one[key] for one in ordered["mmlu_anatomy"]] for key in ("acc", "acc_norm")},
        "prompts": {name: digest(_prompts(samples)) for name, samples in ordered.items()},
    }


def _prompts(samples: list[dict[str, Any]]) -> list[str]:
    return [one["arguments"][0][0] for one in samples if one["filter"] == samples[0]["filter"]]


def digest(prompts: list[str]) -> str:
    """One for all prompts in order."""
    return sha256("\0".join(prompts).encode()).hexdigest()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made_in:
        Path(sys.argv[1]).write_text(f"{json.dumps(made(Path(made_in)))}\n", encoding="utf-8")
