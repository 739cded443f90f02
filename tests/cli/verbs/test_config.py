"""`assay config` shows every default and where it comes from."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from fireassay import catalog
from fireassay.cli import main
from fireassay.cli.support import settings
from fireassay.cli.support.settings import Settings


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the user's file is looked for."""
    for name in (settings.VARIABLE, "NO_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    used, width = settings.USED.set(Settings()), settings.WIDTH.set(None)
    yield tmp_path / settings.FILE
    settings.USED.reset(used)
    settings.WIDTH.reset(width)


def test_config_says_where_each_value_comes_from(own: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    own.write_text('records = "mine"\nwidth = 90')
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "70")
    assert main(["config", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["file"] == str(own)
    found = {row["name"]: (row["value"], row["source"]) for row in told["settings"]}
    assert found["records"] == ("mine", str(own))
    assert found["color"] == ("never", "$NO_COLOR")
    assert found["width"] == (90, str(own))  # the file overrides the environment
    assert found["quiet"] == (False, "default")


def test_config_without_a_file_says_so(own: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(["config"]) == 0
    assert "(does not exist)" in " ".join(capsys.readouterr().out.split())
    monkeypatch.setenv(settings.VARIABLE, "")
    assert main(["config"]) == 0
    assert "none, since $FIREASSAY_CONFIG is empty" in " ".join(capsys.readouterr().out.split())


def test_the_example_in_the_help_is_a_valid_file(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    description = catalog.load("cli.verbs", "config").description
    own.write_text("\n".join(line for line in description.splitlines() if line.startswith("    ") and " = " in line))
    assert main(["config", "--json"]) == 0
    assert {row["source"] for row in json.loads(capsys.readouterr().out)["settings"]} == {str(own)}
