"""A local ImageReward is the composition of its published parts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from fireassay.errors import WorkloadError
from fireassay.instruments.images import pixels
from fireassay.instruments.images.reward import DEVIATION, LONGEST, MEAN, LocalReward
from tests.instruments.images import tiny_models
from tests.instruments.images.tiny_models import picture

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.reward(tmp_path_factory.mktemp("reward"))


def test_it_is_the_head_on_the_first_token_of_the_text_that_sees_the_image(folder: Path) -> None:
    """By BlipForImageTextRetrieval's own forward pass, which gives what its matching head reads, and the layers in numpy."""
    import torch
    from transformers import BlipForImageTextRetrieval

    pictures, texts = [picture("red"), picture("blue", (30, 60))], ["a red circle", "a blue square photo"]
    plain = BlipForImageTextRetrieval.from_pretrained(folder).eval()
    ids = tiny_models.tokenizer(folder.parent, longest=512)(texts, padding=True, return_tensors="pt")
    seen = torch.from_numpy(np.stack([pixels.normalised(pixels.shortest_side(one.pixels, tiny_models.SIDE)) for one in pictures]))
    with torch.no_grad():
        made = plain(input_ids=ids["input_ids"], attention_mask=ids["attention_mask"], pixel_values=seen)
    values = made.question_embeds[:, 0, :].numpy()
    head = load_file(folder / "mlp.safetensors")
    for layer in ("layers.0", "layers.2", "layers.7"):
        values = values @ head[f"mlp.{layer}.weight"].T + head[f"mlp.{layer}.bias"]
    expected = (values[:, 0].astype(np.float64) - 0.16717362830052426) / 1.0333394966054072  # ImageReward.py

    model = LocalReward(folder)
    rewards, cut = model.rewards(pictures, texts)
    assert rewards == pytest.approx(expected, abs=1e-5)
    assert not cut.any()
    assert (MEAN, DEVIATION, LONGEST) == (0.16717362830052426, 1.0333394966054072, 35)
    assert "max:35|dtype:fp32" in model.signature


def test_a_prompt_of_more_than_35_tokens_is_cut_and_said(folder: Path) -> None:
    model, words = LocalReward(folder), ["red"] * 33
    rewards, cut = model.rewards([picture("red")] * 2, [" ".join(words), " ".join([*words, "blue", "blue"])])
    assert cut.tolist() == [False, True]
    assert rewards[0] == pytest.approx(rewards[1], abs=1e-6)
    assert model.rewards([], [])[0].shape == (0,)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"mlp.layers.0.bias": None}, "layers.0 is no linear layer of 16 inputs"),
        ({"mlp.layers.2.weight": np.zeros((4, 9), dtype=np.float32)}, "layers.2 is no linear layer of 8 inputs"),
        ({"mlp.layers.7.weight": None, "mlp.layers.7.bias": None}, "end in one output"),
    ],
)
def test_a_head_that_does_not_fit_is_refused(folder: Path, tmp_path: Path, change: dict[str, np.ndarray | None], said: str) -> None:
    for path in folder.iterdir():
        (tmp_path / path.name).symlink_to(path)
    head = {**load_file(folder / "mlp.safetensors"), **change}
    (tmp_path / "mlp.safetensors").unlink()
    save_file({name: value for name, value in head.items() if value is not None}, tmp_path / "mlp.safetensors")
    with pytest.raises(WorkloadError, match=said):
        LocalReward(tmp_path)


def test_a_folder_without_a_head_says_what_is_accepted(tmp_path: Path) -> None:
    clip = tiny_models.clip(tmp_path)
    with pytest.raises(WorkloadError, match=r"BlipForImageTextRetrieval .*found 'clip'.* head in mlp.safetensors"):
        LocalReward(clip)
