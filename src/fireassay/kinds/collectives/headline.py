"""Which number decides a record of collectives?  The bus bandwidth of the first operation on most workers at its largest size."""

from __future__ import annotations

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import GIGABYTES, size_words
from fireassay.frames.links.collective_calls import asked_cells
from fireassay.frames.record_data import RecordData
from fireassay.verdict.headline import in_words
from fireassay.verdict.judge import Judgement


def headline(measured: RecordData, judgement: Judgement) -> str:
    """ "321 [313, 328] GB/s at 256 MiB"."""
    values = judgement.results.get("busbw", {})
    cells = [cell for cell in asked_cells(measured) if isinstance(values.get(cell.name), Estimate)]
    first = [cell for cell in cells if cell.op == cells[0].op]
    if not first:
        return ""
    cell = max(first, key=lambda one: (one.workers, one.nbytes))
    several = f" with {cell.workers} workers" if len({one.workers for one in first}) > 1 else ""
    return f"{in_words(values[cell.name], scale=GIGABYTES)} at {size_words(cell.size)}{several}"
