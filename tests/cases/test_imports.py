"""Results of other tools that were read wrongly, or refused without a way on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cases.asked import HERE, asked

FILES = HERE / "imports"


# file -> what has to be said
SAID: dict[str, tuple[str, ...]] = {
    # mlcommons/inference 460: VALID, and an error in the log
    "loadgen_error2/mlperf_log_detail.txt": ("contradiction in the file", "Ran out of generated queries")
}


@pytest.mark.parametrize("file", SAID)
def test_what_is_wrong_in_a_file_is_said_when_it_is_imported(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = asked(capsys, "import", FILES / file, "--root", tmp_path)
    assert code == 0
    assert [words for words in SAID[file] if words not in text] == []
