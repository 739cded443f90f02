"""Prometheus' own parsers read every value, its interval, its verdict and the digest; and nothing that a record says breaks the file."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as plain

from fireassay.reports.exports.export import Subject
from fireassay.reports.exports.prometheus import name_of, text
from tests.exporting import subject
from tests.statuses import RECORDS

pytestmark = pytest.mark.slow
EVIL = 'a"b\\c\nd} 1\n# EOF\nfireassay_fake 7 \x1b[31m'
QUERY = re.compile(r"(fireassay_\w+)\{([^}]*)\}")

Sample = tuple[str, dict[str, str], float]


def samples(made: str) -> list[Sample]:
    """By both parsers, which have to agree."""
    read = [[(one.name, one.labels, one.value) for family in parse(made) for one in family.samples] for parse in (plain, openmetrics)]
    assert read[0] == read[1]
    return read[0]


@pytest.fixture(scope="module")
def load() -> Subject:
    return subject(RECORDS["load", "INVALID"](Path()))


def test_each_value_has_its_interval_its_standing_and_the_digest(load: Subject) -> None:
    read = {(name, labels.get("metric")): (labels, value) for name, labels, value in samples(text(load))}
    row = next(row for row in load.values if row.metric == "ttft_p50")
    for part, value in (("", row.value), ("low_", row.low), ("high_", row.high)):
        labels, found = read[f"fireassay_ttft_p50_{part}seconds", None]
        assert found == value
        assert {name: labels[name] for name in ("experiment", "digest", "configuration", "standing", "load")} == {
            "experiment": "served",
            "digest": "unsealed",
            "configuration": "rate=6",
            "standing": "invalid",
            "load": "6",
        }
    assert labels["confidence"] == "0.95"
    about = read["fireassay_record_info", None][0]
    assert (about["status"], about["standing"], about["reason"]) == ("INVALID", "invalid", "client bound")
    begun = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
    assert read["fireassay_record_created_timestamp_seconds", None][1] == begun


def test_what_was_not_measured_has_no_value_but_a_reason(load: Subject) -> None:
    read = samples(text(load))
    assert [name for name, _, _ in read if "ttft_p99_" in name] == []
    reasons = {labels["metric"]: labels["reason"] for name, labels, _ in read if name == "fireassay_absent_info"}
    assert reasons["ttft_p99"] == "insufficient"
    assert len(reasons) == sum(row.value is None for row in load.values)


def test_an_end_that_the_data_do_not_bound_is_infinite(load: Subject) -> None:
    made = Subject(view=load.view)
    vars(made)["values"] = tuple(replace(row, low=None, high=None) for row in load.values)
    read = samples(text(made))
    ends = {name: value for name, _, value in read if name.startswith("fireassay_ttft_p50")}
    assert ends["fireassay_ttft_p50_low_seconds"] == -math.inf
    assert ends["fireassay_ttft_p50_high_seconds"] == math.inf


def test_hostile_names_stay_inside_of_their_labels(load: Subject) -> None:
    made = Subject(view=load.view)
    vars(made)["head"] = replace(load.head, name=EVIL, sentence=EVIL)
    vars(made)["values"] = tuple(replace(row, metric=f"{row.metric} {EVIL}", configuration=EVIL, title=EVIL) for row in load.values)
    read = samples(text(made))
    assert len(read) == len(samples(text(load)))
    assert {name for name, _, _ in read if name == "fireassay_fake"} == set()
    assert {labels["experiment"] for _, labels, _ in read} == {'a"b\\c d} 1 # EOF fireassay_fake 7 \N{REPLACEMENT CHARACTER}[31m'}


@pytest.mark.parametrize(
    ("metric", "unit", "name"),
    [
        ("ttft_p50", "s", "fireassay_ttft_p50_seconds"),
        ("cost_per_token", "USD/token", "fireassay_cost_per_token_usd_per_token"),
        ("output_throughput", "1/s", "fireassay_output_throughput_per_second"),
        ("speedup", "ratio", "fireassay_speedup_ratio"),
        ("little_ratio", "ratio", "fireassay_little_ratio"),
        ("slo_attainment", "fraction", "fireassay_slo_attainment_ratio"),
        ("round_trip", "count", "fireassay_round_trip"),
        ("link_rate", "B/s", "fireassay_link_rate_bytes_per_second"),
    ],
)
def test_names_end_with_the_base_unit(metric: str, unit: str, name: str) -> None:
    assert "_".join(name_of(metric, unit)) == name


def test_every_query_of_the_dashboard_asks_for_a_series_and_labels_that_an_export_has(load: Subject, repository: Path) -> None:
    board = json.loads((repository / "examples" / "grafana" / "fireassay.json").read_text())
    known: dict[str, set[str]] = {}
    for name, labels, _ in samples(text(load)):
        known.setdefault(name, set()).update(labels)
    queries = [target["expr"] for panel in board["panels"] for target in panel.get("targets", ())]
    queries += [one["query"] for one in board["templating"]["list"] if one["type"] == "query"]
    assert len(queries) >= 6
    for name, selected in (found for query in queries for found in QUERY.findall(query)):
        assert name in known
        assert set(re.findall(r"(\w+)\s*[=!]", selected)) <= known[name]
