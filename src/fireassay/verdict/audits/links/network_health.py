"""Is any link to the other hosts broken, misconfigured or slow?

A host that never answered fails the record. Everything else is a warning with its numbers: what could not be measured and how to enable it,
lost, damaged or dropped packets, retransmitted segments, a packet size that does not pass, half duplex, an interface or link slower than
the others, one direction slower than the other. Thresholds: `MOST_AGAIN` of the segments (TCP retransmits less on a healthy link),
`LEAST_RATIO` between links or directions, `BUSY` of this machine's processors. Cannot tell: whether the cause lies on either machine or
between them.
"""

from __future__ import annotations

from collections.abc import Iterator

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.estimates.format import count, number, show
from fireassay.frames.links.network_probe import BACK, by, grown, hosts, lacks, readings, ways
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.types import Finding, Severity

MOST_AGAIN = 0.01  # share of segments retransmitted
LEAST_RATIO = 1.5
BUSY = 0.9  # processor utilisation
SEGMENT = 1448  # payload bytes of a 1514-byte frame


def examine(measured: RecordData, results: Results) -> Iterator[Finding]:
    """All problems, host by host."""
    for host in hosts(measured):
        yield from _of_host(measured, results, host)
    yield from _interfaces(measured)
    yield from _slower(results, hosts(measured))


def _finding(rule: str, evidence: str, remedy: str, severity: Severity = "warning") -> Finding:
    return Finding(rule, severity, None, evidence, remedy or "no fix is known")


def _of_host(measured: RecordData, results: Results, host: str) -> Iterator[Finding]:
    if not by(measured, host) and isinstance(_value(results, "link_rate", host), Absent):
        tried = (
            "; ".join(dict.fromkeys(missing["why"] for missing in lacks(measured) if missing["to"] == host and missing["why"]))
            or "neither echo nor connection came back"
        )
        yield _finding(
            "host_silent",
            f"{host} did not answer in any round: {tried}",
            f"check that {host} runs and admits this machine: ip route get {host}",
            "fail",
        )
        return
    for lack in lacks(measured):
        if lack["to"] == host:
            yield _finding(f"no_{lack['what']}", f"{host}: {lack['why']} ({count(lack['rounds'], 'rounds')})", lack["mend"])
    lost = _value(results, "echoes_lost", host)
    if isinstance(lost, Estimate) and lost.value > 0:
        yield _finding(
            "echoes_lost",
            f"{host}: {show(lost).text} of {count(lost.n_trials, 'echoes')} did not come back",
            "check for a bad cable, a full queue or a firewall that limits echoes",
        )
    yield from _again(measured, host)
    yield from _path(measured, host)
    yield from _directions(results, host)
    yield from _busy(measured, host)


def _value(results: Results, metric: str, key: str) -> Estimate | Absent | None:
    return results.get(metric, {}).get(key)


def _again(measured: RecordData, host: str) -> Iterator[Finding]:
    for way, words in (("there", f"to {host}"), ("back", f"from {host}")):
        again = readings(measured, host, f"{way}_sent_again")["value"].sum()
        sent = float(readings(measured, host, f"{way}_sent")["value"].sum()) * _seconds(measured)
        share = float(again) * SEGMENT / sent if sent else 0.0
        if share > MOST_AGAIN:
            yield _finding(
                "sent_again",
                f"{words}: {count(int(again), 'segments')} were retransmitted, about {number(share * 100, 1)} % of them",
                "packets are lost or delayed on the way: check the drop counters of the interfaces and switches in between",
            )


def _seconds(measured: RecordData) -> float:
    words = [word.removeprefix("seconds=") for word in measured.experiment.workload.arguments if word.startswith("seconds=")]
    return max(1.0, round(float(words[-1]))) if words else 2.0


def _path(measured: RecordData, host: str) -> Iterator[Finding]:
    rows = readings(measured, host, "path_unbroken")
    if rows.height and not (rows["value"] > 0).any():
        way = ways(measured).get(host, {})
        yield _finding(
            "path_mtu",
            f"{host}: packets of {way.get('mtu')} bytes, the MTU of {way.get('interface')}, do not arrive unfragmented: "
            "the path allows only smaller ones",
            f"set the same MTU on every machine and switch, or a smaller one here: ip link set dev {way.get('interface')} mtu SIZE",
        )


def _directions(results: Results, host: str) -> Iterator[Finding]:
    there, back = _value(results, "link_rate", host), _value(results, "link_rate", f"{host}{BACK}")
    if not (isinstance(there, Estimate) and isinstance(back, Estimate)):
        return
    ratio = max(there.value, back.value) / min(there.value, back.value)
    apart = there.high < back.low or back.high < there.low
    if ratio >= LEAST_RATIO and (apart or there.n_launches == 1):
        slow, words = (there, f"to {host}") if there.value < back.value else (back, f"from {host}")
        yield _finding(
            "one_way_slower",
            f"{words} only {show(slow).text}, {number(ratio, 1)} times less than in the other direction",
            "check for a limit on one side (shaping, a virtual machine's quota), half duplex, or a busy sender",
        )


def _busy(measured: RecordData, host: str) -> Iterator[Finding]:
    for way in ("there", "back"):
        share = readings(measured, host, f"{way}_host_busy")["value"].max()
        if isinstance(share, float) and share > BUSY:
            yield _finding(
                "host_busy",
                f"{host}: this machine's processors were {number(share * 100, 0)} % busy during the transfer: "
                "the rate may be theirs and not the link's",
                "dedicate the machine to the measurement",
            )
            return


def _interfaces(measured: RecordData) -> Iterator[Finding]:
    seen = ways(measured)
    speeds = {interface["interface"]: interface["speed_bits"] for interface in seen.values() if interface.get("speed_bits")}
    for name, interface in {interface["interface"]: interface for interface in seen.values() if interface.get("interface")}.items():
        for counter, words in (("errors", "packets were damaged"), ("dropped", "packets were dropped")):
            if (grew := grown(measured, f"net-{name}", counter)) > 0:
                yield _finding(
                    f"interface_{counter}",
                    f"{name}: {number(grew, 0)} {words} during the measurement",
                    f"see which: ip -s -s link show dev {name}; ethtool -S {name}",
                )
        if interface.get("duplex") == "half":
            yield _finding("half_duplex", f"{name} runs at half duplex", f"let both ends negotiate: ethtool -s {name} autoneg on")
        if name in speeds and speeds[name] < max(speeds.values()):
            yield _finding(
                "slower_interface",
                f"{name} runs at {number(speeds[name] / 1e6, 0)} Mbit/s, "
                f"another interface of this machine at {number(max(speeds.values()) / 1e6, 0)}",
                "check its cable and its switch port, or send through the faster interface",
            )


def _slower(results: Results, names: tuple[str, ...]) -> Iterator[Finding]:
    """A host with a link slower than the median of several."""
    known = {host: value for host in names if isinstance(value := _value(results, "link_rate", host), Estimate)}
    if len(known) < 2:
        return
    best_host, best = max(known.items(), key=lambda item: item[1].value)
    for host, value in known.items():
        if best.value / value.value >= LEAST_RATIO and (value.high < best.low or value.n_launches == 1):
            yield _finding(
                "slower_link",
                f"to {host} {show(value).text}, to {best_host} {show(best).text}: {number(best.value / value.value, 1)} times as much",
                f"check the cable, the switch port and the negotiated speed of {host}'s interface",
            )


AUDIT = Audit(
    name="network_health",
    title="broken or slow network",
    question="Is any link to the other hosts broken, misconfigured or slow?",
    examine=examine,
    about=("network",),
)
