"""Ask `assay` as it is typed, in this process, and look at what it prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fireassay.cli import main

HERE = Path(__file__).parent


def asked(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, str]:
    """The exit code, and all output in one line without colours."""
    code = main([str(word) for word in words])
    shown = capsys.readouterr()
    return code, " ".join(re.sub(r"\x1b\[[0-9;]*m", "", shown.out + shown.err).split())
