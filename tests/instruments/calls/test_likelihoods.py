"""Is a given text as probable as lm-evaluation-harness says, token by token, and item by item?

The figures are of lm_eval 0.4.13 (HFLM over the tiny Llama of `byte_models`, torch 2.13.0, transformers 5.24.0), made once by

    HF_DATASETS_OFFLINE=1 PYTHONPATH=. python tests/golden/likelihood/make.py tests/golden/likelihood/lm_eval.json
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from fireassay import catalog
from fireassay.errors import WorkloadError
from fireassay.instruments.calls.divergence import compare
from fireassay.instruments.calls.generation import Generator, quiet
from fireassay.quality.scoring.items import Item
from fireassay.quality.scoring.likelihoods import of_choice, right_choices, to_text
from tests.instruments import byte_models, models

pytestmark = pytest.mark.torch
GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "likelihood" / "lm_eval.json").read_text(encoding="utf-8"))
ITEMS: list[dict[str, Any]] = GOLDEN["items"]


@pytest.fixture(scope="module")
def generator(tmp_path_factory: pytest.TempPathFactory) -> Generator:
    """The tiny Llama over bytes, loaded."""
    with quiet():
        return Generator(byte_models.save(tmp_path_factory.mktemp("bytes")), threads=1)


def test_the_fixture_holds_the_items_of_today() -> None:
    assert [{key: item[key] for key in ("prompt", "choices", "label")} for item in ITEMS] == byte_models.items()
    assert len(ITEMS) == 48
    assert {item["acc_norm"] == item["acc_bytes"] for item in ITEMS} == {True, False}  # so that a wrong normalisation is seen


def test_every_choice_has_the_harness_s_log_likelihood(generator: Generator) -> None:
    for item in ITEMS:
        for choice, expected in zip(item["choices"], item["loglikelihoods"], strict=True):
            assert math.fsum(generator.score(item["prompt"], f" {choice}").logprobs) == pytest.approx(expected, abs=2e-4)


def test_every_item_has_the_harness_s_three_scores(generator: Generator) -> None:
    answers, references = [], []
    for item in ITEMS:
        choices = [f" {choice}" for choice in item["choices"]]
        entries = [of_choice(item["prompt"], choice, generator.score(item["prompt"], choice).logprobs, None) for choice in choices]
        answers.append(to_text(entries))
        right = Item(id="x", prompt=item["prompt"], choices=tuple(choices), references=(str(item["label"]),))
        references.append(right_choices(right))
    for name in ("acc", "acc_norm", "acc_bytes"):
        found = catalog.load("quality.scoring.metrics", name).prepare({}).statistics(answers, references)
        assert found[:, 0].tolist() == [item[name] for item in ITEMS]
        assert found.mean() == pytest.approx(GOLDEN["results"][name], abs=1e-12)


def test_tokens_are_scored_one_by_one_as_a_loop_of_forward_passes_does(generator: Generator) -> None:
    import torch

    scored = generator.score("naïve 漢", "字 is")
    ids = generator._tokenizer("naïve 漢字 is")["input_ids"]
    first = len("naïve 漢".encode())
    with torch.inference_mode():
        expected = [
            float(torch.log_softmax(generator._model(torch.tensor([ids[:index]])).logits[0, -1].double(), -1)[ids[index]])
            for index in range(first, len(ids))
        ]
    assert scored.logprobs == pytest.approx(expected, abs=1e-4)
    assert scored.tokens_in == len(ids)


def test_blanks_at_the_end_of_the_context_count_to_the_continuation(generator: Generator) -> None:
    assert generator.score("A: ", "b").logprobs == generator.score("A:", " b").logprobs
    assert len(generator.score("A: ", "b").logprobs) == 2


def test_a_token_across_the_border_counts(tmp_path: Path) -> None:
    """lm-evaluation-harness drops it: it skips as many tokens as the context has alone."""
    with quiet():
        merging = Generator(models.make(tmp_path), threads=1)
    whole, alone = merging._tokenizer.tokenize("the quick"), merging._tokenizer.tokenize("the quic")
    assert whole[-1] == "ick"
    assert whole[len(alone) :] == []  # what the harness counts
    assert len(merging.score("the quic", "k").logprobs) == 1


def test_without_a_context_the_mark_of_a_beginning_is_it(generator: Generator) -> None:
    import torch

    ids = [generator._tokenizer.bos_token_id, *generator._tokenizer("ab")["input_ids"]]
    with torch.inference_mode():
        every = torch.log_softmax(generator._model(torch.tensor([ids])).logits[0].double(), -1)
    expected = [float(every[index, ids[index + 1]]) for index in range(2)]
    assert generator.score("", "ab").logprobs == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(
    ("context", "continuation", "words"), [("a", "", "no tokens"), ("a" * 200, "b" * 200, "exceed the model's context")]
)
def test_what_cannot_be_scored_is_refused(generator: Generator, context: str, continuation: str, words: str) -> None:
    with pytest.raises(WorkloadError, match=words):
        generator.score(context, continuation)


def test_two_models_are_compared_at_every_token_of_the_text(generator: Generator, tmp_path: Path) -> None:
    texts = [("A: ", "b c"), ("one", " two")]
    alone = compare(generator, generator, texts)
    assert (alone.kl.tolist(), alone.agree.all()) == ([0.0] * 8, True)
    assert alone.reference_nll == pytest.approx([-value for text in texts for value in generator.score(*text).logprobs], abs=1e-6)
    with quiet():
        other = Generator(byte_models.save(tmp_path, seed=1), threads=1)
    apart = compare(generator, other, texts)
    assert (apart.kl > 0.0).all()
    assert apart.candidate_nll == pytest.approx([-value for text in texts for value in other.score(*text).logprobs], abs=1e-6)


def test_models_with_other_tokens_are_not_compared(generator: Generator, tmp_path: Path) -> None:
    with quiet():
        merging = Generator(models.make(tmp_path), threads=1)
    with pytest.raises(WorkloadError, match="tokenize the texts differently"):
        compare(generator, merging, [("the", " quick")])
