"""How many floating-point operations does a model need per training token?

Four published conventions.  A multiply-add is 2 operations; the backward pass is twice the forward pass.  Per token, with N
parameters, L layers, H heads of size Q, hidden size h, sequence length T and vocabulary V:

    palm           6 N + 12 L H Q T                                 all parameters, full attention
    torchtitan     6 (N - N_embedding) + 6 L H (d_qk + d_v) T       without the embedding table, full attention
    megatron       12 L h^2 ((1 + G/H + T/(2h)) r + g F/h + V/(2Lh))   half of the attention (causal); r = H Q/h
    megatron_2021  72 L h^2 (1 + T/(6h) + V/(12 L h)); with full activation recomputation 96 and V/(16 L h)

F is the width of the feed-forward layer, g is 3/2 if gated (SwiGLU), else 1, and G the number of key/value groups.
The same model and speed give different numbers under each; never compare across conventions.
Sources: Chowdhery et al., PaLM, arXiv 2204.02311, appendix B; torchtitan `models/utils.py`; Megatron-LM `training/training.py`;
Narayanan et al., arXiv 2104.04473, equation 3 and its appendix.
Cannot tell: inactive experts (mixture of experts), padding, or what a script really computes; count operations for that.
"""

from __future__ import annotations

from dataclasses import dataclass


def palm(*, parameters: float, layers: int, heads: int, head_dim: int, sequence: int) -> float:
    """Operations per token by PaLM, appendix B."""
    return 6.0 * parameters + 12.0 * layers * heads * head_dim * sequence


def torchtitan(*, parameters: float, embedding_parameters: float, layers: int, heads: int, sequence: int, qk_dim: int, v_dim: int) -> float:
    """Operations per token by torchtitan; equals PaLM if `qk_dim` = `v_dim` and the embedding has no parameters."""
    return 6.0 * (parameters - embedding_parameters) + 6.0 * layers * heads * (qk_dim + v_dim) * sequence


@dataclass(frozen=True, kw_only=True)
class Attention:
    """The shape of one layer's attention."""

    heads: int
    head_dim: int
    groups: int  # of keys and values


@dataclass(frozen=True, kw_only=True)
class FeedForward:
    """The shape of one layer's feed-forward part."""

    width: int
    gated: bool  # as in SwiGLU


def megatron(*, layers: int, hidden: int, attention: Attention, feed_forward: FeedForward, vocabulary: int, sequence: int) -> float:
    """Operations per token by Megatron-LM: half of the attention products, as the mask is causal."""
    ratio = attention.heads * attention.head_dim / hidden
    attending = (1.0 + attention.groups / attention.heads + sequence / (2.0 * hidden)) * ratio
    feeding = feed_forward.width / hidden * (1.5 if feed_forward.gated else 1.0)
    return 12.0 * layers * hidden**2 * (attending + feeding + vocabulary / (2.0 * layers * hidden))


def megatron_2021(*, layers: int, hidden: int, vocabulary: int, sequence: int, recomputed: bool = False) -> float:
    """Operations per token by the Megatron paper of 2021; `recomputed`: with full activation recomputation, as in the paper."""
    passes = 96.0 if recomputed else 72.0
    logits = 16.0 if recomputed else 12.0
    return passes * layers * hidden**2 * (1.0 + sequence / (6.0 * hidden) + vocabulary / (logits * layers * hidden))
