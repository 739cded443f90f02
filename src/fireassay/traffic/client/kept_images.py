"""How does a client keep the images of its answers?  Each as a file named by its digest, before its answer is recorded.

A file that is there is not written again.  It appears whole or not at all; an image that cannot be written makes its answer an error, since it could
not be scored.  Only an evaluation asks for this: writing takes the client some milliseconds.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from fireassay.traffic.backends.support.media import image_files
from fireassay.traffic.parts import Answer, Ask, Reply
from fireassay.traffic.replies.image_files import head_of

Read = Callable[[Reply, Ask], Answer]


def keeping(read: Read, folder: Path) -> Read:
    """The reader of a backend, which also keeps the images of answers that are ok."""

    def kept(reply: Reply, ask: Ask) -> Answer:
        answer = read(reply, ask)
        if answer.status == "ok" and answer.text:
            try:
                for content in image_files(reply):
                    _write(folder / head_of(content).file, content)
            except OSError as error:
                answer.status, answer.error = "error", f"the image could not be kept in {folder}: {error.strerror}"
        return answer

    return kept


def _write(path: Path, content: bytes) -> None:
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        partial.write_bytes(content)
        partial.replace(path)
    except OSError:
        partial.unlink(missing_ok=True)
        raise
