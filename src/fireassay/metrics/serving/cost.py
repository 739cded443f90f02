"""What does a token, request or good token cost in dollars and joules?

Dollars are replicas x price x window: the price of a worker-hour ([prices], with its date and source) is that of a replica, or of its
engine or role. Tokens are paid for where they are priced: those of the requests that ended in the window. Of storage, egress and unused
reservation the window has its share of the launch's time. Ramp and drain are neither charged nor credited, so the length of a launch
does not change the cost. Joules are those of the window, by
hardware counters (RAPL, NVML, or an endpoint of the server that exposes them), interpolated between two samples; counters measure
whole devices, idle power and other programs included, and the method marks modelled joules. A good token belongs to a request that
met every objective.
Cannot tell: what idle or reserved replicas cost outside of the load.

What did the measured window of a load cost, and how much was produced in it?
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
import polars as pl

from fireassay.estimates.estimate import Absent, Value
from fireassay.frames.carbon import grid_words, launch_grams
from fireassay.frames.costs import NO_PRICES, energy_method, energy_readings, energy_words, ledger, requests_usd
from fireassay.frames.record_data import RecordData
from fireassay.frames.serving.requests import ENDED
from fireassay.metrics.carbon import unknown
from fireassay.metrics.metric import Metric, Need, Results
from fireassay.metrics.serving.pooled import in_window, quotients, windows, within
from fireassay.units import (
    GRAMS_PER_TOKEN,
    JOULES_PER_REQUEST,
    JOULES_PER_TOKEN,
    NS_PER_S,
    TOKENS_PER_JOULE,
    TOKENS_PER_USD,
    USD_PER_REQUEST,
    USD_PER_TOKEN,
)

FREE = Absent("undefined", "the price is 0 dollars")


def dollars_per(measured: RecordData, amount: pl.DataFrame, *, unit: str, name: str, aggregate: str, missing: str) -> dict[str, Value]:
    """Dollars of the window per unit of an amount, from a frame (launch, above)."""
    return _by_price(measured, amount, unit, name, aggregate, missing, inverse=False)


def per_dollar(measured: RecordData, amount: pl.DataFrame, *, unit: str, name: str, aggregate: str, missing: str) -> dict[str, Value]:
    """Units of an amount per dollar of the window, from a frame (launch, above)."""
    return _by_price(measured, amount, unit, name, aggregate, missing, inverse=True)


def _by_price(
    measured: RecordData, amount: pl.DataFrame, unit: str, name: str, aggregate: str, missing: str, *, inverse: bool
) -> dict[str, Value]:
    usd = window_usd(measured)
    if usd is None or (usd.height and usd["usd"].max() == 0.0):
        return dict.fromkeys(measured.configurations, NO_PRICES if usd is None else FREE)
    joined = usd.join(amount.rename({"above": "made"}), on="launch")
    above, below = ("made", "usd") if inverse else ("usd", "made")
    rows = joined.select("launch", pl.col(above).alias("above"), pl.col(below).alias("below"))
    return quotients(measured, rows, unit=unit, name=name, aggregate=aggregate, missing=missing, nothing_made=not inverse)


def window_usd(measured: RecordData) -> pl.DataFrame | None:
    """(launch, usd): what was paid for the window, of launches where all of it is known; None without prices."""
    if measured.experiment.prices is None:
        return None
    whole = ledger(measured, measured.timed).join(measured.timed.select("launch", wall=_WALL), on="launch")
    shares = windows(measured).select("launch", "seconds").join(whole, on="launch")
    by_time = pl.sum_horizontal("compute", "reserved", "storage", "egress", "lost") * pl.col("seconds") / pl.col("wall")
    if not measured.experiment.prices.prices_tokens:
        return shares.select("launch", by_time.alias("usd"))
    bounds = windows(measured).select("launch", "begin_ns", "end_ns")
    ended = measured.timed_requests.select("launch", "request", ENDED.alias("ended")).join(requests_usd(measured), on=["launch", "request"])
    tokens = ended.join(bounds, on="launch").filter(in_window(pl.col("ended"))).group_by("launch").agg(pl.col("usd").sum())
    known = shares.join(tokens, on="launch", how="left").with_columns(pl.col("usd").fill_null(0.0))
    return known.select("launch", (by_time + pl.col("usd")).alias("usd"))


_WALL: Final = (pl.col("end_ns") - pl.col("begin_ns")) / NS_PER_S


def joules_per(measured: RecordData, amount: pl.DataFrame, *, unit: str, name: str, aggregate: str, missing: str) -> dict[str, Value]:
    """Joules of the window per unit of an amount, from a frame (launch, above)."""
    method = energy_method(measured)
    rows = window_joules(measured).join(amount.rename({"above": "below"}), on="launch")
    method_words = f"{aggregate}; joules: {energy_words(measured)}"
    return quotients(measured, rows, unit=unit, name=f"{name}|method:{method}", aggregate=method_words, missing=missing, nothing_made=True)


def window_joules(measured: RecordData) -> pl.DataFrame:
    """(launch, above): joules of all devices in the window, for launches with readings of every device around it."""
    readings = energy_readings(measured)
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


COST = partial(Metric, kind="rate", dimension="cost", about=("serving",))
NO_TOKENS: Final = "no tokens in the window, or no token counts: set the model's tokenizer (serving.tokenizer)"
NO_READING: Final = "no energy reading before and after the window, or"
ELSEWHERE: Final = (
    "If the engine runs on another machine whose counters are not read, the joules are the client's: see the devices in telemetry."
)


@dataclass(frozen=True, kw_only=True)
class Made:
    """A product counted per window and launch."""

    amount: Callable[[RecordData], pl.DataFrame]  # (launch, above)
    words: str
    missing: str
    needs: frozenset[Need] = frozenset()


def _answered(measured: RecordData) -> pl.DataFrame:
    return within(measured, ENDED, pl.col("ok"))


TOKEN: Final = Made(amount=tokens_in_window, words="output tokens in it", missing=NO_TOKENS)
REQUEST: Final = Made(amount=_answered, words="answers that ended in it", missing="no request was answered")
GOOD_TOKEN: Final = Made(
    amount=good_tokens,
    words="tokens of good requests that ended in it",
    missing="no request met every objective",
    needs=frozenset({"objectives", "token_times"}),
)


def _dollars(name: str, output: Made, unit: str, **declared: Any) -> Metric:
    aggregate = f"cost of the window / {output.words}"

    def compute(measured: RecordData, _: Results) -> Mapping[str, Value]:
        return dollars_per(measured, output.amount(measured), unit=unit, name=name, aggregate=aggregate, missing=output.missing)

    return COST(name=name, unit=unit, better="lower", formula=aggregate, compute=compute, needs=output.needs | {"window"}, **declared)


def _joules(name: str, output: Made, unit: str, *, formula: str = "", missing: str = "nothing was made in it", **declared: Any) -> Metric:
    aggregate = f"joules in the window / {output.words}"

    def compute(measured: RecordData, _: Results) -> Mapping[str, Value]:
        why = f"{NO_READING} {missing}"
        return joules_per(measured, output.amount(measured), unit=unit, name=name, aggregate=aggregate, missing=why)

    return COST(
        name=name,
        unit=unit,
        better="lower",
        formula=formula or aggregate,
        compute=compute,
        needs=output.needs | {"window", "energy"},
        **declared,
    )


def _bought(measured: RecordData, _: Results) -> Mapping[str, Value]:
    return per_dollar(
        measured,
        tokens_in_window(measured),
        unit=TOKENS_PER_USD,
        name="tokens_per_dollar",
        aggregate="output tokens in the window / cost of the window",
        missing=NO_TOKENS,
    )


COST_PER_REQUEST: Final = _dollars(
    "cost_per_request", REQUEST, USD_PER_REQUEST, title="Cost per request", question="What does an answered request cost?", rank=600
)
COST_PER_TOKEN: Final = _dollars(
    "cost_per_token",
    TOKEN,
    USD_PER_TOKEN,
    title="Cost per output token",
    question="What does an output token cost?",
    caveat="It also pays for prompt tokens: loads with different prompts are not comparable.",
    primary=True,
    rank=601,
)
COST_PER_GOOD_TOKEN: Final = _dollars(
    "cost_per_good_token",
    GOOD_TOKEN,
    USD_PER_TOKEN,
    title="Cost per good token",
    question="What does an output token of a request that met every objective cost?",
    caveat="Late and failed answers are paid for but not counted, so it shows when too few replicas cost more than they save.",
    rank=602,
)
TOKENS_PER_DOLLAR: Final = COST(
    name="tokens_per_dollar",
    title="Output tokens per dollar",
    unit=TOKENS_PER_USD,
    better="higher",
    formula="output tokens in the window / cost of the window",
    question="How many output tokens does a dollar buy?",
    caveat="The reciprocal of cost_per_token.",
    compute=_bought,
    needs=frozenset({"window"}),
    rank=603,
)
ENERGY_PER_TOKEN: Final = _joules(
    "energy_per_token",
    TOKEN,
    JOULES_PER_TOKEN,
    title="Energy per output token",
    question="How many joules does an output token use?",
    caveat=ELSEWHERE,
    rank=604,
)
ENERGY_PER_REQUEST: Final = _joules(
    "energy_per_request",
    REQUEST,
    JOULES_PER_REQUEST,
    title="Energy per request",
    question="How many joules does an answered request use?",
    caveat=ELSEWHERE,
    rank=605,
)
ENERGY_PER_GOOD_TOKEN: Final = _joules(
    "energy_per_good_token",
    GOOD_TOKEN,
    JOULES_PER_TOKEN,
    formula="joules in the window / output tokens of good requests",
    missing="no request met every objective",
    title="Energy per good token",
    question="How many joules does an output token of a request that met every objective use?",
    caveat="Late and failed answers use energy but are not counted.",
    rank=606,
)


def _per_joule(measured: RecordData, _: Results) -> Mapping[str, Value]:
    method = energy_method(measured)
    rows = tokens_in_window(measured).join(window_joules(measured).rename({"above": "below"}), on="launch").filter(pl.col("below") > 0.0)
    return quotients(
        measured,
        rows,
        unit=TOKENS_PER_JOULE,
        name=f"tokens_per_joule|method:{method}",
        aggregate=f"output tokens in the window / joules in the window; joules: {energy_words(measured)}",
        missing=f"{NO_READING} {NO_TOKENS}",
    )


TOKENS_OF_A_JOULE: Final = COST(
    name="tokens_per_joule",
    title="Output tokens per joule",
    unit=TOKENS_PER_JOULE,
    better="higher",
    formula="output tokens in the window / joules in the window",
    question="How many output tokens does a joule make?",
    caveat=ELSEWHERE,
    compute=_per_joule,
    needs=frozenset({"window", "energy"}),
    rank=607,
)


def _grams(measured: RecordData, _: Results) -> Mapping[str, Value]:
    if (why := unknown(measured)) is not None:
        return dict.fromkeys(measured.configurations, why)
    grams, lacking = launch_grams(measured, windows(measured).select("launch", "begin_ns", "end_ns"), covered=True)
    rows = grams.rename({"value": "above"}).join(tokens_in_window(measured).rename({"above": "below"}), on="launch")
    return quotients(
        measured,
        rows,
        unit=GRAMS_PER_TOKEN,
        name=f"carbon_per_token|method:{energy_method(measured)}",
        aggregate=f"grams in the window / output tokens in it; {energy_words(measured)}; {grid_words(measured)}",
        missing=lacking or NO_TOKENS,
        nothing_made=True,
    )


CARBON_PER_TOKEN: Final = COST(
    name="carbon_per_token",
    title="CO2 per output token",
    unit=GRAMS_PER_TOKEN,
    better="lower",
    formula="(kWh x PUE x intensity of the hour + embodied share) in the window / output tokens in it",
    question="How many grams of CO2 equivalent does an output token cause?",
    caveat=ELSEWHERE,
    compute=_grams,
    needs=frozenset({"window"}),
    rank=608,
)
METRICS = (
    CARBON_PER_TOKEN,
    TOKENS_OF_A_JOULE,
    COST_PER_REQUEST,
    COST_PER_TOKEN,
    COST_PER_GOOD_TOKEN,
    TOKENS_PER_DOLLAR,
    ENERGY_PER_TOKEN,
    ENERGY_PER_REQUEST,
    ENERGY_PER_GOOD_TOKEN,
)
