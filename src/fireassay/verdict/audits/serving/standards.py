"""Does a load follow the rules of MLPerf, and does an import agree with its own totals?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import count, given, percent
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.spec.rules.serving import WITHOUT_TEXT
from fireassay.spec.sections.scenario import SECONDS, Requirements, requirements
from fireassay.verdict.audits.audit import SERVING, Audits
from fireassay.verdict.evidence.affected import by_configuration
from fireassay.verdict.evidence.sent_requests import main, serving_of
from fireassay.verdict.mlperf.own_loads import load_launches, load_rules
from fireassay.verdict.phrases import titled
from fireassay.verdict.types import Finding, Severity

AUDITS = Audits(about=SERVING)


# ---- mlperf ----


@AUDITS.add("mlperf", "Would this run meet MLPerf's rules for its scenario?", title="not an MLPerf run")
def examine_mlperf(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """A note per configuration of such a scenario, valid or not, for its shortest launch.

    The scenarios single_stream, multi_stream, server and offline take their arrivals from MLPerf, which also requires at least 600 s and
    enough queries. With early stopping (stats.early_stopping, confidence 0.99): SingleStream 64 queries for the p90, MultiStream 662 for
    the p99, Server h(t) + t for t late queries, Offline 24,576 samples. A shortfall is a note: the numbers and their intervals stand, but
    are not MLPerf's. Only duration and counts are checked; a submission needs more (accuracy run, seeds, LoadGen itself). Source:
    mlcommons/inference_policies, inference_rules.adoc.
    """
    required = requirements(serving_of(measured).arrivals.process)
    if required is None:
        return ()
    return tuple(_mlperf_finding(measured, required, name, rows) for name, rows in by_configuration(measured, load_launches(measured)))


def _mlperf_finding(measured: RecordData, required: Requirements, name: str, rows: pl.DataFrame) -> Finding:
    shortest_last = rows.sort("seconds", descending=True, nulls_last=True).iter_rows(named=True)
    missing = {one.rule: one for row in shortest_last for one in load_rules(measured, required, row) if one.status == "fail"}
    if missing:
        words = "; ".join(f"{one.rule} {one.found}, required {one.required}" for one in missing.values())
        remedy = f"serving.arrivals.duration_s = {SECONDS:g} or more, and enough queries; assay's own intervals hold without that"
        return Finding("mlperf_not_valid", "note", name, f"MLPerf {required.name} would not accept this run: {words}", remedy)
    evidence = f"duration and counts are those that MLPerf {required.name} requires; an accuracy run and LoadGen itself are not covered"
    return Finding("mlperf_valid", "note", name, evidence, "nothing")


# ---- foreign ----

FOREIGN_OPEN: Final = ("constant", "poisson", "gamma", "stages", "trace", "server")  # due times independent of the server
UNITS: Final = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
MAX_APART: Final = 0.01  # relative, for a number computed by the same definition from the same requests
INVALID: Final = "itself calls the result"  # marks a doubt as the tool's own verdict (importers/loadgen.py)
AGAIN: Final = "measure again with assay where it matters"


@dataclass(frozen=True, kw_only=True)
class Defect:
    """A known defect of a tool's numbers."""

    rule: str
    severity: Severity
    evidence: str
    remedy: str
    when: Callable[[RecordData], bool] = lambda measured: True


def _generates(measured: RecordData) -> bool:
    return serving_of(measured).task not in WITHOUT_TEXT


def _chats(measured: RecordData) -> bool:
    return serving_of(measured).task == "chat"  # also the default for a file without a task


def _poisson(measured: RecordData) -> bool:
    return serving_of(measured).arrivals.process == "poisson"


DEFECTS: Final[Mapping[str, tuple[Defect, ...]]] = {
    "genai_bench": (
        Defect(
            rule="foreign_connections",
            severity="warning",
            remedy="subtract nothing: compare only with tools that do the same, or measure again",
            evidence="genai-bench sets up a new connection for every request, and its clock runs meanwhile: DNS, TCP and TLS are in every time to "
            "the first token and every end-to-end time",
        ),
        Defect(
            rule="foreign_cut_off",
            severity="warning",
            remedy=AGAIN,
            evidence="requests that were under way when a run of genai-bench ended are killed and leave no row, so that the slowest answers are "
            "missing; its own means and percentiles may leave out answers of more than 1,000 tokens per second too",
        ),
    ),
    "vllm": (
        Defect(
            rule="foreign_first_token",
            severity="warning",
            when=_chats,
            remedy="check what the server sends first, or measure again",
            evidence="vLLM's benchmark takes the first message with choices for the first token, although it may be an empty role chunk: its time to "
            "the first token may be far too short, and the first gap too long (vllm#3759, vllm#15106)",
        ),
        Defect(
            rule="foreign_chunks",
            severity="note",
            when=_generates,
            remedy="do not compare gaps of engines that send several tokens in a chunk",
            evidence="vLLM's gaps (ITL) and its peak of tokens per second count chunks, whatever number of tokens each one holds",
        ),
    ),
    "aiperf": (
        Defect(
            rule="foreign_lengths",
            severity="note",
            when=_generates,
            remedy="compare token rates only if both count tokens alike",
            evidence="AIPerf counts output tokens with its own tokenizer on the text that came back, which need not give the tokens that were generated",
        ),
        Defect(
            rule="foreign_skipped",
            severity="warning",
            when=lambda measured: serving_of(measured).arrivals.process in FOREIGN_OPEN,
            remedy=AGAIN,
            evidence="with a cap on concurrency AIPerf skips arrivals that find no free slot, and they are in no number: under a stall the load "
            "falls instead of waiting",
        ),
    ),
    "guidellm": (
        Defect(
            rule="foreign_time_per_token",
            severity="warning",
            when=_generates,
            remedy="take our time per token, which leaves the first one out",
            evidence="guidellm's own time per output token includes the time to the first token; ours, from the same requests, does not",
        ),
        Defect(
            rule="foreign_arrivals",
            severity="warning",
            when=_poisson,
            remedy=AGAIN,
            evidence="guidellm's poisson arrivals repeat every gap once for each of its worker processes, so that requests come in bursts: with 10 workers "
            "their dispersion is 7.7 instead of 1 (simulated from its source)",
        ),
        Defect(
            rule="foreign_wall_clock",
            severity="note",
            remedy="check whether that machine's clock was set during the run",
            evidence="guidellm times requests by the wall clock, which may be set while it runs",
        ),
    ),
    "loadgen": (
        Defect(
            rule="foreign_totals",
            severity="note",
            remedy="keep LoadGen's own report; nothing is derived from it here",
            evidence="LoadGen calls the system under test in its own process: no network, no HTTP server and no queue before it is in its latencies",
        ),
    ),
}


@AUDITS.add("foreign", "What do the numbers of an imported record mean, and what do they lack?", title="numbers of another tool")
def examine_foreign(measured: RecordData, results: Results) -> tuple[Finding, ...]:
    """The meaning of an imported record's numbers; nothing for a record of our own.

    Load generators define latencies differently, and some definitions are wrong (read in their source code). This names the defects that
    may affect this record's numbers, a clock that starts at sending although arrivals were open-loop, totals that contradict the requests
    beside them, and information missing from the file. A result that its own tool calls invalid is INVALID here too. Cannot tell: whether
    the file is the tool's unmodified output.
    """
    foreign = measured.foreign
    if foreign is None:
        return ()
    return (
        *_doubts(foreign),
        *_totals(foreign),
        *_clock(measured, foreign),
        *_known(measured, foreign),
        *_contradicted(foreign, results),
        *_errors(measured, foreign),
        _unsaid(foreign),
    )


def _doubts(foreign: Mapping[str, Any]) -> Iterator[Finding]:
    """Reasons to doubt the file itself."""
    for words in foreign.get("doubts") or ():
        grave = INVALID in words
        yield Finding("foreign_doubtful", "invalid" if grave else "warning", None, str(words), AGAIN)


def _totals(foreign: Mapping[str, Any]) -> Iterator[Finding]:
    if not foreign.get("requests"):
        evidence = f"the file of {titled(foreign)} holds totals only: no percentile, share or interval can be derived from it, and none can be checked"
        yield Finding("foreign_without_requests", "warning", None, evidence, "import the file with the requests, if the tool writes one")


def _clock(measured: RecordData, foreign: Mapping[str, Any]) -> Iterator[Finding]:
    process = serving_of(measured).arrivals.process
    if foreign.get("clock") == "scheduled" or not foreign.get("requests") or process not in FOREIGN_OPEN:
        return
    evidence = (
        f"every latency begins when {foreign.get('title')} sent the request, not when it was due: requests that a stall or a full client held back look "
        "fast (coordinated omission)"
    )
    remedy = "quote no tail from it; measure again with a clock that starts when a request is due"
    yield Finding("foreign_clock", "warning", None, evidence, remedy)


def _known(measured: RecordData, foreign: Mapping[str, Any]) -> Iterator[Finding]:
    for defect in DEFECTS.get(str(foreign.get("tool")), ()):
        if (foreign.get("requests") or defect.rule == "foreign_totals") and defect.when(measured):
            yield Finding(defect.rule, defect.severity, None, defect.evidence, defect.remedy)


def _contradicted(foreign: Mapping[str, Any], results: Results) -> Iterator[Finding]:
    """The tool's numbers that do not follow from its own requests, for equal definitions and requests."""
    for reported in foreign.get("reported") or ():
        ours = results.get(str(reported.get("ours")), {}).get(str(reported.get("configuration")))
        if not reported.get("same") or not isinstance(ours, Estimate) or ours.n_launches != 1 or ours.value <= 0.0:
            continue
        stated = float(reported["value"]) * UNITS.get(str(reported.get("unit")), 1.0)
        apart = abs(stated - ours.value) / ours.value
        if apart > MAX_APART:
            sentence = f"the file reports {reported.get('name')} {given(stated)} s, but its requests give {given(ours.value)} s"
            evidence = f"{sentence} by the same definition: {percent(apart)} apart"
            remedy = "check whether the file was edited, or assembled from several"
            yield Finding("foreign_contradiction", "warning", str(reported["configuration"]), evidence, remedy)


def _errors(measured: RecordData, foreign: Mapping[str, Any]) -> Iterator[Finding]:
    """genai-bench computes its error rate before it counts its requests."""
    for reported in foreign.get("reported") or ():
        if foreign.get("tool") != "genai_bench" or reported.get("ours") != "error_rate" or reported.get("value") != 0.0:
            continue
        rows = main(measured, "status").filter(pl.col("configuration") == reported["configuration"])
        failed = rows.filter(pl.col("status") != "ok").height
        if failed:
            evidence = (
                f"genai-bench reports an error rate of 0, as it always does, although {count(failed, 'requests')} of {rows.height:,} failed"
            )
            remedy = "take the share of failed requests from this record"
            yield Finding("foreign_error_rate", "warning", str(reported["configuration"]), evidence, remedy)


def _unsaid(foreign: Mapping[str, Any]) -> Finding:
    missing = "; ".join(str(words) for words in foreign.get("missing") or ())
    evidence = f"measured by {titled(foreign)} and imported; its file does not say: {missing or 'nothing is missing'}"
    remedy = "what is not stated cannot be compared: vouch for it with --varying, or measure again"
    return Finding("foreign_unsaid", "note", None, evidence, remedy)
