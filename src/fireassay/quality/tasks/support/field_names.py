"""Which fields of an answer file are likely meant, where the named ones are not there?"""

from __future__ import annotations

from collections.abc import Container
from typing import Final

from fireassay.spec.sections.evaluation import Fields

# of lm-evaluation-harness, Inspect, simple-evals, HELM, and of hand-written files; the likeliest first
LIKELY: Final = {
    "id": ("id", "doc_id", "qid", "question_id", "item_id", "sample_id", "task_id", "uid"),
    "answer": (
        *("answer", "resps", "response", "responses", "prediction", "predictions", "pred", "predicted", "output", "completion"),
        *("completions", "generated_text", "generation", "model_output", "model_answer", "filtered_resps", "text"),
    ),
    "reference": (
        *("reference", "references", "target", "gold", "label", "expected", "expected_answer", "ground_truth", "correct_answer"),
        *("reference_answer", "solution", "answers"),
    ),
}


def likely(fields: Fields, there: Container[str]) -> str:
    """The flags that name fields which are there, as "--answer pred --reference label"; empty if none is known."""
    asked = {name: getattr(fields, name) for name in ("answer", "reference")} | ({"id": fields.id} if fields.id else {})
    found = {name: next((one for one in LIKELY[name] if one in there), "") for name, given in asked.items() if given not in there}
    flags = " ".join(f"--{name} {field}" for name, field in found.items() if field)
    return f"Likely: {flags}." if flags else ""
