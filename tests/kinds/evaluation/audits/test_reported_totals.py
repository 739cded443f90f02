"""Is a number that does not follow from the items found, and to which digit?"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fireassay.kinds.evaluation.audits.reported_totals import AUDIT
from tests.importers.harnesses.helm_runs import helm_run
from tests.importers.harnesses.read_back import imported


@pytest.mark.parametrize(("off", "found"), [(0.0, 0), (1e-12, 0), (1e-8, 1), (0.1, 1)])
def test_a_mean_must_agree_to_1e_9(off: float, found: int, tmp_path: Path) -> None:
    run = helm_run(tmp_path / "run", [index % 4 != 0 for index in range(40)])
    totals = json.loads((run / "stats.json").read_text())
    totals[0]["mean"] += off
    (run / "stats.json").write_text(json.dumps(totals))
    findings = list(AUDIT.examine(imported(tmp_path, run), {}))
    assert len(findings) == found
    assert all("exact_match" in finding.evidence and "its items make 0.75" in finding.evidence for finding in findings)
