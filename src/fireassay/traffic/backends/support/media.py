"""How are images and speech requested in OpenAI's dialect, and embeddings of images in vLLM's; and how are the answers read?

    text_to_image         POST /v1/images/generations   {"model", "prompt", "n", "size"}      JSON with `data`, an entry per image; or events
    text_to_speech        POST /v1/audio/speech         {"model", "input", "voice"}           the audio itself, as it is made
    image_to_embeddings   POST /v1/embeddings           {"model", "messages"}                 JSON, one vector

Of speech every socket read with audio is a chunk, so the first one is the time to first audio; `chunk_chars` are its bytes.  Audio is WAV
unless "body.response_format" asks for something else.  How long it plays is known by its bytes per second, `audio_bytes_per_s`
(48000: 24 kHz, 16 bit, mono), which the user states.

Images are requested as base64 (`response_format`): a link would leave out their transfer, and SGLang refused a request that names no format.
OpenAI's gpt-image models refuse the key instead, and always answer in base64; they do not get it.  "body.response_format" = "url" changes it.
With `partial_images` above 0 an answer is a stream: image_generation.partial_image for each preview, then image_generation.completed.  The
answer's text describes each image (`fireassay.traffic.replies.image_files`); the images themselves are not kept.
Sources: https://platform.openai.com/docs/api-reference/images/create, /images-streaming and /audio/createSpeech;
https://docs.vllm.ai/en/latest/models/pooling_models.html (embeddings of messages);
https://github.com/sgl-project/sglang/pull/19360 and docs/diffusion/openai_api.md; vllm_omni/entrypoints/openai/protocol/images.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from fireassay.spec.sections.serving import Target
from fireassay.traffic.backends.support.bodies import member, numbers, option
from fireassay.traffic.backends.support.native_events import AnswerBuilder, read_events
from fireassay.traffic.parts import Answer, Ask, Kind, Option, Reply
from fireassay.traffic.replies.image_files import LINK, content_of, head_of
from fireassay.traffic.replies.openai_json import MAX_ERROR, error_message, events, failure, is_error, loads

BYTES_PER_S: Final = Option(meaning="text_to_speech: bytes of a second of audio, as in 48000 for 24 kHz, 16 bit, mono", kind=int)
SIZE: Final = "image_size"
PARTIAL: Final = "partial_images"
OWN_IMAGES: Final[Mapping[str, Option]] = {
    SIZE: Option(meaning="text_to_image: width and height of the images for prompts of a file, as in 1024x1024; default: the model's own"),
    PARTIAL: Option(meaning="text_to_image: previews of each image, 0 to 3; above 0 the answer is a stream", kind=int),
}
STREAM: Final = "event-stream"  # in the type of an answer
ALWAYS_BASE64: Final = ("gpt-image", "chatgpt-image")  # models that refuse the key response_format


def fixed(ask: Ask, target: Target) -> dict[str, Any]:
    """The keys that all requests of a kind share."""
    if ask.task == "text_to_speech":
        return {"model": ask.model, "voice": option(target, "voice", "alloy"), "response_format": "wav"}
    if ask.task == "image_to_embeddings":
        return {"model": ask.model, "encoding_format": "float"}
    partial = int(target.options.get(PARTIAL, 0))
    return {
        "model": ask.model,
        **({} if ask.model.startswith(ALWAYS_BASE64) else {"response_format": "b64_json"}),
        **({"stream": True, "partial_images": partial} if partial else {}),
    }


def varied(ask: Ask, target: Target) -> bytes:
    """The members of one request."""
    if ask.task == "text_to_speech":
        return member("input", ask.prompt)
    if ask.task == "image_to_embeddings":
        return member("messages", ask.messages)
    width, height, many = ask.size or (0, 0, 1)
    size = f"{width}x{height}" if width else option(target, SIZE)
    return member("prompt", ask.prompt) + numbers(("n", many)) + (member("size", size) if size else b"")


def images(document: Any, requested: int, answer: Answer) -> str:
    """What is wrong with an answer of images; "" if every requested one is there. Describes them in the answer's text.

    Raises:
        ValueError: one is no image.
    """
    data = document["data"] if isinstance(document, dict) else None
    if not isinstance(data, list):
        return "the answer has no list `data`"
    made = [entry for entry in data if entry.get("b64_json") or entry.get("url")]
    if not len(made) == len(data) == requested:
        return f"{len(made)} images of {requested}"
    answer.text = "\n".join(map(_line, made))
    return ""


def _line(entry: Mapping[str, Any]) -> str:
    content = content_of(entry)
    return LINK if content is None else str(head_of(content))


def read_image_events(reply: Reply, requested: int) -> Answer:
    """Parse a stream of previews and images. Never raises, whatever the server sent."""
    lines: list[str] = []

    def take(document: Mapping[str, Any], name: str, ns: int, into: AnswerBuilder) -> None:
        kind = str(document.get("type") or name)
        if not kind.endswith((".partial_image", ".completed")):
            into.add(ns, Kind.OTHER)
            return
        if kind.endswith(".completed"):
            lines.append(_line(document))
            into.tokens(document.get("usage") or {}, {"tokens_in": "input_tokens"})
            into.finish("stop")
        into.add(ns, Kind.OTHER, len(document.get("b64_json") or ""))

    answer = read_events(reply, take)
    answer.text = "\n".join(lines) or None
    if answer.status == "ok" and len(lines) != requested:
        answer.status, answer.error = "malformed", f"{len(lines)} images of {requested}"
    return answer


def image_files(reply: Reply) -> Iterator[bytes]:
    """The files in an answer that was read without an error; previews are left out."""
    if STREAM not in reply.headers.get("content-type", ""):
        entries = loads(reply.body)["data"]
    else:
        documents = (loads(data) for _, _, data in events(reply.body) if data.strip() != b"[DONE]")
        entries = [one for one in documents if str(one.get("type")).endswith(".completed")]
    yield from (content for entry in entries if (content := content_of(entry)) is not None)


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
