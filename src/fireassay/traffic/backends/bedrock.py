"""How are requests sent to Amazon Bedrock?

By ConverseStream, or InvokeModelWithResponseStream with api = "invoke", signed with Signature V4.  The stream is binary: frames of headers,
payload and two checksums, parsed by botocore.  A frame is a chunk, timed by the read that completed it.  Frames of type `exception` are
errors within a 200.  With api = "invoke" the payload is base64 of the model's own JSON; supported are the formats of Anthropic, Meta,
Mistral, Amazon Nova and OpenAI.

Credentials come from Amazon's standard chain (environment, profile, container, instance) through botocore (the extra `aws`); each request
is signed at send time.  With `api_key_env` a Bedrock API key is sent as a bearer token instead.  Requests are never retried.
URL: https://bedrock-runtime.REGION.amazonaws.com.

Options: `region` (required for signing; default: AWS_REGION or the profile's), `profile`, `api` ("converse" or "invoke"),
`path`, `omit`, `body.KEY`, `json.KEY`; for example "body.additionalModelRequestFields.top_k" = 40.
Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html.

How do the model families on Bedrock format requests and chunks in InvokeModel?

Converse has one dialect for all; InvokeModel passes the model's own JSON through.  The family is the first part of the model's ID that
names one: anthropic.claude-..., eu.anthropic.claude-..., meta.llama3-..., mistral.mistral-...
The last chunk of each may carry `amazon-bedrock-invocationMetrics`, with Bedrock's own token counts.
Source: https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters.html.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlsplit

from fireassay.errors import EnvironmentLacks
from fireassay.spec.sections.serving import Target
from fireassay.traffic.backends.support import bodies
from fireassay.traffic.backends.support.native_events import AnswerBuilder, guarded
from fireassay.traffic.parts import Answer, Ask, Backend, Json, Kind, Option, Reply, Sign, Wire
from fireassay.traffic.replies.openai_json import began_well, error_message, failure, loads, text_of_choice, usage_of

METRICS: Final = "amazon-bedrock-invocationMetrics"
_INVOCATION_COUNTS = {"tokens_in": "inputTokenCount", "tokens_out": "outputTokenCount", "tokens_cached": "cacheReadInputTokenCount"}


@dataclass(frozen=True)
class Family:
    """The JSON format of a model family."""

    fixed: Callable[[Ask], bodies.Tree]
    varied: Callable[[Ask], bodies.Tree]
    take: Callable[[Mapping[str, Any], int, AnswerBuilder], None]  # a chunk's JSON, its time


@lru_cache(maxsize=256)
def family_of(model: str) -> str:
    """The family of a model ID. Raises EnvironmentLacks: the family is unknown."""
    words = model.rpartition("/")[2].split(".")
    for index, word in enumerate(words):
        following = words[index + 1] if index + 1 < len(words) else ""
        name = "nova" if word == "amazon" and following.startswith("nova") else word
        if name in INVOKED:
            return name
    families = ", ".join(sorted(INVOKED))
    raise EnvironmentLacks(f'api = "invoke" supports models of {families}, not {model!r}; api = "converse" supports all')


def _turns(ask: Ask) -> list[bodies.Tree]:
    messages = ask.messages or ({"role": "user", "content": ask.prompt},)
    return [{"role": message["role"], "content": bodies.text_of(message.get("content"))} for message in messages]


def _prompt(ask: Ask) -> str:
    return ask.prompt or "\n".join(turn["content"] for turn in _turns(ask))


def _metrics(document: Mapping[str, Any], into: AnswerBuilder) -> None:
    into.tokens(document.get(METRICS) or {}, _INVOCATION_COUNTS)


# ---- Anthropic ---------------------------------------------------------------------------------------------------


def _anthropic_fixed(ask: Ask) -> bodies.Tree:
    return {"anthropic_version": "bedrock-2023-05-31", "temperature": ask.temperature}


def _anthropic_varied(ask: Ask) -> bodies.Tree:
    turns = _turns(ask)
    system = "\n".join(turn["content"] for turn in turns if turn["role"] == "system")
    return bodies.some(
        messages=[turn for turn in turns if turn["role"] != "system"],
        system=system or None,
        max_tokens=ask.max_tokens or 4096,  # required by the API
    )


def _anthropic_take(document: Mapping[str, Any], ns: int, into: AnswerBuilder) -> None:
    kind = document.get("type")
    if kind == "content_block_delta":
        delta = document["delta"]
        if "partial_json" in delta:
            into.add(ns, Kind.TOOL, len(delta["partial_json"]))
        else:
            into.add_text(ns, delta.get("text") or delta.get("thinking") or "", reasoning="thinking" in delta)
    elif kind == "message_delta":
        into.add(ns, Kind.FINISH)
        into.finish(document["delta"].get("stop_reason"))
        into.tokens(document.get("usage") or {}, {"tokens_out": "output_tokens"})
    elif kind == "message_start":
        into.add(ns, Kind.ROLE)
        usage = document["message"].get("usage") or {}
        into.tokens(usage, {"tokens_in": "input_tokens", "tokens_cached": "cache_read_input_tokens"})
    elif kind == "message":
        into.add_mixed(ns, bodies.text_of(document["content"]), "", 0, Kind.FINISH)
        into.finish(document.get("stop_reason"))
        into.tokens(document.get("usage") or {}, {"tokens_in": "input_tokens", "tokens_out": "output_tokens"})
    else:
        into.add(ns, Kind.DONE if kind == "message_stop" else Kind.OTHER)
    _metrics(document, into)


# ---- Meta, Mistral -----------------------------------------------------------------------------------------------


def _meta_fixed(ask: Ask) -> bodies.Tree:
    return {"temperature": ask.temperature}


def _meta_varied(ask: Ask) -> bodies.Tree:
    return bodies.some(prompt=_prompt(ask), max_gen_len=ask.max_tokens)


def _meta_take(document: Mapping[str, Any], ns: int, into: AnswerBuilder) -> None:
    reason = document.get("stop_reason")
    into.add_text(ns, document["generation"], empty=Kind.FINISH if reason else Kind.ROLE)
    into.finish(reason)
    into.tokens(document, {"tokens_in": "prompt_token_count"})
    if reason:
        into.tokens(document, {"tokens_out": "generation_token_count"})
    _metrics(document, into)


def _mistral_varied(ask: Ask) -> bodies.Tree:
    return bodies.some(prompt=f"<s>[INST] {_prompt(ask)} [/INST]", max_tokens=ask.max_tokens)


def _mistral_take(document: Mapping[str, Any], ns: int, into: AnswerBuilder) -> None:
    if "choices" in document:
        _openai_take(document, ns, into)
        return
    output = document["outputs"][0]
    reason = output.get("stop_reason")
    into.add_text(ns, output["text"], empty=Kind.FINISH if reason else Kind.ROLE)
    into.finish(reason)
    _metrics(document, into)


# ---- Amazon Nova -------------------------------------------------------------------------------------------------


def _nova_fixed(ask: Ask) -> bodies.Tree:
    return {"schemaVersion": "messages-v1", "inferenceConfig": {"temperature": ask.temperature}}


def _nova_varied(ask: Ask) -> bodies.Tree:
    turns = _turns(ask)
    system = [{"text": turn["content"]} for turn in turns if turn["role"] == "system"]
    messages = [{"role": turn["role"], "content": [{"text": turn["content"]}]} for turn in turns if turn["role"] != "system"]
    return bodies.some(messages=messages, system=system or None, inferenceConfig=bodies.some(maxTokens=ask.max_tokens))


def _nova_take(document: Mapping[str, Any], ns: int, into: AnswerBuilder) -> None:
    if "contentBlockDelta" in document:
        into.add_text(ns, document["contentBlockDelta"]["delta"].get("text", ""))
    elif "messageStop" in document:
        into.add(ns, Kind.FINISH)
        into.finish(document["messageStop"].get("stopReason"))
    elif "metadata" in document:
        into.add(ns, Kind.USAGE)
        usage = document["metadata"].get("usage") or {}
        into.tokens(usage, {"tokens_in": "inputTokens", "tokens_out": "outputTokens", "tokens_cached": "cacheReadInputTokenCount"})
    else:
        into.add(ns, Kind.ROLE if "messageStart" in document else Kind.OTHER)
    _metrics(document, into)


# ---- OpenAI's format ---------------------------------------------------------------------------------------------


def _openai_fixed(ask: Ask) -> bodies.Tree:
    return {"temperature": ask.temperature, "stream": ask.stream}


def _openai_varied(ask: Ask) -> bodies.Tree:
    return bodies.some(messages=_turns(ask), max_completion_tokens=ask.max_tokens, seed=ask.seed)


def _openai_take(document: Mapping[str, Any], ns: int, into: AnswerBuilder) -> None:
    choices = document.get("choices")
    if choices:
        delta, reason = text_of_choice(choices[0]), choices[0].get("finish_reason") or choices[0].get("stop_reason")
        tool = delta.chars - len(delta.content) - len(delta.reasoning)
        into.add_mixed(ns, delta.content, delta.reasoning, tool, Kind.FINISH if reason else Kind.ROLE)
        into.finish(reason)
    else:
        into.add(ns, Kind.USAGE if document.get("usage") else Kind.OTHER)
    usage = usage_of(document.get("usage"))
    answer = into.answer
    answer.tokens_in, answer.tokens_out = usage.get("in") or answer.tokens_in, usage.get("out") or answer.tokens_out
    _metrics(document, into)


INVOKED: Final[Mapping[str, Family]] = {
    "anthropic": Family(_anthropic_fixed, _anthropic_varied, _anthropic_take),
    "meta": Family(_meta_fixed, _meta_varied, _meta_take),
    "mistral": Family(_meta_fixed, _mistral_varied, _mistral_take),
    "nova": Family(_nova_fixed, _nova_varied, _nova_take),
    "openai": Family(_openai_fixed, _openai_varied, _openai_take),
}


SERVICE: Final = "bedrock"
_COUNTS = {"tokens_in": "inputTokens", "tokens_out": "outputTokens", "tokens_cached": "cacheReadInputTokens"}


# ---- requests ----------------------------------------------------------------------------------------------------


def _path(ask: Ask, target: Target) -> str:
    model = quote(ask.model, safe="")
    if bodies.option(target, "api") == "invoke":
        return f"/model/{model}/invoke{'-with-response-stream' if ask.stream else ''}"
    return f"/model/{model}/converse{'-stream' if ask.stream else ''}"


def _fixed(ask: Ask, target: Target) -> bodies.Tree:
    if bodies.option(target, "api") == "invoke":
        return INVOKED[family_of(ask.model)].fixed(ask)
    return {"inferenceConfig": {"temperature": ask.temperature}}


def _varied(ask: Ask, head: bodies.Head) -> bodies.Tree:
    if bodies.option(head.target, "api") == "invoke":
        return INVOKED[family_of(ask.model)].varied(ask)
    messages = ask.messages or ({"role": "user", "content": ask.prompt},)
    system = [{"text": bodies.text_of(message.get("content"))} for message in messages if message["role"] == "system"]
    return bodies.some(
        messages=[_message(message) for message in messages if message["role"] != "system"],
        system=system or None,
        inferenceConfig=bodies.some(maxTokens=ask.max_tokens),
    )


def _message(message: Json) -> bodies.Tree:
    """A message in Converse's format."""
    content = message.get("content")
    parts: list[bodies.Tree] = [{"text": bodies.text_of(content)}]
    for url in bodies.images_of(content):
        kind, data = bodies.data_url(url)
        parts.append({"image": {"format": kind.rpartition("/")[2], "source": {"bytes": data}}})
    return {"role": message["role"], "content": parts}


_JSON = bodies.deep(_path, _fixed, _varied)


def wire(ask: Ask, target: Target) -> Wire:
    """The unsigned request."""
    generic = _JSON(ask, target)
    accept = "application/vnd.amazon.eventstream" if ask.stream else "application/json"
    return Wire(path=generic.path, body=generic.body, headers=(("content-type", "application/json"), ("accept", accept)))


# ---- credentials -------------------------------------------------------------------------------------------------


def prepare(target: Target) -> Sign:
    """Sign each request at send time, or add a Bedrock API key.

    Raises:
        EnvironmentLacks: botocore is not installed, or credentials or the region are missing.
    """
    if target.api_key_env:
        return bodies.adding(bodies.headers_of(target))
    session = _session(bodies.option(target, "profile"))
    region = bodies.option(target, "region") or session.get_config_variable("region")
    if not region:
        raise EnvironmentLacks('no AWS region: set region = "..." in the target\'s options, or AWS_REGION')
    credentials = session.get_credentials()
    if credentials is None:
        raise EnvironmentLacks("no AWS credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE")
    extra = bodies.headers_of(target)

    def sign(wire: Wire, url: str) -> Wire:
        unsigned = wire if not extra else Wire(path=wire.path, body=wire.body, headers=bodies.joined(wire.headers, extra))
        return signed(unsigned, url, credentials, region)

    return sign


def _session(profile: str) -> Any:
    try:
        from botocore.exceptions import BotoCoreError
        from botocore.session import Session
    except ImportError:
        raise EnvironmentLacks("the backend bedrock needs botocore: pip install 'fireassay[aws]'") from None
    try:
        session = Session(profile=profile or None)
        session.get_scoped_config()
    except BotoCoreError as error:
        raise EnvironmentLacks(f"no AWS credentials: {error}") from None  # names the profile or file, not a secret
    return session


def signed(wire: Wire, url: str, credentials: Any, region: str, service: str = SERVICE) -> Wire:
    """A request with Signature V4 headers for a server at `url`; valid for some minutes.

    Raises:
        EnvironmentLacks: the credentials could not be refreshed.
    """
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest

    # The host exactly as sent: botocore would drop a default port and sign a different header.
    headers = {"host": urlsplit(url).netloc.rpartition("@")[2], **dict(wire.headers)}
    request = AWSRequest(method=wire.method, url=url.rstrip("/") + wire.path, data=wire.body, headers=headers)
    try:
        SigV4Auth(credentials.get_frozen_credentials(), service, region).add_auth(request)
    except Exception as error:  # the library's message may contain a secret
        raise EnvironmentLacks(
            f"AWS credentials could not be used: {type(error).__name__}. Renew them, for example with aws sso login"
        ) from None
    signed_headers = {name.lower(): str(value) for name, value in request.headers.items()}
    sent = tuple((name, bodies.Hidden(value) if name in _SECRET else value) for name, value in signed_headers.items())
    return Wire(path=wire.path, body=wire.body, method=wire.method, headers=sent)


_SECRET: Final = frozenset({"authorization", "x-amz-security-token"})


# ---- responses --------------------------------------------------------------------------------------------------


class Frame(NamedTuple):
    """One message of an event stream."""

    end: int  # where it ends in the body
    kind: str  # event or exception
    name: str  # contentBlockDelta, chunk, throttlingException ...
    payload: bytes


def frames(body: bytes) -> Iterator[Frame]:
    """The complete frames of a body. Raises botocore.eventstream.ParserError: a checksum or a length is invalid."""
    from botocore.eventstream import EventStreamBuffer

    buffer, end = EventStreamBuffer(), 0
    buffer.add_data(body)
    for message in buffer:
        end += message.prelude.total_length
        headers = message.headers
        kind = str(headers.get(":message-type", ""))
        name = headers.get(f":{kind}-type") or headers.get(":error-code") or ""
        yield Frame(end, kind, str(name), message.payload)


def read(reply: Reply, ask: Ask) -> Answer:
    """Parse a reply, streamed or not. Never raises, whatever the server sent."""
    failed = failure(reply)
    if failed is not None and not began_well(reply):
        return failed
    into = AnswerBuilder()
    if "json" in reply.headers.get("content-type", ""):
        if reply.ended == "complete":
            guarded(into, reply.at(len(reply.body)), lambda: _one_piece(reply, ask, into))
            into.unsure(reply.unsure_at(len(reply.body)))
        return into.done(failed)
    from botocore.eventstream import ParserError

    try:
        for frame in frames(reply.body):
            ns = reply.at(frame.end)
            guarded(into, ns, lambda frame=frame, ns=ns: _frame(frame, ns, ask, into))  # type: ignore[misc]
            into.unsure(reply.unsure_at(frame.end))
    except (ParserError, UnicodeDecodeError) as error:
        into.mark_malformed(f"the event stream is broken: {type(error).__name__}: {error}")
    return into.done(failed)


def _frame(frame: Frame, ns: int, ask: Ask, into: AnswerBuilder) -> None:
    payload = loads(frame.payload) if frame.payload else {}
    if frame.kind != "event":
        into.fail(ns, f"{frame.name}: {error_message(payload) or 'without a message'}")
    elif frame.name == "chunk":
        INVOKED[family_of(ask.model)].take(loads(base64.b64decode(payload["bytes"])), ns, into)
    else:
        _converse(frame.name, payload, ns, into)


def _converse(name: str, payload: Mapping[str, Any], ns: int, into: AnswerBuilder) -> None:
    """Process one event of ConverseStream."""
    if name == "contentBlockDelta":
        _delta(payload["delta"], ns, into)
    elif name == "contentBlockStart" and "toolUse" in (payload.get("start") or {}):
        into.add(ns, Kind.TOOL, len(payload["start"]["toolUse"]["name"]))
    elif name == "messageStop":
        into.add(ns, Kind.FINISH)
        into.finish(payload["stopReason"])
    elif name == "metadata":
        into.add(ns, Kind.USAGE)
        into.tokens(payload.get("usage") or {}, _COUNTS)
    else:
        into.add(ns, Kind.ROLE if name == "messageStart" else Kind.OTHER)


def _delta(delta: Mapping[str, Any], ns: int, into: AnswerBuilder) -> None:
    if "toolUse" in delta:
        into.add(ns, Kind.TOOL, len(delta["toolUse"].get("input", "")))
    elif "reasoningContent" in delta:
        into.add_text(ns, delta["reasoningContent"].get("text", ""), reasoning=True)
    else:
        into.add_text(ns, delta.get("text", ""))


def _one_piece(reply: Reply, ask: Ask, into: AnswerBuilder) -> None:
    document, ns = loads(reply.body), reply.at(len(reply.body))
    if "output" not in document or "stopReason" not in document:
        INVOKED[family_of(ask.model)].take(document, ns, into)
        return
    parts = document["output"]["message"]["content"]
    content = "".join(part.get("text", "") for part in parts)
    thought = "".join(part.get("reasoningContent", {}).get("reasoningText", {}).get("text", "") for part in parts)
    tool = sum(len(part["toolUse"]["name"]) for part in parts if "toolUse" in part)
    into.add_mixed(ns, content, thought, tool, Kind.FINISH)
    into.finish(document["stopReason"])
    into.tokens(document.get("usage") or {}, _COUNTS)


BACKEND = Backend(
    name="bedrock",
    tasks=("chat", "completions", "image_chat"),
    wire=wire,
    read=read,
    prepare=prepare,
    options={
        "region": Option(meaning="the AWS region, for example eu-central-1"),
        "profile": Option(meaning="the profile in the AWS configuration"),
        "api": Option(meaning="which of Bedrock's two APIs", choices=("converse", "invoke")),
        "path": bodies.PATH,
        "omit": bodies.OMIT,
    },
    own_keys=("messages", "system", "inferenceConfig.maxTokens"),
)
