"""Which machines does a file of nodes name, and which engine lends some?

A name per line, reached by ssh, or the table `hosts` of a launcher; or the whole table, for `--launcher`.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path
from typing import Any, Final

from fireassay.errors import refuse

FORMS: Final = (
    "a name per line (reached by ssh) and perhaps its switch, or TOML: "
    'hosts = [{ name = "a", address = "10.0.0.1", prefix = ["ssh", "a"], switch = "s1" }]'
)


def hosts_in(path: Path, flag: str = "--hosts") -> list[dict[str, Any]]:
    """The nodes that a file names; `flag` gave it. Raises SpecError: it cannot be read, or names none."""
    text = _text(path, flag, f"a file of nodes: {FORMS}")
    plain = [line.partition("#")[0] for line in text.splitlines()]
    if not any("=" in line for line in plain):
        lines = [words for line in plain if (words := line.split())]
        if long := next((words for words in lines if len(words) > 2), None):
            raise refuse(flag, f"{path}: {' '.join(long)!r}", FORMS, source="the flags")
        hosts: Any = [_by_ssh(*words) for words in lines]
    else:
        launcher = _table(path, text, flag, FORMS)
        hosts = launcher.get("hosts") if isinstance(launcher, dict) else None
    if not isinstance(hosts, list) or not hosts:
        raise refuse(flag, f"{path}, which names no node", FORMS, source="the flags")
    times = Counter(str(host.get("name")) for host in hosts if isinstance(host, dict))
    if twice := [name for name, count in times.items() if count > 1]:
        raise refuse(flag, f"{path}, which names {', '.join(twice)} more than once", "a unique name for each node", source="the flags")
    return hosts


def _by_ssh(destination: str, switch: str = "") -> dict[str, Any]:
    name = destination.rpartition("@")[2]  # a user is ssh's alone
    return {"name": name, "address": name, "prefix": ["ssh", destination], **({"switch": switch} if switch else {})}


def of_clients(text: str) -> list[dict[str, Any]]:
    """The hosts of a load's clients. Raises SpecError: the file cannot be read, or names none."""
    return hosts_in(Path(text), "--client-hosts")


ENGINE: Final = 'a name, or a TOML file with the table: [launcher] kind = "kubernetes", kubernetes = { image = "lab/train:3" }'


def launcher_of(text: str) -> str | dict[str, Any]:
    """What `--launcher` says: a name, or the table of a file. Raises SpecError: the file cannot be read, or names no engine."""
    path, flag = Path(text), "--launcher"
    if path.suffix != ".toml":
        return text
    launcher = _table(path, _text(path, flag, ENGINE), flag, ENGINE)
    if not isinstance(launcher, dict) or not isinstance(launcher.get("kind"), str):
        raise refuse(flag, f"{path}, which names no engine", ENGINE, source="the flags")
    return launcher


def _text(path: Path, flag: str, allowed: str) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "not UTF-8 text"
        raise refuse(flag, f"{path}: {why}", allowed, source="the flags") from None


def _table(path: Path, text: str, flag: str, allowed: str) -> Any:
    """The table `launcher`, or the whole file."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise refuse(flag, f"{path}: {error}", allowed, source="the flags") from None
    return data.get("launcher", data)
