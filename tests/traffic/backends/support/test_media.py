"""Are images and speech requested in their documented form, and is audio timed as it arrives?"""

from __future__ import annotations

import json

import pytest

from fireassay.spec.sections.serving import Target
from fireassay.traffic.backends.openai import BACKEND
from fireassay.traffic.parts import Answer, Ask, Kind
from tests.traffic.fakes import asked_for_real
from tests.traffic.transcripts import reply_of

SPEECH = Ask(task="text_to_speech", model="m", prompt="Hello", stream=False)
PICTURE = Ask(task="text_to_image", model="m", prompt="a cat", stream=False, size=(256, 128, 2))
TARGET = Target(options={"voice": "verse"})


def pictured(document: object) -> Answer:
    return BACKEND.read(reply_of([(5, json.dumps(document).encode())], headers={"content-type": "application/json"}), PICTURE)


def test_images_of_a_size() -> None:
    wire = BACKEND.wire(PICTURE, TARGET)
    assert (wire.path, json.loads(wire.body)) == ("/v1/images/generations", {"model": "m", "prompt": "a cat", "n": 2, "size": "256x128"})
    assert json.loads(BACKEND.wire(PICTURE._replace(size=None), TARGET).body) == {"model": "m", "prompt": "a cat", "n": 1}


def test_every_image_has_to_be_there() -> None:
    image, link = {"b64_json": "AAAA"}, {"url": "https://example.org/1.png"}
    assert pictured({"created": 1, "data": [image, link]}).status == "ok"
    assert pictured({"data": [image]}).error == "1 images of 2"
    assert pictured({"data": [image, {}]}).error == "1 images of 2"
    assert pictured({"data": "AAAA"}).status == pictured([]).status == pictured({}).status == "malformed"
    assert pictured({"error": {"message": "unsafe prompt"}}).error == "unsafe prompt"


def test_speech_is_asked_with_its_voice_and_read_piece_by_piece() -> None:
    asked, answer = asked_for_real(TARGET, SPEECH, [b"RIFF", b"12345678"], headers={"Content-Type": "audio/wav"})
    assert (asked.path, asked.json) == ("/v1/audio/speech", {"model": "m", "voice": "verse", "response_format": "wav", "input": "Hello"})
    assert (answer.status, sum(answer.chunk_chars), set(answer.chunk_kind)) == ("ok", 12, {int(Kind.CONTENT)})
    assert (answer.text, answer.tokens_out) == (None, None)


def test_a_chunk_of_audio_has_the_time_of_its_read_and_the_head_is_none() -> None:
    reply = reply_of([(10, b""), (20, b"ab"), (35, b"cde")], headers={"content-type": "audio/wav"})
    answer = BACKEND.read(reply, SPEECH)
    assert (answer.chunk_ns, answer.chunk_chars) == ([20, 35], [2, 3])


@pytest.mark.parametrize(
    ("content", "kind", "status", "error"),
    [
        (b"", "audio/wav", "malformed", "no audio"),
        (b'{"error": {"message": "no such voice"}}', "application/json", "error", "no such voice"),
        (b"<html>", "text/html", "error", "text, not audio"),
        (b"{", "application/json", "error", "text, not audio"),
    ],
)
def test_what_is_no_audio_is_no_answer(content: bytes, kind: str, status: str, error: str) -> None:
    answer = BACKEND.read(reply_of([(5, content)], headers={"content-type": kind}), SPEECH)
    assert (answer.status, error in (answer.error or "")) == (status, True)


def test_audio_that_was_cut_off_keeps_its_times() -> None:
    answer = BACKEND.read(reply_of([(5, b"abc")], ended="closed", headers={"content-type": "audio/wav"}), SPEECH)
    assert (answer.status, answer.chunk_ns) == ("truncated", [5])
    refused = BACKEND.read(reply_of([(5, b'{"error": {"message": "busy"}}')], http_status=503), SPEECH)
    assert (refused.status, refused.chunk_ns) == ("5xx", [])


def test_embeddings_of_images_are_those_of_a_message() -> None:
    parts = [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]
    ask = Ask(task="image_to_embeddings", model="m", messages=({"role": "user", "content": parts},), stream=False)
    wire = BACKEND.wire(ask, TARGET)
    assert (wire.path, json.loads(wire.body)) == (
        "/v1/embeddings",
        {"model": "m", "encoding_format": "float", "messages": [{"role": "user", "content": parts}]},
    )
    document = {"object": "list", "data": [{"index": 0, "embedding": [0.5]}], "usage": {"prompt_tokens": 9}}
    assert BACKEND.read(reply_of([(5, json.dumps(document).encode())]), ask).tokens_in == 9
