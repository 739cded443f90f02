"""Are a model's own tokens what it would generate, timed one by one, and do their pieces make its text?

Expected tokens come from `transformers` itself: its `generate`, and passes over the whole sequence without a cache.
"""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.errors import WorkloadError
from fireassay.instruments.calls.generation import Generator, pieces, quiet
from tests.instruments import models

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model's folder."""
    with quiet():
        return models.make(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def generator(folder: Path) -> Generator:
    """The model, loaded."""
    with quiet():
        return Generator(folder, threads=1)


def test_greedy_tokens_are_those_of_the_library_s_own_generate(generator: Generator) -> None:
    import torch

    prompt = "the quick brown fox"
    made = generator.generate(prompt, max_tokens=24, ignore_eos=True)
    ids = torch.tensor([generator._tokenizer(prompt)["input_ids"]])
    told = generator._model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=24, min_new_tokens=24)
    assert 2 not in made.tokens  # the end, which its min_new_tokens forbids and ours walks over
    assert made.tokens == told[0, ids.shape[1] :].tolist()
    assert (made.tokens_in, len(made.tokens), made.finish) == (ids.shape[1], 24, "length")


def test_the_cache_changes_nothing(generator: Generator) -> None:
    import torch

    made = generator.generate("one two", max_tokens=12, ignore_eos=True, logprobs=True)
    ids = list(generator._tokenizer("one two")["input_ids"])
    with torch.inference_mode():
        for token, logprob in zip(made.tokens, made.logprobs, strict=True):
            scores = torch.log_softmax(generator._model(torch.tensor([ids])).logits[0, -1].float(), -1)
            assert int(scores.argmax()) == token
            assert logprob == pytest.approx(float(scores[token]), abs=1e-4)
            ids.append(token)


def test_every_part_is_timed_apart(generator: Generator) -> None:
    made = generator.generate("one two", max_tokens=4, ignore_eos=True, clock=count(1000).__next__)
    # The clock moves by one at each look: begin 1000, tokens made 1001, then each token as it is known.
    assert (made.tokenize_ns, made.prefill_ns, made.token_ns) == (1, 1, [1002, 1003, 1004, 1005])


def test_the_same_seed_gives_the_same_sample_and_others_differ(generator: Generator) -> None:
    def sample(seed: int | None) -> list[int]:
        return generator.generate("one", max_tokens=16, temperature=1.5, seed=seed, ignore_eos=True).tokens

    assert sample(1) == sample(1)
    assert len({tuple(sample(seed)) for seed in range(5)} | {tuple(sample(None))}) > 1


def test_a_sample_follows_the_softmax_at_its_temperature(generator: Generator) -> None:
    import torch

    temperature, draws = 0.7, 400
    ids = torch.tensor([generator._tokenizer("one")["input_ids"]])
    with torch.inference_mode():
        share = torch.softmax(generator._model(ids).logits[0, -1].float() / temperature, -1)
    likely = int(share.argmax())
    found = sum(
        generator.generate("one", max_tokens=1, temperature=temperature, seed=seed, ignore_eos=True).tokens == [likely]
        for seed in range(draws)
    )
    expected = float(share[likely])
    assert abs(found / draws - expected) < 4 * (expected * (1 - expected) / draws) ** 0.5 + 1 / draws


def test_the_end_of_sequence_ends_the_answer_and_bears_no_text(generator: Generator) -> None:
    free = generator.generate("fox", max_tokens=6, ignore_eos=True)
    generator._ends, kept = frozenset({free.tokens[2]}), generator._ends
    try:
        first = free.tokens.index(free.tokens[2])
        made = generator.generate("fox", max_tokens=6)
    finally:
        generator._ends = kept
    assert (made.tokens, made.finish) == (free.tokens[: first + 1], "stop")
    assert made.pieces[-1] == ""
    assert len(made.pieces) == len(made.tokens)


def test_a_conversation_goes_through_the_model_s_template(generator: Generator) -> None:
    told = generator.generate("", [{"role": "user", "content": "one"}], max_tokens=1)
    written = generator.generate("<|user|>one</s><|assistant|>", max_tokens=1)
    assert (told.tokens_in, told.tokens) == (written.tokens_in, written.tokens)


def test_what_cannot_be_answered_is_said(generator: Generator, tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match="no tokens"):
        generator.generate("", max_tokens=1)
    with pytest.raises(WorkloadError, match="exceed the model's context of 128"):
        generator.generate("one", max_tokens=128)
    with pytest.raises(WorkloadError, match="no folder"):
        Generator(tmp_path / "nowhere")
    with pytest.raises(WorkloadError, match="no model could be loaded"):
        Generator(tmp_path)


@given(st.lists(st.integers(min_value=6, max_value=319), max_size=40))
def test_the_pieces_make_the_text(generator: Generator, tokens: list[int]) -> None:
    made = pieces(tokens, generator._decode)
    assert len(made) == len(tokens)
    assert "".join(made).replace("\ufffd", "") == generator._decode(tokens).replace("\ufffd", "")


def test_half_a_character_waits_for_the_token_that_completes_it() -> None:
    table = {1: b"a", 2: "漢".encode()[:1], 3: "漢".encode()[1:2], 4: "漢".encode()[2:], 5: b"b"}
    made = pieces([1, 2, 3, 4, 5], lambda tokens: b"".join(table[token] for token in tokens).decode("utf-8", "replace"))
    assert made == ["a", "", "", "漢", "b"]
