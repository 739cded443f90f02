"""A local vision-language model and an engine that serves the same weights give the same probabilities."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fireassay.errors import WorkloadError
from fireassay.instruments.images.decoding import decode
from fireassay.instruments.images.models import load
from fireassay.instruments.images.questions import LocalAnswerer
from fireassay.quality.scoring import scoring
from tests.instruments.images import tiny_models
from tests.instruments.images.tiny_models import WORDS, picture
from tests.instruments.images.vqa_server import asked, completion, engine

pytestmark = pytest.mark.torch

QUESTIONS = ["a red circle", "a blue square", "a circle photo of red", "a red circle"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.llava(tmp_path_factory.mktemp("llava"))


@pytest.fixture(scope="module")
def model(folder: Path) -> LocalAnswerer:
    return LocalAnswerer(folder)


@pytest.fixture(scope="module")
def plain(folder: Path) -> Any:
    """transformers alone: (image of Pillow, question) -> log probabilities of the whole vocabulary at the first position of the answer."""
    import torch
    from transformers import AutoProcessor, LlavaForConditionalGeneration

    made, processor = LlavaForConditionalGeneration.from_pretrained(folder).eval(), AutoProcessor.from_pretrained(folder)

    def first(image: Any, question: str) -> Any:
        inputs = processor(images=image, text=f"<image> {question} ?", return_tensors="pt", add_special_tokens=True)
        with torch.no_grad():
            return torch.log_softmax(made(**inputs).logits[0, -1].double(), dim=-1)

    return first


def test_it_is_the_softmax_over_the_vocabulary_at_the_first_position(model: LocalAnswerer, plain: Any) -> None:
    pictures = [picture("red"), picture("blue"), picture("green", (64, 30)), picture("blue")]
    found = model.answered(pictures, QUESTIONS, "Yes")
    expected = [float(plain(one.pixels, question)[WORDS.index("Yes")].exp()) for one, question in zip(pictures, QUESTIONS, strict=True)]
    assert found[:, 0] == pytest.approx(expected, abs=1e-6)
    assert not found[:, 1].any()
    assert len(set(np.round(expected, 6))) >= 3
    assert found[:, 0].sum() + model.answered(pictures, QUESTIONS, "No")[:, 0].sum() < len(pictures)


def test_it_is_what_t2v_metrics_reads_from_a_generation_of_one_token(folder: Path, model: LocalAnswerer) -> None:
    """As its wrappers of PaliGemma and Gemma do: `generate` with scores, and the softmax of the first."""
    import torch
    from transformers import AutoProcessor, LlavaForConditionalGeneration

    plain, processor = LlavaForConditionalGeneration.from_pretrained(folder).eval(), AutoProcessor.from_pretrained(folder)
    one = picture("red")
    inputs = processor(images=one.pixels, text="<image> a red circle ?", return_tensors="pt")
    with torch.inference_mode():
        made = plain.generate(**inputs, max_new_tokens=1, do_sample=False, output_scores=True, return_dict_in_generate=True)
    expected = float(torch.softmax(made.scores[0], dim=-1)[0, processor.tokenizer.encode("Yes", add_special_tokens=False)[0]])
    assert model.answered([one], ["a red circle"], "Yes")[0, 0] == pytest.approx(expected, abs=1e-6)


def test_in_process_and_over_http_are_equal(folder: Path, plain: Any) -> None:
    """The engine of this test lists the 5 most probable of 16 tokens, so that some answers are not listed."""
    pictures = [picture("red"), picture("blue"), picture("green", (64, 30)), picture("yellow")]

    def reply(body: dict[str, Any]) -> tuple[int, Any]:
        content, question = asked(body)
        logprobs = plain(decode(content).pixels, question)
        best = logprobs.topk(int(body["top_logprobs"]))
        return 200, completion({WORDS[int(token)]: float(value) for value, token in zip(*best, strict=True)})

    local = {"vqascore.model": str(folder), "vqascore.template": "{}"}
    references = [[question] for question in QUESTIONS]
    (inside,) = scoring.prepared(["vqascore"], local, None, load)
    with engine(reply) as address, pytest.MonkeyPatch.context() as patch:
        patch.setattr("fireassay.instruments.images.engine.TOP", len(WORDS))
        served = {**local, "vqascore.model": address, "vqascore.served": "tiny"}
        (outside,) = scoring.prepared(["vqascore"], served, None, load)
        rows = scoring.of_images(inside, pictures, references)
        assert scoring.of_images(outside, pictures, references) == pytest.approx(rows, abs=1e-5)
        patch.setattr("fireassay.instruments.images.engine.TOP", 1)
        bounded = scoring.of_images(outside, pictures, references)
    known = ~np.isnan(bounded[:, 0])
    assert (np.abs(bounded[known, 0] - rows[known, 0]) <= bounded[known, 1] + 1e-5).all()


def test_an_answer_of_several_tokens_is_refused(folder: Path, model: LocalAnswerer) -> None:
    with pytest.raises(WorkloadError, match="the answer 'a red' is 2 tokens to this model"):
        model.token("a red")
    with pytest.raises(WorkloadError, match="single token"):
        scoring.prepared(["vqascore"], {"vqascore.model": str(folder), "vqascore.answer": "a red"}, None, load)
    assert model.token("Yes") == WORDS.index("Yes")


def test_a_question_with_the_models_own_marks_for_images_has_no_score(model: LocalAnswerer) -> None:
    found = model.answered([picture("red")] * 2, ["a red circle", "a <image> red"], "Yes")
    assert np.isfinite(found[0]).all()
    assert np.isnan(found[1, 0])


def test_batches_move_no_probability(model: LocalAnswerer, monkeypatch: pytest.MonkeyPatch) -> None:
    pictures = [picture(colour) for colour in ("red", "blue", "green", "black")]
    together = model.answered(pictures, ["a red circle"] * 4, "Yes")
    monkeypatch.setattr("fireassay.instruments.images.questions.BATCH", 1)
    assert model.answered(pictures, ["a red circle"] * 4, "Yes") == pytest.approx(together, abs=1e-6)


def test_the_signature_says_where_and_how_it_is_asked(model: LocalAnswerer) -> None:
    assert model.signature.startswith("in:process|chat:yes|weights:sha256:")
    assert "dtype:fp32" in model.signature


def test_a_folder_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match="no vision-language model"):
        LocalAnswerer(tiny_models.clip(tmp_path))
