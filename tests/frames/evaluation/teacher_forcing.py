"""The test bed of quality.md 9.6: a tiny Llama, 48 prompts, 32 greedy tokens each, scored again by changed copies of it."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fireassay.frames.evaluation.forced import TailKL, tail_kl
from tests.instruments import byte_models

Array = NDArray[np.float64]
PROMPTS, TOKENS, VOCABULARY = 48, 32, 256


def kl_of(reference: Array, replica: Array) -> Array:
    """KL(reference || replica) of each position, from log probabilities of shape [positions, vocabulary]."""
    return np.asarray((np.exp(reference) * (reference - replica)).sum(axis=-1))


@dataclass(frozen=True)
class Bed:
    """A reference with its own answers, and their distributions."""

    model: Any
    prompts: list[list[int]]
    answers: list[list[int]]
    distributions: Array  # [positions, vocabulary]

    def against(self, replica: Any) -> tuple[TailKL, float]:
        """A replica's divergence at every token of the reference's answers, and its top-1 agreement."""
        scored = forced(replica, self.prompts, self.answers)
        agreement = float((self.distributions.argmax(1) == scored.argmax(1)).mean())
        return tail_kl(kl_of(self.distributions, scored)), agreement


def bed(seed: int = 0) -> Bed:
    """The reference."""
    import torch

    torch.set_num_threads(1)
    model, drawn = byte_models.llama(seed=seed, vocabulary=VOCABULARY), torch.Generator().manual_seed(3)
    prompts = [
        torch.randint(3, VOCABULARY, (int(torch.randint(4, 40, (1,), generator=drawn)),), generator=drawn).tolist() for _ in range(PROMPTS)
    ]
    answers = greedy(model, prompts)
    return Bed(model, prompts, answers, forced(model, prompts, answers))


def padded(rows: list[list[int]], *, left: bool) -> tuple[Any, Any]:
    """Tokens and their mask."""
    import torch

    width = max(map(len, rows))
    ids, mask = torch.zeros(len(rows), width, dtype=torch.long), torch.zeros(len(rows), width, dtype=torch.long)
    for index, row in enumerate(rows):
        where = slice(width - len(row), width) if left else slice(0, len(row))
        ids[index, where], mask[index, where] = torch.tensor(row), 1
    return ids, mask


def greedy(model: Any, prompts: list[list[int]]) -> list[list[int]]:
    """The model's own answers."""
    import torch

    ids, mask = padded(prompts, left=True)
    with torch.inference_mode():
        made = model.generate(ids, attention_mask=mask, do_sample=False, max_new_tokens=TOKENS, min_new_tokens=TOKENS, pad_token_id=0)
    answers: list[list[int]] = made[:, ids.shape[1] :].tolist()
    return answers


def forced(model: Any, prompts: list[list[int]], answers: list[list[int]]) -> Array:
    """The distributions at every token of given answers, from one forward pass."""
    import torch

    ids, mask = padded([prompt + answer for prompt, answer in zip(prompts, answers, strict=True)], left=False)
    with torch.inference_mode():
        scores = torch.log_softmax(model(input_ids=ids, attention_mask=mask, use_cache=False).logits.float(), -1)
    rows = [scores[index, len(prompt) - 1 : len(prompt) - 1 + TOKENS] for index, prompt in enumerate(prompts)]
    return np.asarray(torch.cat(rows).double().numpy())


def quantised(model: Any, levels: int) -> Any:
    """A copy with every matrix rounded to symmetric integers, row by row."""
    import torch

    changed = copy.deepcopy(model)
    with torch.no_grad():
        for parameter in changed.parameters():
            if parameter.dim() > 1:
                step = (parameter.abs().amax(1, keepdim=True) / levels).clamp_min(1e-12)
                parameter.copy_((parameter / step).round() * step)
    return changed


def with_wrong_weight(model: Any, seed: int, by: float) -> Any:
    """A copy with one weight of one matrix of its layers changed; the seed says which."""
    import torch

    changed, drawn = copy.deepcopy(model), torch.Generator().manual_seed(seed)
    matrices = [parameter for name, parameter in changed.named_parameters() if parameter.dim() > 1 and "layers" in name]
    matrix = matrices[int(torch.randint(len(matrices), (1,), generator=drawn))]
    row, column = (int(torch.randint(size, (1,), generator=drawn)) for size in matrix.shape)
    with torch.no_grad():
        matrix[row, column] += by
    return changed
