"""Which number decides a training?  The speedup of the recommended worker count, or that more workers gain nothing."""

from __future__ import annotations

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import count
from fireassay.frames.record_data import RecordData
from fireassay.verdict.headline import in_words, recommended
from fireassay.verdict.judge import Judgement


def headline(measured: RecordData, judgement: Judgement) -> str:
    """ "3.58 [3.50, 3.66] times at 4", "keep 1 worker"; undecided: the speedup of the largest worker count."""
    workers = dict(zip(measured.configurations, measured.levels, strict=True))
    pick = None if judgement.verdict.status == "INCONCLUSIVE" else recommended(judgement)
    if pick == measured.base and len(workers) > 1:
        return f"keep {count(workers[pick], 'workers')}"
    speedups = judgement.results.get("speedup", {})
    known = [name for name in workers if name != measured.base and isinstance(speedups.get(name), Estimate)]
    name = pick if pick in known else known[-1] if known else ""
    return f"{in_words(speedups[name], 'times')} at {workers[name]}" if name else ""
