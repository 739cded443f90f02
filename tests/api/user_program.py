"""A user's program: what the public API is used for, with types. `make check` checks it by mypy --strict; `test_studies.py` runs it."""

from __future__ import annotations

from pathlib import Path

import fireassay
from fireassay.errors import SpecError


def simulated(root: Path) -> fireassay.Record:
    """A record of a cluster whose links are known; a wrong argument says so."""
    try:
        return fireassay.simulate(workers=[1, 2], step_time="fast", root=root)
    except SpecError as error:
        print(error)
    return fireassay.simulate(workers=[1, 2], step_time=0.2, launches=3, steps=12, root=root)


def main(root: Path) -> dict[str, float]:
    """Measure, open, judge, look at numbers and tables."""
    record = fireassay.open(simulated(root).path)
    verdict: fireassay.Verdict = record.judge()
    assert verdict.status == "INVALID", "a simulation is no measurement"
    speedup = record.metric("speedup", workers=2)
    assert isinstance(speedup, fireassay.Estimate)
    cost = record.metric("cost_per_hour", workers=2) if "cost_per_hour" in record.metrics["metric"].to_list() else None
    assert cost is None or isinstance(cost, fireassay.Absent | fireassay.Estimate)
    rows: int = record.table("steps").height
    return {"low": speedup.low, "value": speedup.value, "high": speedup.high, "rows": float(rows), "page": float(len(record._repr_html_()))}
