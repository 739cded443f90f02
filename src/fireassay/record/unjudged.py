"""How is a failure reported that a record's values cause in judging?"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from fireassay.errors import RecordError
from fireassay.printable import shell_word
from fireassay.record.manifest import MAX_REASON_LENGTH


@contextmanager
def judged_from(path: Path) -> Iterator[None]:
    """Turn errors that a record's values cause in judging into one sentence, so that other records are still judged.

    A reader cannot foresee every value that breaks a metric; the message gives the location, since assay itself may be wrong.

    Raises:
        RecordError: the record cannot be judged.
    """
    try:
        yield
    except _STUMBLES as error:
        raise _unjudged(path, error) from error
    except BaseException as error:
        if type(error).__module__.startswith(("polars", "pyarrow", "pyo3_runtime")):  # by name: importing the packages costs time
            raise _unjudged(path, error) from error
        raise


_STUMBLES: Final = (ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError)


def _unjudged(path: Path, error: BaseException) -> RecordError:
    import traceback

    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if f"{os.sep}assay{os.sep}" in frame.filename]
    where = f" at {Path(frames[-1].filename).stem}:{frames[-1].lineno}" if frames else ""
    why = " ".join(str(error)[:MAX_REASON_LENGTH].split())
    return RecordError(
        f"{path} cannot be judged: it holds a value that assay does not write ({type(error).__name__}{where}: {why}). "
        f"If `assay verify {shell_word(path)}` finds it unchanged, please report this line as a defect."
    )
