"""How are requests sent to Gemini, on Google Vertex AI or the Gemini API?

By streamGenerateContent, as server-sent events.  An event holds several tokens.  Parts marked `thought` are reasoning; their tokens are
reported separately from the answer's and added to `tokens_out`, as other engines count them.  The last event carries the usage.

Credentials are Google's application default credentials through google-auth (the extra `google`), whose token a background thread
refreshes before it expires.  With `api_key_env` the key goes into x-goog-api-key instead.
URL: https://LOCATION-aiplatform.googleapis.com, or https://generativelanguage.googleapis.com with api = "gemini".

Options: `project` and `location` (required unless api = "gemini"), `api` ("vertex" or "gemini"), `publisher` (default google), `path`,
`omit`, `body.KEY`, `json.KEY`; for example "body.generationConfig.thinkingConfig.thinkingBudget" = 0.
Source: https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/inference.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from fireassay.errors import EnvironmentLacks
from fireassay.spec.sections.serving import Target
from fireassay.traffic.backends.support import bodies
from fireassay.traffic.backends.support.native_events import AnswerBuilder, read_events
from fireassay.traffic.parts import Answer, Ask, Backend, Json, Kind, Option, Reply, Sign, Wire

SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_COUNTS = {"tokens_in": "promptTokenCount", "tokens_reasoning": "thoughtsTokenCount", "tokens_cached": "cachedContentTokenCount"}


def _path(ask: Ask, target: Target) -> str:
    verb = "streamGenerateContent?alt=sse" if ask.stream else "generateContent"
    model = quote(ask.model, safe="@.-_")
    if bodies.option(target, "api") == "gemini":
        return f"/v1beta/models/{model}:{verb}"
    project, location = bodies.option(target, "project"), bodies.option(target, "location")
    if not (project and location):
        raise EnvironmentLacks('the backend vertex lacks project or location. Set both in the target\'s options, or api = "gemini"')
    publisher = bodies.option(target, "publisher", "google")
    return f"/v1/projects/{project}/locations/{location}/publishers/{publisher}/models/{model}:{verb}"


def _fixed(ask: Ask, target: Target) -> bodies.Tree:
    logprobs = {"responseLogprobs": True} if ask.logprobs else {}
    return {"generationConfig": {"temperature": ask.temperature, **logprobs}}


def _varied(ask: Ask, head: bodies.Head) -> bodies.Tree:
    messages = ask.messages or ({"role": "user", "content": ask.prompt},)
    system = [bodies.text_of(message.get("content")) for message in messages if message["role"] in ("system", "developer")]
    return bodies.some(
        contents=[_content(message) for message in messages if message["role"] not in ("system", "developer")],
        systemInstruction={"parts": [{"text": text} for text in system]} if system else None,
        generationConfig=bodies.some(maxOutputTokens=ask.max_tokens, seed=ask.seed),
    )


def _content(message: Json) -> bodies.Tree:
    """A message in Gemini's format: the assistant is `model`, and images are inline data."""
    content = message.get("content")
    parts: list[bodies.Tree] = [{"text": bodies.text_of(content)}]
    for url in bodies.images_of(content):
        kind, data = bodies.data_url(url)
        parts.append({"inlineData": {"mimeType": kind, "data": data}})
    return {"role": "model" if message["role"] == "assistant" else "user", "parts": parts}


def read(reply: Reply, ask: Ask) -> Answer:
    """Parse a reply, streamed or not. Never raises, whatever the server sent."""
    return read_events(reply, _take)


def _take(document: Mapping[str, Any], name: str, ns: int, into: AnswerBuilder) -> None:
    usage = document.get("usageMetadata")
    candidates = document.get("candidates")
    if not candidates:
        _without_candidate(document, ns, into)
    else:
        candidate = candidates[0]
        parts = (candidate.get("content") or {}).get("parts") or ()
        content = "".join(part.get("text", "") for part in parts if not part.get("thought"))
        thought = "".join(part.get("text", "") for part in parts if part.get("thought"))
        tool = sum(len(str(part["functionCall"].get("name", ""))) for part in parts if "functionCall" in part)
        reason = candidate.get("finishReason")
        into.add_mixed(ns, content, thought, tool, Kind.FINISH if reason else Kind.ROLE)
        into.finish(reason)
        for token in (candidate.get("logprobsResult") or {}).get("chosenCandidates") or ():
            into.answer.logprobs.append(float(token["logProbability"]))
    if isinstance(usage, dict):
        into.tokens(usage, {**_COUNTS, "tokens_out": "candidatesTokenCount"})
        if into.answer.tokens_out is not None and usage.get("thoughtsTokenCount"):
            into.answer.tokens_out += int(usage["thoughtsTokenCount"])


def _without_candidate(document: Mapping[str, Any], ns: int, into: AnswerBuilder) -> None:
    blocked = (document.get("promptFeedback") or {}).get("blockReason")
    if blocked:
        into.fail(ns, f"the prompt was blocked: {blocked}")
    else:
        into.add(ns, Kind.USAGE if document.get("usageMetadata") else Kind.OTHER)


# ---- credentials ------------------------------------------------------------------------------------------------


def prepare(target: Target) -> Sign:
    """Add the key, or a token from Google's credential chain.

    Raises:
        EnvironmentLacks: google-auth is not installed, or there are no credentials.
    """
    if target.api_key_env:
        return bodies.adding(bodies.headers_of(target, key_header="x-goog-api-key", before=""))
    return _with_token(target, _credentials())


def _credentials() -> Any:
    try:
        import google.auth
        from google.auth.exceptions import GoogleAuthError
    except ImportError:
        raise EnvironmentLacks("the backend vertex needs google-auth: pip install 'fireassay[google]'") from None
    try:
        credentials, _ = google.auth.default(scopes=[SCOPE])
    except GoogleAuthError as error:
        error_type, remedy = type(error).__name__, "gcloud auth application-default login"
        raise EnvironmentLacks(f"no Google credentials ({error_type}): run {remedy}") from None
    return credentials


def _with_token(target: Target, credentials: Any) -> Sign:
    """Add the headers of credentials whose token google-auth refreshes without delaying a request."""
    from google.auth.exceptions import GoogleAuthError

    request, extra = _transport(), bodies.headers_of(target)
    credentials.with_non_blocking_refresh()  # in place: a stale token is used while a thread fetches the next one

    def sign(wire: Wire, url: str) -> Wire:
        headers: dict[str, str] = {}
        try:
            credentials.before_request(request, wire.method, url + wire.path, headers)
        except GoogleAuthError as error:
            error_type = type(error).__name__
            remedy = "gcloud auth application-default login"
            raise EnvironmentLacks(f"Google returned no token ({error_type}): run {remedy}") from None
        auth_headers = tuple((name.lower(), bodies.Hidden(value)) for name, value in headers.items())
        return Wire(
            path=wire.path, body=wire.body, method=wire.method, headers=bodies.joined(wire.headers, bodies.joined(auth_headers, extra))
        )

    return sign


def _transport() -> Any:
    """The HTTP transport that google-auth uses to fetch tokens."""
    try:
        import urllib3
        from google.auth.transport.urllib3 import Request
    except ImportError:
        raise EnvironmentLacks("the backend vertex needs urllib3: pip install 'fireassay[google]'") from None
    make: Any = Request
    return make(urllib3.PoolManager())


BACKEND = Backend(
    name="vertex",
    tasks=("chat", "completions", "image_chat"),
    wire=bodies.deep(_path, _fixed, _varied),
    read=read,
    prepare=prepare,
    options={
        "project": Option(meaning="the Google Cloud project"),
        "location": Option(meaning="the region, for example europe-west4, or global"),
        "publisher": Option(meaning="the model's publisher; default: google"),
        "api": Option(meaning="which of Google's two APIs", choices=("vertex", "gemini")),
        "path": bodies.PATH,
        "omit": bodies.OMIT,
    },
    own_keys=("contents", "systemInstruction", "generationConfig.maxOutputTokens", "generationConfig.seed"),
)
