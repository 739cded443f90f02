"""Do scores agree with a reference engine, with the model's confidence, and with the totals of the harness?"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fireassay import catalog
from fireassay.frames.record_data import RecordData
from fireassay.kinds.evaluation.audits.scores import CORRUPT_ENGINE_REMEDIES, SEVERITIES
from fireassay.kinds.evaluation.recorded import calibrations
from tests.answered import choices, rows, scored
from tests.importers.harnesses.helm_runs import helm_run
from tests.importers.harnesses.read_back import LOGS, imported

# ---- corrupt engine ----
# Is an engine only named where engines were compared? What is named: tests/runners/evaluating/test_forcing.py.

CORRUPT_ENGINE = catalog.load("verdict.audits", "corrupt_engine")


def test_answers_that_nobody_scored_again_name_no_engine(tmp_path: Path) -> None:
    assert list(CORRUPT_ENGINE.examine(scored(tmp_path, {"a": rows(["yes", "no"])}), {})) == []


def test_whatever_is_found_has_a_remedy() -> None:
    assert set(SEVERITIES) == set(CORRUPT_ENGINE_REMEDIES)


# ---- overconfident ----
# Is a bin of choices named whose confidence its right answers contradict, and none that they confirm?

OVERCONFIDENT = catalog.load("verdict.audits", "overconfident")


def rated(folder: Path, sure: float, right: int, of: int) -> RecordData:
    """So many items of two choices, all chosen with one confidence, of which some are right."""
    return choices(folder, {"a": [(sure, index < right) for index in range(of)]})


def test_a_bin_that_its_answers_contradict_is_named(tmp_path: Path) -> None:
    (finding,) = OVERCONFIDENT.examine(rated(tmp_path, 0.9, 50, 100), {})
    assert finding.severity == "note"
    assert "100 choices with a mean confidence of 0.900 are right in 0.500 [0.40" in finding.evidence


def test_a_bin_that_its_answers_confirm_is_not(tmp_path: Path) -> None:
    assert list(OVERCONFIDENT.examine(rated(tmp_path, 0.9, 90, 100), {})) == []


def test_the_brier_score_is_the_mean_square(tmp_path: Path) -> None:
    measured = rated(tmp_path, 0.9, 50, 100)
    value = calibrations(measured)["brier_score"].compute(measured, {})["answers=a"]
    assert value.value == pytest.approx(0.5 * 0.01 + 0.5 * 0.81)  # type: ignore[union-attr]


# ---- reported totals ----
# Is a number that does not follow from the items found, and to which digit?

REPORTED_TOTALS = catalog.load("verdict.audits", "reported_totals")


@pytest.mark.parametrize(("off", "found"), [(0.0, 0), (1e-12, 0), (1e-8, 1), (0.1, 1)])
def test_a_mean_must_agree_to_1e_9(off: float, found: int, tmp_path: Path) -> None:
    run = helm_run(tmp_path / "run", [index % 4 != 0 for index in range(40)])
    totals = json.loads((run / "stats.json").read_text())
    totals[0]["mean"] += off
    (run / "stats.json").write_text(json.dumps(totals))
    findings = list(REPORTED_TOTALS.examine(imported(tmp_path, run), {}))
    assert len(findings) == found
    assert all("exact_match" in finding.evidence and "its items make 0.75" in finding.evidence for finding in findings)


# ---- foreign doubts ----
# Does a record say where the log that it was imported from contradicts itself?

FOREIGN_DOUBTS = catalog.load("verdict.audits", "foreign_doubts")


def test_a_run_that_stopped_is_a_warning(tmp_path: Path) -> None:
    (finding,) = FOREIGN_DOUBTS.examine(imported(tmp_path, LOGS / "inspect" / "stopped.eval"), {})
    assert finding.severity == "warning"
    assert "ended with the status error" in finding.evidence


def test_a_complete_log_raises_no_doubt(tmp_path: Path) -> None:
    assert list(FOREIGN_DOUBTS.examine(imported(tmp_path, LOGS / "inspect" / "good.eval"), {})) == []
