"""Is a program that is not given its number of workers noticed?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.programs_made import judged

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("arguments", "more", "notes"),
    [((), {}, 1), (("{workers}",), {}, 0), ((), {"workload": {"environment": {"N": "{workers}"}}}, 0), ((), {"levels": (2,)}, 0)],
)
def test_a_program_that_is_given_no_worker_count_is_a_note(
    tmp_path: Path, arguments: tuple[str, ...], more: dict[str, Any], notes: int
) -> None:
    found = judged(tmp_path, "true", *arguments, launches=1, **more).verdict.findings
    assert sum(finding.rule == "worker_count_unnamed" for finding in found) == notes
