"""What is the verdict on a record that times collectives?

It claims times and bandwidths, and that the data of the timed calls were right; cost and reliability decide nothing here.
INVALID: an audit found that the calls cannot have been what is claimed.  FAIL: data were wrong.  INCONCLUSIVE: a requested number is
missing, or rests on fewer than 3 launches.  MEASURED: every operation that the engine offers has its times at every size, with an interval
over launches, and no result was wrong.  There is nothing to recommend: the record shows the speed of links.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.format import GIGABYTES, count, number, show, size_words
from fireassay.frames.links.collective_calls import asked_cells
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.spec.plan import configuration_name
from fireassay.spec.sections.collectives import Cell
from fireassay.verdict.gates.gate import MIN_LAUNCHES, too_few
from fireassay.verdict.judge import Judgement
from fireassay.verdict.judging import Evidence, Judging, forced, nothing_to_pick
from fireassay.verdict.phrases import in_words, launch_words, machine_words, origin
from fireassay.verdict.types import DimensionResult, Finding, Recommendation, Status

NOTHING_TO_PICK: Final = "a record of collectives compares no configurations of a workload"


def overall(measured: RecordData, results: Results, findings: Sequence[Finding]) -> Status:
    """One status for the record."""
    cells = asked_cells(measured)
    return forced(findings) or ("INCONCLUSIVE" if _open(results, cells) or not _known(results, cells) else "MEASURED")


def cell_words(cell: Cell) -> str:
    """ "all_reduce of 1 MiB on 4 workers, in place"."""
    return f"{cell.op} of {size_words(cell.size)} on {count(cell.workers, 'workers')}{', in place' if cell.place == 'in' else ''}"


# ---- measured times --------------------------------------------------------------------------------------------------


def _time(results: Results, cell: Cell) -> Value | None:
    return results.get("collective_time", {}).get(cell.name)


def _known(results: Results, cells: Sequence[Cell]) -> list[Cell]:
    return [cell for cell in cells if isinstance(_time(results, cell), Estimate)]


def _open(results: Results, cells: Sequence[Cell]) -> list[str]:
    """Requested cells without a reliable number, except those that the engine does not offer."""
    gaps = []
    for cell in cells:
        value = _time(results, cell)
        if isinstance(value, Estimate):
            gaps += [f"{cell_words(cell)}: {too_few(value.n_launches)}"] if value.n_launches < MIN_LAUNCHES else []
        elif not (isinstance(value, Absent) and value.reason == "not_applicable"):
            gaps.append(f"{cell_words(cell)}: {value.detail if value is not None else 'not measured'}")
    return gaps


def _dimensions(measured: RecordData, results: Results, findings: Sequence[Finding]) -> Mapping[str, Mapping[str, DimensionResult]]:
    dimensions = {}
    for level in measured.levels:
        name = configuration_name(level)
        cells = [cell for cell in asked_cells(measured) if cell.workers == level]
        relevant = [finding for finding in findings if finding.configuration in (None, name)]
        dimensions[name] = {
            "correctness": _correctness(results, cells, relevant, foreign=measured.foreign is not None),
            "performance": _performance(results, cells, relevant),
            "cost": _nothing("cost", results, name),
            "reliability": DimensionResult(status="NOT_MEASURED", sentence="no fault was injected"),
        }
    return dimensions


def _correctness(results: Results, cells: Sequence[Cell], findings: Sequence[Finding], *, foreign: bool) -> DimensionResult:
    wrong = [finding for finding in findings if finding.severity == "fail"]
    if wrong:
        return DimensionResult(status="FAIL", sentence="; ".join(finding.evidence for finding in wrong))
    values = [results.get("collective_errors", {}).get(cell.name) for cell in cells]
    checked = sum(value.n_trials for value in values if isinstance(value, Estimate))
    if not checked:
        return DimensionResult(status="NOT_MEASURED", sentence="no data were checked")
    if foreign:
        return DimensionResult(status="PASS", sentence="another program found no wrong element, in iterations apart from the timed ones")
    return DimensionResult(status="PASS", sentence=f"the data of all {count(checked, 'timed calls')} were right to the last bit")


def _performance(results: Results, cells: Sequence[Cell], findings: Sequence[Finding]) -> DimensionResult:
    bad = [finding for finding in findings if finding.severity == "invalid"]
    if bad:
        return DimensionResult(status="INVALID", sentence="; ".join(finding.evidence for finding in bad))
    known, gaps = _known(results, cells), _open(results, cells)
    if not known:
        return DimensionResult(status="NOT_MEASURED", sentence="; ".join(gaps[:2]) or "the engine offers nothing that was requested")
    timed = f"{count(len(known), 'sizes and placements')} timed; {_fastest(results, known)}"
    if gaps:
        return DimensionResult(status="INCONCLUSIVE", sentence=f"{timed}; {gaps[0]}{_more(gaps)}")
    return DimensionResult(status="MEASURED", sentence=timed)


def _more(gaps: Sequence[str]) -> str:
    return f", and {count(len(gaps) - 1, 'others')}" if len(gaps) > 1 else ""


def _nothing(metric: str, results: Results, name: str) -> DimensionResult:
    value = results.get(metric, {}).get(name)
    if isinstance(value, Estimate):
        return DimensionResult(status="MEASURED", sentence=f"{show(value).full} a launch")
    return DimensionResult(status="NOT_MEASURED", sentence="no price was given" if value is None else value.detail)


# ---- the quotable sentence ---------------------------------------------------------------------------------------------


def _fastest(results: Results, known: Sequence[Cell]) -> str:
    """The largest size of each operation, where bandwidth is meaningful."""
    texts = []
    for op in dict.fromkeys(cell.op for cell in known):
        last = max((cell for cell in known if cell.op == op), key=lambda cell: (cell.workers, cell.nbytes))
        value, time = results.get("busbw", {}).get(last.name), _time(results, last)
        if isinstance(value, Estimate):
            texts.append(f"{cell_words(last)}: {show(value, GIGABYTES).full} busbw")
        elif isinstance(time, Estimate):
            texts.append(f"{cell_words(last)}: {show(time).full}")
    return "; ".join(texts)


def _sentence(measured: RecordData, results: Results, status: Status, findings: Sequence[Finding]) -> str:
    name, cells = measured.experiment.name, asked_cells(measured)
    if status in ("INVALID", "FAIL"):
        worst = next(finding for finding in findings if finding.severity == status.lower())
        quoted = ", no number of this record may be quoted" if status == "INVALID" else ""
        return f"{name}: {status}{quoted}: {worst.evidence}."
    if status == "INCONCLUSIVE":
        gaps = _open(results, cells) or ["the engine offers nothing that was requested"]
        return f"{name}: INCONCLUSIVE: {gaps[0]}{_more(gaps)}."
    return f"{name}: {_fastest(results, _known(results, cells))}. {_conditions(measured)}"


def _conditions(measured: RecordData) -> str:
    spec = measured.experiment.collectives_requested
    confidence = f"{number(measured.experiment.launches.confidence * 100, 0)} % intervals"
    if measured.foreign is not None:
        return f"Conditions: as far as the imported file states them; {count(measured.timed.height, 'runs')}.{origin(measured)}"
    groups = f"groups of {spec.group_size} concurrently, " if spec.group_size else ""
    return (
        f"Conditions: {spec.backend}, {spec.dtype}, {groups}bandwidths as nccl-tests defines them, slowest rank; {launch_words(measured)}; {confidence}"
        f"{machine_words(measured.before)}; the data of every timed call were checked."
    )


def status(evidence: Evidence, _: tuple[Recommendation, ...] = ()) -> Status:
    """One status for the record."""
    return overall(evidence.data, evidence.results, evidence.findings)


JUDGING = Judging(
    dimensions=lambda evidence: _dimensions(evidence.data, evidence.results, evidence.findings),
    recommend=nothing_to_pick(NOTHING_TO_PICK),
    status=status,
    sentence=lambda evidence, verdict: _sentence(evidence.data, evidence.results, verdict.status, evidence.findings),
)


# ---- the number that stands for it in a list -------------------------------------------------------------------------


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
