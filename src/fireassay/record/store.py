"""Where are records kept that outlive this machine, and how are they transferred intact?

A store is a folder of record folders behind fsspec: a path, file://, memory://, s3://, gs:// ...  A record is pushed file by
file, its SEAL last, so that an interrupted push does not count as a record; it is pulled into a temporary folder, verified
against its seal, and renamed.  Nothing in a store is ever overwritten.  Credentials are left to the driver (environment
variables and files): an address with a password is refused, and query strings are never shown.
A store is untrusted: names and manifests are checked before paths are built from them.
Cannot tell who made a record: a seal proves that nothing changed since sealing, not who sealed it.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final

from fireassay.errors import AssayError, EnvironmentLacks, RecordError, refuse
from fireassay.printable import shell_word
from fireassay.record import files
from fireassay.record.reader import open_record
from fireassay.record.seal import seal_line, verify
from fireassay.record.secrets.redact import redact
from fireassay.record.untrusted import paths as inside
from fireassay.record.untrusted.paths import json_of, toml_of

MAX_MANIFEST_BYTES: Final = 64 * 2**20  # an untrusted store must not exhaust memory
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")  # the names that `fireassay.record.folder` creates
_PASSWORD: Final = re.compile(r"(?<=://)[^@?#]*:[^@?#]*@")
_LOCAL: Final = ("file", "local")


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One record of a store, as its manifest describes it."""

    folder: str  # the folder's name in the store
    name: str  # the experiment's name; empty if the manifest is unreadable
    id: str
    created_utc: str
    state: str  # complete | failed | incomplete (no seal: push unfinished, or still running) | damaged
    plan_signature: str
    reason: str = ""  # why it is damaged


class Store:
    """A store of sealed records.

    Raises:
        SpecError: the address holds a password, or fsspec does not know its protocol.
        EnvironmentLacks: the driver's package is not installed.
    """

    def __init__(self, url: str) -> None:
        self.shown = shown_url(url)
        _refuse_credentials(url, self.shown)
        self._files, self._root = _opened(url, self.shown)

    @property
    def local(self) -> Path | None:
        """The folder if the store is local; else None."""
        protocol = self._files.protocol
        kinds = (protocol,) if isinstance(protocol, str) else protocol
        return Path(self._root) if any(kind in _LOCAL for kind in kinds) else None

    def entries(self) -> tuple[Entry, ...]:
        """Every record of the store, oldest first; an unreadable one has the state `damaged`.

        Raises:
            RecordError: the store cannot be read.
        """
        with self._explained("list"):
            self._files.invalidate_cache()
            try:
                listing = self._files.ls(self._root, detail=True)
            except FileNotFoundError:
                return ()
            names = sorted(_last(entry["name"]) for entry in listing if entry["type"] == "directory")
            contents = self._contents([f"{name}/{file}" for name in names for file in ("manifest.json", "SEAL")])
        entries = [
            _entry(name, contents[f"{name}/manifest.json"], contents[f"{name}/SEAL"])
            for name in names
            if contents[f"{name}/manifest.json"] is not None or contents[f"{name}/SEAL"] is not None
        ]
        return tuple(sorted(entries, key=lambda entry: (entry.created_utc, entry.folder)))

    def newest(
        self,
        *,
        name: str | None = None,
        plan_signature: str | None = None,
        conditions: Mapping[str, object] | None = None,
        state: str = "complete",
    ) -> Entry | None:
        """The newest record that matches all criteria; None if none does. `conditions`: the named ones must be equal."""
        for entry in reversed(self.entries()):
            fits = entry.state == state and name in (None, entry.name)
            if not fits or plan_signature not in (None, entry.plan_signature):
                continue
            if conditions is None or self._has(entry, conditions):
                return entry
        return None

    def push(self, path: Path) -> str:
        """Copy a sealed record into the store unless it is already there. Returns its display address.

        Raises:
            RecordError: the record is not sealed or not intact, another record has its name, or the store cannot be written.
        """
        record = open_record(path)
        if not record.sealed:
            remedy = f"`assay resume {shell_word(path)}` finishes it." if record.state == "interrupted" else "Wait for its end."
            raise RecordError(f"{path} is {record.state} and not sealed; only sealed records are pushed. {remedy}")
        if problems := verify(path):
            raise RecordError(
                f"{path} differs from its seal, so it is not pushed: {problems[0]} `assay verify {shell_word(path)}` names every file."
            )
        name = path.resolve().name
        _check_name(name, self.shown)
        listed = _listed(record.manifest, path)
        if links := [file for file in listed if _through_a_link(path, file)]:
            raise RecordError(
                f"{path / links[0]} is a link; a record with links cannot be pushed. Push a copy with files in their place (cp -rL)."
            )
        with self._explained(f"push {path.name} to"):
            if not self._is_there(name, path):
                self._upload(path, name, [*listed, "manifest.json", "SEAL"])
        return f"{self.shown.rstrip('/')}/{name}"

    def pull(self, name: str, cache: Path) -> Path:
        """Copy a record from the store to `cache`/name and verify it, unless it is already there. Returns its path.

        Raises:
            RecordError: the record is not in the store, incomplete or altered, or a different one is in the cache.
        """
        _check_name(name, self.shown)
        with self._explained(f"pull {name} from"):
            contents = self._contents([f"{name}/manifest.json", f"{name}/SEAL"])
            manifest, seal = contents[f"{name}/manifest.json"], contents[f"{name}/SEAL"]
            entry = _entry(name, manifest, seal)
            if manifest is None or seal is None or entry.state in ("incomplete", "damaged"):
                why = entry.reason or "it has no seal: its push was interrupted"
                raise RecordError(f"{self.shown} holds no complete record {name}: {why}. `assay list --store` shows those that it holds.")
            target = cache / name
            if target.exists():
                return _kept(target, seal)
            return self._download(name, target, manifest, seal)

    # ---- below ---------------------------------------------------------------------------------------------------

    def put(self, name: str, content: bytes) -> bool:
        """Write a small file beside the records; False if it is there already. Raises RecordError: it cannot be written."""
        with self._explained("write"):
            if self._files.exists(self._path(name)):
                return False
            self._files.makedirs(self._root, exist_ok=True)
            self._files.pipe_file(self._path(name), content)
            return True

    def small_files(self, suffix: str) -> Iterator[tuple[str, bytes]]:
        """Name and content of the files beside the records whose names end so. Raises RecordError: the store cannot be read."""
        with self._explained("read"):
            self._files.invalidate_cache()
            listing = self._files.ls(self._root, detail=True)
            names = sorted(name for entry in listing if entry["type"] == "file" and (name := _last(entry["name"])).endswith(suffix))
            here = self.local
            contents = self._contents(names) if here is None else {name: inside.read(here, name, MAX_MANIFEST_BYTES) for name in names}
        yield from ((name, content) for name, content in contents.items() if content)

    def _has(self, entry: Entry, conditions: Mapping[str, object]) -> bool:
        with self._explained("read"):
            content = self._contents([f"{entry.folder}/experiment.toml"])[f"{entry.folder}/experiment.toml"]
        try:
            stored = toml_of(content or b"").get("conditions", {})
        except ValueError:
            return False
        return isinstance(stored, dict) and all(stored.get(key) == value for key, value in conditions.items())

    def _contents(self, names: list[str]) -> dict[str, bytes | None]:
        """Small files by name, in one request if the driver supports it; None for missing ones."""
        if self.local is not None:
            return {name: _read_here(self.local, name) for name in names}
        if not names:
            return {}
        paths = {name: self._path(name) for name in names}
        contents = self._files.cat(list(paths.values()), on_error="return")
        return {name: self._content(name, contents.get(path)) for name, path in paths.items()}

    def _content(self, name: str, content: object) -> bytes | None:
        if isinstance(content, bytes):
            if len(content) > MAX_MANIFEST_BYTES:
                raise RecordError(f"{name} in {self.shown} is too large for a manifest ({len(content)} bytes).")
            return content
        if content is None or isinstance(content, (FileNotFoundError, IsADirectoryError, NotADirectoryError)):
            return None
        assert isinstance(content, BaseException)
        raise content

    def _is_there(self, name: str, path: Path) -> bool:
        """True if this record is in the store. Raises if a different one has its name."""
        contents = self._contents([f"{name}/manifest.json", f"{name}/SEAL"])
        local = (path / "manifest.json").read_bytes()
        remote = contents[f"{name}/manifest.json"]
        if remote not in (None, local):
            raise RecordError(f"{self.shown} holds another record named {name}; nothing is ever overwritten. Push to another store.")
        return remote is not None and contents[f"{name}/SEAL"] == seal_line(local)

    def _upload(self, path: Path, name: str, listed: list[str]) -> None:
        if self.local is not None and (self.local / name).exists():
            inside.refuse_all_but_plain_files(self.local / name)  # left by an interrupted push or another program
        for file in listed:
            target = self._path(f"{name}/{file}")
            self._files.makedirs(str(PurePosixPath(target).parent), exist_ok=True)
            self._files.put_file(str(path / file), target)

    def _download(self, name: str, target: Path, manifest: bytes, seal: bytes) -> Path:
        listed = _listed(json_of(manifest), target)
        sizes = {
            file.removeprefix(f"{self._path(name)}/"): info["size"]
            for file, info in self._files.find(self._path(name), detail=True).items()
        }
        for file, size in listed.items():
            if sizes.get(file) != size:
                problem = "is missing" if file not in sizes else f"has {sizes[file]} bytes and was sealed with {size}"
                raise RecordError(f"{name}/{file} in {self.shown} {problem}. Push the record again from a complete copy.")
        partial = target.with_name(f".{name}.{secrets.token_hex(4)}{files.TEMPORARY}")
        try:
            partial.mkdir(parents=True)
            for file in listed:
                (partial / file).parent.mkdir(parents=True, exist_ok=True)
                self._files.get_file(self._path(f"{name}/{file}"), str(partial / file))
            files.replace(partial / "manifest.json", manifest)
            files.replace(partial / "SEAL", seal)
            if problems := verify(partial):
                raise RecordError(f"{name} in {self.shown} differs from its seal: {problems[0]}")
            return _placed(partial, target, seal)
        finally:
            files.remove_tree(partial)

    def _path(self, name: str) -> str:
        return f"{self._root.rstrip('/')}/{name}"

    @contextmanager
    def _explained(self, action: str) -> Iterator[None]:
        """Turn any driver error into one sentence, with secrets redacted: drivers often repeat addresses."""
        try:
            yield
        except AssayError:
            raise
        except ImportError as error:
            raise EnvironmentLacks(_lacking(self.shown, error)) from error
        except Exception as error:  # drivers have their own exceptions
            why = redact(_QUERY.sub(r"\1?[redacted]", str(error))) or type(error).__name__
            raise RecordError(f"cannot {action} {self.shown}: {why}") from None


def _read_here(root: Path, name: str) -> bytes | None:
    """A small file of a local store; never blocks on a pipe. Anything but a plain file counts as damaged."""
    folder, _, file = name.partition("/")
    try:
        return inside.read(root / folder, file, MAX_MANIFEST_BYTES)
    except RecordError:
        return b""
    except OSError as error:
        if isinstance(error, (FileNotFoundError, NotADirectoryError)):
            return None
        raise


_QUERY: Final = re.compile(r"(://[^\s?'\"]*)\?[^\s'\")]*")


def is_address(text: str) -> bool:
    """True if a text is a store's address rather than a path."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]*(::|://)", text) is not None


def shown_url(url: str) -> str:
    """The address for display: no password, no query, no fragment."""
    shown = _PASSWORD.sub("[redacted]@", url)
    if not is_address(shown):
        return shown
    head, mark, _ = shown.partition("?")
    head = head.partition("#")[0]
    return f"{head}?[redacted]" if mark else head


def _refuse_credentials(url: str, shown: str) -> None:
    if _PASSWORD.search(url):
        raise refuse(
            "store",
            shown,
            "an address without user:password@",
            "Credentials come from the driver's own environment variables or files.",
            source="the address of a store",
        )
    if "::" in url.partition("/")[0]:
        raise refuse(
            "store",
            shown,
            "a single address; chained ones (a::b) are not supported",
            "Give the inner address.",
            source="the address of a store",
        )


def _opened(url: str, shown: str) -> tuple[Any, str]:
    import fsspec

    try:
        if is_address(url):
            opened, root = fsspec.core.url_to_fs(url)
        else:
            opened, root = fsspec.filesystem("file"), os.path.abspath(os.path.expanduser(url))
    except ImportError as error:
        raise EnvironmentLacks(_lacking(shown, error)) from error
    except ValueError as error:
        known = ", ".join(sorted(fsspec.available_protocols())[:60])
        raise refuse(
            "store", shown, f"a folder, or an address with a protocol that fsspec supports: {known}", source="the address of a store"
        ) from error
    except Exception as error:
        raise RecordError(f"cannot open {shown}: {redact(str(error))}") from None
    return opened, str(root)


def _lacking(shown: str, error: ImportError) -> str:
    """fsspec names the package: "Install s3fs to access S3"."""
    package = re.search(r"[Ii]nstall (?:the )?['\"`]?([A-Za-z0-9_-]+)", str(error))
    remedy = f"pip install {package[1]}" if package else str(error)
    return f"the driver for {shown} is not installed: {remedy}"


def _entry(folder: str, manifest: bytes | None, seal: bytes | None) -> Entry:
    described = dict.fromkeys(("name", "id", "created_utc", "plan_signature", "reason"), "")
    described |= {"folder": folder, "state": "damaged"}
    if not _NAME.fullmatch(folder):
        return Entry(**described | {"reason": "its folder's name is not a record name of assay"})
    if manifest is None:
        return Entry(**described | {"state": "incomplete", "reason": "it has no manifest.json"})
    try:
        content = json_of(manifest)
        read = {key: content[key] for key in ("name", "id", "created_utc", "state")}
        read["plan_signature"] = content.get("plan_signature", "")
    except (ValueError, LookupError, TypeError):
        return Entry(**described | {"reason": "its manifest.json is damaged or foreign"})
    if not all(isinstance(value, str) for value in read.values()):
        return Entry(**described | {"reason": "its manifest.json is damaged or foreign"})
    if seal is None:
        return Entry(**described | read | {"state": "incomplete", "reason": "it has no seal"})
    if seal != seal_line(manifest):
        return Entry(**described | read | {"state": "damaged", "reason": "its SEAL does not belong to its manifest.json"})
    return Entry(**described | read)


def _listed(manifest: Mapping[str, Any], where: Path) -> dict[str, int]:
    """The sealed files with their sizes. Raises if a path would leave the record."""
    try:
        listed = {name: int(entry["bytes"]) for name, entry in manifest["sealed"]["files"].items()}
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise RecordError(f"the manifest of {where.name} does not list the sealed files: it is damaged. Restore it from a copy.") from error
    for name in listed:
        if inside.problem_of_name(name) or name.split("/")[0] in _OWN:
            raise RecordError(
                f"the manifest of {where.name} names the file {name!r}, which is outside the record. Take the record from somebody you trust."
            )
    return listed


_OWN: Final = ("SEAL", "SEAL.sig", "manifest.json", "reports", "streams")


def _through_a_link(path: Path, file: str) -> bool:
    return (path.resolve() / file).resolve() != path.resolve() / file


def _check_name(name: str, shown: str) -> None:
    if not _NAME.fullmatch(name):
        raise RecordError(f"{name!r} is not a record name, so it cannot be in {shown}. `assay list` shows names.")


def _kept(target: Path, seal: bytes) -> Path:
    """The earlier copy. Raises RecordError unless it is the same record and intact."""
    kept_seal = (target / "SEAL").read_bytes() if (target / "SEAL").is_file() else b""
    if kept_seal != seal or verify(target):
        raise RecordError(f"{target} exists but is not the record of the store. Remove it, or choose another cache.")
    return target


def _placed(partial: Path, target: Path, seal: bytes) -> Path:
    try:
        files.rename(partial, target)
    except OSError:
        if not target.exists():
            raise
        return _kept(target, seal)  # another process has pulled it meanwhile
    return target


def _last(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def default_cache(environ: Mapping[str, str], home: Callable[[], Path] = Path.home) -> Path:
    """The folder of pulled records: XDG_CACHE_HOME/assay/records, else ~/.cache/assay/records."""
    return files.user_cache(environ, home) / "records"
