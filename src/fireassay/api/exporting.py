"""How do the numbers of a record reach another program?

By files, which an exporter makes (`fireassay.reports.exports`) and this module writes, or through a sender (`fireassay.api.senders`).  The
same record twice in the same destination changes nothing: files are a function of the record alone.  A folder that holds something else
is refused; a single file is replaced, if an export wrote it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from fireassay import catalog
from fireassay.api.senders.sender import Sender, Sent, training_note
from fireassay.errors import AssayError, EnvironmentLacks, RecordError, did_you_mean, refuse
from fireassay.printable import one_line
from fireassay.record import files
from fireassay.record.secrets.redact import redact
from fireassay.reports.exports.export import Added, Export, Subject
from fireassay.reports.view import View

EXPORTS: Final = "reports.exports"
SENDERS: Final = "api.senders"
SOURCE: Final = "the command line"
RECORD: Final = "{record}"  # in a destination: the name of the record's folder
_ADDRESS: Final = re.compile(r"[a-z][a-z0-9+.-]*://")


def targets() -> tuple[str, ...]:
    """What `--to` accepts; loads no plug-in."""
    return tuple(sorted(name.replace("_", "-") for name in _known(EXPORTS) | _known(SENDERS)))


def summaries() -> dict[str, str]:
    """Each target with what it gets, in a line."""
    return {
        name: catalog.load(EXPORTS if (own := name.replace("-", "_")) in _known(EXPORTS) else SENDERS, own).summary for name in targets()
    }


def _known(package: str) -> frozenset[str]:
    return frozenset((*catalog.names(package), *catalog.third_party(package)))


def check(name: str, destination: str, options: Sequence[str] = ()) -> tuple[Export | Sender, Mapping[str, str]]:
    """The plug-in of a target, and its options. Raises SpecError: no such target or option; EnvironmentLacks: its library is not there."""
    if name not in targets():
        raise refuse("--to", repr(name), ", ".join(targets()), did_you_mean(name, targets()), source=SOURCE)
    plug_in = name.replace("-", "_")
    sent = plug_in in _known(SENDERS) and (plug_in not in _known(EXPORTS) or _ADDRESS.match(destination) is not None)
    if not sent and _ADDRESS.match(destination):
        raise refuse("--out", redact(destination), "a file or a folder", f"{name} is written to files.", source=SOURCE)
    target: Export | Sender = catalog.load(SENDERS if sent else EXPORTS, plug_in)
    if isinstance(target, Sender) and target.needs and find_spec(target.needs) is None:
        raise EnvironmentLacks(f"{target.title} is not installed here. Install it: pip install 'fireassay[{target.extra}]'")
    return target, dict(_option(target, text) for text in options)


def _option(target: Export | Sender, text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or name not in target.options:
        allowed = "; ".join(f"{known}=VALUE: {meaning}" for known, meaning in target.options.items()) or f"{target.title} has none"
        raise refuse("--option", repr(text), allowed, did_you_mean(name, target.options), source=SOURCE)
    return name, value


def export(view: View, path: Path, name: str, destination: str = "", options: Sequence[str] = ()) -> Sent:
    """Export a judged record, whose folder is `path`.

    Args:
        name: one of `targets()`.
        destination: a folder, a file or an address, `{record}` in it being the folder's name; empty: the target's default.
        options: `NAME=VALUE`, as the target declares them.

    Raises:
        SpecError: no such target or option, the target cannot hold the record, or the destination holds something else.
        EnvironmentLacks: its library is not installed, or what it speaks to does not answer.
        RecordError: the files cannot be written.
    """
    target, given = check(name, destination, options)
    subject = Subject(view=view, options=given)
    where = destination.replace(RECORD, path.name)
    if target.kinds and view.kind.name not in target.kinds:
        raise refuse("the record", f"kind {view.kind.name}", f"kind {' or '.join(target.kinds)}", source=f"--to {name}")
    return _sent(target, subject, path, where) if isinstance(target, Sender) else _written(target, subject, path, where)


def _sent(target: Sender, subject: Subject, path: Path, where: str) -> Sent:
    try:
        return target.send(subject, path, where)
    except AssayError:
        raise
    except Exception as error:  # of a library that is not ours
        what = redact(one_line(f"{type(error).__name__}: {error}"))
        raise EnvironmentLacks(f"{target.title} did not take the record: {what[:500]}") from error


def _written(target: Export, subject: Subject, path: Path, where: str) -> Sent:
    exported = target.files(subject)
    silent = subject.head.status == "INVALID" and not target.marks
    void = (f"this record is INVALID, which no file of {target.title} can say: assay report {path.name}.",) if silent else ()
    if target.suffix:
        (content,) = exported.files.values()
        file = _file(target, subject, Path(where))
        new = _replaced(file, content)
    else:
        file = Path(where or f"{path.name}-{target.name.replace('_', '-')}")
        new = files.fill_folder("--out", file, exported.files)
    added = [(one.folder, _added(one)) for one in exported.added]
    return Sent(
        where=str(file),
        new=new or any(why is None for _, why in added),
        notes=(*void, *exported.notes, *(training_note(folder, why) for folder, why in added if why != "")),
    )


def _added(one: Added) -> str | None:
    """Add a file to a folder of the training.  None: added; empty: it was there; else why not."""
    folder = Path(one.folder)
    file = folder / one.name
    try:
        if why := one.foreign([path.name for path in folder.iterdir()]):
            return why
        if file.is_file() and not file.is_symlink() and files.same(file, one.content):
            return ""
        files.write_output(file, files.pieces(one.content))
    except (OSError, ValueError) as error:
        return getattr(error, "strerror", None) or str(error)
    return None


def _file(target: Export, subject: Subject, where: Path) -> Path:
    """The file; in a folder, and by default, one for each experiment."""
    own = f"fireassay-{re.sub(r'[^A-Za-z0-9._-]+', '_', subject.head.name)[:100]}{target.suffix}"
    return where / own if where.is_dir() else where


def _replaced(file: Path, content: files.Content) -> bool:
    """Write the file; False if it has this content already. Raises SpecError: the file is not one that an export wrote."""
    head = next(iter(files.pieces(content)))
    mark = head[: head.find(b"\n") + 1]  # its first line, which is the same for every record
    if file.is_file() and not file.is_symlink():
        if files.same(file, content):
            return False
        with file.open("rb") as old:
            if (found := old.read(len(mark))) and found != mark:
                raise refuse("--out", f"{file}, which no export wrote", "a new file, or one of an export before", source=SOURCE)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        files.write_output(file, files.pieces(content))
    except OSError as error:
        raise RecordError(f"cannot write {file}: {error.strerror}. Choose another file.") from error
    return True
