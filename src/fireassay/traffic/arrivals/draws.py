"""Which random numbers does a schedule use, and why are they the same on every machine?

Every purpose (gaps, lengths, canaries ...) has its own stream, seeded by the launch's seed and the purpose's name, so enabling canaries
moves no arrival.  Only the raw output of PCG64 and SeedSequence is used, which numpy guarantees to keep (NEP 19); it does not guarantee
`Generator`'s distributions.  Logarithms use only additions, multiplications and divisions, which IEEE 754 rounds exactly, because
math libraries differ between machines.
The gamma distribution's inverse comes from scipy: its last digits may differ between scipy versions.
"""

from __future__ import annotations

import hashlib
from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

HALF_ROOT: Final = 0.7071067811865476  # sqrt(1/2): the mantissa lies within this factor of 1
LN_2_HIGH: Final = 0.693147180369123816490  # 32 trailing zero bits, so that multiples up to 2**31 are exact
LN_2_LOW: Final = 1.90821492927058770002e-10  # the remainder (as in fdlibm's e_log.c)
TERMS: Final = 12  # of the series of atanh; for mantissas this close to 1 the 13th is below 1e-19
SEEDS: Final = 2**53  # text seeds are smaller, so JSON represents them exactly


def source(seed: int, purpose: str) -> np.random.PCG64:
    """Raw random numbers for one purpose in one launch."""
    word = int.from_bytes(hashlib.sha256(purpose.encode()).digest()[:16], "little")
    return np.random.PCG64(np.random.SeedSequence([seed % 2**64, word]))


def generator(seed: int, purpose: str) -> np.random.Generator:
    """The same as a numpy generator, for drawing lengths."""
    return np.random.Generator(source(seed, purpose))


def uniform(raw: np.random.PCG64, n: int) -> Floats:
    """`n` numbers uniform on the multiples of 2**-53 in [0, 1); shape [n]."""
    return np.asarray(raw.random_raw(n) >> np.uint64(11), dtype=np.float64) * 2.0**-53


def exponential(raw: np.random.PCG64, n: int) -> Floats:
    """`n` exponential numbers with mean 1, by inversion; shape [n]."""
    return -logarithm(1.0 - uniform(raw, n))


def gamma(raw: np.random.PCG64, n: int, cv: float) -> Floats:
    """`n` gamma numbers with mean 1 and coefficient of variation `cv`, by inversion; shape [n]."""
    from scipy.special import gammaincinv

    shape = cv**-2
    return np.asarray(gammaincinv(shape, uniform(raw, n)) / shape, dtype=np.float64)


def text_seeds(seed: int, purpose: str, n: int) -> Ints:
    """Seeds of `n` texts: consecutive from a random start, so that all differ and compress well."""
    begin = int(source(seed, purpose).random_raw() >> 11)
    return (begin + np.arange(n, dtype=np.int64)) % SEEDS


def logarithm(values: Floats) -> Floats:
    """Natural logarithms of positive numbers, identical on every machine; relative error below 1e-15."""
    mantissa, exponent = np.frexp(values)
    low = mantissa < HALF_ROOT
    mantissa = np.where(low, 2.0 * mantissa, mantissa)
    exponent = np.asarray(exponent - low, dtype=np.float64)
    ratio = (mantissa - 1.0) / (mantissa + 1.0)
    square = ratio * ratio
    series = np.full_like(ratio, 1.0 / (2 * TERMS - 1))
    for term in range(TERMS - 2, -1, -1):
        series = series * square + 1.0 / (2 * term + 1)
    return np.asarray(exponent * LN_2_HIGH + (exponent * LN_2_LOW + 2.0 * ratio * series))
