"""Which machines does a file of nodes name?  A name per line, reached by ssh, or the table `hosts` of a launcher."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Final

from fireassay.errors import refuse

FORMS: Final = (
    "a name per line (reached by ssh) and perhaps its switch, or TOML: "
    'hosts = [{ name = "a", address = "10.0.0.1", prefix = ["ssh", "a"], switch = "s1" }]'
)


def hosts_in(path: Path, flag: str = "--hosts") -> list[dict[str, Any]]:
    """The nodes that a file names; `flag` gave it. Raises SpecError: it cannot be read, or names none."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "not UTF-8 text"
        raise refuse(flag, f"{path}: {why}", f"a file of nodes: {FORMS}", source="the flags") from None
    if "=" not in text:
        lines = [words for line in text.splitlines() if (words := line.partition("#")[0].split())]
        if long := next((words for words in lines if len(words) > 2), None):
            raise refuse(flag, f"{path}: {' '.join(long)!r}", FORMS, source="the flags")
        hosts: Any = [
            {"name": name, "address": name, "prefix": ["ssh", name], **({"switch": switch[0]} if switch else {})} for name, *switch in lines
        ]
    else:
        try:
            data = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise refuse(flag, f"{path}: {error}", FORMS, source="the flags") from None
        launcher = data.get("launcher", data)
        hosts = launcher.get("hosts") if isinstance(launcher, dict) else None
    if not isinstance(hosts, list) or not hosts:
        raise refuse(flag, f"{path}, which names no node", FORMS, source="the flags")
    return hosts


def of_clients(text: str) -> list[dict[str, Any]]:
    """The hosts of a load's clients. Raises SpecError: the file cannot be read, or names none."""
    return hosts_in(Path(text), "--client-hosts")
