"""A BERT of two layers with weights that are computed, not drawn, so that every version of torch gives the same ones."""

from __future__ import annotations

from pathlib import Path

ANSWERS = ["the cat sat on the mat", "a dog ran", "cat", "the the the", "a mat on a cat ran"]
REFERENCES = ["the cat is on the mat", "a dog was running", "dog", "the cat", "the dog sat on a mat"]
WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "the",
    "cat",
    "sat",
    "on",
    "mat",
    "a",
    "dog",
    "ran",
    "is",
    "was",
    "run",
    "##ning",
    "##s",
]


def save(folder: Path) -> None:
    """Configuration, tokenizer and weights in safetensors."""
    import torch
    from transformers import BertConfig, BertModel, BertTokenizer

    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    tokenizer = BertTokenizer(str(folder / "vocab.txt"), model_max_length=16)
    tokenizer.save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(WORDS), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, max_position_embeddings=16
    )
    model = BertModel(config)
    with torch.no_grad():
        for number, weights in enumerate(model.parameters()):
            steps = torch.arange(weights.numel(), dtype=torch.float64).reshape(weights.shape)
            weights.copy_((0.5 * torch.sin(steps * (1.0 + 0.01 * number) + number)).float() + (1.0 if weights.dim() == 1 else 0.0))
    model.save_pretrained(folder, safe_serialization=True)
