"""Is a tier used only after it was seen to hold, and is code refused without one?"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
import venv
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from fireassay.errors import EnvironmentLacks
from fireassay.quality.sandbox import probing, process, tiers
from fireassay.quality.sandbox.check import Program, check_program
from fireassay.quality.sandbox.tiers import Limits
from tests.limits import PROCESS_S
from tests.quality.sandbox.available import TIERS, tier


@pytest.mark.parametrize("name", TIERS)
def test_a_tier_that_holds_names_itself(name: tiers.Name) -> None:
    used = tier(name)
    words = tiers.signature(used, Limits()).split("|")
    assert words[0].partition("@")[0] == f"sandbox:{name}"
    assert words[1:3] == [f"seccomp:{'yes' if used.seccomp else 'no'}", f"python:{platform.python_version()}"]
    assert words[3:5] == [f"numpy:{version('numpy')}", "cpu:4"]


def test_bubblewrap_comes_first() -> None:
    assert tiers.NAMES == ("bubblewrap", "unshare")


@pytest.mark.parametrize(
    ("key", "value"), [("network", True), ("capabilities", True), ("root_read_only", False), ("uid", 0), ("parent", 2), ("children", False)]
)
def test_a_tier_that_does_not_hold_is_refused(monkeypatch: pytest.MonkeyPatch, key: str, value: Any) -> None:
    tier("unshare")
    honest = process.Sandbox.receive
    monkeypatch.setattr(process.Sandbox, "receive", lambda self, wait_s: {**honest(self, wait_s), key: value})
    with pytest.raises(EnvironmentLacks, match=f"unshare does not isolate: {key} is {value!r}"):
        probing.examined("unshare")


def test_without_namespaces_code_is_refused_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    monkeypatch.setattr(process, "command", lambda *_: ["/bin/false"])  # as where the launcher is killed
    with pytest.raises(EnvironmentLacks) as caught:
        probing.first_of(tiers.NAMES)
    text = str(caught.value)
    assert text.startswith("Untrusted code cannot be isolated on this machine: bubblewrap: bwrap is not on the PATH; unshare: ")
    assert "user.max_user_namespaces" in text
    assert "apt-get install bubblewrap" in text


def test_a_failing_mount_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    tier("unshare")
    whole = tiers.plan
    monkeypatch.setattr(process, "plan", lambda used: whole(used) | {"staging": "/nowhere"})
    with pytest.raises(EnvironmentLacks, match="unshare: FileNotFoundError: .*mount: No such file"):
        probing.examined("unshare")


EXAMINE = """
import sys
from fireassay.quality.sandbox.probing import examined
print(examined(sys.argv[1]).name)
"""


@pytest.mark.parametrize("name", TIERS)
def test_a_virtual_environment_in_the_temporary_folder_has_the_tier_too(name: tiers.Name, tmp_path: Path) -> None:
    """There the new root is built, which hides what lies below."""
    tier(name)
    venv.create(tmp_path / "venv", symlinks=True)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(tmp_path)}
    command = [str(tmp_path / "venv/bin/python"), "-c", EXAMINE, name]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PROCESS_S, check=False)
    assert (ended.stdout.strip(), ended.returncode) == (name, 0), ended.stderr


@pytest.mark.parametrize("name", TIERS)
def test_a_strict_umask_hides_nothing(name: tiers.Name) -> None:
    tier(name)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", EXAMINE, name]
    ended = subprocess.run(command, env=environment, umask=0o077, capture_output=True, text=True, timeout=PROCESS_S, check=False)
    assert (ended.stdout.strip(), ended.returncode) == (name, 0), ended.stderr


@pytest.mark.parametrize("name", TIERS)
def test_a_python_in_the_temporary_folder_is_there_and_read_only(name: tiers.Name, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    used, (binds, links) = tier(name), tiers.surroundings()
    library = tmp_path / "python" / "library"
    library.mkdir(parents=True)
    (library / "text").write_text("written outside")
    monkeypatch.setattr(tiers, "surroundings", lambda: ((*binds, str(library)), links))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    code = f"""
def look():
    try:
        open({str(library / "new")!r}, "w")
    except OSError as error:
        refused = error.strerror
    open("/tmp/own", "w").write("x")
    return [open({str(library / "text")!r}).read(), refused]
"""
    test = 'def check(candidate):\n    assert candidate() == ["written outside", "Read-only file system"]\n'
    result = check_program(Program(code=code, entry_point="look", test=test), Limits(), used)
    assert result.outcome == "passed", result.detail


def test_another_system_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    with pytest.raises(EnvironmentLacks, match="Linux namespaces, which darwin does not have"):
        probing.first_of(tiers.NAMES)


def test_the_filter_is_part_of_the_signature() -> None:
    assert "seccomp:no" in replace(tier("unshare"), seccomp=b"").signature
