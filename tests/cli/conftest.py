"""What do tests of verbs share?"""

from __future__ import annotations

import pytest

from fireassay.api import sides, verdict
from fireassay.cli.support import judged
from tests.verdict.judging import judge_read


@pytest.fixture
def judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal records are judged once per process: a verb that reads them spends most of its time in the judge, which has tests of its own."""
    monkeypatch.setattr(sides, "judge", judge_read)
    monkeypatch.setattr(verdict, "judge", judge_read)
    monkeypatch.setattr(judged, "judge", judge_read)
