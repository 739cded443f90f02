"""A row of a list names a command that can be pasted, whatever a folder is called."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from fireassay.api.records.survey import Entry, listed

NOW = datetime(2026, 11, 26, tzinfo=UTC)


@pytest.mark.parametrize(
    ("state", "verb"), [("complete", "assay report"), ("damaged", "assay verify"), ("interrupted", "1 of 2: assay resume")]
)
def test_a_hostile_folder_is_one_word_of_a_shell(state: str, verb: str) -> None:
    entry = Entry(path=Path("records/$(reboot)"), state=state, done=1, planned=2)
    assert listed(entry, NOW).headline == f"{verb} '$(reboot)'"
