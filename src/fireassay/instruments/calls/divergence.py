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
    parts = [compare_one(reference, candidate, context, continuation) for context, continuation in texts]
    if not parts:
        raise WorkloadError("there is no text to compare the models on")
    return Divergence(
        kl=np.concatenate([part.kl for part in parts]),
        agree=np.concatenate([part.agree for part in parts]),
        reference_nll=np.concatenate([part.reference_nll for part in parts]),
        candidate_nll=np.concatenate([part.candidate_nll for part in parts]),
    )


def compare_one(reference: Generator, candidate: Generator, context: str, continuation: str) -> Divergence:
    """Both models at every token of one continuation.

    Raises:
        WorkloadError: the text does not fit, or the two tokenize it differently.
    """
    import torch

    ids, first = reference.divided(context, continuation)
    if candidate.divided(context, continuation) != (ids, first):
        raise WorkloadError("the two models tokenize the texts differently, so their tokens cannot be compared. Compare bits per byte")
    wanted = torch.tensor(ids[first:])[:, None]
    p, q = (model.log_probabilities(ids, first).double().cpu() for model in (reference, candidate))
    if p.shape != q.shape:
        raise WorkloadError(f"the models have vocabularies of {p.shape[1]} and {q.shape[1]} tokens")
    return Divergence(
        kl=(p.exp() * (p - q)).sum(-1).numpy(),
        agree=(p.argmax(-1) == q.argmax(-1)).numpy(),
        reference_nll=-p.gather(1, wanted)[:, 0].numpy(),
        candidate_nll=-q.gather(1, wanted)[:, 0].numpy(),
    )
