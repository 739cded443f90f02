"""The user's own defaults: read from one file, never a condition of a measurement, and each says where it comes from."""

from __future__ import annotations

import io
import json
import os
import pty
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fireassay.cli import main
from fireassay.cli.support import output, settings
from fireassay.cli.support.settings import Settings, path_of, read
from fireassay.errors import SpecError


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the user's file is looked for, in an empty working folder."""
    for name in (settings.VARIABLE, "NO_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config").mkdir()
    used = settings.USED.set(Settings())
    yield tmp_path / "config" / settings.FILE
    settings.USED.reset(used)


def test_the_file_is_below_the_configuration_folder_or_named_or_none(tmp_path: Path) -> None:
    assert path_of({"HOME": "/home/me"}) == Path("/home/me/.config/fireassay.toml")
    assert path_of({"HOME": "/home/me", "XDG_CONFIG_HOME": "/etc/x"}) == Path("/etc/x/fireassay.toml")
    assert path_of({"HOME": "/home/me", "FIREASSAY_CONFIG": "/other.toml"}) == Path("/other.toml")
    assert path_of({"HOME": "/home/me", "FIREASSAY_CONFIG": ""}) is None


def test_without_a_file_everything_is_the_default() -> None:
    assert read(os.environ) == Settings()


def test_a_named_file_that_is_missing_is_refused() -> None:
    with pytest.raises(SpecError, match="no such file"):
        read({"FIREASSAY_CONFIG": "missing.toml"})


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("colour = 'never'", "not a key of this file. Did you mean color?"),
        ("color = 'red'", 'allowed: one of "auto", "always", "never"'),
        ("width = 'wide'", "allowed: a whole number of at least 40"),
        ("width = true", "allowed: a whole number of at least 40"),
        ("quiet = 1", "allowed: true or false"),
        ("per_configuration = 3", "Put it into the experiment: launches.per_configuration (--launches, --repetitions)."),
        ("workers = [1, 2]", "Put it into the experiment: factor.levels (--workers)."),
        ("price = 2.5", "Put it into the experiment: prices.usd_per_worker_hour (--price)."),
        ("[gates]\nefficiency = 0.5", "Put it into the experiment: [gates]."),
    ],
)
def test_a_wrong_key_and_a_condition_are_told_below_their_line(own: Path, line: str, told: str) -> None:
    own.write_text(line)
    with pytest.raises(SpecError) as raised:
        read(os.environ)
    text = str(raised.value)
    assert text.startswith(f"{own}: 1 key is wrong\n  1 | {line.splitlines()[0]}\n    | ")
    assert told in text


def test_a_home_that_nobody_has_is_a_missing_file_and_no_defect(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SpecError, match="~nobody-here/own.toml: found no such file"):
        read({settings.VARIABLE: "~nobody-here/own.toml"})
    own.write_text('records = "~nobody-here/records"\n')
    assert main(["list"]) == 6
    assert "~nobody-here/records" in capsys.readouterr().err


@pytest.mark.parametrize("base", ["/" + "a" * 5000, "/etc/hostname"])
def test_a_configuration_folder_that_cannot_be_is_no_file(base: str) -> None:
    assert read({"XDG_CONFIG_HOME": base}) == Settings()


def test_all_problems_are_told_at_once_and_every_verb_refuses_them(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own.write_text("seed = 1\nwidth = 3\n")
    assert main(["list"]) == 2
    assert "2 keys are wrong" in capsys.readouterr().err


def test_the_folder_of_the_records_is_a_default_that_a_flag_overrides(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own.write_text('records = "mine"')
    assert main(["verify", "latest"]) == 6
    assert "there is no record in mine" in capsys.readouterr().err
    assert main(["verify", "latest", "--root", "other"]) == 6
    assert "there is no record in other" in capsys.readouterr().err


def test_the_format_is_a_default_that_flags_and_names_of_files_override(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own.write_text('format = "json"')
    assert main(["list"]) == 0
    assert json.loads(capsys.readouterr().out) == []
    main(["list", "--format", "terminal"])
    assert capsys.readouterr().out.startswith("Records in")
    main(["list", "--output", "list.md"])
    assert Path("list.md").read_text().startswith("# ")


# ---- width and colour ------------------------------------------------------------------------------------------------


def test_piped_output_is_as_wide_as_columns_says_or_80(monkeypatch: pytest.MonkeyPatch) -> None:
    assert output.columns(io.StringIO()) == 80
    monkeypatch.setenv("COLUMNS", "61")
    assert output.columns(io.StringIO()) == 61
    for senseless in ("", "0", "-3", "many"):
        monkeypatch.setenv("COLUMNS", senseless)
        assert output.columns(io.StringIO()) == 80
    monkeypatch.setenv("COLUMNS", "300")
    assert output.columns(io.StringIO()) == 100
    own = settings.WIDTH.set(144)  # whoever writes that down means it
    assert output.columns(io.StringIO()) == 144
    settings.WIDTH.reset(own)


def test_on_a_terminal_its_own_width_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl
    import struct
    import termios

    monkeypatch.setenv("COLUMNS", "61")
    monkeypatch.setenv("TERM", "xterm")
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 97, 0, 0))
    with open(follower, "w") as terminal:
        assert output.columns(terminal) == 97
        assert output.coloured(terminal)
        monkeypatch.setenv("NO_COLOR", "1")
        assert not output.coloured(terminal)
        monkeypatch.setenv("NO_COLOR", "")  # empty counts as unset: no-color.org
        assert output.coloured(terminal)
        monkeypatch.setenv("TERM", "dumb")
        assert not output.coloured(terminal)
    os.close(leader)


@pytest.mark.parametrize(("choice", "coloured"), [("always", True), ("auto", False), ("never", False)])
def test_the_flag_decides_on_colour_in_a_pipe(choice: str, coloured: bool, repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["rubric", str(repository / "examples" / "rubric" / "scaling.csv"), "--color", choice])
    assert ("\x1b[" in capsys.readouterr().out) is coloured


@pytest.mark.parametrize("columns", ["60", "100"])
def test_a_report_in_a_pipe_is_no_wider_than_columns(
    columns: str, repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    main(["rubric", str(repository / "examples" / "rubric" / "scaling.csv")])
    widest = max(map(len, capsys.readouterr().out.splitlines()))
    assert int(columns) - 20 < widest <= int(columns)


def test_the_browser_opens_a_page_only_at_a_terminal_and_on_request(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    shown: list[str] = []
    monkeypatch.setattr("webbrowser.open", shown.append)
    page = tmp_path / "report.html"
    output.opened(page)
    settings.USED.set(Settings(open=True))
    output.opened(page)
    assert shown == []
    monkeypatch.setattr(sys, "stdout", type("Terminal", (io.StringIO,), {"isatty": lambda self: True})())
    output.opened(page)
    output.opened(tmp_path / "report.json")
    assert shown == [page.as_uri()]
