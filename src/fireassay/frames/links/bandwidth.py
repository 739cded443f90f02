"""How fast is a collective, in the published definitions of nccl-tests?

`algbw` = S / t and `busbw` = algbw x factor, in bytes per second, displayed as decimal GB/s. S is the amount as nccl-tests
counts it: the whole result of a gather, the whole input of a scatter or an exchange, otherwise one rank's tensor.
n is the size of the group, not of the job. The factor converts the algorithm's bandwidth to that of a flat ring's links: what
each link carries unless the network reduces in transit (NVLS, SHARP), where it may exceed the link's speed; it is therefore never
called utilisation. Source: nccl-tests, doc/PERFORMANCE.md and src/*.cu.

`rounds` and `share` describe the same operations in the alpha-beta model (Hockney 1994), for rings: T = rounds alpha + share S beta.
Cannot tell: which algorithm an engine really used.
"""

from __future__ import annotations

import math
from typing import Final

from fireassay.stats.models.affine_fit import Affine

# operations whose S is the amount of all ranks together: count x element size x n
WHOLE: Final = ("all_gather", "reduce_scatter", "all_to_all", "gather", "scatter")
OPERATIONS: Final = ("all_reduce", *WHOLE, "broadcast", "reduce", "send_recv")


def factor(op: str, n: int) -> float:
    """busbw / algbw of an operation in a group of n ranks.

    Raises:
        ValueError: unknown operation, or an empty group.
    """
    if n < 1:
        raise ValueError(f"a group has at least one rank, not {n}")
    if op == "all_reduce":
        return 2.0 * (n - 1) / n
    if op in WHOLE:
        return (n - 1) / n
    if op in OPERATIONS:
        return 1.0
    raise ValueError(f"no operation {op!r}; there are {', '.join(OPERATIONS)}")


def algbw(nbytes: float, seconds: float) -> float:
    """Bytes per second of the algorithm."""
    return nbytes / seconds


def busbw(op: str, n: int, nbytes: float, seconds: float) -> float:
    """Bytes per second of a flat ring's links."""
    return algbw(nbytes, seconds) * factor(op, n)


def rounds(op: str, n: int) -> float:
    """Number of sequential latencies in a ring (in a tree for one-to-all operations)."""
    if op == "all_reduce":
        return 2.0 * (n - 1)
    if op in ("broadcast", "reduce"):
        return float(math.ceil(math.log2(n))) if n > 1 else 0.0
    return float(n - 1) if op in WHOLE else 1.0


def share(op: str, n: int) -> float:
    """Fraction of S that passes each link."""
    return factor(op, n)


def alpha_beta(op: str, n: int, fitted: Affine) -> tuple[float, float]:
    """(alpha in seconds, beta in seconds per byte) of one link, from T(S) = a + b S fitted to an operation of n ranks.

    Raises:
        ValueError: a group of one has no link.
    """
    if n < 2:
        raise ValueError("a group of one rank has no link to fit")
    return fitted.fixed / rounds(op, n), fitted.per_unit / share(op, n)


def predicted(op: str, n: int, nbytes: float, alpha: float, beta: float) -> float:
    """Seconds of an operation by the model; 0 in a group of one, which sends nothing."""
    return 0.0 if n == 1 else rounds(op, n) * alpha + share(op, n) * nbytes * beta
