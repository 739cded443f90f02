"""The numbers of nccl-tests: factors for nine operations and one to eight ranks, amounts, and a ring's time."""

from __future__ import annotations

from fractions import Fraction

import pytest

from fireassay.frames.links.network_probe import OPERATIONS, WHOLE, alpha_beta, busbw, factor, predicted
from fireassay.stats.models.affine_fit import affine_fit

# nccl-tests src/*.cu, *GetBw, copied by hand: the numerator over n, and whether S is that of all ranks
TABLE = {
    "all_reduce": (lambda n: 2 * (n - 1), False),
    "all_gather": (lambda n: n - 1, True),
    "reduce_scatter": (lambda n: n - 1, True),
    "all_to_all": (lambda n: n - 1, True),
    "gather": (lambda n: n - 1, True),
    "scatter": (lambda n: n - 1, True),
    "broadcast": (lambda n: n, False),
    "reduce": (lambda n: n, False),
    "send_recv": (lambda n: n, False),
}


@pytest.mark.parametrize("n", range(1, 9))
@pytest.mark.parametrize("op", OPERATIONS)
def test_factors_are_those_of_nccl_tests(op: str, n: int) -> None:
    above, whole = TABLE[op]
    assert factor(op, n) == pytest.approx(float(Fraction(above(n), n)))
    assert (op in WHOLE) is whole


def test_a_line_of_an_nccl_tests_table() -> None:
    """8 ranks, all_reduce of 128 MiB in 1,000 us: algbw 134.2 GB/s, busbw 234.9 GB/s."""
    assert busbw("all_reduce", 8, 134_217_728, 1e-3) / 1e9 == pytest.approx(234.88, abs=0.01)


@pytest.mark.parametrize("op", OPERATIONS)
@pytest.mark.parametrize("n", [2, 3, 8])
def test_alpha_and_beta_come_back_from_the_times_that_they_make(op: str, n: int) -> None:
    alpha, beta = 15e-6, 1 / 10e9
    sizes = [2.0**k for k in range(8, 29)]
    fitted = affine_fit(sizes, [predicted(op, n, size, alpha, beta) for size in sizes])
    assert alpha_beta(op, n, fitted) == pytest.approx((alpha, beta), rel=1e-6)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ValueError, match="no operation 'allreduce'"):
        factor("allreduce", 2)
    with pytest.raises(ValueError, match="at least one rank"):
        factor("all_reduce", 0)
    with pytest.raises(ValueError, match="no link"):
        alpha_beta("all_reduce", 1, affine_fit([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]))
    assert predicted("all_reduce", 1, 1e9, 1.0, 1.0) == 0.0
