"""How do two models in this process differ at every token of given texts?  Full distributions, from the raw logits in float32.

One forward pass of each over context and continuation.  The reference's tokens are scored by both, so both need one tokenizer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fireassay.errors import WorkloadError

if TYPE_CHECKING:
    from fireassay.instruments.calls.generation import Generator

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Divergence:
    """One entry per token of the continuations."""

    kl: Array  # KL(reference || candidate), nats
    agree: NDArray[np.bool_]  # the same most probable token
    reference_nll: Array  # of the token itself
    candidate_nll: Array


def compare(reference: Generator, candidate: Generator, texts: Sequence[tuple[str, str]]) -> Divergence:
    """Both models at every token of the continuations; `texts`: context and continuation.

    Raises:
        WorkloadError: a text does not fit, or the two tokenize it differently.
    """
    parts = [_one(reference, candidate, context, continuation) for context, continuation in texts]
    if not parts:
        raise WorkloadError("there is no text to compare the models on")
    kl, agree, ours, theirs = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Divergence(kl=kl, agree=agree.astype(np.bool_), reference_nll=ours, candidate_nll=theirs)


def _one(reference: Generator, candidate: Generator, context: str, continuation: str) -> tuple[Array, Array, Array, Array]:
    import torch

    ids, first = reference.divided(context, continuation)
    if candidate.divided(context, continuation) != (ids, first):
        raise WorkloadError("the two models tokenize the texts differently, so their tokens cannot be compared. Compare bits per byte")
    wanted = torch.tensor(ids[first:])[:, None]
    p, q = (model.log_probabilities(ids, first).double().cpu() for model in (reference, candidate))
    if p.shape != q.shape:
        raise WorkloadError(f"the models have vocabularies of {p.shape[1]} and {q.shape[1]} tokens")
    return (
        (p.exp() * (p - q)).sum(-1).numpy(),
        (p.argmax(-1) == q.argmax(-1)).double().numpy(),
        -p.gather(1, wanted)[:, 0].numpy(),
        -q.gather(1, wanted)[:, 0].numpy(),
    )
