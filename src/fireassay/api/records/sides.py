"""How are records judged for lists and for the pages of a site, each as seldom as possible?

The two records judged last are kept, since neighbours are compared; a judged record's summary goes into the cache.  A trend needs only the
main metrics, which the summaries hold: there a record is opened for its conditions, and not judged.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any, Final

from fireassay import catalog
from fireassay.api.records.survey import Entry, Measure, Summary, keep
from fireassay.api.sides import Watch, side, unwatched
from fireassay.errors import RecordError
from fireassay.estimates.estimate import Estimate
from fireassay.frames.record_data import RecordData, from_record
from fireassay.metrics.results import about
from fireassay.record.reader import judged_from, open_record
from fireassay.reports.answering import TONES
from fireassay.reports.words import STATUS_WORDS
from fireassay.verdict.comparison.types import Side
from fireassay.verdict.headline import headline
from fireassay.verdict.judge import Judgement
from fireassay.verdict.types import Verdict

KEPT: Final = 2


def all_judged(
    entries: Sequence[Entry], cache: Path, progress: Callable[[int, int, Entry], Any] = lambda *_: None, watch: Watch = unwatched
) -> list[Entry]:
    """The same entries, every complete one judged; `progress` gets number, total and entry before each is judged."""
    total = sum(entry.judgeable for entry in entries)
    result: list[Entry] = []
    number = 0
    for entry in entries:
        if entry.judgeable:
            number += 1
            progress(number, total, entry)
            entry = _judged(entry, cache, watch)
        result.append(entry)
    return result


def _judged(entry: Entry, cache: Path, watch: Watch) -> Entry:
    """Verify and judge a complete record, and keep its summary; one that cannot be judged becomes an entry with its problem."""
    try:
        summary = summarised(side(entry.path, watch=watch), entry)
    except RecordError as error:
        return replace(entry, state="damaged", reason=str(error))
    keep(summary, cache)
    return replace(entry, summary=summary)


def summarised(side: Side, entry: Entry) -> Summary:
    """The summary of a complete record."""
    measured, judgement = side.measured, side.judgement
    manifest, status = measured.manifest, judgement.verdict.status
    profiled = _profiled(measured)
    word = "profiled" if profiled and status not in ("FAIL", "INVALID") else measured.kind.word(status, STATUS_WORDS)
    return Summary(
        seal=measured.seal,
        name=str(manifest["name"]),
        id=str(manifest["id"]),
        created_utc=str(manifest["created_utc"]),
        kind=measured.kind.name,
        status=status,
        word=word,
        tone=TONES[status],
        headline=profiled or headline(measured, judgement),
        sentence=judgement.verdict.sentence,
        work=measured.experiment.workload.work,
        done=entry.done or 0,
        planned=entry.planned or 0,
        measures=_measures(judgement),
    )


def _profiled(measured: RecordData) -> str:
    """The largest part of a step, of a record that only profiles."""
    if not measured.profiles or not measured.timed.is_empty():
        return ""
    from fireassay.reports.pages import profile  # deferred: few records are profiles

    return profile.answer({"record": "", "launches": profile.of_record(measured)}).headline.partition(";")[0]


def _measures(judgement: Judgement) -> tuple[Measure, ...]:
    return tuple(
        Measure(metric=name, title=metric.title, better=metric.better, configuration=configuration, value=value)
        for name, metric in judgement.metrics.items()
        if metric.primary
        for configuration, value in judgement.results.get(name, {}).items()
        if isinstance(value, Estimate) and math.isfinite(value.value)
    )


class Sides:
    """Judges records; safe for several threads, one of which judges at a time."""

    def __init__(self, cache: Path, watch: Watch = unwatched) -> None:
        self.cache, self.watch = cache, watch
        self._kept: OrderedDict[Path, Side] = OrderedDict()
        self._lock = Lock()

    def judged(self, entry: Entry) -> Side:
        """The record, verified and judged. Raises RecordError: it cannot be opened or judged, or differs from its seal."""
        with self._lock:
            if entry.path not in self._kept:
                self._kept[entry.path] = judged = side(entry.path, entry.record, self.watch)
                if entry.judgeable:
                    keep(summarised(judged, entry), self.cache)
            self._kept.move_to_end(entry.path)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
            return self._kept[entry.path]


def remembered(entry: Entry, summary: Summary) -> Side:
    """The record with the main metrics of its summary in place of a new judgement: enough for conditions and histories."""
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
        # the names of scores from elsewhere are its own
        every = catalog.load_all("metrics") if measured.foreign is None else about(measured)
    metrics = {name: every[name] for name in results if name in every}
    return Side(
        label=entry.record,
        measured=measured,
        judgement=Judgement(results={name: results[name] for name in metrics}, verdict=verdict, metrics=metrics),
    )
