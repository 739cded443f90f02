"""How is a capture of Nsight Systems that is not exported yet read?  By `nsys export` into a temporary folder, where nsys is installed.

Importers run nothing, so this belongs to the verb; without nsys the importer's error names the command.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from fireassay.errors import refuse
from fireassay.printable import one_line
from fireassay.record.scratch import scratch

CAPTURES: Final = (".nsys-rep", ".qdrep")
EXPORT_S: Final = 900.0  # a capture of gigabytes takes minutes


@contextmanager
def exported(files: Sequence[Path]) -> Iterator[list[Path]]:
    """The files, each capture replaced by its export as sqlite, which is removed afterwards.

    Raises:
        SpecError: nsys cannot export a capture.
    """
    nsys = shutil.which("nsys")
    if nsys is None or not any(file.suffix in CAPTURES and file.is_file() for file in files):
        yield list(files)
        return
    with scratch() as folder:
        yield [_export(nsys, file, folder) if file.suffix in CAPTURES and file.is_file() else file for file in files]


def _export(nsys: str, capture: Path, folder: Path) -> Path:
    target = folder / f"{capture.stem}.sqlite"
    command = [nsys, "export", "--type", "sqlite", "--output", str(target), str(capture.resolve())]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=EXPORT_S, check=False)
        lines = (done.stderr or done.stdout).strip().splitlines()
        found = f"nsys export ended with exit code {done.returncode}: {one_line(lines[-1])[:200] if lines else 'no message'}"
        failed = done.returncode != 0 or not target.is_file()
    except (OSError, subprocess.SubprocessError) as error:
        failed, found = True, f"nsys export failed: {one_line(str(error))[:200]}"
    if failed:
        raise refuse(
            capture.name, found, "a capture that this nsys can read", "Export it with the version that made it.", source="the import"
        )
    return target
