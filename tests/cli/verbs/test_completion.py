"""`assay completion` prints a script for a shell, and the names that it asks for."""

from __future__ import annotations

from pathlib import Path

import pytest

from fireassay.cli import main
from fireassay.cli.verbs.completion import SHELLS, script


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_of_a_shell_goes_to_stdout(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    assert capsys.readouterr().out.strip() == script(shell).strip()


def test_the_names_are_those_below_the_folder_of_the_records(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "vit-20260102T000000Z-bbbbbb").mkdir()
    (tmp_path / "vit-20260102T000000Z-bbbbbb" / "manifest.json").write_text("{}")
    assert main(["completion", "--names", "records", "--root", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert (lines[0], lines[-1]) == ("latest", "vit-20260102T000000Z-bbbbbb")


def test_a_shell_that_is_not_supported_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        main(["completion", "ksh"])
    assert raised.value.code == 2
    assert "invalid choice: 'ksh'" in capsys.readouterr().err


def test_without_a_shell_the_error_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion"]) == 2
    assert capsys.readouterr().err.endswith("\n  assay completion bash\n  assay completion zsh\n  assay completion fish\n")
