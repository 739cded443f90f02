"""Are images and speech requested in their documented form, and are audio and previews timed as they arrive?"""

from __future__ import annotations

import base64
import json

import pytest

from fireassay.instruments.reference_server.media import drawn
from fireassay.quality.scoring.image_heads import described
from fireassay.spec.sections.serving import Target
from fireassay.traffic.backends.openai import BACKEND
from fireassay.traffic.backends.support.bodies import check_options
from fireassay.traffic.parts import Answer, Ask, Kind
from tests.traffic.fakes import asked_for_real
from tests.traffic.transcripts import reply_of

SPEECH = Ask(task="text_to_speech", model="m", prompt="Hello", stream=False)
PICTURE = Ask(task="text_to_image", model="m", prompt="a cat", stream=False, size=(256, 128, 2))
TARGET = Target(options={"voice": "verse"})


def pictured(document: object) -> Answer:
    return BACKEND.read(reply_of([(5, json.dumps(document).encode())], headers={"content-type": "application/json"}), PICTURE)


def body_of(ask: Ask, **options: str | int) -> object:
    return json.loads(BACKEND.wire(ask, Target(options=dict(options))).body)


def test_images_of_a_size() -> None:
    wire = BACKEND.wire(PICTURE, TARGET)
    asked = {"model": "m", "response_format": "b64_json", "prompt": "a cat", "n": 2, "size": "256x128"}
    assert (wire.path, json.loads(wire.body)) == ("/v1/images/generations", asked)


def test_prompts_of_a_file_have_the_size_that_the_target_states() -> None:
    plain = {"model": "m", "response_format": "b64_json", "prompt": "a cat", "n": 1}
    assert body_of(PICTURE._replace(size=None)) == plain
    assert body_of(PICTURE._replace(size=None), image_size="512x512") == {**plain, "size": "512x512"}


def test_models_that_refuse_the_key_response_format_do_not_get_it() -> None:
    """OpenAI's gpt-image models: "Unknown parameter: 'response_format'"."""
    assert body_of(PICTURE._replace(model="gpt-image-1.5", size=None)) == {"model": "gpt-image-1.5", "prompt": "a cat", "n": 1}
    assert body_of(PICTURE._replace(size=None), **{"body.response_format": "url"}) == {
        "model": "m",
        "response_format": "url",
        "prompt": "a cat",
        "n": 1,
    }


def test_previews_are_a_stream() -> None:
    asked = {"model": "m", "response_format": "b64_json", "stream": True, "partial_images": 2, "prompt": "a cat", "n": 1}
    assert body_of(PICTURE._replace(size=None), partial_images=2) == asked
    assert not check_options(Target(options={"partial_images": 2, "image_size": "64x64"}), "text_to_image")
    (problem,) = check_options(Target(options={"body.partial_images": 2}), "text_to_image")
    assert "set by the experiment" in problem.fix


FILE = drawn("a red circle", 32, 16, 0)
ENTRY = {"b64_json": base64.b64encode(FILE).decode()}


def test_every_image_has_to_be_there() -> None:
    link = {"url": "https://example.org/1.png?sig=secret"}
    answer = pictured({"created": 1, "data": [ENTRY, link]})
    assert (answer.status, [(one.kind, one.width, one.height, one.nbytes) for one in described(answer.text)]) == (
        "ok",
        [("png", 32, 16, len(FILE))],
    )
    assert "secret" not in str(answer.text)
    counted = {"usage": {"total_tokens": 300, "input_tokens": 12, "output_tokens": 288}}
    assert pictured({"data": [ENTRY, ENTRY], **counted}).tokens_in == 12
    assert pictured({"data": [ENTRY]}).error == "1 images of 2"
    assert pictured({"data": [ENTRY, {}]}).error == "1 images of 2"
    assert pictured({"data": "AAAA"}).status == pictured([]).status == pictured({}).status == "malformed"
    assert pictured({"error": {"message": "unsafe prompt"}}).error == "unsafe prompt"


@pytest.mark.parametrize("text", ["AAAA", "%%%", base64.b64encode(b"<html>busy</html>").decode(), ENTRY["b64_json"][:24]])
def test_what_is_no_image_is_no_answer(text: str) -> None:
    assert pictured({"data": [ENTRY, {"b64_json": text}]}).status == "malformed"


def event(kind: str, **more: object) -> bytes:
    return f"event: image_generation.{kind}\ndata: {json.dumps({'type': f'image_generation.{kind}', **more})}\n\n".encode()


def streamed(*reads: tuple[int, bytes], many: int = 1, ended: str = "complete") -> Answer:
    reply = reply_of(list(reads), headers={"content-type": "text/event-stream"}, ended=ended)
    return BACKEND.read(reply, PICTURE._replace(size=(32, 16, many)))


def test_a_preview_is_a_chunk_and_the_last_event_is_the_image() -> None:
    usage = {"usage": {"input_tokens": 7, "output_tokens": 272}}
    answer = streamed((10, event("partial_image", **ENTRY, partial_image_index=0)), (30, event("completed", **ENTRY, **usage)))
    assert (answer.status, answer.chunk_ns, set(answer.chunk_kind)) == ("ok", [10, 30], {int(Kind.OTHER)})
    assert ([one.width for one in described(answer.text)], answer.tokens_in, answer.tokens_out) == ([32], 7, None)


def test_a_stream_without_its_image_is_no_answer() -> None:
    preview = event("partial_image", **ENTRY, partial_image_index=0)
    assert streamed((10, preview)).status == "truncated"
    assert streamed((10, preview), ended="closed").status == "truncated"
    assert streamed((10, event("completed", **ENTRY)), many=2).error == "1 images of 2"
    assert streamed((10, event("completed"))).status == "malformed"
    failed = streamed((10, preview), (20, b'data: {"error": {"message": "moderation blocked"}}\n\n'))
    assert (failed.status, failed.error) == ("error", "moderation blocked")


def test_a_stream_that_was_not_granted_is_read_as_the_document_it_is() -> None:
    assert pictured({"data": [ENTRY, ENTRY]}).status == "ok"


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
