"""How many trials of a dependent stream are worth one independent trial?

Integrated autocorrelation time tau = 1 + 2 sum of rho_j over the lags j >= 1: the mean of N dependent values has tau times the
variance of that of N independent ones, so N values are worth N / tau.  rho_j is summed up to the smallest lag M with
M >= 5 tau(M) (Sokal, "Monte Carlo Methods in Statistical Mechanics", 1989, lecture 3): further lags add only noise.
Autocovariances use a zero-padded FFT, so a series does not wrap around, and only as many lags as M needs: a long series is
processed in pieces, each with the lags that follow it, which gives the same sums.
Known case: AR(1) with coefficient f has tau = (1 + f)/(1 - f).
Cannot tell: memory longer than the series; tau is then too small.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fireassay.stats.intervals.intervals import Floats, finite_vector

Array = NDArray[np.float64]

WINDOW: Final = 5  # autocorrelation times that the window must span (Sokal)
FIRST_LAGS: Final = 1 << 10  # computed first; MORE_LAGS times as many until the window closes
MORE_LAGS: Final = 8
PIECE: Final = 7  # block length of a long series, in lags; block plus lags is a power of two


def integrated_time(series: Sequence[Floats]) -> float:
    """Integrated autocorrelation time, in trials, of one stream given as several series (one per launch); at least 1.

    Every series is centred by the overall mean, so differences between series count as memory.  Lags go up to half of the
    longest series; longer series weigh more.  Constant values give 1.  ValueError if there is no series, an empty one, or a
    value that is not finite.
    """
    data = [finite_vector(values, "a series") for values in series]
    if not data:
        raise ValueError("an autocorrelation time needs at least one series")
    longest = max(map(len, data))
    if longest < 2 or _equal(data):
        return 1.0
    data = _scaled(data)
    centre = float(np.concatenate(data).mean())
    half, lags = longest // 2 + 1, FIRST_LAGS
    while True:
        lags = min(lags, half)
        covariance = np.zeros(lags)
        for values in data:
            products = _products(values - centre, lags)
            covariance[: len(products)] += products
        times = (2.0 * np.cumsum(covariance) / covariance[0] - 1.0)[1:]
        wide = np.arange(1, lags) >= WINDOW * times
        if wide.any() or lags == half:  # none wide enough: the memory outlasts the series
            return max(1.0, float(times[int(np.argmax(wide))] if wide.any() else times.max()))
        lags *= MORE_LAGS


def lag_one(values: Floats) -> float:
    """Lag-1 autocorrelation: sum of (x_t - mean)(x_{t+1} - mean) over the sum of squares; 0 if nothing varies."""
    data = finite_vector(values, "a series")
    away = data - data[0]
    widest = float(np.abs(away).max())
    if widest == 0.0:
        return 0.0
    away /= widest  # as in `_scaled`
    centred = away - away.mean()
    return float(centred[1:] @ centred[:-1]) / float(centred @ centred)


def _scaled(series: Sequence[Array]) -> list[Array]:
    """In units of the largest deviation from the first value, so that no square under- or overflows."""
    first = series[0][0]
    widest = max(float(np.abs(values - first).max()) for values in series)
    return [(values - first) / widest for values in series]


def _products(centred: Array, lags: int) -> Array:
    """sum over t of x_t x_{t+j}, for the lags j below `lags` and the length."""
    n, piece = len(centred), PIECE * lags
    if n <= piece + lags:
        size = 1 << (n + min(n, lags) - 1).bit_length()
        spectrum = np.fft.rfft(centred, size)
        return np.asarray(np.fft.irfft(np.abs(spectrum) ** 2, size)[: min(n, lags)], dtype=np.float64)
    pieces = -(-n // piece)
    padded = np.zeros(pieces * piece + lags)
    padded[:n] = centred
    size = piece + lags  # a power of two
    ahead = np.lib.stride_tricks.sliding_window_view(padded, size)[::piece]
    spectrum = np.zeros(size // 2 + 1, dtype=np.complex128)
    for window in ahead:  # one at a time: together they would need several times the memory of the series
        spectrum += np.conj(np.fft.rfft(window[:piece], size)) * np.fft.rfft(window, size)
    return np.asarray(np.fft.irfft(spectrum, size)[:lags], dtype=np.float64)


def _equal(series: Sequence[Array]) -> bool:
    first = series[0][0]
    return all(bool((values == first).all()) for values in series)
