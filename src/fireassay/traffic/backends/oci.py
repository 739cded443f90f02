"""How are requests sent to Oracle's Generative AI service?

By its chat action, signed by Oracle's own library, streamed as events.  There are two formats: GENERIC, with messages, for models of Meta,
xAI, OpenAI and Google; and COHERE, with a message and a history.  The model's name, or `api_format`, selects one.  The events differ
likewise: a message with parts, or a text; COHERE's last event repeats the whole text with the finish reason, and it is not counted twice.

Requests are signed at send time by the library `oci` (the extra `oci`): with the key of a configuration file (auth = "config"), its
session token ("session"), or this machine's identity ("instance", "resource").
URL: https://inference.generativeai.REGION.oci.oraclecloud.com.

Options: `compartment_id` (required), `auth`, `config_file`, `profile`, `endpoint_id` (a dedicated cluster, instead of the
model), `api_format`, `path`, `omit`, `body.KEY`, `json.KEY`; for example "body.chatRequest.topK" = 40.
Source: https://docs.oracle.com/iaas/api/#/en/generative-ai-inference/20231130/ChatResult/Chat, and oci 2.189.0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from fireassay.errors import EnvironmentLacks
from fireassay.spec.sections.serving import Target
from fireassay.traffic.backends.support import bodies
from fireassay.traffic.backends.support.native_events import AnswerBuilder, read_events
from fireassay.traffic.parts import Answer, Ask, Backend, Json, Kind, Option, Reply, Sign, Wire
from fireassay.traffic.replies.openai_json import text_of_choice

PATH_OF_CHAT: Final = "/20231130/actions/chat"
_COUNTS = {"tokens_in": "promptTokens", "tokens_out": "completionTokens"}
_SECRET: Final = frozenset({"authorization"})


# ---- requests ----------------------------------------------------------------------------------------------------


def _fixed(ask: Ask, target: Target) -> bodies.Tree:
    endpoint = bodies.option(target, "endpoint_id")
    mode = {"servingType": "DEDICATED", "endpointId": endpoint} if endpoint else {"servingType": "ON_DEMAND", "modelId": ask.model}
    chat: bodies.Tree = {
        "apiFormat": (bodies.option(target, "api_format") or ("COHERE" if ask.model.startswith("cohere.") else "GENERIC")),
        "isStream": ask.stream,
        "temperature": ask.temperature,
    }
    if ask.stream:
        chat["streamOptions"] = {"isIncludeUsage": True}
    if ask.logprobs and chat["apiFormat"] == "GENERIC":
        chat["logProbs"] = 1
    return {"compartmentId": bodies.option(target, "compartment_id"), "servingMode": mode, "chatRequest": chat}


def _varied(ask: Ask, head: bodies.Head) -> bodies.Tree:
    messages = ask.messages or ({"role": "user", "content": ask.prompt},)
    generic = head.tree["chatRequest"]["apiFormat"] == "GENERIC"
    content = {"messages": [_message(message) for message in messages]} if generic else _cohere(messages)
    return {"chatRequest": {**content, **bodies.some(maxTokens=ask.max_tokens, seed=ask.seed)}}


def _message(message: Json) -> bodies.Tree:
    content = message.get("content")
    parts: list[bodies.Tree] = [{"type": "TEXT", "text": bodies.text_of(content)}]
    parts += [{"type": "IMAGE", "imageUrl": {"url": url}} for url in bodies.images_of(content)]
    return {"role": message["role"].upper(), "content": parts}


_COHERE_ROLES: Final = {"user": "USER", "assistant": "CHATBOT", "system": "SYSTEM"}


def _cohere(messages: tuple[Json, ...]) -> bodies.Tree:
    history = [
        {"role": _COHERE_ROLES.get(message["role"], "USER"), "message": bodies.text_of(message.get("content"))} for message in messages[:-1]
    ]
    return bodies.some(message=bodies.text_of(messages[-1].get("content")), chatHistory=history or None)


# ---- credentials -------------------------------------------------------------------------------------------------


class _Request:
    """The parts of a `requests.PreparedRequest` that Oracle's signers read: see oci.signer.AbstractBaseSigner."""

    def __init__(self, wire: Wire, url: str) -> None:
        self.method, self.url, self.path_url, self.body = wire.method, url.rstrip("/") + wire.path, wire.path, wire.body
        self.headers: dict[str, str] = {**dict(wire.headers), "content-length": str(len(wire.body))}


Signer = Callable[[Any], Any]  # oci.signer.Signer and similar: sets a request's headers


def prepare(target: Target) -> Sign:
    """Sign each request at send time. Raises EnvironmentLacks: `oci` is not installed, or has no usable configuration."""
    signer, extra = _signer(target), bodies.headers_of(target)

    def sign(wire: Wire, url: str) -> Wire:
        return signed(wire, url, signer, extra)

    return sign


def signed(wire: Wire, url: str, signer: Signer, extra: bodies.Headers = ()) -> Wire:
    """A request with Oracle's signature headers, for a server at `url`. Raises EnvironmentLacks: signing failed."""
    request = _Request(wire, url)
    try:
        signer(request)
    except Exception as error:  # the library's message may contain a secret
        raise EnvironmentLacks(f"the request could not be signed: {type(error).__name__}") from None
    signed_headers = {name.lower(): str(value) for name, value in request.headers.items()}
    signed_headers.pop("content-length")  # the transport writes the same header itself
    headers = tuple((name, bodies.Hidden(value) if name in _SECRET else value) for name, value in signed_headers.items())
    return Wire(path=wire.path, body=wire.body, method=wire.method, headers=bodies.joined(headers, extra))


def _signer(target: Target) -> Signer:
    try:
        import oci
    except ImportError:
        raise EnvironmentLacks("the backend oci needs Oracle's library: pip install 'fireassay[oci]'") from None
    auth = bodies.option(target, "auth", "config")
    try:
        return _SIGNERS[auth](oci, target)
    except Exception as error:  # the library's message may contain a secret
        raise EnvironmentLacks(
            f"no Oracle credentials by auth = {auth!r}: {type(error).__name__}. Create ~/.oci/config with oci setup config, or set another auth"
        ) from None


def _from_config(oci: Any, target: Target) -> Signer:
    signer: Signer = oci.signer.Signer.from_config(_config(oci, target))
    return signer


def _config(oci: Any, target: Target) -> Mapping[str, str]:
    settings: Mapping[str, str] = oci.config.from_file(
        bodies.option(target, "config_file", oci.config.DEFAULT_LOCATION), bodies.option(target, "profile", oci.config.DEFAULT_PROFILE)
    )
    return settings


def _from_session(oci: Any, target: Target) -> Signer:
    config = _config(oci, target)
    with open(config["security_token_file"], encoding="utf-8") as file:
        token = file.read().strip()
    key = oci.signer.load_private_key_from_file(config["key_file"])
    signer: Signer = oci.auth.signers.SecurityTokenSigner(token, key)
    return signer


_SIGNERS: Final[Mapping[str, Callable[[Any, Target], Signer]]] = {
    "config": _from_config,
    "session": _from_session,
    "instance": lambda oci, target: oci.auth.signers.InstancePrincipalsSecurityTokenSigner(),
    "resource": lambda oci, target: oci.auth.signers.get_resource_principals_signer(),
}


# ---- responses --------------------------------------------------------------------------------------------------


def read(reply: Reply, ask: Ask) -> Answer:
    """Parse a reply, streamed or not. Never raises, whatever the server sent."""
    return read_events(reply, _take)


def _take(document: Mapping[str, Any], name: str, ns: int, into: AnswerBuilder) -> None:
    if "chatResponse" in document:
        _one_piece(document["chatResponse"], ns, into)
        return
    if isinstance(document.get("code"), str) and "message" in document and isinstance(document["message"], str):
        into.fail(ns, document["message"])
        return
    _event(document, ns, into)
    _usage(document.get("usage"), into)


def _event(document: Mapping[str, Any], ns: int, into: AnswerBuilder) -> None:
    reason = document.get("finishReason")
    if isinstance(document.get("message"), Mapping):
        content, thought, tool = _said(document["message"])
        into.add_mixed(ns, content, thought, tool, Kind.FINISH if reason else Kind.ROLE)
    elif "text" in document:
        # COHERE's last event repeats the whole text.
        into.add_text(ns, "" if reason else document["text"], empty=Kind.FINISH if reason else Kind.ROLE)
    elif reason:
        into.add(ns, Kind.FINISH)
    else:
        into.add(ns, Kind.USAGE if document.get("usage") else Kind.OTHER)
    into.finish(reason)


def _said(message: Mapping[str, Any]) -> tuple[str, str, int]:
    """Content, reasoning and characters of tool calls of a message."""
    calls = message.get("toolCalls") or ()
    tool = sum(len(call.get("name") or "") + len(call.get("arguments") or "") for call in calls)
    parts = message.get("content") or ()
    thought = message.get("reasoningContent") or "".join(part.get("thinking", "") for part in parts)
    return text_of_choice({"message": {"content": list(parts)}}).content, thought, tool


def _usage(usage: object, into: AnswerBuilder) -> None:
    if not isinstance(usage, Mapping):
        return
    into.tokens(usage, _COUNTS)
    into.tokens(usage.get("promptTokensDetails") or {}, {"tokens_cached": "cachedTokens"})
    into.tokens(usage.get("completionTokensDetails") or {}, {"tokens_reasoning": "reasoningTokens"})


def _one_piece(response: Mapping[str, Any], ns: int, into: AnswerBuilder) -> None:
    choice = (response.get("choices") or [{}])[0]
    content, thought, tool = _said(choice["message"]) if choice else (response["text"], "", 0)
    into.add_mixed(ns, content, thought, tool, Kind.FINISH)
    into.finish(choice.get("finishReason") or response.get("finishReason"))
    _usage(choice.get("usage") or response.get("usage"), into)


BACKEND = Backend(
    name="oci",
    tasks=("chat", "completions", "image_chat"),
    wire=bodies.deep(lambda ask, target: PATH_OF_CHAT, _fixed, _varied),
    read=read,
    prepare=prepare,
    options={
        "compartment_id": Option(meaning="the OCID of the compartment", needed=True),
        "auth": Option(meaning="the source of credentials", choices=tuple(_SIGNERS)),
        "config_file": Option(meaning="Oracle's configuration file; default: ~/.oci/config"),
        "profile": Option(meaning="the profile in that file; default: DEFAULT"),
        "endpoint_id": Option(meaning="the OCID of a dedicated endpoint, instead of the model"),
        "api_format": Option(meaning="the format of requests", choices=("GENERIC", "COHERE")),
        "path": bodies.PATH,
        "omit": bodies.OMIT,
    },
    own_keys=(
        "compartmentId",
        "servingMode",
        "chatRequest.messages",
        "chatRequest.message",
        "chatRequest.chatHistory",
        "chatRequest.maxTokens",
        "chatRequest.seed",
        "chatRequest.isStream",
        "chatRequest.apiFormat",
    ),
)
