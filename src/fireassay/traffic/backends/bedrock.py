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
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlsplit

from fireassay.errors import EnvironmentLacks
from fireassay.spec.sections.serving import Target
from fireassay.traffic.backends.support.bedrock_models import INVOKED, family_of
from fireassay.traffic.backends.support.bodies import Head, Tree, data_url, deep, images_of, some, text_of
from fireassay.traffic.backends.support.native_events import AnswerBuilder, guarded
from fireassay.traffic.backends.support.options import OMIT, PATH, Hidden, adding, headers_of, joined, option
from fireassay.traffic.parts import Answer, Ask, Backend, Json, Kind, Option, Reply, Sign, Wire
from fireassay.traffic.replies.events import began_well, failure
from fireassay.traffic.replies.openai_json import error_message, loads

SERVICE: Final = "bedrock"
_COUNTS = {"tokens_in": "inputTokens", "tokens_out": "outputTokens", "tokens_cached": "cacheReadInputTokens"}


# ---- requests ----------------------------------------------------------------------------------------------------


def _path(ask: Ask, target: Target) -> str:
    model = quote(ask.model, safe="")
    if option(target, "api") == "invoke":
        return f"/model/{model}/invoke{'-with-response-stream' if ask.stream else ''}"
    return f"/model/{model}/converse{'-stream' if ask.stream else ''}"


def _fixed(ask: Ask, target: Target) -> Tree:
    if option(target, "api") == "invoke":
        return INVOKED[family_of(ask.model)].fixed(ask)
    return {"inferenceConfig": {"temperature": ask.temperature}}


def _varied(ask: Ask, head: Head) -> Tree:
    if option(head.target, "api") == "invoke":
        return INVOKED[family_of(ask.model)].varied(ask)
    messages = ask.messages or ({"role": "user", "content": ask.prompt},)
    system = [{"text": text_of(message.get("content"))} for message in messages if message["role"] == "system"]
    return some(
        messages=[_message(message) for message in messages if message["role"] != "system"],
        system=system or None,
        inferenceConfig=some(maxTokens=ask.max_tokens),
    )


def _message(message: Json) -> Tree:
    """A message in Converse's format."""
    content = message.get("content")
    parts: list[Tree] = [{"text": text_of(content)}]
    for url in images_of(content):
        kind, data = data_url(url)
        parts.append({"image": {"format": kind.rpartition("/")[2], "source": {"bytes": data}}})
    return {"role": message["role"], "content": parts}


_JSON = deep(_path, _fixed, _varied)


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
        return adding(headers_of(target))
    session = _session(option(target, "profile"))
    region = option(target, "region") or session.get_config_variable("region")
    if not region:
        raise EnvironmentLacks('no AWS region: set region = "..." in the target\'s options, or AWS_REGION')
    credentials = session.get_credentials()
    if credentials is None:
        raise EnvironmentLacks("no AWS credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE")
    extra = headers_of(target)

    def sign(wire: Wire, url: str) -> Wire:
        unsigned = wire if not extra else Wire(path=wire.path, body=wire.body, headers=joined(wire.headers, extra))
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
    sent = tuple((name, Hidden(value) if name in _SECRET else value) for name, value in signed_headers.items())
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
    """The complete frames of a body.

    Raises:
        botocore.eventstream.ParserError: a checksum or a length is invalid.
    """
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
    cached_tokens=True,
    options={
        "region": Option(meaning="the AWS region, for example eu-central-1"),
        "profile": Option(meaning="the profile in the AWS configuration"),
        "api": Option(meaning="which of Bedrock's two APIs", choices=("converse", "invoke")),
        "path": PATH,
        "omit": OMIT,
    },
    own_keys=("messages", "system", "inferenceConfig.maxTokens"),
)
