"""How distant and how fast are other hosts?

Echoes by ping(8), or by TCP connections without ping; transfers by iperf3(1). Over rounds Student t on the logarithms.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from fireassay.estimates.estimate import Absent, Value
from fireassay.estimates.over_launches import exact
from fireassay.frames.links.network_probe import BACK, BY, by, hosts, medians, readings, why_not
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Metric, Results
from fireassay.units import BYTES_PER_SECOND, FRACTION, SECONDS

measure = partial(Metric, dimension="performance", about=("network",), primary=True)


def _round_trip(measured: RecordData, _: Results) -> Mapping[str, Value]:
    return {host: _echo_time(measured, host, by(measured, host) or "ping") for host in hosts(measured)}


def _echo_time(measured: RecordData, host: str, how: str) -> Value:
    missing = why_not(measured, host, "ping", "connect")
    return medians(measured, host, f"{how}_rtt", unit=SECONDS, name=f"round_trip|by:{how}", missing=missing)


ROUND_TRIP = measure(
    name="round_trip",
    title="Round trip",
    unit=SECONDS,
    kind="cost",
    better="lower",
    formula="median over echoes of (answer - question)",
    compute=_round_trip,
    question="How long is a round trip to another host?",
    caveat="Not one direction alone, nor the time under load, which an audit compares with it.",
    rank=1620,
)


def _link_rate(measured: RecordData, _: Results) -> Mapping[str, Value]:
    """One estimate per host and direction; the reverse direction under "HOST back"."""
    return {
        key: medians(measured, host, counter, unit=BYTES_PER_SECOND, name="link_rate", missing=why_not(measured, host, "iperf3"))
        for host in hosts(measured)
        for key, counter in ((host, "there_received"), (f"{host}{BACK}", "back_received"))
    }


LINK_RATE = measure(
    name="link_rate",
    title="Rate of the link",
    unit=BYTES_PER_SECOND,
    kind="rate",
    better="higher",
    formula="bytes received / seconds of an iperf3 transfer",
    compute=_link_rate,
    question="How much payload per second goes to another host, and comes back?",
    caveat="One TCP connection, without headers; the limit may be the network or either machine.",
    rank=1621,
    decides=1,
)


def _echoes_lost(measured: RecordData, _: Results) -> Mapping[str, Value]:
    return {host: _lost(measured, host) for host in hosts(measured)}


def _lost(measured: RecordData, host: str) -> Value:
    for how in BY:
        sent, answered = (readings(measured, host, f"{how}_{what}") for what in ("sent", "answered"))
        if sent["value"].sum() and (answered["value"].sum() or how == BY[-1]):
            share = 1.0 - float(answered["value"].sum()) / float(sent["value"].sum())
            number = round(float(sent["value"].sum()))
            return exact(
                share,
                unit=FRACTION,
                name=f"echoes_lost|by:{how}",
                n_launches=sent.height,
                n_trials=number,
                how=f"counted over {number} echoes",
            )
    return Absent("not_measured", why_not(measured, host, "ping", "connect"))


ECHOES_LOST = measure(
    name="echoes_lost",
    title="Echoes lost",
    unit=FRACTION,
    kind="ratio",
    better="lower",
    dimension="reliability",
    formula="1 - answered / sent",
    compute=_echoes_lost,
    question="What share of the echoes did not come back?",
    caveat="Either direction may lose a packet; losses rarer than one in the number of echoes are missed.",
    rank=1622,
)

METRICS = (ROUND_TRIP, LINK_RATE, ECHOES_LOST)
