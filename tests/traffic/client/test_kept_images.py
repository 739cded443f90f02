"""Is every image of an answer kept as a file, once, whole, and only if the answer is ok?"""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path

from fireassay.instruments.reference_server.media import drawn
from fireassay.traffic.backends.openai import BACKEND
from fireassay.traffic.client.kept_images import keeping
from fireassay.traffic.parts import Answer, Ask, Reply
from tests.traffic.transcripts import reply_of

FILES = [drawn("a red circle", 32, 16, number) for number in range(2)]
ENTRIES = [{"b64_json": base64.b64encode(file).decode()} for file in FILES]
NAMES = {f"{hashlib.sha256(file).hexdigest()}.png": file for file in FILES}


def ask(many: int) -> Ask:
    return Ask(task="text_to_image", model="m", prompt="a red circle", stream=False, size=(32, 16, many))


def read(folder: Path, document: object, many: int = 2) -> Answer:
    return keeping(BACKEND.read, folder)(reply_of([(5, json.dumps(document).encode())]), ask(many))


def kept(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()} if folder.is_dir() else {}


def test_images_are_files_by_their_digest(tmp_path: Path) -> None:
    folder = tmp_path / "record-images"
    assert read(folder, {"data": ENTRIES}).status == "ok"
    assert kept(folder) == NAMES
    read(folder, {"data": ENTRIES[:1]}, 1)
    assert kept(folder) == NAMES


def test_links_and_answers_that_failed_leave_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "record-images"
    assert read(folder, {"data": [{"url": "https://example.org/a.png"}]}, 1).status == "ok"
    assert read(folder, {"data": ENTRIES[:1]}, 2).status == "malformed"
    assert read(folder, {"error": {"message": "unsafe"}}).status == "error"
    assert kept(folder) == {}


def test_of_a_stream_the_image_is_kept_and_no_preview(tmp_path: Path) -> None:
    events = [{"type": "image_generation.partial_image", **ENTRIES[0]}, {"type": "image_generation.completed", **ENTRIES[1]}]
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in events).encode()
    reply: Reply = reply_of([(5, body)], headers={"content-type": "text/event-stream"})
    assert keeping(BACKEND.read, tmp_path)(reply, ask(1)).status == "ok"
    assert list(kept(tmp_path).values()) == FILES[1:]


def test_an_image_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    answer = read(tmp_path / "file", {"data": ENTRIES})
    assert (answer.status, "could not be kept" in (answer.error or "")) == ("error", True)
