"""What was paid for each launch, and for what?

    compute   hours of the launch x the price of its workers (by role or engine where priced so); reserved hours first
    reserved  reserved hours that the launch did not use
    storage   a flat sum, or GB x price of a GB-month x hours / 730
    egress    a flat sum, or GB x price of a GB
    tokens    prompt tokens, cached ones apart, and output tokens x their prices
    lost      earlier attempts of the same run that the cluster ended with their nodes; spot also: all that failed, and of compute the time
              that interruptions made useless, taken out of it

The parts add up to the total: no second is paid twice. A launch whose tokens are priced but not counted has no total.
Cannot tell: discounts, minimum billing periods, taxes.

How many joules did each launch use, and by which method?

Counted joules of all devices are added; sampled and modelled ones are separate methods, never added to them. Each device's counter runs
from the launch's first reading to its last. A device is its host's name and its own: ranks that share a host share its readings.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import polars as pl

from fireassay.estimates.estimate import Absent
from fireassay.frames.clock_offsets import by_coordinator
from fireassay.frames.nodes import OTHERS, client_hosts_metered, worker_meters
from fireassay.frames.record_data import RecordData
from fireassay.frames.record_tables import once_per_record
from fireassay.frames.training.rank_time import HELD_UP, partition
from fireassay.spec.sections.prices import HOURS_PER_MONTH, Prices, of_launches
from fireassay.units import NS_PER_S, SECONDS_PER_HOUR

NO_PRICES = Absent("not_measured", "the experiment gives no prices; add [prices] usd_per_worker_hour, date and source")
COMPONENTS: Final = ("compute", "reserved", "storage", "egress", "tokens", "lost")
LOST: Final = ("detect", "restart", "reload", "recompute", HELD_UP)  # of a rank's time, after a failure
BROKEN: Final = ("failed", "timeout", "aborted")  # a launch that was paid for and gave nothing
MILLION: Final = 1e6
_SECONDS: Final = (pl.col("end_ns") - pl.col("begin_ns")) / NS_PER_S


def usd_per_second(measured: RecordData) -> Mapping[str, float] | None:
    """configuration -> US dollars of all its workers for a second; None: nothing is priced."""
    prices = measured.experiment.prices
    if prices is None:
        return None
    hours = {varied.name: of_launches(prices, varied.workers, varied.target) for varied in measured.varied}
    return {name: usd / SECONDS_PER_HOUR for name, usd in hours.items() if not math.isnan(usd)}


def usd_per_worker_second(measured: RecordData) -> float | None:
    """The price of a worker for a second; None if there is none, or none that all workers share."""
    prices = measured.experiment.prices
    return None if prices is None or prices.usd_per_worker_hour is None else prices.usd_per_worker_hour / SECONDS_PER_HOUR


def launch_usd(measured: RecordData, launches: pl.DataFrame) -> pl.DataFrame:
    """(launch, value): all that was paid for each given launch, whatever its status; without launches whose cost is not known."""
    return ledger(measured, launches).select("launch", pl.sum_horizontal(COMPONENTS).alias("value"))


def allocations(measured: RecordData) -> list[Mapping[str, Any]]:
    """Nodes that a cluster's engine lent, in order."""
    found = measured.manifest.get("allocations")
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []


def lost_launches(measured: RecordData) -> frozenset[int]:
    """The launches that ended with their allocation."""
    return frozenset(measured.table("events").filter(pl.col("kind") == "allocation_end")["launch"].to_list())


def components(measured: RecordData, prices: Prices) -> tuple[str, ...]:
    """The parts of the cost that these prices are about."""
    priced = {
        "compute": prices.usd_per_worker_hour is not None or bool(prices.roles),
        "reserved": prices.reserved_worker_hours is not None,
        "storage": prices.storage_usd is not None or prices.storage_gb is not None,
        "egress": prices.egress_usd is not None or prices.egress_gb is not None,
        "tokens": prices.prices_tokens,
        "lost": prices.market == "spot" or bool(lost_launches(measured)),
    }
    return tuple(name for name in COMPONENTS if priced[name])


def ledger(measured: RecordData, launches: pl.DataFrame) -> pl.DataFrame:
    """(launch, one column of US dollars per component, earlier) of the given launches, for those whose whole cost is known.

    `earlier`: of `lost`, the attempts before this one, which are launches of their own.
    """
    prices, rates = measured.experiment.prices, usd_per_second(measured)
    empty = pl.DataFrame(schema={"launch": pl.Int32, **dict.fromkeys((*COMPONENTS, "earlier"), pl.Float64)})
    if prices is None or rates is None or not launches.height:
        return empty
    rate = pl.col("configuration").replace_strict(rates, default=None, return_dtype=pl.Float64)
    paid = launches.select("launch", "slot", "attempt", "workers", _SECONDS.alias("seconds"), rate.alias("rate")).filter(
        pl.col("rate").is_not_null()
    )
    used = pl.col("seconds") * pl.col("rate")
    paid_workers = pl.col("workers") if prices.fleet_workers is None else pl.lit(prices.fleet_workers)
    of_worker = pl.when(paid_workers > 0).then(pl.col("rate") / paid_workers).otherwise(0.0)
    reserved = pl.lit((prices.reserved_worker_hours or 0.0) * SECONDS_PER_HOUR) * of_worker
    unused = pl.max_horizontal(reserved - used, pl.lit(0.0))
    whole = paid.with_columns(used.alias("compute"), unused.alias("reserved"), _storage(prices), _egress(prices))
    whole = whole.join(_lost(measured, launches, rates), on="launch", how="left").with_columns(pl.col("within", "earlier").fill_null(0.0))
    whole = whole.with_columns(
        (pl.col("compute") - pl.col("within")).alias("compute"), (pl.col("within") + pl.col("earlier")).alias("lost")
    )
    whole = _with_tokens(measured, whole, prices)
    return whole.select(empty.columns).sort("launch")


def _with_tokens(measured: RecordData, whole: pl.DataFrame, prices: Prices) -> pl.DataFrame:
    """The rows with `tokens`; without those of which some tokens are unknown."""
    if not prices.prices_tokens:
        return whole.with_columns(pl.lit(0.0).alias("tokens"))
    usd = requests_usd(measured).group_by("launch").agg(pl.col("usd").sum().alias("tokens"), pl.col("usd").null_count().alias("unknown"))
    joined = whole.join(usd, on="launch", how="left").with_columns(pl.col("tokens", "unknown").fill_null(0))
    return joined.filter(pl.col("unknown") == 0)


def _storage(prices: Prices) -> pl.Expr:
    if prices.storage_gb is None or prices.storage_usd_per_gb_month is None:
        return pl.lit(prices.storage_usd or 0.0).alias("storage")
    hours = pl.col("seconds") / SECONDS_PER_HOUR if prices.storage_hours is None else pl.lit(prices.storage_hours)
    return (prices.storage_gb * prices.storage_usd_per_gb_month / HOURS_PER_MONTH * hours).alias("storage")


def _egress(prices: Prices) -> pl.Expr:
    by_size = (prices.egress_gb or 0.0) * (prices.egress_usd_per_gb or 0.0)
    return pl.lit(prices.egress_usd if prices.egress_usd is not None else by_size).alias("egress")


def _lost(measured: RecordData, launches: pl.DataFrame, rates: Mapping[str, float]) -> pl.DataFrame:
    """(launch, within, earlier): dollars of the useless time in a launch, on spot workers, and of the attempts before it that gave nothing."""
    prices = measured.experiment.prices
    nothing = pl.DataFrame(schema={"launch": pl.Int32, "within": pl.Float64, "earlier": pl.Float64})
    taken = lost_launches(measured)
    if prices is None or (prices.market != "spot" and not taken):
        return nothing
    rate = pl.col("configuration").replace_strict(rates, default=0.0, return_dtype=pl.Float64)
    every = measured.table("launches").filter((pl.col("role") == "timed") & pl.col("status").is_in(BROKEN))
    if prices.market != "spot":
        every = every.filter(pl.col("launch").is_in(sorted(taken)))
    before = every.select("slot", pl.col("attempt").alias("_try"), (_SECONDS * rate).alias("usd"))
    tries = launches.filter(pl.col("role") == "timed").join(before, on="slot").filter(pl.col("_try") < pl.col("attempt"))
    earlier = tries.group_by("launch").agg(pl.col("usd").sum().alias("earlier"))
    useless = lost_rank_seconds(measured, launches) if prices.market == "spot" else nothing.select("launch", value="within")
    within = useless.join(launches.select("launch", "workers", rate.alias("rate")), on="launch")
    within = within.select("launch", (pl.col("value") / pl.col("workers") * pl.col("rate")).alias("within"))
    whole = launches.select("launch").join(within, on="launch", how="left").join(earlier, on="launch", how="left")
    return whole.with_columns(pl.col("within", "earlier").fill_null(0.0))


def lost_rank_seconds(measured: RecordData, launches: pl.DataFrame) -> pl.DataFrame:
    """(launch, value): rank-seconds between a failure and the step where the lost progress was regained, of restarted trainings."""
    restarted = launches.filter((pl.col("restarts") > 0) & pl.col("launch").is_in(measured.stepped["launch"].unique().implode()))
    if not restarted.height:
        return pl.DataFrame(schema={"launch": pl.Int32, "value": pl.Float64})
    spent = pl.sum_horizontal(*(pl.col(name) for name in LOST)).sum() / NS_PER_S
    return partition(measured, restarted).group_by("launch").agg(spent.alias("value"))


@once_per_record
def requests_usd(measured: RecordData) -> pl.DataFrame:
    """(launch, request, usd): price of the tokens of each request that was sent; null: some of its tokens are not known."""
    prices = measured.experiment.prices
    requests = measured.table("requests").select("launch", "request", "status", "sent_ns", "tokens_in", "tokens_cached", "tokens_out")
    if prices is None or not prices.prices_tokens:
        return requests.clear().select("launch", "request", pl.lit(0.0).alias("usd"))
    counts = measured.table("token_counts").select(
        "launch", "request", pl.col("tokens_in").alias("_in"), pl.col("tokens_out").alias("_out")
    )
    known = requests.join(counts, on=["launch", "request"], how="left").filter(pl.col("sent_ns").is_not_null())
    prompt, answer = pl.coalesce("tokens_in", "_in"), pl.coalesce("tokens_out", "_out")
    price_in, price_out = prices.usd_per_million_input_tokens or 0.0, prices.usd_per_million_output_tokens or 0.0
    price_cached = price_in if prices.usd_per_million_cached_tokens is None else prices.usd_per_million_cached_tokens
    cached = pl.min_horizontal(pl.col("tokens_cached").fill_null(0), prompt)  # not said: none is taken for cached
    usd = ((prompt - cached) * price_in + cached * price_cached + answer * price_out) / MILLION
    priced = pl.when(pl.col("status") == "ok").then(usd).otherwise(usd.fill_null(0.0))  # a refused request has no tokens
    return known.select("launch", "request", priced.alias("usd"))


# ---- energy ----


METHODS: Final = ("counter", "sampled", "modelled")  # the first that has readings


def energy_method(measured: RecordData) -> str | None:
    """counter, sampled or modelled, from the telemetry; None without energy readings."""
    methods = set(_readings(measured)["method"].to_list())
    return next((method for method in METHODS if method in methods), None)


def launch_joules(measured: RecordData) -> pl.DataFrame:
    """(launch, value): joules of all devices until the launch ended, by the one method that applies.

    The last reading is made after the end; the joules at the end lie on the line from the reading before.
    """
    joules: dict[int, float] = {}
    for device in energy_readings(measured).sort("ns").partition_by("launch", "host", "device"):
        launch = int(device["launch"][0])
        end_ns = _end_on(measured, launch, str(device["host"][0]))
        until = float(device["ns"][-1]) if end_ns is None else end_ns
        of_device = np.interp(until, device["ns"].to_numpy(), device["value"].to_numpy())
        joules[launch] = joules.get(launch, 0.0) + float(of_device)
    rows = [(launch, max(0.0, value)) for launch, value in sorted(joules.items())]
    return pl.DataFrame(rows, schema={"launch": pl.Int32, "value": pl.Float64}, orient="row")


@once_per_record
def _ends(measured: RecordData) -> Mapping[int, int | None]:
    return dict(measured.table("launches").select("launch", "end_ns").iter_rows())


def _end_on(measured: RecordData, launch: int, host: str) -> float | None:
    """The launch's end on a host's own clock; None: not known, as of a node whose clock could not be compared."""
    end_ns = _ends(measured).get(launch)
    if launch not in worker_meters(measured) or end_ns is None:
        return end_ns
    clock = by_coordinator(measured, launch, host)
    return clock.common(end_ns).offset if clock is not None and clock.known else None


def energy_gaps(measured: RecordData) -> Mapping[int, str]:
    """Launch -> whose joules are missing, of launches on several nodes: a sum of the others would be one of less work."""
    method = energy_method(measured)
    read = _readings(measured).filter(pl.col("method") == (method or "")).select("launch", "host").unique().rows()
    gaps: dict[int, str] = {}
    for launch, meters in worker_meters(measured).items():
        if method == "modelled" and all(meter.absent == OTHERS for meter in meters):
            continue  # watts x time of all workers, wherever they are
        lost = {meter.node: meter.trouble for meter in meters if meter.trouble}
        unread = {meter.node: f"{meter.node} has no reading" for meter in meters if (launch, meter.metered_by) not in read}
        lacks = {meter.node: (unread | lost).get(meter.metered_by) or lost.get(meter.node) for meter in meters}
        if missing := [why for why in lacks.values() if why]:
            gaps[launch] = f"joules of {len(meters) - len(missing)} of {len(meters)} hosts: {'; '.join(dict.fromkeys(missing))}"
    return gaps


def launch_bound(measured: RecordData) -> pl.DataFrame:
    """(launch, value): joules by which `launch_joules` can be off, of launches whose meters state it."""
    method = energy_method(measured) or ""
    rows = _readings(measured, "energy_bound").filter(pl.col("method") == method)
    per_device = rows.sort("ns").group_by("launch", "host", "device").agg(pl.col("value").last())
    return per_device.group_by("launch").agg(pl.col("value").sum())


@once_per_record
def energy_readings(measured: RecordData) -> pl.DataFrame:
    """(launch, ns, host, device, value): joules since the launch's first reading, by the one method that applies.

    On request without idle power x time; a launch with a device whose idle power is unknown is then left out. So is one on several
    nodes of which not all were read to the end (`energy_gaps`).
    """
    rows = _readings(measured).filter(pl.col("method") == (energy_method(measured) or "")).select("launch", "ns", "host", "device", "value")
    rows = rows.filter(~pl.col("launch").is_in(list(energy_gaps(measured))))
    if measured.experiment.energy.idle == "include" or energy_method(measured) == "modelled":
        return rows
    key = ["launch", "host", "device"]
    idle = measured.table("telemetry").filter(pl.col("counter") == "idle_power").select(*key, pl.col("value").alias("_watts"))
    joined = rows.join(idle, on=key, how="left")
    known = joined.filter(pl.col("_watts").is_not_null().all().over("launch"))
    seconds = (pl.col("ns") - pl.col("ns").min().over(key)) / NS_PER_S
    return known.with_columns(pl.col("value") - pl.col("_watts") * seconds).drop("_watts")


def energy_words(measured: RecordData) -> str:
    """How the joules came about: counted, sampled or modelled, and whether without idle power."""
    energy, method = measured.experiment.energy, energy_method(measured)
    if method == "modelled":
        return "MODELLED, not measured: watts per worker x time"
    how = "sum of hardware counters" if method == "counter" else "integral of sampled power"
    return how if energy.idle == "include" else f"{how}, less idle power x time (idle for {energy.idle_s:g} s before each launch)"


def no_energy(measured: RecordData) -> Absent:
    """Why there are no joules, as the instrument reported it."""
    if measured.experiment.energy.source == "none":
        return Absent("not_measured", 'the experiment requests no energy (energy.source = "none")')
    energy = measured.before.get("energy")
    reason = energy.get("absent") if isinstance(energy, dict) else None
    return Absent("not_measured", str(reason or "no energy counter was readable on this machine (RAPL, NVML)"))


def _readings(measured: RecordData, counter: str = "energy") -> pl.DataFrame:
    """Without those of a load's client hosts: the joules of a load are the engine's, as far as it is metered."""
    rows = measured.table("telemetry").filter(pl.col("counter") == counter)
    return rows.filter(~pl.col("host").is_in(client_hosts_metered(measured)))
