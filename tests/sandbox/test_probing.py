"""Is a tier used only after it was seen to hold, and is code refused without one?"""

from __future__ import annotations

import platform
from dataclasses import replace
from typing import Any

import pytest

from fireassay.errors import EnvironmentLacks
from fireassay.sandbox import probing, process, tiers
from fireassay.sandbox.limits import Limits
from tests.sandbox.available import TIERS, tier


@pytest.mark.parametrize("name", TIERS)
def test_a_tier_that_holds_names_itself(name: tiers.Name) -> None:
    used = tier(name)
    words = tiers.signature(used, Limits()).split("|")
    assert words[0].partition("@")[0] == f"sandbox:{name}"
    assert words[1:3] == [f"seccomp:{'yes' if used.seccomp else 'no'}", f"python:{platform.python_version()}"]
    assert words[3] == "cpu:4"


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


def test_another_system_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    with pytest.raises(EnvironmentLacks, match="Linux namespaces, which darwin does not have"):
        probing.first_of(tiers.NAMES)


def test_the_filter_is_part_of_the_signature() -> None:
    assert "seccomp:no" in replace(tier("unshare"), seccomp=b"").signature
