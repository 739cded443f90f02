"""Did this user make a record on this machine, in the folder where it lies now?

A manifest carries a mark: an HMAC over the host, the record's folder, its experiment and the folder of its script, under a key that only this
user's account holds (`$XDG_STATE_HOME/assay/origin.key`, made with the first record).  Whoever writes a record elsewhere lacks the key, and a
copy lies in another folder, so neither passes for the user's own.
Cannot tell: who made a record without a mark, as older versions and accounts without a writable home do; it counts as foreign.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import socket
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from fireassay.errors import RecordError
from fireassay.record.staging import destination
from fireassay.record.untrusted import paths

KEY_BYTES: Final = 32
MAX_EXPERIMENT: Final = paths.MIB


def state_folder(environ: Mapping[str, str] | None = None) -> Path:
    """The folder of what assay keeps about this account. A relative XDG_STATE_HOME is ignored, as the specification requires."""
    environ = os.environ if environ is None else environ
    state_home = Path(environ.get("XDG_STATE_HOME", ""))
    home = Path(environ.get("HOME", "~")).expanduser()
    return (state_home if state_home.is_absolute() else home / ".local" / "state") / "assay"


def mark(record: Path, manifest: Mapping[str, Any]) -> str:
    """The mark of a record that this process writes; "" if this account can keep no key."""
    return _mark(record, manifest, _key(make=True))


def is_own(record: Path, manifest: Mapping[str, Any]) -> bool:
    """True if the record carries the mark that it would get here and now."""
    expected = _mark(record, manifest, _key(make=False))
    return bool(expected) and hmac.compare_digest(expected.encode(), str(manifest.get("origin")).encode("utf-8", "replace"))


def _mark(record: Path, manifest: Mapping[str, Any], key: bytes) -> str:
    if not key:
        return ""
    try:
        experiment = paths.read(record, "experiment.toml", MAX_EXPERIMENT)
    except (OSError, RecordError):
        return ""
    before = (manifest.get("environment") or {}).get("before") or {}
    script = before.get("script") if isinstance(before, dict) else None
    folder = str(script.get("folder")) if isinstance(script, dict) else ""
    facts = (
        socket.gethostname().encode(),
        os.fsencode(destination(record.resolve())),
        experiment,
        folder.encode("utf-8", "surrogateescape"),
    )
    return hmac.digest(key, b"".join(hashlib.sha256(fact).digest() for fact in facts), "sha256").hex()


def _key(*, make: bool) -> bytes:
    """This account's key; empty if there is none, and none can be made."""
    path = state_folder() / "origin.key"
    with suppress(OSError, RecordError):
        if make and not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            fresh = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
            paths.replace_at(None, str(fresh), secrets.token_bytes(KEY_BYTES), mode=0o600)
            with suppress(FileExistsError):  # another process was first: its key is the account's
                os.link(fresh, path)
            fresh.unlink()
        key = paths.read(path.parent, path.name, KEY_BYTES)
        return key if len(key) == KEY_BYTES else b""
    return b""
