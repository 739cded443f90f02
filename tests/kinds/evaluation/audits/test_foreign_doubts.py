"""Does a record say where the log that it was imported from contradicts itself?"""

from __future__ import annotations

from pathlib import Path

from fireassay.kinds.evaluation.audits.foreign_doubts import AUDIT
from tests.importers.harnesses.read_back import LOGS, imported


def test_a_run_that_stopped_is_a_warning(tmp_path: Path) -> None:
    (finding,) = AUDIT.examine(imported(tmp_path, LOGS / "inspect" / "stopped.eval"), {})
    assert finding.severity == "warning"
    assert "ended with the status error" in finding.evidence


def test_a_complete_log_raises_no_doubt(tmp_path: Path) -> None:
    assert list(AUDIT.examine(imported(tmp_path, LOGS / "inspect" / "good.eval"), {})) == []
