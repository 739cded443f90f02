"""How are images and speech requested in OpenAI's dialect, and embeddings of images in vLLM's; and how are the answers read?

    text_to_image         POST /v1/images/generations   {"model", "prompt", "n", "size"}      JSON with `data`, an entry per image
    text_to_speech        POST /v1/audio/speech         {"model", "input", "voice"}           the audio itself, as it is made
    image_to_embeddings   POST /v1/embeddings           {"model", "messages"}                 JSON, one vector

Of speech every socket read with audio is a chunk, so the first one is the time to first audio; `chunk_chars` are its bytes.  Audio is WAV
unless "body.response_format" asks for something else.  How long it plays is known by its bytes per second, `audio_bytes_per_s`
(48000: 24 kHz, 16 bit, mono), which the user states.
Sources: https://platform.openai.com/docs/api-reference/images/create and /audio/createSpeech;
https://docs.vllm.ai/en/latest/models/pooling_models.html (embeddings of messages).
"""

from __future__ import annotations

from typing import Any, Final

from fireassay.spec.sections.serving import Target
from fireassay.traffic.backends.support.bodies import member, numbers, option
from fireassay.traffic.parts import Answer, Ask, Kind, Option, Reply
from fireassay.traffic.replies.openai_json import MAX_ERROR, error_message, failure, is_error, loads

BYTES_PER_S: Final = Option(meaning="text_to_speech: bytes of a second of audio, as in 48000 for 24 kHz, 16 bit, mono", kind=int)


def fixed(ask: Ask, target: Target) -> dict[str, Any]:
    """The keys that all requests of a kind share."""
    if ask.task == "text_to_speech":
        return {"model": ask.model, "voice": option(target, "voice", "alloy"), "response_format": "wav"}
    if ask.task == "image_to_embeddings":
        return {"model": ask.model, "encoding_format": "float"}
    return {"model": ask.model}


def varied(ask: Ask) -> bytes:
    """The members of one request."""
    if ask.task == "text_to_speech":
        return member("input", ask.prompt)
    if ask.task == "image_to_embeddings":
        return member("messages", ask.messages)
    if ask.size is None:
        return member("prompt", ask.prompt) + numbers(("n", 1))
    width, height, many = ask.size
    return member("prompt", ask.prompt) + numbers(("n", many)) + member("size", f"{width}x{height}")


def images(document: Any, requested: int) -> str:
    """What is wrong with an answer of images; "" if every requested one is there."""
    data = document["data"] if isinstance(document, dict) else None
    if not isinstance(data, list):
        return "the answer has no list `data`"
    made = [entry for entry in data if entry.get("b64_json") or entry.get("url")]
    return "" if len(made) == len(data) == requested else f"{len(made)} images of {requested}"


def read_speech(reply: Reply) -> Answer:
    """Parse an answer of audio. Never raises, whatever the server sent."""
    failed = failure(reply)
    if failed is not None and failed.status != "truncated":
        return failed
    kind = reply.headers.get("content-type", "")
    if "json" in kind or kind.startswith("text/"):
        return Answer(status="error", error=_said(reply))
    answer = Answer(status="ok") if failed is None else failed
    before = 0
    for end, ns in zip(reply.ends, reply.ns, strict=False):
        if end > before:
            answer.chunk_ns.append(ns)
            answer.chunk_kind.append(int(Kind.CONTENT))
            answer.chunk_chars.append(end - before)
            unsure = reply.unsure_at(end)
            answer.chunk_uncertainty_ns += [] if unsure is None else [unsure]
            before = end
    if not before and failed is None:
        answer.status, answer.error = "malformed", "the answer has no audio"
    return answer


def _said(reply: Reply) -> str:
    """The server's words in place of audio."""
    try:
        document = loads(reply.body)
    except ValueError:
        document = None
    said = error_message(document) if isinstance(document, dict) and is_error(document) else ""
    return (said or "the answer is text, not audio")[:MAX_ERROR]
