"""Which random numbers does a schedule use, and why are they the same everywhere?

Every purpose (gaps, lengths, canaries ...) has a stream of its own, made from the launch's seed and the purpose's name, so
that asking for canaries moves no arrival.  Only the raw output of PCG64 and of SeedSequence is used, which numpy promises to
keep (NEP 19); what `Generator` makes of it is not promised.  Logarithms are made from additions, multiplications and
divisions, whose results IEEE 754 fixes to the last bit, as the mathematical libraries of two machines do not agree on theirs.
The gamma distribution's inverse comes from scipy: its last digits may differ between versions of scipy.
"""

from __future__ import annotations

import hashlib
from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

HALF_ROOT: Final = 0.7071067811865476  # of 2: the mantissa lies within a factor of this of 1
LN_2_HIGH: Final = 0.693147180369123816490  # with 32 trailing zero bits, so that its multiples up to 2**31 are exact
LN_2_LOW: Final = 1.90821492927058770002e-10  # the rest (as in fdlibm's e_log.c)
TERMS: Final = 12  # of the series of atanh; the 13th is below 1e-19 for mantissas so near 1
SEEDS: Final = 2**53  # texts' seeds are below this: they survive JSON


def source(seed: int, purpose: str) -> np.random.PCG64:
    """The stream of raw numbers for one purpose in one launch."""
    word = int.from_bytes(hashlib.sha256(purpose.encode()).digest()[:16], "little")
    return np.random.PCG64(np.random.SeedSequence([seed % 2**64, word]))


def generator(seed: int, purpose: str) -> np.random.Generator:
    """The same as a numpy generator, for drawing lengths."""
    return np.random.Generator(source(seed, purpose))


def uniform(raw: np.random.PCG64, n: int) -> Floats:
    """`n` numbers, each of 0, 2**-53 ... 1 - 2**-53 equally likely; shape [n]."""
    return np.asarray(raw.random_raw(n) >> np.uint64(11), dtype=np.float64) * 2.0**-53


def exponential(raw: np.random.PCG64, n: int) -> Floats:
    """`n` exponential numbers with mean 1, by inversion; shape [n]."""
    return -logarithm(1.0 - uniform(raw, n))


def gamma(raw: np.random.PCG64, n: int, cv: float) -> Floats:
    """`n` gamma numbers with mean 1 and coefficient of variation `cv`, by inversion; shape [n]."""
    from scipy.special import gammaincinv

    shape = cv**-2
    return np.asarray(gammaincinv(shape, uniform(raw, n)) / shape, dtype=np.float64)


def below(raw: np.random.PCG64, n: int, limit: int) -> Ints:
    """`n` whole numbers from 0 to limit - 1; shape [n]."""
    return np.asarray(np.floor(uniform(raw, n) * limit), dtype=np.int64)


def text_seeds(seed: int, purpose: str, n: int) -> Ints:
    """Seeds of `n` texts: counted up from a random begin, so that no two are equal and they take little room."""
    begin = int(source(seed, purpose).random_raw() >> 11)
    return (begin + np.arange(n, dtype=np.int64)) % SEEDS


def logarithm(values: Floats) -> Floats:
    """Natural logarithms of positive numbers, equal on every machine; relative error below 1e-15."""
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
