"""Did the timed collectives give correct data?

A collective with wrong results has no speed: its record fails, naming the operation, size, ranks and kind of corruption. Every timed call
is checked with numbers that differ by rank, element and call (`fireassay.instruments.collectives.data`); if one rank's result has two
explanations, the other ranks' results decide. An unchecked timed call makes the record INVALID: there is no evidence of what was timed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import polars as pl

from fireassay.estimates.format import count
from fireassay.frames.links.bandwidth import busbw
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.types import Finding

MOST_NAMED = 8  # ranks named in a finding
ROUNDING = 0.02  # relative, of a printed bandwidth against the one from its time
LEAST_SHOWN = 1.0  # GB/s; below it, two printed decimals are too coarse
HERE = "sum_is_here"  # a rank that is not the root holds the sum


def examine(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """One finding per operation, size and kind of corruption; one for unchecked calls."""
    launches = _examined(measured).select("launch", "configuration")
    rows = (
        measured.table("collectives")
        .join(launches, on="launch")
        .filter((pl.col("phase") == "timed") & (pl.col("op") != "barrier") & (pl.col("method") != "simulated"))
    )
    return (*_wrong(rows), *(_unchecked(rows) if measured.foreign is None else _of_others(measured, rows)))


def _examined(measured: RecordData) -> pl.DataFrame:
    """Launches in which assay's own worker made the calls: all timed ones, or the sweeps beside a training."""
    if measured.kind.sweeps:
        return measured.timed
    return measured.table("launches").filter((pl.col("role") == "sweep") & (pl.col("status") == "ok"))


def _wrong(rows: pl.DataFrame) -> Iterable[Finding]:
    key = ("configuration", "op", "in_place", "size", "bytes", "dtype")
    bad = rows.filter(pl.col("wrong") > 0)
    calls = rows.join(bad.select("launch", "group", "call").unique(), on=["launch", "group", "call"], how="semi")
    for of, group in calls.sort("launch", "call", "rank").partition_by(key, as_dict=True, maintain_order=True).items():
        first = group.filter(
            (pl.col("launch") == group["launch"][0]) & (pl.col("group") == group["group"][0]) & (pl.col("call") == group["call"][0])
        )
        seen = {int(rank): (fault or "", int(wrong or 0)) for rank, fault, wrong in first.select("rank", "fault", "wrong").iter_rows()}
        yield _finding(dict(zip(key, of, strict=True)), seen, group)


def _finding(of: Mapping[str, object], seen: Mapping[int, tuple[str, int]], rows: pl.DataFrame) -> Finding:
    ranks = sorted(rank for rank, (_, wrong) in seen.items() if wrong)
    calls = rows.filter(pl.col("wrong") > 0).select("launch", "group", "call").unique().height
    in_place = " in place" if of["in_place"] else ""
    where = "rank" if len(ranks) == 1 else "ranks"
    listed = ", ".join(map(str, ranks[:MOST_NAMED])) + (" ..." if len(ranks) > MOST_NAMED else "")
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
    elsewhere = [rank for rank, (fault, _) in seen.items() if fault == HERE]
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
    foreign = measured.foreign or {}
    seen = rows["wrong"].is_not_null().sum()
    checked = f"{seen} of {count(rows.height, 'results')} have a count of wrong elements" if seen else "no data were checked"
    evidence = f"{foreign.get('title')} checks {(foreign.get('meanings') or {}).get('check')}; {checked}"
    yield Finding("collective_check_apart", "note" if seen else "warning", None, evidence, "assay comm checks the timed calls themselves")
    for launch, nbytes, in_place, printed in foreign.get("printed") or ():
        result = rows.filter((pl.col("launch") == launch) & (pl.col("bytes") == nbytes) & (pl.col("in_place") == int(in_place)))
        op, size, seconds = result["op"][0], result["size"][0], (result["end_ns"][0] - result["begin_ns"][0]) / 1e9
        ours = busbw(op, size, nbytes, seconds) * 1e-9
        if max(ours, printed) >= LEAST_SHOWN and abs(ours - printed) > ROUNDING * max(ours, printed):
            evidence = (
                f"{nbytes} bytes in {seconds * 1e6:g} us on {size} ranks are a busbw of {ours:.2f} GB/s, and the file says {printed:g}"
            )
            remedy = "check that all of its device lines belong to the timed group"
            yield Finding("collective_numbers_contradict", "warning", None, evidence, remedy)
            return


AUDIT = Audit(
    name="collective_data",
    title="wrong data",
    question="Did the timed collectives give correct data?",
    examine=examine,
    about=("collectives", "training"),
)
