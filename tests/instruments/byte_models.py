"""A tiny random Llama over bytes, whose probabilities are far from even, and items for it: quality.md, 9.6 and 9.7.

Every parameter with more than one dimension is multiplied by four: an unscaled random model has top-1 to top-2 gaps of 0.03 instead of
0.15, and hides whatever a test looks for.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

VOCABULARY: Final = 260  # bytes and four marks
SCALE: Final = 4.0


def tokenizer() -> Any:
    """A byte-level tokenizer: 256 symbols, four marks, no merges, and no mark added to a text."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    marks = ["<pad>", "<s>", "</s>", "<unk>"]
    symbols = sorted(pre_tokenizers.ByteLevel.alphabet())
    bare = Tokenizer(models.BPE(vocab={symbol: index for index, symbol in enumerate([*marks, *symbols])}, merges=[], unk_token="<unk>"))
    bare.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    bare.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=bare, pad_token="<pad>", bos_token="<s>", eos_token="</s>", unk_token="<unk>")


def llama(*, seed: int = 0, vocabulary: int = VOCABULARY) -> Any:
    """The model, in float32."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=vocabulary,
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=256,
            pad_token_id=0,
            bos_token_id=1,
            eos_token_id=2,
        )
    )
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(SCALE)
    return model.eval()


def save(folder: Path, *, seed: int = 0) -> Path:
    """The model and its tokenizer in a folder."""
    llama(seed=seed).save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return folder


def items() -> list[dict[str, Any]]:
    """48 items with choices of several lengths, in and beyond ASCII, some after a context that ends in a blank."""
    words = ["one", "twenty-two", "naïve", "漢字", "a much longer choice of words", "é", "42", "no"]
    out = []
    for index in range(48):
        choices = [words[(index * step + step) % len(words)] for step in (1, 3, 5)[: 2 + index % 2]]
        distinct = list(dict.fromkeys([*choices, f"{index} apples"]))
        blank = " " if index % 5 == 4 else ""
        out.append(
            {"prompt": f"Question {index}: {index * 7}+{index}=?\nAnswer:{blank}", "choices": distinct, "label": index % len(distinct)}
        )
    return out
