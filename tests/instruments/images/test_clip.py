"""A local CLIP model gives the vectors that transformers gives, and scores that a computation by hand gives."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path

import numpy as np
import pytest

from fireassay.errors import WorkloadError
from fireassay.instruments.images.clip import LocalClip
from fireassay.instruments.images.models import load
from fireassay.quality.scoring import scoring
from tests.instruments.images import tiny_models
from tests.instruments.images.tiny_models import picture

pytestmark = pytest.mark.torch

COLOURS = ("red", "blue", "green")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.clip(tmp_path_factory.mktemp("clip"))


@pytest.fixture(scope="module")
def model(folder: Path) -> LocalClip:
    return LocalClip(folder)


def test_cosines_are_those_of_a_computation_by_hand(folder: Path, model: LocalClip) -> None:
    """The model's own forward pass: its logits are exp(logit_scale) times the cosines."""
    import torch
    from transformers import CLIPModel

    texts = ["a red circle", "a blue square"]
    pictures = [picture(colour) for colour in COLOURS]
    plain = CLIPModel.from_pretrained(folder)
    with torch.no_grad():
        ids = tiny_models.tokenizer(folder.parent)(texts, padding=True, return_tensors="pt")
        seen = tiny_models.preprocessor(folder.parent)(images=[one.pixels for one in pictures], return_tensors="pt")
        logits = plain(input_ids=ids["input_ids"], attention_mask=ids["attention_mask"], pixel_values=seen["pixel_values"]).logits_per_image
    cosines = (logits / plain.logit_scale.detach().exp()).numpy()

    options = {"clipscore.model": str(folder), "clipscore.template": "{}"}
    for column, text in enumerate(texts):
        (score,) = scoring.prepared(["clipscore"], options, None, load)
        found = scoring.of_images(score, pictures, [[text]] * 3)
        assert found[:, 0] == pytest.approx(2.5 * np.maximum(cosines[:, column], 0.0), abs=1e-6)
        (pick,) = scoring.prepared(["pickscore"], {"pickscore.model": str(folder)}, None, load)
        assert scoring.of_images(pick, pictures, [[text]] * 3)[:, 0] == pytest.approx(logits[:, column].numpy(), abs=1e-4)
    assert model.scale == pytest.approx(math.exp(float(plain.logit_scale.detach())), rel=1e-6)


def test_batches_move_no_vector(model: LocalClip, monkeypatch: pytest.MonkeyPatch) -> None:
    pictures = [picture(colour, (40 + 3 * number, 50)) for number, colour in enumerate(COLOURS * 3)]
    texts = ["a", "a red circle photo", "blue square", "A photo depicts a red square ?"]
    together = model.images(pictures, "config"), model.texts(texts)[0]
    monkeypatch.setattr("fireassay.instruments.images.clip.BATCH", 1)
    assert model.images(pictures, "config") == pytest.approx(together[0], abs=1e-5)
    assert model.texts(texts)[0] == pytest.approx(together[1], abs=1e-5)
    assert model.images([], "config").shape == (0, 8)


def test_a_long_text_is_cut_before_its_end_mark_and_said(model: LocalClip) -> None:
    """12 tokens with the two marks around: ten words are read."""
    ten, eleven = " ".join(["red"] * 10), " ".join(["red"] * 10 + ["blue"])
    vectors, cut = model.texts([ten, eleven, "a"])
    assert cut.tolist() == [False, True, False]
    assert vectors[0] == pytest.approx(vectors[1], abs=1e-6)


def test_the_longest_side_is_another_view_of_an_image_that_is_no_square(model: LocalClip) -> None:
    wide, square = picture("red", (96, 32)), picture("red", (32, 32))
    assert model.images([square], "longest") == pytest.approx(model.images([square], "config"), abs=1e-5)
    assert not np.allclose(model.images([wide], "longest"), model.images([wide], "config"), atol=1e-3)


def copy(folder: Path, to: Path) -> Path:
    shutil.copytree(folder, to)
    return to


def test_the_signature_names_weights_tokenizer_preprocessor_and_libraries(folder: Path, model: LocalClip, tmp_path: Path) -> None:
    other = copy(folder, tmp_path / "other")
    (other / "preprocessor_config.json").write_text((other / "preprocessor_config.json").read_text() + "\n")
    plain, changed = (dict(part.partition(":sha256:")[::2] for part in LocalClip(one).signature.split("|")) for one in (folder, other))
    assert [key for key in plain if plain[key] != changed[key]] == ["preprocessor"]
    assert {"weights", "tokenizer", "preprocessor"} <= plain.keys()
    assert "max:12|dtype:fp32|" in model.signature
    assert all(name in model.signature for name in ("pixels:CLIPImageProcessorPil|", "pillow@", "torch@", "transformers@"))


def test_a_folder_that_is_no_whole_clip_model_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match="no CLIP model in"):
        LocalClip(tmp_path)
    pickled = copy(folder, tmp_path / "pickled")
    (pickled / "model.safetensors").rename(pickled / "pytorch_model.bin")
    with pytest.raises(WorkloadError, match=r"\*\.safetensors"):
        LocalClip(pickled)
    cut = copy(folder, tmp_path / "cut")
    (cut / "model.safetensors").write_bytes((cut / "model.safetensors").read_bytes()[:5000])
    with pytest.raises(WorkloadError, match="no CLIP model could be loaded"):
        LocalClip(cut)
    other = copy(folder, tmp_path / "other")
    (other / "config.json").write_text(json.dumps({"model_type": "bert"}))
    with pytest.raises(WorkloadError, match="a model of the type 'bert'"):
        LocalClip(other)
    (other / "config.json").write_text("[")
    with pytest.raises(WorkloadError, match="is not the configuration of a model"):
        LocalClip(other)


def test_a_weight_that_is_not_there_is_not_drawn_at_random(folder: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    lacking = copy(folder, tmp_path / "lacking")
    weights = load_file(lacking / "model.safetensors")
    weights.pop("visual_projection.weight")
    save_file(weights, lacking / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(WorkloadError, match="lacks 1 weights of CLIPModel, as visual_projection.weight"):
        LocalClip(lacking)


def test_code_of_a_folder_is_not_run(folder: Path, tmp_path: Path) -> None:
    hostile = copy(folder, tmp_path / "hostile")
    for name in ("config.json", "preprocessor_config.json", "tokenizer_config.json"):
        settings = json.loads((hostile / name).read_text())
        settings["auto_map"] = {"AutoModel": "code.Model", "AutoImageProcessor": "code.Model", "AutoTokenizer": ["code.Model", None]}
        (hostile / name).write_text(json.dumps(settings))
    (hostile / "code.py").write_text(f"from pathlib import Path\nPath({str(tmp_path / 'ran')!r}).write_text('x')\nclass Model: ...\n")
    LocalClip(hostile)
    assert not (tmp_path / "ran").exists()


def test_a_device_that_is_not_there_is_said(folder: Path) -> None:
    with pytest.raises(WorkloadError, match="device 'nowhere'"):
        load("pairs", {"model": str(folder), "device": "nowhere"})
