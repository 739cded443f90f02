"""LoadGen's logs hold totals: scenario and settings are rebuilt, its numbers are kept as reported, and no request is invented."""

from __future__ import annotations

from pathlib import Path

import pytest

from fireassay.clock import FakeClock
from fireassay.estimates.estimate import Estimate
from fireassay.importers.support.importing import import_results
from tests.importers.reading import foreign, imported, judged, measured, one, refusal, reported, requests, serving_of
from tests.importers.samples import SUMMARY, loadgen_detail, write

pytestmark = pytest.mark.slow


DETAIL = "mlperf_log_detail.txt"


def test_what_it_reported_is_kept_and_no_request_is_made_up(tmp_path: Path) -> None:
    (made,) = imported(tmp_path, DETAIL, loadgen_detail())
    record = measured(made)
    assert (made.has_requests, requests(record).height) == (False, 0)
    told = reported(record)
    assert told["p99 end to end"] == 228610000
    assert told["p99 TTFT"] == 138610000
    assert told["p99 TPOT"] == 10000000
    assert told["mean TTFT"] == 119500000
    assert told["samples planned per second"] == 12.48
    assert told["queries beyond their limit"] == 3
    assert foreign(record)["clock"] == "scheduled"
    assert foreign(record)["begin_utc"] == "2026-01-01T00:00:00+00:00"
    assert not any(isinstance(v, Estimate) for values in judged(record).results.values() for v in values.values())


def test_the_summary_tells_the_same_as_the_detailed_log(tmp_path: Path) -> None:
    summary = reported(one(tmp_path / "a", "mlperf_log_summary.txt", SUMMARY))
    detail = reported(one(tmp_path / "b", DETAIL, loadgen_detail()))
    for name in (
        "p99 end to end",
        "p50 end to end",
        "p99 TTFT",
        "p99 TPOT",
        "samples per second",
        "samples planned per second",
        "max end to end",
    ):
        assert summary[name] == detail[name], name
    assert summary["output tokens per second"] == 124.5


@pytest.mark.parametrize(
    ("scenario", "configuration", "process"),
    [
        ("Server", "rate=12.5", "server"),
        ("SingleStream", "single stream", "single_stream"),
        ("MultiStream", "multi stream", "multi_stream"),
        ("Offline", "offline", "offline"),
        ("Single Stream", "single stream", "single_stream"),
    ],
)
def test_the_scenario_is_rebuilt(tmp_path: Path, scenario: str, configuration: str, process: str) -> None:
    record = one(tmp_path, DETAIL, loadgen_detail(scenario))
    serving = serving_of(record)
    assert record.configurations == (configuration.replace(" ", "_"),)
    assert serving.arrivals.process == process
    if process == "offline":
        assert serving.arrivals.requests == 24576
    if process == "multi_stream":
        assert serving.arrivals.samples_per_query == 8


def test_a_result_that_loadgen_calls_invalid_is_invalid(tmp_path: Path) -> None:
    verdict = judged(one(tmp_path, DETAIL, loadgen_detail(valid=False))).verdict
    assert verdict.status == "INVALID"
    assert "Reduce target QPS" in verdict.sentence


def test_a_run_for_accuracy_and_logged_errors_are_doubted(tmp_path: Path) -> None:
    log = loadgen_detail(effective_test_mode="AccuracyOnly") + (
        ':::MLLOG {"key": "error_runtime", "value": "out of samples", "metadata": {"is_error": true}}\n'
    )
    doubts = foreign(one(tmp_path, DETAIL, log))["doubts"]
    assert len(doubts) == 2
    assert "AccuracyOnly" in doubts[0]
    assert "out of samples" in doubts[1]


def test_of_a_folder_the_detailed_log_is_read(tmp_path: Path) -> None:
    write(tmp_path / "run" / DETAIL, loadgen_detail())
    write(tmp_path / "run" / "mlperf_log_summary.txt", SUMMARY)
    (made,) = import_results(tmp_path / "run", tmp_path / "records", clock=FakeClock())
    assert foreign(measured(made))["file"] == DETAIL
    assert made.launches == 1


@pytest.mark.parametrize(
    ("log", "told"),
    [
        (":::MLLOG {not json}\n", "line 1"),
        (loadgen_detail() + ":::MLLOG [1]\n", "line 25"),
        (loadgen_detail() + ':::MLLOG {"key": 3}\n', "key"),
        (loadgen_detail("Chaos"), "effective_scenario"),
        (loadgen_detail(effective_target_qps=-1), "effective_target_qps"),
        (loadgen_detail(effective_target_qps="fast"), "effective_target_qps"),
        ("MLPerf Results Summary\nand no fact\n", "lines without a setting or result"),
    ],
)
def test_a_wrong_log_is_refused_by_field_and_line(tmp_path: Path, log: str, told: str) -> None:
    assert told in refusal(tmp_path, DETAIL, log)
