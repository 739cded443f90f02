"""No value leaves without its interval, its verdict and the record's digest, whatever the record."""

from __future__ import annotations

from pathlib import Path

import pytest

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.reports.exports.values import UNSEALED
from tests.answered import rows, scored
from tests.exporting import subject
from tests.statuses import RECORDS
from tests.tiers import some

pytestmark = pytest.mark.slow
KEYS = [
    ("load", "INVALID"),
    ("training", "FAIL"),
    *(("collectives", "MEASURED"), ("fleet", "FAIL"), ("network", "FAIL"), ("timing", "MEASURED"), ("answers", "PASS"), ("watch", "FAIL")),
]


@pytest.mark.parametrize("key", some(KEYS, 2), ids=lambda key: key[0])
def test_every_metric_of_a_record_is_a_row_with_its_interval_and_its_verdict(key: tuple[str, str], tmp_path: Path) -> None:
    made = subject(RECORDS[key](tmp_path))
    judged = {(row.name, at): made.results[row.name][at] for row in made.view.metrics for at in row.cells}
    assert {(row.metric, row.configuration) for row in made.values} == set(judged)
    assert made.head.status == key[1]
    for row in made.values:
        value = judged[row.metric, row.configuration]
        if isinstance(value, Absent):
            assert (row.value, row.low, row.high, row.admissible, row.standing) == (None, None, None, False, value.reason)
            assert row.reason
        else:
            assert isinstance(value, Estimate)
            assert (row.value, row.confidence, row.launches) == (value.value, value.confidence, value.n_launches)
            assert (row.admissible, row.standing) == (made.head.admissible, made.head.standing)


def test_what_a_configuration_is_made_of_are_labels() -> None:
    made = subject(RECORDS["load", "INVALID"](Path()))
    assert {tuple(row.labels.items()) for row in made.values if row.configuration == "rate=6"} == {
        (("engine", "server"), ("scenario", "D(100,100)"), ("load", "6"), ("workers", "2"))
    }
    cells = subject(RECORDS["collectives", "MEASURED"](Path()))
    assert next(row.labels for row in cells.values if row.configuration.endswith(" bytes=1024")) == {
        "workers": "2",
        "op": "all_reduce",
        "place": "in",
        "bytes": "1024",
    }


def test_the_digest_is_that_of_the_seal_and_an_unsealed_record_says_so(tmp_path: Path) -> None:
    measured = scored(tmp_path, {"a": rows(["x"] * 40), "b": rows(["x"] * 40)})
    assert subject(measured).head.digest == measured.seal
    assert len(measured.seal) == 64
    assert subject(RECORDS["training", "INVALID"](tmp_path)).head.digest == UNSEALED
