"""What did the measured window of a load cost, and how much was produced in it?"""

from __future__ import annotations

import numpy as np
import polars as pl

from fireassay.estimates.estimate import Absent, Value
from fireassay.frames.costs import NO_PRICES, energy_method, usd_per_worker_second
from fireassay.frames.record_data import RecordData
from fireassay.frames.serving.requests import ENDED
from fireassay.metrics.serving.support.rates import quotients, windows, within

FREE = Absent(reason="undefined", detail="the price is 0 dollars per worker-hour")


def dollars_per(measured: RecordData, amount: pl.DataFrame, *, unit: str, name: str, aggregate: str, missing: str) -> dict[str, Value]:
    """Dollars of the window per unit of an amount, from a frame (launch, above)."""
    return _dollars(measured, amount, unit, name, aggregate, missing, inverse=False)


def per_dollar(measured: RecordData, amount: pl.DataFrame, *, unit: str, name: str, aggregate: str, missing: str) -> dict[str, Value]:
    """Units of an amount per dollar of the window, from a frame (launch, above)."""
    return _dollars(measured, amount, unit, name, aggregate, missing, inverse=True)


def _dollars(
    measured: RecordData, amount: pl.DataFrame, unit: str, name: str, aggregate: str, missing: str, *, inverse: bool
) -> dict[str, Value]:
    price = usd_per_worker_second(measured)
    if not price:
        return dict.fromkeys(measured.configurations, NO_PRICES if price is None else FREE)
    workers_by_window = windows(measured).join(measured.timed.select("launch", "workers"), on="launch")
    usd = workers_by_window.select("launch", (pl.col("workers") * pl.col("seconds") * price).alias("usd"))
    joined = usd.join(amount.rename({"above": "made"}), on="launch")
    above, below = ("made", "usd") if inverse else ("usd", "made")
    rows = joined.select("launch", pl.col(above).alias("above"), pl.col(below).alias("below"))
    return quotients(measured, rows, unit=unit, name=name, aggregate=aggregate, missing=missing, nothing_made=not inverse)


def joules_per(measured: RecordData, amount: pl.DataFrame, *, unit: str, name: str, aggregate: str, missing: str) -> dict[str, Value]:
    """Joules of the window per unit of an amount, from a frame (launch, above)."""
    method = energy_method(measured)
    rows = window_joules(measured).join(amount.rename({"above": "below"}), on="launch")
    method_words = f"{'MODELLED, not measured: ' if method == 'modelled' else ''}{aggregate}"
    return quotients(measured, rows, unit=unit, name=f"{name}|method:{method}", aggregate=method_words, missing=missing, nothing_made=True)


def window_joules(measured: RecordData) -> pl.DataFrame:
    """(launch, above): joules of all devices in the window, for launches with readings of every device around it."""
    readings = measured.table("telemetry").filter((pl.col("counter") == "energy") & (pl.col("method") == (energy_method(measured) or "")))
    rows = []
    for window in windows(measured).select("launch", "begin_ns", "end_ns").iter_rows():
        devices = readings.filter(pl.col("launch") == window[0]).partition_by("host", "device")
        increases = [_between(device, window[1], window[2]) for device in devices]
        known = [joules for joules in increases if joules is not None]
        if known and len(known) == len(increases):
            rows.append((window[0], sum(known)))
    return pl.DataFrame(rows, schema={"launch": pl.Int32, "above": pl.Float64}, orient="row")


def _between(device: pl.DataFrame, begin_ns: int, end_ns: int) -> float | None:
    """The increase of a cumulative counter between two times; None unless its readings cover both."""
    readings = device.sort("ns")
    ns, joules = readings["ns"].to_numpy(), readings["value"].to_numpy()
    if not ns[0] <= begin_ns < end_ns <= ns[-1]:
        return None
    first, last = np.interp(np.array([begin_ns, end_ns]) - ns[0], ns - ns[0], joules)
    return float(last - first)


def tokens_in_window(measured: RecordData) -> pl.DataFrame:
    """(launch, above): output tokens in the window, for launches where all are known."""
    return windows(measured).filter(pl.col("tokens").is_not_null()).select("launch", pl.col("tokens").alias("above"))


def good_tokens(measured: RecordData) -> pl.DataFrame:
    """(launch, above): output tokens of the requests that ended in the window and met every objective; 0 if none did."""
    return within(measured, ENDED, pl.col("met") & pl.col("tokens").is_not_null(), pl.col("tokens"))
