"""How does a site become files, each written only if it changed?

The folder's `.assay-site.json` says what each page was made from.  Without it, a folder that is not empty is refused, so that no file of
somebody else is overwritten.  Pages of records that are gone are removed: only those named there, and only below the folder.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from fireassay.api.records.site import SitePage
from fireassay.errors import AssayError, Problem, RecordError, SpecError
from fireassay.record import files
from fireassay.record.untrusted import paths, strict_json

CONTENTS: Final = ".assay-site.json"
OURS: Final = re.compile(r"(?:(?:records|compare|trends)/)?[A-Za-z0-9][A-Za-z0-9._-]*\.html")


@dataclass
class SiteFolder:
    """A folder that holds a site; `close` notes what it holds."""

    path: Path
    keys: dict[str, str] = field(default_factory=dict)  # page -> what it was made from
    wanted: set[str] = field(default_factory=set)
    written: int = 0

    def write(self, pages: Sequence[SitePage], progress: Callable[[str], object], skipped: Callable[[AssayError], object]) -> None:
        """Write the pages that changed; one that cannot be made is reported and left out.

        Raises:
            RecordError: a file cannot be written.
        """
        for page in pages:
            if page.key and self.keys.get(page.path) == page.key and self._is_there(page.path):
                self.wanted.add(page.path)
                continue
            if page.key:
                progress(page.path)
            try:
                content = page.make().encode()
            except AssayError as error:
                skipped(error)
                continue
            self.wanted.add(page.path)
            self._put(page, content)

    def close(self) -> None:
        """Remove pages of records that are gone, and note what the folder holds."""
        for name in sorted(self.keys.keys() - self.wanted):
            if OURS.fullmatch(name):
                with suppress(OSError):
                    (self.path / name).unlink()
        kept = {name: key for name, key in sorted(self.keys.items()) if name in self.wanted}
        self._store(CONTENTS, json.dumps(kept, indent=1).encode())

    def _put(self, page: SitePage, content: bytes) -> None:
        with suppress(OSError, RecordError):
            if not page.key and paths.read(self.path, page.path, len(content)) == content:
                self.keys[page.path] = page.key
                return
        self._store(page.path, content)
        self.keys[page.path] = page.key
        self.written += 1

    def _store(self, name: str, content: bytes) -> None:
        try:
            paths.write(self.path, name, content)
        except OSError as error:
            raise files.explain(error, self.path / name, "write the page") from error

    def _is_there(self, name: str) -> bool:
        return (self.path / name).is_file()


def opened(path: Path) -> SiteFolder:
    """The folder of a site, created if missing.

    Raises:
        SpecError: it holds files that are not of a site.
        RecordError: it cannot be created.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        others = any(path.iterdir())
    except OSError as error:
        raise files.explain(error, path, "write the site to") from error
    if others and not (path / CONTENTS).is_file():
        problem = Problem(
            where="FOLDER", found=f"{path}, which holds other files", allowed="a new or empty folder, or one written by assay site"
        )
        raise SpecError((problem,), "the command line")
    keys: dict[str, str] = {}
    with suppress(OSError, ValueError, RecordError):
        found = strict_json.json_of(paths.read(path, CONTENTS, 8 * paths.MIB))
        keys = {str(name): str(key) for name, key in found.items()} if isinstance(found, dict) else {}
    site = SiteFolder(path=path, keys=keys)
    if not others:  # at once, so that an interrupted site is taken for one
        site.close()
    return site
