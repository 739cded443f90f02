"""Do the collectives carry right data, and is the network healthy?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import polars as pl

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.estimates.format import count, number, show
from fireassay.frames.links.network_probe import BACK, busbw, by, grown, hosts, lacks, readings, ways
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.printable import some
from fireassay.verdict.audits.audit import Audits
from fireassay.verdict.types import Finding, Severity

AUDITS = Audits(about=("collectives", "training"))


# ---- collective data ----

MAX_NAMED = 8  # ranks named in a finding
ROUNDING = 0.02  # relative, of a printed bandwidth against the one from its time
MIN_SHOWN = 1.0  # GB/s; below it, two printed decimals are too coarse
COLLECTIVE_HERE = "sum_is_here"  # a rank that is not the root holds the sum


@AUDITS.add("collective_data", "Did the timed collectives give correct data?", title="wrong data")
def examine_collective(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """One finding per operation, size and kind of corruption; one for unchecked calls.

    A collective with wrong results has no speed: its record fails, naming the operation, size, ranks and kind of corruption. Every timed
    call is checked with numbers that differ by rank, element and call (`fireassay.instruments.collectives.data`); if one rank's result has
    two explanations, the other ranks' results decide. An unchecked timed call makes the record INVALID: there is no evidence of what was
    timed.
    """
    launches = _collective_examined(measured).select("launch", "configuration")
    rows = (
        measured.table("collectives")
        .join(launches, on="launch")
        .filter((pl.col("phase") == "timed") & (pl.col("op") != "barrier") & (pl.col("method") != "simulated"))
    )
    return (*_collective_wrong(rows), *(_unchecked(rows) if measured.foreign is None else _of_others(measured, rows)))


def _collective_examined(measured: RecordData) -> pl.DataFrame:
    """Launches in which assay's own worker made the calls: all timed ones, or the sweeps beside a training."""
    if measured.kind.sweeps:
        return measured.timed
    return measured.table("launches").filter((pl.col("role") == "sweep") & (pl.col("status") == "ok"))


def _collective_wrong(rows: pl.DataFrame) -> Iterable[Finding]:
    key = ("configuration", "op", "in_place", "size", "bytes", "dtype")
    bad = rows.filter(pl.col("wrong") > 0)
    calls = rows.join(bad.select("launch", "group", "call").unique(), on=["launch", "group", "call"], how="semi")
    for of, group in calls.sort("launch", "call", "rank").partition_by(key, as_dict=True, maintain_order=True).items():
        first = group.filter(
            (pl.col("launch") == group["launch"][0]) & (pl.col("group") == group["group"][0]) & (pl.col("call") == group["call"][0])
        )
        seen = {int(rank): (fault or "", int(wrong or 0)) for rank, fault, wrong in first.select("rank", "fault", "wrong").iter_rows()}
        yield _collective_finding(dict(zip(key, of, strict=True)), seen, group)


def _collective_finding(of: Mapping[str, object], seen: Mapping[int, tuple[str, int]], rows: pl.DataFrame) -> Finding:
    ranks = sorted(rank for rank, (_, wrong) in seen.items() if wrong)
    calls = rows.filter(pl.col("wrong") > 0).select("launch", "group", "call").unique().height
    in_place = " in place" if of["in_place"] else ""
    where = "rank" if len(ranks) == 1 else "ranks"
    listed = some(ranks, MAX_NAMED)
    evidence = (
        f"{of['op']}{in_place} of {of['bytes']} bytes of {of['dtype']} on {of['size']} ranks gave wrong data in {count(calls, 'timed calls')}; in the "
        f"first (launch {rows['launch'][0]}, call {rows['call'][0]}) on {where} {listed}: {explained(seen, int(str(of['size'])))}, "
        f"{count(max(wrong for _, wrong in seen.values()), 'wrong elements')} on the worst rank"
    )
    remedy = (
        "find the faulty part between the ranks (library, driver, network card, an in-network reduction) before using any of these numbers; "
        "rows with wrong > 0 in the table collectives show where"
    )
    return Finding("collective_data_wrong", "fail", str(of["configuration"]), evidence, remedy)


def explained(seen: Mapping[int, tuple[str, int]], size: int) -> str:
    """The explanation consistent with all ranks' results of a call: rank -> (fault, wrong elements)."""
    faults = {rank: fault for rank, (fault, wrong) in seen.items() if wrong}
    elsewhere = [rank for rank, (fault, _) in seen.items() if fault == COLLECTIVE_HERE]
    if elsewhere:
        return f"wrong_root: the sum is on rank {elsewhere[0]}"
    kinds = dict.fromkeys(fault.partition(":")[0] for fault in faults.values())
    # Two ranks, in place: from its own input a rank cannot tell a missing update from a missing peer.
    if size == 2 and set(kinds) == {"stale", "rank_missing"}:
        return next(fault for fault in faults.values() if fault.startswith("rank_missing"))
    return "; ".join(dict.fromkeys(fault or "unknown" for fault in faults.values()))


def _unchecked(rows: pl.DataFrame) -> Iterable[Finding]:
    each = rows.group_by("configuration", "launch", "group", "call").agg(pl.col("wrong").is_not_null().any().alias("seen"))
    missing = each.filter(~pl.col("seen")).group_by("configuration").agg(pl.len().alias("calls")).sort("configuration")
    for configuration, calls in missing.iter_rows():
        evidence = f"{count(calls, 'timed calls')} were not checked on any rank, so what was timed is unknown"
        yield Finding("collective_data_unchecked", "invalid", configuration, evidence, "measure again; assay comm checks every timed call")


def _of_others(measured: RecordData, rows: pl.DataFrame) -> Iterable[Finding]:
    """Another program's numbers: what it checked, and whether they are consistent."""
    if not rows.height:  # an imported training, which names no collectives
        return
    foreign = measured.foreign or {}
    for doubt in foreign.get("doubts") or ():
        yield Finding("foreign_doubtful", "warning", None, str(doubt), "import the whole output, as the program wrote it")
    seen = rows["wrong"].is_not_null().sum()
    checked = f"{seen} of {count(rows.height, 'results')} have a count of wrong elements" if seen else "no data were checked"
    evidence = f"{foreign.get('title')} checks {(foreign.get('meanings') or {}).get('check')}; {checked}"
    yield Finding("collective_check_apart", "note" if seen else "warning", None, evidence, "assay comm checks the timed calls themselves")
    for launch, nbytes, in_place, printed in foreign.get("printed") or ():
        result = rows.filter((pl.col("launch") == launch) & (pl.col("bytes") == nbytes) & (pl.col("in_place") == int(in_place)))
        op, size, seconds = result["op"][0], result["size"][0], (result["end_ns"][0] - result["begin_ns"][0]) / 1e9
        ours = busbw(op, size, nbytes, seconds) * 1e-9
        if max(ours, printed) >= MIN_SHOWN and abs(ours - printed) > ROUNDING * max(ours, printed):
            evidence = (
                f"{nbytes} bytes in {seconds * 1e6:g} us on {size} ranks are a busbw of {ours:.2f} GB/s, and the file says {printed:g}"
            )
            remedy = "check that all of its device lines belong to the timed group"
            yield Finding("collective_numbers_contradict", "warning", None, evidence, remedy)
            return


# ---- network health ----

MAX_AGAIN = 0.01  # share of segments retransmitted
MIN_RATIO = 1.5
BUSY = 0.9  # processor utilisation
SEGMENT = 1448  # payload bytes of a 1514-byte frame


@AUDITS.add(
    "network_health", "Is any link to the other hosts broken, misconfigured or slow?", title="broken or slow network", about=("network",)
)
def examine_network(measured: RecordData, results: Results) -> Iterator[Finding]:
    """All problems, host by host.

    A host that never answered fails the record. Everything else is a warning with its numbers: what could not be measured and how to enable
    it, lost, damaged or dropped packets, retransmitted segments, a packet size that does not pass, half duplex, an interface or link slower
    than the others, one direction slower than the other. Thresholds: `MAX_AGAIN` of the segments (TCP retransmits less on a healthy link),
    `MIN_RATIO` between links or directions, `BUSY` of this machine's processors. Cannot tell: whether the cause lies on either machine or
    between them.
    """
    for host in hosts(measured):
        yield from _of_host(measured, results, host)
    yield from _interfaces(measured)
    yield from _slower(results, hosts(measured))


def _network_finding(rule: str, evidence: str, remedy: str, severity: Severity = "warning") -> Finding:
    return Finding(rule, severity, None, evidence, remedy or "no fix is known")


def _of_host(measured: RecordData, results: Results, host: str) -> Iterator[Finding]:
    if not by(measured, host) and isinstance(_network_value(results, "link_rate", host), Absent):
        tried = (
            "; ".join(dict.fromkeys(missing["why"] for missing in lacks(measured) if missing["to"] == host and missing["why"]))
            or "neither echo nor connection came back"
        )
        yield _network_finding(
            "host_silent",
            f"{host} did not answer in any round: {tried}",
            f"check that {host} runs and admits this machine: ip route get {host}",
            "fail",
        )
        return
    for lack in lacks(measured):
        if lack["to"] == host:
            yield _network_finding(f"no_{lack['what']}", f"{host}: {lack['why']} ({count(lack['rounds'], 'rounds')})", lack["mend"])
    lost = _network_value(results, "echoes_lost", host)
    if isinstance(lost, Estimate) and lost.value > 0:
        yield _network_finding(
            "echoes_lost",
            f"{host}: {show(lost).text} of {count(lost.n_trials, 'echoes')} did not come back",
            "check for a bad cable, a full queue or a firewall that limits echoes",
        )
    yield from _network_again(measured, host)
    yield from _network_path(measured, host)
    yield from _directions(results, host)
    yield from _busy(measured, host)


def _network_value(results: Results, metric: str, key: str) -> Estimate | Absent | None:
    return results.get(metric, {}).get(key)


def _network_again(measured: RecordData, host: str) -> Iterator[Finding]:
    for way, words in (("there", f"to {host}"), ("back", f"from {host}")):
        again = readings(measured, host, f"{way}_sent_again")["value"].sum()
        sent = float(readings(measured, host, f"{way}_sent")["value"].sum()) * _seconds(measured)
        share = float(again) * SEGMENT / sent if sent else 0.0
        if share > MAX_AGAIN:
            yield _network_finding(
                "sent_again",
                f"{words}: {count(int(again), 'segments')} were retransmitted, about {number(share * 100, 1)} % of them",
                "packets are lost or delayed on the way: check the drop counters of the interfaces and switches in between",
            )


def _seconds(measured: RecordData) -> float:
    words = [word.removeprefix("seconds=") for word in measured.experiment.workload.arguments if word.startswith("seconds=")]
    return max(1.0, round(float(words[-1]))) if words else 2.0


def _network_path(measured: RecordData, host: str) -> Iterator[Finding]:
    rows = readings(measured, host, "path_unbroken")
    if rows.height and not (rows["value"] > 0).any():
        way = ways(measured).get(host, {})
        yield _network_finding(
            "path_mtu",
            f"{host}: packets of {way.get('mtu')} bytes, the MTU of {way.get('interface')}, do not arrive unfragmented: "
            "the path allows only smaller ones",
            f"set the same MTU on every machine and switch, or a smaller one here: ip link set dev {way.get('interface')} mtu SIZE",
        )


def _directions(results: Results, host: str) -> Iterator[Finding]:
    there, back = _network_value(results, "link_rate", host), _network_value(results, "link_rate", f"{host}{BACK}")
    if not (isinstance(there, Estimate) and isinstance(back, Estimate)):
        return
    ratio = max(there.value, back.value) / min(there.value, back.value)
    apart = there.high < back.low or back.high < there.low
    if ratio >= MIN_RATIO and (apart or there.n_launches == 1):
        slow, words = (there, f"to {host}") if there.value < back.value else (back, f"from {host}")
        yield _network_finding(
            "one_way_slower",
            f"{words} only {show(slow).text}, {number(ratio, 1)} times less than in the other direction",
            "check for a limit on one side (shaping, a virtual machine's quota), half duplex, or a busy sender",
        )


def _busy(measured: RecordData, host: str) -> Iterator[Finding]:
    for way in ("there", "back"):
        share = readings(measured, host, f"{way}_host_busy")["value"].max()
        if isinstance(share, float) and share > BUSY:
            yield _network_finding(
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
                yield _network_finding(
                    f"interface_{counter}",
                    f"{name}: {number(grew, 0)} {words} during the measurement",
                    f"see which: ip -s -s link show dev {name}; ethtool -S {name}",
                )
        if interface.get("duplex") == "half":
            yield _network_finding("half_duplex", f"{name} runs at half duplex", f"let both ends negotiate: ethtool -s {name} autoneg on")
        if name in speeds and speeds[name] < max(speeds.values()):
            yield _network_finding(
                "slower_interface",
                f"{name} runs at {number(speeds[name] / 1e6, 0)} Mbit/s, "
                f"another interface of this machine at {number(max(speeds.values()) / 1e6, 0)}",
                "check its cable and its switch port, or send through the faster interface",
            )


def _slower(results: Results, names: tuple[str, ...]) -> Iterator[Finding]:
    """A host with a link slower than the median of several."""
    known = {host: value for host in names if isinstance(value := _network_value(results, "link_rate", host), Estimate)}
    if len(known) < 2:
        return
    best_host, best = max(known.items(), key=lambda item: item[1].value)
    for host, value in known.items():
        if best.value / value.value >= MIN_RATIO and (value.high < best.low or value.n_launches == 1):
            yield _network_finding(
                "slower_link",
                f"to {host} {show(value).text}, to {best_host} {show(best).text}: {number(best.value / value.value, 1)} times as much",
                f"check the cable, the switch port and the negotiated speed of {host}'s interface",
            )
