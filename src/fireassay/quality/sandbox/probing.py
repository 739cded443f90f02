"""Does a way of isolation hold on this machine?  What it should forbid is tried from the inside; without namespaces, code is refused."""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
import tempfile
from typing import Any, Final

from fireassay.errors import EnvironmentLacks
from fireassay.quality.sandbox import seccomp
from fireassay.quality.sandbox.inside.kernel import NOBODY
from fireassay.quality.sandbox.process import Sandbox
from fireassay.quality.sandbox.tiers import NAMES, Limits, Name, Tier

LOOK_S: Final = 120.0


# Answers of `launcher.examine` without which nothing is run.
SAFE: Final[dict[str, Any]] = {
    "uid": NOBODY,
    "capabilities": False,
    "parent": 1,
    "proc": False,
    "root_read_only": True,
    "network": False,
    "mount": False,
    "children": True,
}


FIX: Final = (
    "Allow unprivileged user namespaces (`sysctl -w user.max_user_namespaces=10000`; on Debian also `kernel.unprivileged_userns_clone=1`, on Ubuntu "
    "`kernel.apparmor_restrict_unprivileged_userns=0`), install bubblewrap (`apt-get install bubblewrap`), or score on a machine that has them."
)


@functools.cache
def probe() -> Tier:
    """The best way of isolation here. Raises EnvironmentLacks: there is none; says why of each."""
    return first_of(NAMES)


def first_of(names: tuple[Name, ...]) -> Tier:
    if sys.platform != "linux":
        raise EnvironmentLacks(f"Untrusted code is run in Linux namespaces, which {sys.platform} does not have. Score on a Linux machine.")
    reasons = []
    for name in names:
        try:
            return examined(name)
        except EnvironmentLacks as lack:
            reasons.append(str(lack))
    raise EnvironmentLacks(f"Untrusted code cannot be isolated on this machine: {'; '.join(reasons)}. {FIX}")


def examined(name: Name) -> Tier:
    """A tier after a look from the inside. Raises EnvironmentLacks: it cannot be made, or does not hold."""
    tier = Tier(name=name, version=_version() if name == "bubblewrap" else "", seccomp=seccomp.program())
    with tempfile.TemporaryFile("w+") as errors, Sandbox(tier, Limits(), "look", errors.fileno()) as one:
        seen = one.receive(LOOK_S)
        ended = one.close()
        errors.seek(0)
        last = (errors.read(10_000).splitlines() or [""])[-1]
    if not isinstance(seen, dict):
        raise EnvironmentLacks(f"{name}: {ended.setup or last or ended.words}")
    safe = SAFE | ({"filtered": True} if tier.seccomp else {})
    if wrong := [f"{key} is {seen.get(key)!r}" for key, value in safe.items() if seen.get(key) != value]:
        raise EnvironmentLacks(f"{name} does not isolate: {', '.join(wrong)}")
    return tier


def _version() -> str:
    path = shutil.which("bwrap")
    if path is None:
        raise EnvironmentLacks("bubblewrap: bwrap is not on the PATH")
    words = subprocess.run([path, "--version"], capture_output=True, text=True, check=False, timeout=60).stdout.split()
    return words[-1] if words else "unknown"
