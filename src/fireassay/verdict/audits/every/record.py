"""Is the record whole, real and free of errors of the instrument?

Do the compared numbers measure one thing under one set of conditions?

Was quality measured, can the measure show a loss, and was there one?
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Final

import polars as pl

from fireassay.estimates.estimate import Absent
from fireassay.estimates.format import count
from fireassay.frames.record_data import RecordData
from fireassay.frames.scores import at_floor
from fireassay.metrics.metric import EVERYTHING, LAUNCHED, WORKLOADS, Results
from fireassay.metrics.quality import scores_of
from fireassay.verdict.audits.audit import Audits
from fireassay.verdict.gates import quality
from fireassay.verdict.types import QUALITY_AT_FLOOR, Finding

AUDITS = Audits(about=WORKLOADS)


# ---- construct mismatch ----


@AUDITS.add("construct_mismatch", "Do the numbers come from the same runs, seeds and splits?", title="construct mismatch")
def examine_construct_mismatch(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """Blocks with several seeds; configurations scored on other examples than the base.

    Numbers from different runs, seeds, splits or clusters may each be right, yet together describe no system that ever existed: checking
    them one by one finds nothing. Records: launches of one block must share their seed, and every configuration must be scored on the same
    held-out examples. Claims: runs and conditions of the individual numbers.
    """
    return (*_seeds(measured), *_splits(measured))


def _seeds(measured: RecordData) -> list[Finding]:
    seeds = measured.timed.group_by("block").agg(pl.col("seed").n_unique())
    mixed = seeds.filter(pl.col("seed") > 1).sort("block")["block"].to_list()
    if not mixed:
        return []
    evidence = (
        f"in {count(len(mixed), 'rounds')} the configurations had different seeds (round {mixed[0]}): chance is part of the difference"
    )
    remedy = "let assay set the seeds ({seed} in workload.arguments), one for all launches of a round"
    return [Finding("seeds_differ", "warning", None, evidence, remedy)]


def _splits(measured: RecordData) -> list[Finding]:
    if not measured.kind.same_examples:
        return []
    examples = measured.scores.join(measured.timed.select("launch", "configuration"), on="launch")
    splits = {name: frozenset(examples.filter(pl.col("configuration") == name)["example"].to_list()) for name in measured.configurations}
    base = splits[measured.base]
    return [
        Finding(
            "evaluation_sets_differ",
            "invalid",
            name,
            f"{count(len(ids ^ base), 'examples')} were scored at {name} or at {measured.base} but not at both",
            "score the same held-out examples, under the same ids, in every configuration",
            needs=("quality",),
        )
        for name, ids in splits.items()
        if ids and base and ids != base
    ]


# ---- apples to oranges ----

FACTS = ("launcher", "engine", "host")  # of a placement; processors and devices follow from the worker count


@AUDITS.add("apples_to_oranges", "Do the two sides differ in anything other than what is studied?", title="apples to oranges")
def examine_apples_to_oranges(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """A warning if configurations ran on other hosts, launchers or engines than their worker counts explain.

    Every condition other than the studied one must be equal, or the difference has no single cause. Configurations of a record share one
    experiment; this checks that the environment stayed the same between its launches. `assay compare` compares records. Source: Hoefler &
    Belli, SC'15, rule 9.
    """
    seen: dict[str, dict[str, set[str]]] = {}
    for configuration, fact, value in _placements(measured):
        seen.setdefault(fact, {}).setdefault(configuration, set()).add(value)
    differing = {
        fact: " and ".join(sorted({value for values in by.values() for value in values}))
        for fact, by in seen.items()
        if len({frozenset(values) for values in by.values()}) > 1
    }
    if not differing:
        return ()
    words = ", ".join(f"{fact} ({values})" for fact, values in differing.items())
    evidence = f"the configurations ran in different environments: {words}"
    remedy = "run every configuration on the same hosts with the same launcher; otherwise a difference may be the machine's"
    return (Finding("placement_differs", "warning", None, evidence, remedy),)


def _placements(measured: RecordData) -> Iterator[tuple[str, str, str]]:
    """(configuration, fact, value) of placement facts independent of the worker count."""
    for configuration, text in measured.timed.select("configuration", "placement").iter_rows():
        try:
            facts = json.loads(text or "{}")
        except ValueError:
            continue
        for fact, value in facts.items() if isinstance(facts, dict) else ():
            if fact in FACTS:
                yield configuration, fact, str(value)


# ---- sealed ----


@AUDITS.add("sealed", "Is this record complete and sealed?", title="incomplete record", about=EVERYTHING)
def examine_sealed(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """One finding for an interrupted, failed or unsealed record.

    Only a complete, sealed record carries a verdict.
    """
    if measured.state == "complete" and measured.sealed:
        return ()
    reason = str(measured.manifest.get("reason") or "").strip()
    suffix = f": {reason}" if reason else ""
    if measured.state == "failed":
        return (_sealed_finding("failed", f"the experiment failed{suffix}", "fix the workload and run the experiment again"),)
    if measured.state == "running":
        return (_sealed_finding("running", "launches are still running", "wait until the experiment has ended"),)
    remedy = "finish it with `assay resume`"
    if measured.state == "complete":
        return (_sealed_finding("unsealed", "all launches have ended but the record was never sealed", remedy),)
    return (_sealed_finding("interrupted", f"the experiment was interrupted, and planned launches are missing{suffix}", remedy),)


def _sealed_finding(rule: str, evidence: str, remedy: str) -> Finding:
    return Finding(f"record_{rule}", "invalid", None, evidence, remedy)


# ---- simulated ----

RUNNER = "simulated"


def is_simulated(measured: RecordData) -> bool:
    """True if the record comes from a simulator, directly or through a replay."""
    if measured.experiment.workload.runner == RUNNER or measured.manifest.get("simulated") is not None:
        return True
    return measured.stepped.height > 0 and measured.stepped["method"][0] == RUNNER


@AUDITS.add("simulated", "Were these times measured at all?", title="simulation instead of measurement", about=LAUNCHED)
def examine_simulated(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """One finding that makes a simulated record invalid.

    A record of the runner `simulated` (`assay simulate`) holds computed times. It is judged and shown like any other, so that a model can
    be tested on a cluster with known properties, but it is INVALID as evidence.
    """
    if not is_simulated(measured):
        return ()
    evidence = "simulated, not measured: every time in this record was computed by a simulator from numbers given to it"
    remedy = "use it to explore what would happen; measure with assay run before quoting anything"
    return (Finding("simulated", "invalid", None, evidence, remedy),)


# ---- observed ----


@AUDITS.add("observed", "Was this an experiment?", title="observation instead of an experiment", about=EVERYTHING)
def examine_observed(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """One finding for a job that assay did not start.

    The job's own starts (FIREASSAY_ATTACH=1) were made in an order and at times that somebody chose, and no round holds every configuration:
    a difference between them may be one of the machine's state (Fisher 1935: without randomisation, no valid estimate of error).
    """
    observed = measured.manifest.get("observed")
    if not isinstance(observed, Mapping):
        return ()
    evidence = "; ".join(str(words) for words in observed.get("limits") or ())
    return (Finding("observed", "warning", None, evidence or "observed, not an experiment", "compare with: assay run SCRIPT"),)


# ---- instrument errors ----


@AUDITS.add("instrument_errors", "Did the instrument itself lose data?", title="measurements lost by the instrument", about=EVERYTHING)
def examine_instrument_errors(measured: RecordData, _: Results) -> Iterator[Finding]:
    """One finding for disabled probes, one for dropped rows, in launches whose numbers count.

    The probe disables itself rather than break a training job, and the writer drops a row rather than block; both record it (events
    `probe_error` and `rows_dropped`). A partial launch proves nothing: samples would look lost and steps fast. So data loss in a launch
    whose numbers count makes the record inadmissible.
    """
    used = measured.table("launches").filter(pl.col("status") == "ok")
    events = measured.table("events").join(used, on="launch", how="semi")
    gave_up, dropped = (events.filter(pl.col("kind") == kind) for kind in ("probe_error", "rows_dropped"))
    if gave_up.height:
        yield _instrument_errors_finding(
            "probe_error",
            gave_up,
            f"the probe met an error and stopped recording; the first, {_where(gave_up)}: {_error(gave_up['detail'][0])}",
            "check that the script passes the probe valid arguments (how-to: mark your script); if it does, this is a defect "
            "in assay. These launches are incomplete",
        )
    if dropped.height:
        rows = int(dropped["value"].sum())
        yield _instrument_errors_finding(
            "rows_dropped",
            dropped,
            f"{count(rows, 'rows')} could not be written and are missing, first {_where(dropped)}: {dropped['detail'][0]}",
            "write the record to a faster disk, or report fewer rows",
        )


def _instrument_errors_finding(rule: str, events: pl.DataFrame, evidence: str, remedy: str) -> Finding:
    launches = ", ".join(str(launch) for launch in events["launch"].unique().sort().to_list()[:8])
    return Finding(rule, "invalid", None, f"{evidence} (launches {launches})", remedy)


def _error(detail: str | None) -> str:
    """The error's message, else the whole detail."""
    try:
        return str(json.loads(detail or "")["error"])
    except (ValueError, TypeError, KeyError):
        return detail or "no detail"


def _where(events: pl.DataFrame) -> str:
    rank = events["rank"][0]
    return f"in launch {events['launch'][0]}" + ("" if rank is None else f" on rank {rank}")


# ---- quality unmeasured ----


@AUDITS.add(
    "quality_unmeasured", "Was quality measured in the timed launches, and did it hold?", title="quality not measured in the same launch"
)
def examine_quality_unmeasured(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """Nothing: a record's quality is that of its timed launches.

    A faster run with a worse model is another task. Claims: a speed (or a cost below another system's) without quality, with quality from
    other runs, with a loss beyond the margin or without a margin, or with too few items to support the margin even without a single change
    (non-inferiority with no flips: n >= ln(alpha)/ln(1 - margin)). Records measure quality in the timed launches; the gate `quality` and
    the audit `quality_loss` judge it.
    """
    return ()


@AUDITS.blind("quality_unmeasured")
def blind_quality_unmeasured(measured: RecordData, results: Results) -> str | None:
    """Blind without a score."""
    value = results.get("quality", {}).get(measured.base)
    return value.detail if isinstance(value, Absent) else None if value is not None else "quality was not computed"


# ---- quality loss ----


@AUDITS.add("quality_loss", "Which configurations gave a worse model?", title="worse model")
def examine_quality_loss(measured: RecordData, results: Results) -> tuple[Finding, ...]:
    """One warning per configuration shown to be worse than the margin allows.

    Lists a failed quality gate as a finding, beside lost samples and diverged replicas. A warning for the record: this configuration is
    rejected, the others stand.
    """
    return tuple(
        Finding("quality_degraded", "warning", gate.configuration, gate.sentence, measured.kind.quality_remedy)
        for gate in quality.GATE.check(measured, results)
        if gate.status == "FAIL"
    )


# ---- quality at floor ----

QUALITY_AT_FLOOR_REMEDY: Final = (
    "examine the reference's answers (table examples or requests): the extraction, the prompts or the model is broken, or the margin is too "
    "wide; then measure again"
)


@AUDITS.add("quality_at_floor", "Is the reference's quality high enough to show a loss?", title="reference at its floor")
def examine_quality_at_floor(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """At most one finding, on the base.

    The base passes the gate `quality` by definition. If it gets nothing right, does no better than guessing, gives empty answers, or
    exceeds chance by no more than the margin, everything else passes too: INVALID (`fireassay.frames.scores`). Cannot tell: a task's
    chance level, unless quality.chance gives it.
    """
    quality = measured.experiment.quality
    if quality is None:
        return ()
    why = at_floor(scores_of(measured, measured.base), quality) or _unanswered(measured)
    if why is None:
        return ()
    return (
        Finding(QUALITY_AT_FLOOR, "invalid", measured.base, f"the reference cannot show a loss of quality: {why}", QUALITY_AT_FLOOR_REMEDY),
    )


def _unanswered(measured: RecordData) -> str | None:
    """Under load: whether every question with a reference answer was left unanswered."""
    launches = measured.timed.filter(pl.col("configuration") == measured.base).select("launch")
    questions = measured.table("arrivals").filter((pl.col("kind") == "normal") & pl.col("expected").is_not_null())
    sent = measured.table("requests").join(questions.select("launch", "request"), on=["launch", "request"], how="semi")
    requests = sent.join(launches, on="launch", how="semi")
    if requests.height == 0 or requests.filter((pl.col("status") == "ok") & pl.col("text").is_not_null()).height:
        return None
    return f"none of {count(requests.height, 'questions')} was answered with text"
