"""How are records judged for the pages of a site, each as seldom as possible?

The two records judged last are kept, since neighbours are compared; a judged record's summary goes into the cache.  A trend needs only the
main metrics, which the summaries hold: there a record is opened for its conditions, and not judged.
"""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from fireassay.cli.support import record_lookup
from fireassay.cli.support.records import verdict_cache
from fireassay.cli.support.records.summary import Summary, summarised
from fireassay.cli.support.records.survey import Entry

if TYPE_CHECKING:
    from fireassay.verdict.comparison.types import Side

KEPT: Final = 2


class Sides:
    """Judges records; safe for several threads, one of which judges at a time."""

    def __init__(self, cache: Path) -> None:
        self.cache = cache
        self._kept: OrderedDict[Path, Side] = OrderedDict()
        self._lock = Lock()

    def judged(self, entry: Entry) -> Side:
        """The record, verified and judged.

        Raises:
            RecordError: it cannot be opened or judged, or differs from its seal.
        """
        with self._lock:
            if entry.path not in self._kept:
                self._kept[entry.path] = side = record_lookup.side(entry.path, entry.record)
                if entry.judgeable:
                    done, planned = entry.done or 0, entry.planned or 0
                    verdict_cache.keep(summarised(side.measured, side.judgement, done=done, planned=planned), self.cache)
            self._kept.move_to_end(entry.path)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
            return self._kept[entry.path]


def remembered(entry: Entry, summary: Summary) -> Side:
    """The record with the main metrics of its summary in place of a new judgement: enough for conditions and histories."""
    from fireassay import catalog
    from fireassay.frames.record_data import from_record
    from fireassay.metrics.results import about
    from fireassay.record.reader import open_record
    from fireassay.record.unjudged import judged_from
    from fireassay.verdict.comparison.types import Side
    from fireassay.verdict.judge import Judgement
    from fireassay.verdict.types import Verdict

    results: dict[str, dict[str, Any]] = {}
    for measure in summary.measures:
        results.setdefault(measure.metric, {})[measure.configuration] = measure.value
    verdict = Verdict(
        status=summary.status,  # type: ignore[arg-type]
        findings=(),
        gates=(),
        dimensions={},
        recommendations=(),
        sentence=summary.sentence,
    )
    with judged_from(entry.path):
        measured = from_record(open_record(entry.path))
        every = (
            catalog.load_all("metrics") if measured.foreign is None else about(measured)
        )  # the names of scores from elsewhere are its own
    metrics = {name: every[name] for name in results if name in every}
    return Side(
        label=entry.record,
        measured=measured,
        judgement=Judgement(results={name: results[name] for name in metrics}, verdict=verdict, metrics=metrics),
    )
