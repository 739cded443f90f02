"""Does a load follow the rules of MLPerf, and does an import agree with its own totals?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fireassay.frames.record_data import RecordData
from fireassay.verdict.audits.serving.standards import DEFECTS
from fireassay.verdict.judge import judge
from fireassay.verdict.pitfalls import of_record
from tests.importers.reading import one
from tests.importers.samples import aiperf_lines, genai_bench, guidellm, guidellm_benchmark, loadgen_detail, vllm
from tests.serving_made import ServingMade, simulated
from tests.verdict.served import clean, found

pytestmark = pytest.mark.slow


# ---- mlperf ----
# mlperf: duration and counts of its scenarios; counts are those of the MLCommons inference rules.


def run(process: str, queries: int, *, seconds: float = 600.0, late: int = 0, **asked: object) -> ServingMade:
    """So many requests evenly over the time; each takes 0.1 s, `late` of them 1 s to the first token."""
    made = ServingMade(process=process, rate=(1.0,) if process == "server" else (), blocks=1, seconds=seconds, **asked)
    launch = made.launch(wall_s=seconds + 10.0)
    for place in range(queries):
        slow = 1.0 if place < late else 0.1
        made.request(launch, seconds * place / max(1, queries - 1), at_s=[slow], tokens_out=1)
    return made


def evidence(made: ServingMade) -> tuple[str, str]:
    (finding,) = found("mlperf", made.measured())
    assert finding.severity == "note"
    return finding.rule, finding.evidence


def test_other_arrivals_are_not_mlperfs() -> None:
    assert found("mlperf", clean()) == ()


def test_a_short_run_is_not_one_of_mlperf() -> None:
    rule, words = evidence(run("single_stream", 100, seconds=30.0))
    assert rule == "mlperf_not_valid"
    assert words == "MLPerf SingleStream would not accept this run: duration 30.1 s, required >= 600 s"


def test_single_stream_needs_64_queries_and_multi_stream_662() -> None:
    assert evidence(run("single_stream", 64))[0] == "mlperf_valid"
    assert "early stopping 63 queries, required >= 64 queries for p90" in evidence(run("single_stream", 63))[1]
    assert evidence(run("multi_stream", 662))[0] == "mlperf_valid"
    assert "early stopping 661 queries, required >= 662 queries for p99" in evidence(run("multi_stream", 661))[1]


def test_a_server_run_needs_more_queries_the_more_are_late() -> None:
    """p99: 459 without a late one, 662 with one."""
    asked = {"objectives": {"ttft_s": 0.5}}
    assert evidence(run("server", 459, **asked))[0] == "mlperf_valid"
    assert "early stopping 458 queries, required >= 459 queries for p99 with 0 late" in evidence(run("server", 458, **asked))[1]
    assert evidence(run("server", 662, late=1, **asked))[0] == "mlperf_valid"
    assert "early stopping 661 queries, required >= 662 queries for p99 with 1 late" in evidence(run("server", 661, late=1, **asked))[1]


def test_a_server_run_without_a_bound_is_none() -> None:
    assert "latency bound none set, required serving.objectives" in evidence(run("server", 662))[1]


def test_offline_needs_its_samples() -> None:
    assert "samples 600, required >= 24,576" in evidence(run("offline", 600, arrivals={"requests": 600}))[1]


# ---- foreign ----
# foreign: what is known to be wrong with a tool's numbers is named where it applies, and nothing is said of our own records.

POISSON = {"type_": "poisson", "rate": 4.0}


def rules(record: RecordData) -> dict[str, str]:
    """rule -> severity of what the audit finds, with the record's own results."""
    return {finding.rule: finding.severity for finding in found("foreign", record, judge(record).results)}


def test_a_record_of_our_own_has_nothing_to_be_said() -> None:
    assert found("foreign", simulated(rate=(4.0,), seconds=5.0).measured()) == ()


@pytest.mark.parametrize(
    ("file", "sample", "named"),
    [
        ("run.json", vllm(), {"foreign_first_token": "warning", "foreign_chunks": "note"}),
        ("run.json", genai_bench(), {"foreign_connections": "warning", "foreign_cut_off": "warning"}),
        ("profile_export.jsonl", aiperf_lines(), {"foreign_clock": "warning", "foreign_skipped": "warning", "foreign_lengths": "note"}),
        (
            "benchmarks.json",
            guidellm(guidellm_benchmark(POISSON)),
            {"foreign_time_per_token": "warning", "foreign_arrivals": "warning", "foreign_wall_clock": "note"},
        ),
        (
            "benchmarks.json",
            guidellm(guidellm_benchmark({"type_": "synchronous"})),
            {"foreign_time_per_token": "warning", "foreign_wall_clock": "note"},
        ),
        ("mlperf_log_detail.txt", loadgen_detail(), {"foreign_without_requests": "warning", "foreign_totals": "note"}),
    ],
)
def test_each_tools_defects_are_named_where_they_apply(tmp_path: Path, file: str, sample: object, named: dict[str, str]) -> None:
    assert rules(one(tmp_path, file, sample)) == {**named, "foreign_unsaid": "note"}


def test_a_role_chunk_can_only_be_taken_for_a_token_in_a_chat(tmp_path: Path) -> None:
    assert "foreign_first_token" not in rules(one(tmp_path, "run.json", vllm(backend="vllm", endpoint_type="vllm")))


def test_a_clock_from_sending_is_a_warning_only_where_requests_are_due_by_themselves(tmp_path: Path) -> None:
    rate = {"request_rate": 4.0, "max_concurrency": None}
    assert rules(one(tmp_path / "open", "run.json", vllm(**rate)))["foreign_clock"] == "warning"
    assert "foreign_clock" not in rules(one(tmp_path / "closed", "run.json", vllm()))


def test_an_error_rate_that_is_always_0_is_held_against_the_rows(tmp_path: Path) -> None:
    (finding,) = (f for f in found("foreign", one(tmp_path, "run.json", genai_bench(failed={1, 2}))) if f.rule == "foreign_error_rate")
    assert finding.evidence == "genai-bench reports an error rate of 0, as it always does, although 2 requests of 40 failed"
    assert finding.configuration == "concurrency=8"


def test_totals_that_do_not_follow_from_the_requests_are_named(tmp_path: Path) -> None:
    record = one(tmp_path, "run.json", vllm(mean_ttft_ms=60.0))
    (finding,) = (f for f in found("foreign", record, judge(record).results) if f.rule == "foreign_contradiction")
    assert finding.severity == "warning"
    assert "mean TTFT 0.06 s, but its requests give 0.1195 s" in finding.evidence


def test_lists_that_contradict_the_totals_are_doubted_and_a_tools_own_invalid_is_invalid(tmp_path: Path) -> None:
    assert rules(one(tmp_path / "a", "run.json", {**vllm(), "completed": 12}))["foreign_doubtful"] == "warning"
    log = loadgen_detail(valid=False)
    assert rules(one(tmp_path / "b", "mlperf_log_detail.txt", log))["foreign_doubtful"] == "invalid"


def test_what_the_file_does_not_say_is_listed(tmp_path: Path) -> None:
    (finding,) = (f for f in found("foreign", one(tmp_path, "run.json", vllm())) if f.rule == "foreign_unsaid")
    assert "the environment: machine" in finding.evidence
    assert "--varying" in finding.remedy


@pytest.mark.parametrize(
    ("file", "sample", "unasked"),
    [
        ("run.json", vllm(), {"send_lag", "stall", "littles_law", "client_ceiling", "contention", "transport", "mlperf"}),
        ("profile_export.jsonl", aiperf_lines(), {"send_lag", "client_ceiling", "contention", "transport", "mlperf"}),
        ("benchmarks.json", guidellm(guidellm_benchmark(POISSON)), {"client_ceiling", "contention", "transport", "mlperf"}),
    ],
)
def test_audits_that_need_what_no_import_has_are_called_not_examined(tmp_path: Path, file: str, sample: Any, unasked: set[str]) -> None:
    record = one(tmp_path, file, sample)
    states = {pitfall.name: pitfall.state for pitfall in of_record(record)}
    assert {name for name in unasked if states[name] != "not examined"} == set()
    assert {name for name in ("sealed", "foreign") if states[name] == "not examined"} == set()


def test_of_totals_alone_only_the_record_itself_is_examined(tmp_path: Path) -> None:
    record = one(tmp_path, "run.json", vllm(detailed=False))
    examined = {p.name for p in of_record(record) if p.state != "not examined"}
    assert examined <= {"sealed", "launches", "foreign", "looks", "cherry_picked"}


def test_every_defect_has_evidence_and_a_way_on() -> None:
    defects = [defect for own in DEFECTS.values() for defect in own]
    assert all(defect.evidence and defect.remedy and defect.rule.startswith("foreign_") for defect in defects)
    assert len({defect.rule for defect in defects}) == len(defects)


def test_a_strange_manifest_is_survived(tmp_path: Path) -> None:
    record = one(tmp_path, "run.json", vllm())
    strange = replace(record, manifest={**record.manifest, "foreign": {"tool": "unheard_of", "requests": True}})
    assert set(rules(strange)) == {"foreign_unsaid"}
