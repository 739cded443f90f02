"""Are replies that a harness left empty counted, and too many of them inadmissible?"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from fireassay.kinds.evaluation.audits.empty_replies import AUDIT
from tests.answered import rows, scored
from tests.importers.harnesses.read_back import LOGS, imported


@pytest.mark.parametrize(("empty", "most_failed", "severity"), [(1, 0.05, "warning"), (2, 0.05, "warning"), (3, 0.05, "invalid")])
def test_more_empty_replies_than_allowed_are_invalid(empty: int, most_failed: float, severity: str, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(LOGS / "lm_eval" / "answering", folder)
    next(folder.glob("samples_sums_gen_*")).unlink()
    file = next(folder.glob("samples_sums_plain_*"))
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    file.write_text("".join(f"{json.dumps(row | {'resps': [['']]} if row['doc_id'] < empty else row)}\n" for row in lines))
    (finding,) = AUDIT.examine(imported(tmp_path, folder, most_failed=most_failed), {})
    assert finding.severity == severity
    assert finding.evidence.startswith(f"{empty} of 40 replies are empty")


def test_our_own_records_have_outcomes_instead(tmp_path: Path) -> None:
    assert list(AUDIT.examine(scored(tmp_path, {"a": rows([None, " ", "yes"])}), {})) == []
