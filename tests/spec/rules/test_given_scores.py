"""Are keys of given scores, of candidates and of sides in one file that contradict each other refused, all at once?"""

from __future__ import annotations

from typing import Any

import pytest

from fireassay.errors import SpecError
from fireassay.spec.load import from_mapping

ENGINE: dict[str, Any] = {
    "scenarios": ["dataset"],
    "ignore_eos": False,
    "arrivals": {"warm_up_s": 0.0, "cold": 0},
    "concurrency": [4],
    "targets": [{"name": "a", "urls": ["http://a:1"]}],
    "prompts": {"source": "own.toml", "cache": "as_is"},
    "temperature": 0.8,
}


def of_files(evaluation: dict[str, Any]) -> dict[str, Any]:
    answers = evaluation.pop("answers", [{"name": "a", "path": "a.jsonl"}])
    return {"name": "x", "workload": {"runner": "answers", "work": "items"}, "evaluation": {"answers": answers, **evaluation}}


def of_engine(evaluation: dict[str, Any], launches: int = 9, **serving: Any) -> dict[str, Any]:
    workload = {"runner": "evaluation", "work": "tokens"}
    each = {"per_configuration": launches}
    return {
        "name": "x",
        "workload": workload,
        "launches": each,
        "evaluation": {"task": "own.toml", **evaluation},
        "serving": ENGINE | serving,
    }


GIVEN: dict[str, Any] = {"fields": ["v"]}


@pytest.mark.parametrize(
    "data",
    [
        of_files({"given": GIVEN}),
        of_files({"given": {"fields": ["v", "w"], "scales": {"*": "0,1", "w": "0,inf"}, "lower_is_better": ["w"]}}),
        of_files({"given": GIVEN, "fields": {"id": "p"}, "best_of": {"candidates": 9, "seconds": ["s"], "usd": ["d", "e"]}}),
        of_files({"given": GIVEN, "fields": {"id": "p", "side": "m"}, "answers": [{"name": "a", "path": "a", "side": "A"}]}),
        of_engine({"best_of": {"candidates": 9}}),
    ],
)
def test_what_fits_together_is_allowed(data: dict[str, Any]) -> None:
    assert from_mapping(data).evaluation is not None


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (of_files({"given": {"fields": []}}), "evaluation.given.fields"),
        (of_files({"given": {"fields": ["v", "v"]}}), "v twice"),
        (of_files({"given": {"fields": ["rouge_l"]}, "metrics": ["rouge_l"]}), "rouge_l twice"),
        (of_files({"given": {"fields": ["a|b"]}}), "Rename the column"),
        (of_files({"given": {"fields": ["amount:usd"]}}), "Rename the column"),
        (of_files({"given": {"fields": ["cost"]}}), "Rename the column"),
        (of_files({"given": {"fields": ["x" * 81]}}), "1 to 80 printable characters"),
        (of_files({"given": {"fields": ["v"], "scales": {"w": "0,1"}}}), "evaluation.given.scales"),
        (of_files({"given": {"fields": ["v"], "scales": {"v": "1,0"}}}), "LOW,HIGH"),
        (of_files({"given": {"fields": ["v"], "lower_is_better": ["w"]}}), "evaluation.given.lower_is_better"),
        (of_files({"given": GIVEN, "majority": True}), "evaluation.majority"),
        (of_files({"given": GIVEN, "best_of": {"candidates": 9}}), "evaluation.fields.id"),
        (of_files({"given": GIVEN, "fields": {"id": "p", "side": "m"}}), 'as "side" in each of evaluation.answers'),
        (of_files({"given": GIVEN, "answers": [{"name": "a", "path": "a", "side": "A"}]}), "evaluation.fields.side: found nothing"),
        (of_files({"given": GIVEN, "fields": {"side": "m"}, "answers": [{"name": "a", "path": "a", "side": "A"}]}), "evaluation.fields.id"),
        (of_engine({"given": GIVEN}), "assay score FILE --score-field NAME"),
        (of_engine({"best_of": {"candidates": 10}}), "at most the 9 answers to each item"),
        (of_engine({"best_of": {"candidates": 9}}, temperature=0.0), "greedy answers are copies of one"),
        (of_engine({"best_of": {"candidates": 9, "usd": ["d"]}}), "its requests are timed and priced"),
        (of_engine({"best_of": {"candidates": 9}, "steps": {"levels": [1, 3]}}), "none together with evaluation.steps"),
        (of_engine({"steps": {"levels": [1, 3], "what": "candidates"}}), "--best-of N"),
        (of_engine({"best_of": {"candidates": 9}, "majority": True}), "A vote chooses otherwise"),
        (of_files({"ratings": {"form": "long"}, "fields": {"image": "image"}}), "none with ratings: the answers are what people said"),
        (of_engine({"best_of": {"candidates": 1}}), "evaluation.best_of.candidates"),
        (of_engine({"best_of": {"candidates": "nine"}}), "evaluation.best_of.candidates"),
    ],
)
def test_what_contradicts_itself_is_refused(data: dict[str, Any], words: str) -> None:
    with pytest.raises(SpecError) as refused:
        from_mapping(data)
    assert words in str(refused.value)
