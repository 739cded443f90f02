"""Import a sample and look at what the record holds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fireassay.clock import FakeClock
from fireassay.errors import SpecError
from fireassay.estimates.estimate import Estimate
from fireassay.frames.record_data import RecordData, from_record
from fireassay.importers.support.importing import Imported, import_results
from fireassay.record.reader import open_record
from fireassay.spec.sections.serving import Serving
from fireassay.verdict.judge import Judgement, judge
from tests.importers.samples import write


def imported(folder: Path, file: str, content: object, **how: Any) -> tuple[Imported, ...]:
    """The records of one file."""
    return import_results(write(folder / file, content), folder / "records", clock=FakeClock(), **how)


def one(folder: Path, file: str, content: object, **how: Any) -> RecordData:
    """The only record of a file, as metrics see it."""
    (made,) = imported(folder, file, content, **how)
    return measured(made)


def measured(made: Imported) -> RecordData:
    record = open_record(made.path)
    assert record.sealed
    assert record.state == "complete"
    return from_record(record)


def requests(record: RecordData) -> pl.DataFrame:
    return record.table("requests").sort("launch", "request")


def foreign(record: RecordData) -> Mapping[str, Any]:
    assert record.foreign is not None
    return record.foreign


def judged(record: RecordData) -> Judgement:
    return judge(record)


def reported(record: RecordData) -> dict[str, float]:
    """name -> value of what the tool said."""
    return {told["name"]: told["value"] for told in foreign(record)["reported"]}


def serving_of(record: RecordData) -> Serving:
    """The load's settings."""
    assert record.experiment.serving is not None
    return record.experiment.serving


def value_of(record: RecordData, metric: str, configuration: str) -> float:
    """A metric's value."""
    estimate = judge(record).results[metric][configuration]
    assert isinstance(estimate, Estimate)
    return estimate.value


def refusal(folder: Path, file: str, content: object, **how: Any) -> str:
    """The message that refuses a file, of which no record is left."""
    with pytest.raises(SpecError) as caught:
        imported(folder, file, content, **how)
    assert list((folder / "records").glob("*")) == []
    return str(caught.value)
