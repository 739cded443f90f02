"""How is a small language model made on the spot, without a download?  A Llama with random weights, and a tokenizer of its own.

    python examples/serving/make_model.py OUT [--hidden 64] [--layers 2] [--vocabulary 2048]

Writes OUT/ in the form that transformers, vLLM and llama.cpp's converter read: config.json, model.safetensors, tokenizer.json ...
It needs numpy and tokenizers, no torch, and takes about a second.  Equal arguments give equal weights.  What such a model
says is noise, always the same; it has no end token, so its answers are as long as they are asked to be.
"""

from __future__ import annotations

import argparse
import json
import struct
from pathlib import Path
from pydoc_data.topics import topics

import numpy as np
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

HEAD = 32  # size of an attention head
CONTEXT = 4096  # tokens
SPREAD = 0.2  # of the weights: ten times a fresh model's, so that an answer depends on all of its prompt, not on its end alone
SPECIAL = ("<pad>", "<s>", "</s>", "<|system|>", "<|user|>", "<|assistant|>")
TEMPLATE = (
    "{% for message in messages %}{{ '<|' + message['role'] + '|>' + message['content'] + '</s>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)


def tokenizer(vocabulary: int) -> Tokenizer:
    """Byte-level BPE, trained on the help texts that come with Python."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.train_from_iterator(
        topics.values(),
        trainers.BpeTrainer(
            vocab_size=vocabulary, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), special_tokens=list(SPECIAL), show_progress=False
        ),
    )
    return made


def config(hidden: int, layers: int, vocabulary: int) -> dict[str, object]:
    """The model's shape, as transformers writes it."""
    heads = max(1, hidden // HEAD)
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": hidden,
        "intermediate_size": 4 * hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": heads,
        "head_dim": hidden // heads,
        "vocab_size": vocabulary,
        "max_position_embeddings": CONTEXT,
        "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0,
        "hidden_act": "silu",
        "tie_word_embeddings": False,
        "attention_bias": False,
        "mlp_bias": False,
        "bos_token_id": 1,
        "eos_token_id": None,
        "pad_token_id": 0,
        "torch_dtype": "float32",
    }


def weights(hidden: int, layers: int, vocabulary: int) -> dict[str, np.ndarray]:
    """Random weights by name."""
    numbers = np.random.default_rng(0)
    shapes = {"model.embed_tokens": (vocabulary, hidden), "lm_head": (vocabulary, hidden)}
    for layer in range(layers):
        at = f"model.layers.{layer}"
        shapes |= {f"{at}.self_attn.{name}_proj": (hidden, hidden) for name in "qkvo"}
        shapes |= {f"{at}.mlp.{name}_proj": (4 * hidden, hidden) for name in ("gate", "up")}
        shapes[f"{at}.mlp.down_proj"] = (hidden, 4 * hidden)
    found = {f"{name}.weight": SPREAD * numbers.standard_normal(shape, np.float32) for name, shape in shapes.items()}
    norms = ["model.norm", *(f"model.layers.{layer}.{name}_layernorm" for layer in range(layers) for name in ("input", "post_attention"))]
    return found | {f"{name}.weight": np.ones(hidden, np.float32) for name in norms}


def safetensors(tensors: dict[str, np.ndarray]) -> bytes:
    """The tensors as a safetensors file: length of the header, header in JSON, bytes."""
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    at = 0
    for name, tensor in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [at, at + tensor.nbytes]}
        at += tensor.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return b"".join((struct.pack("<Q", len(text)), text, *(tensor.astype("<f4").tobytes() for tensor in tensors.values())))


def write(out: Path, hidden: int, layers: int, vocabulary: int) -> None:
    """Write the model's folder, and an empty cache of models in it: HF_HOME of an engine that must not look elsewhere."""
    (out / "hf" / "hub").mkdir(parents=True, exist_ok=True)
    made = tokenizer(vocabulary)
    vocabulary = made.get_vocab_size()
    made.save(str(out / "tokenizer.json"))
    (out / "model.safetensors").write_bytes(safetensors(weights(hidden, layers, vocabulary)))
    files = {
        "config.json": config(hidden, layers, vocabulary),
        "generation_config.json": {"bos_token_id": 1, "pad_token_id": 0},
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "bos_token": "<s>",
            "eos_token": "</s>",
            "pad_token": "<pad>",
            "model_max_length": CONTEXT,
            "clean_up_tokenization_spaces": False,
            "chat_template": TEMPLATE,
        },
    }
    for name, content in files.items():
        (out / name).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def main() -> None:
    """Read the arguments, write the folder."""
    parser = argparse.ArgumentParser(description="Make a small language model with random weights.")
    parser.add_argument("out", type=Path)
    parser.add_argument("--hidden", type=int, default=64, help=f"a multiple of {HEAD}")
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--vocabulary", type=int, default=2048)
    asked = parser.parse_args()
    if asked.hidden < HEAD or asked.hidden % HEAD:
        parser.error(f"--hidden must be a multiple of {HEAD}, not {asked.hidden}")
    write(asked.out, asked.hidden, asked.layers, asked.vocabulary)
    size = sum(file.stat().st_size for file in asked.out.iterdir() if file.is_file())
    print(f"{asked.out}: {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
