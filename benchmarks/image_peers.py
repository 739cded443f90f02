"""What cosines do torchmetrics and open_clip find, on the weights of a folder with a CLIPModel?  Run by `drawn_shapes.py --peers PYTHON`.

    PYTHON benchmarks/image_peers.py FOLDER ANSWERS.jsonl

One line of JSON for each: peer, and its scores as cosines, or why it could not be asked.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def main(model: Path, file: Path) -> int:
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    for ask in (torchmetrics_class, torchmetrics_function, open_clip):
        print(json.dumps(_said(ask, model, file.parent, rows)))
    return 0


def _said(ask: Callable[..., tuple[str, list[float]]], model: Path, folder: Path, rows: list[dict[str, Any]]) -> dict[str, Any]:
    try:
        peer, scores = ask(model, folder, rows)
    except Exception as error:
        return {"peer": ask.__name__, "why": f"{type(error).__name__}: {error}"[:200]}
    return {"peer": peer, "scores": scores}


def _pixels(path: Path) -> Any:
    import numpy as np
    import torch
    from PIL import Image

    return torch.from_numpy(np.asarray(Image.open(path).convert("RGB")).transpose(2, 0, 1).copy())


def _loaded(model: Path) -> tuple[Any, Any]:
    """The model and its processor, with Pillow's resampling as without torchvision."""
    from transformers import AutoImageProcessor, AutoTokenizer, CLIPModel, CLIPProcessor

    sees = AutoImageProcessor.from_pretrained(model, backend="pil")
    return CLIPModel.from_pretrained(model).eval(), CLIPProcessor(image_processor=sees, tokenizer=AutoTokenizer.from_pretrained(model))


def torchmetrics_class(model: Path, folder: Path, rows: list[dict[str, Any]]) -> tuple[str, list[float]]:
    """CLIPScore of each pair, which is 100 times the cosine, or 0."""
    import torchmetrics
    from torchmetrics.multimodal.clip_score import CLIPScore

    metric = CLIPScore(model_name_or_path=lambda: _loaded(model))
    scores = []
    for row in rows:
        metric.reset()
        metric.update(_pixels(folder / row["image"]), row["prompt"])
        scores.append(float(metric.compute()) / 100.0)
    return f"torchmetrics {torchmetrics.__version__} CLIPScore", scores


def torchmetrics_function(model: Path, folder: Path, rows: list[dict[str, Any]]) -> tuple[str, list[float]]:
    """Its `_clip_score_update` before the mean, with the processor's PIL backend; features that are objects are taken apart."""
    import torchmetrics
    from torchmetrics.functional.multimodal import clip_score
    from transformers import CLIPModel

    for name in ("get_image_features", "get_text_features"):  # transformers 5 returns an object, of which torchmetrics 1.9 knows nothing
        original = getattr(CLIPModel, name)
        setattr(CLIPModel, name, lambda *given, original=original, **words: _tensor(original(*given, **words)))
    pair = _loaded(model)
    scores = [float(clip_score(_pixels(folder / row["image"]), row["prompt"], lambda: pair)) / 100.0 for row in rows]
    return f"torchmetrics {torchmetrics.__version__} clip_score, features taken out of transformers' object", scores


def _tensor(found: Any) -> Any:
    return getattr(found, "pooler_output", found)


def open_clip(model: Path, folder: Path, rows: list[dict[str, Any]]) -> tuple[str, list[float]]:
    """open_clip's own CLIP class with these weights under its names."""
    import open_clip as peer
    import torch
    from PIL import Image
    from safetensors.torch import load_file
    from transformers import AutoTokenizer

    config = json.loads((model / "config.json").read_text())
    text, vision = config["text_config"], config["vision_config"]
    made = peer.model.CLIP(
        embed_dim=config["projection_dim"],
        vision_cfg=peer.CLIPVisionCfg(
            layers=vision["num_hidden_layers"],
            width=vision["hidden_size"],
            head_width=vision["hidden_size"] // vision["num_attention_heads"],
            mlp_ratio=vision["intermediate_size"] / vision["hidden_size"],
            patch_size=vision["patch_size"],
            image_size=vision["image_size"],
        ),
        text_cfg=peer.CLIPTextCfg(
            context_length=text["max_position_embeddings"],
            vocab_size=text["vocab_size"],
            width=text["hidden_size"],
            heads=text["num_attention_heads"],
            layers=text["num_hidden_layers"],
            mlp_ratio=text["intermediate_size"] / text["hidden_size"],
            eos_id=text["eos_token_id"],
            pool_type="eos",
        ),
        quick_gelu=True,
    ).eval()
    told = made.load_state_dict(_renamed(load_file(model / "model.safetensors")), strict=False)
    assert not told.missing_keys or set(told.missing_keys) <= {"attn_mask"}, told.missing_keys
    see = peer.image_transform(vision["image_size"], is_train=False)
    read = AutoTokenizer.from_pretrained(model)
    scores = []
    for row in rows:
        pixels = see(Image.open(folder / row["image"]))[None]
        ids = read(row["prompt"], padding="max_length", max_length=text["max_position_embeddings"], return_tensors="pt")["input_ids"]
        with torch.no_grad():
            one, other = made.encode_image(pixels).double(), made.encode_text(ids).double()
        scores.append(float(torch.nn.functional.cosine_similarity(one, other)[0]))
    return f"open_clip {peer.__version__}", scores


def _renamed(weights: dict[str, Any]) -> dict[str, Any]:
    """transformers' names of a CLIPModel's weights as open_clip's; queries, keys and values are one matrix there."""
    import torch

    out = {
        "logit_scale": weights["logit_scale"],
        "text_projection": weights["text_projection.weight"].T,
        "visual.proj": weights["visual_projection.weight"].T,
        "token_embedding.weight": weights["text_model.embeddings.token_embedding.weight"],
        "positional_embedding": weights["text_model.embeddings.position_embedding.weight"],
        "visual.class_embedding": weights["vision_model.embeddings.class_embedding"],
        "visual.positional_embedding": weights["vision_model.embeddings.position_embedding.weight"],
        "visual.conv1.weight": weights["vision_model.embeddings.patch_embedding.weight"],
    }
    for theirs, ours in {
        "ln_final": "text_model.final_layer_norm",
        "visual.ln_pre": "vision_model.pre_layrnorm",
        "visual.ln_post": "vision_model.post_layernorm",
    }.items():
        out |= {f"{theirs}.{kind}": weights[f"{ours}.{kind}"] for kind in ("weight", "bias")}
    for side, theirs in (("text_model", "transformer"), ("vision_model", "visual.transformer")):
        for layer in range(sum(name.startswith(f"{side}.encoder.layers.") and name.endswith("mlp.fc1.bias") for name in weights)):
            ours, to = f"{side}.encoder.layers.{layer}", f"{theirs}.resblocks.{layer}"
            for kind in ("weight", "bias"):
                out[f"{to}.attn.in_proj_{kind}"] = torch.cat([weights[f"{ours}.self_attn.{part}_proj.{kind}"] for part in "qkv"])
                pairs = {
                    "attn.out_proj": "self_attn.out_proj",
                    "ln_1": "layer_norm1",
                    "ln_2": "layer_norm2",
                    "mlp.c_fc": "mlp.fc1",
                    "mlp.c_proj": "mlp.fc2",
                }
                out |= {f"{to}.{name}.{kind}": weights[f"{ours}.{mine}.{kind}"] for name, mine in pairs.items()}
    return out


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
