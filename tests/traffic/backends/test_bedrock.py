"""Is Bedrock asked with a signature that a server accepts, and are its binary frames taken apart?

Signatures are checked twice: against Amazon's published vectors, and at a fake that works the signature out for itself from
the request that came, by the steps of the specification and with nothing but hmac.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import pytest

from fireassay.errors import EnvironmentLacks
from fireassay.spec.sections.serving import Target
from fireassay.traffic.backends import bedrock
from fireassay.traffic.backends.bedrock import BACKEND, signed
from fireassay.traffic.parts import Answer, Ask, Wire
from tests.traffic.fakes import SeenRequest, asked_for_real, exchange, frame, serving
from tests.traffic.transcripts import reply_of

ID, SECRET = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"  # of Amazon's published vectors
MODEL = "eu.anthropic.claude-sonnet-4-20250514-v1:0"
ASK = Ask(task="chat", model=MODEL, messages=({"role": "system", "content": "Short."}, {"role": "user", "content": "Hi"}), max_tokens=2)
EVENTS = {"Content-Type": "application/vnd.amazon.eventstream"}
STREAM = [
    frame("messageStart", {"role": "assistant"}),
    frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "He"}}),
    frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "llo"}}),
    frame("contentBlockStop", {"contentBlockIndex": 0}),
    frame("messageStop", {"stopReason": "max_tokens"}),
    frame("metadata", {"usage": {"inputTokens": 8, "outputTokens": 2, "totalTokens": 10}, "metrics": {"latencyMs": 40}}),
]


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """Credentials in the environment, and nothing else: no profile, no instance that could be asked."""
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ID)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))


# ---- signatures --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "headers", "body", "names", "signature"),
    [  # aws-sig-v4-test-suite: get-vanilla, post-vanilla, post-x-www-form-urlencoded
        ("GET", (), b"", "host;x-amz-date", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
        ("POST", (), b"", "host;x-amz-date", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
        (
            "POST",
            (("content-type", "application/x-www-form-urlencoded"),),
            b"Param1=value1",
            "content-type;host;x-amz-date",
            "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
        ),
    ],
)
def test_amazon_s_published_vectors(
    monkeypatch: pytest.MonkeyPatch, method: str, headers: tuple[tuple[str, str], ...], body: bytes, names: str, signature: str
) -> None:
    monkeypatch.setattr("botocore.auth.get_current_datetime", lambda: datetime(2015, 8, 30, 12, 36, tzinfo=UTC))
    who = SimpleNamespace(get_frozen_credentials=lambda: SimpleNamespace(access_key=ID, secret_key=SECRET, token=None))
    made = signed(Wire(path="/", body=body, method=method, headers=headers), "https://example.amazonaws.com", who, "us-east-1", "service")
    assert dict(made.headers)["authorization"] == (
        f"AWS4-HMAC-SHA256 Credential={ID}/20150830/us-east-1/service/aws4_request, SignedHeaders={names}, Signature={signature}"
    )


def signature_of(asked: SeenRequest, region: str) -> str:
    """What the server works out: Signature Version 4, from the request as it came."""
    given = dict(part.split("=", 1) for part in asked.headers["authorization"].removeprefix("AWS4-HMAC-SHA256 ").split(", "))
    day = asked.headers["x-amz-date"][:8]
    scope = f"{day}/{region}/bedrock/aws4_request"
    assert given["Credential"] == f"{ID}/{scope}"
    path, _, query = asked.path.partition("?")
    lines = [f"{name}:{' '.join(asked.headers[name].split())}\n" for name in given["SignedHeaders"].split(";")]
    canonical = "\n".join(
        [asked.method, quote(path, safe="/~"), query, "".join(lines), given["SignedHeaders"], hashlib.sha256(asked.body).hexdigest()]
    )
    to_sign = "\n".join(["AWS4-HMAC-SHA256", asked.headers["x-amz-date"], scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = f"AWS4{SECRET}".encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    expected = hmac.new(key, to_sign.encode(), hashlib.sha256).hexdigest()
    assert given["Signature"] == expected
    return given["SignedHeaders"]


def test_a_server_accepts_the_signature_and_its_frames_are_read() -> None:
    asked, answer = asked_for_real(Target(backend="bedrock"), ASK, STREAM, headers=EVENTS)
    assert signature_of(asked, "eu-central-1") == "accept;content-type;host;x-amz-date"
    assert asked.path == "/model/eu.anthropic.claude-sonnet-4-20250514-v1%3A0/converse-stream"
    assert asked.json == {
        "inferenceConfig": {"temperature": 0.0, "maxTokens": 2},
        "system": [{"text": "Short."}],
        "messages": [{"role": "user", "content": [{"text": "Hi"}]}],
    }
    assert (answer.status, answer.text, answer.chunk_kind) == ("ok", "Hello", [0, 1, 1, 8, 4, 5])
    assert (answer.tokens_in, answer.tokens_out, answer.finish_reason) == (8, 2, "length")


def test_a_session_token_and_headers_of_one_s_own_are_signed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SESSION_TOKEN", "a-session-token-of-amazon")
    target = Target(backend="bedrock", options={"region": "us-west-2"}, headers={"X-Team": "search"})
    asked, _ = asked_for_real(target, ASK, STREAM, headers=EVENTS)
    assert signature_of(asked, "us-west-2") == "accept;content-type;host;x-amz-date;x-amz-security-token;x-team"
    assert asked.headers["x-amz-security-token"] == "a-session-token-of-amazon"


def test_no_secret_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SESSION_TOKEN", "a-session-token-of-amazon")
    assert BACKEND.prepare is not None
    made = BACKEND.prepare(Target(backend="bedrock"))(BACKEND.wire(ASK, Target()), "https://bedrock-runtime.eu-central-1.amazonaws.com")
    assert "a-session-token" not in repr(made)
    assert "Signature=" not in repr(made)
    assert SECRET not in repr(made)


def test_credentials_that_cannot_be_refreshed_are_told_without_their_words() -> None:
    def broken() -> None:
        raise RuntimeError(f"the process said {SECRET}")

    with pytest.raises(EnvironmentLacks) as caught:
        signed(Wire(path="/", body=b""), "https://h", SimpleNamespace(get_frozen_credentials=broken), "r")
    assert SECRET not in str(caught.value)
    assert caught.value.__suppress_context__


def test_an_api_key_of_bedrock_is_a_bearer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIREASSAY_TEST_KEY", "bedrock-api-key-0123456789")
    asked, _ = asked_for_real(Target(backend="bedrock", api_key_env="FIREASSAY_TEST_KEY"), ASK, STREAM, headers=EVENTS)
    assert asked.headers["authorization"] == "Bearer bedrock-api-key-0123456789"
    assert "x-amz-date" not in asked.headers


@pytest.mark.parametrize(("gone", "words"), [("AWS_DEFAULT_REGION", "region"), ("AWS_ACCESS_KEY_ID", "credentials")])
def test_what_lacks_is_told_before_anything_is_sent(monkeypatch: pytest.MonkeyPatch, gone: str, words: str) -> None:
    monkeypatch.delenv(gone)
    assert BACKEND.prepare is not None
    with pytest.raises(EnvironmentLacks, match=words):
        BACKEND.prepare(Target(backend="bedrock"))
    with pytest.raises(EnvironmentLacks, match="nobody"):
        BACKEND.prepare(Target(backend="bedrock", options={"profile": "nobody"}))


def test_each_request_is_signed_when_it_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter(range(2))
    monkeypatch.setattr("botocore.auth.get_current_datetime", lambda: datetime(2026, 1, 1, 0, 0, next(seconds), tzinfo=UTC))
    assert BACKEND.prepare is not None
    sign, wire = BACKEND.prepare(Target(backend="bedrock")), BACKEND.wire(ASK, Target())
    dates = [dict(sign(wire, "https://h").headers)["x-amz-date"] for _ in range(2)]
    assert dates == ["20260101T000000Z", "20260101T000001Z"]


# ---- frames ------------------------------------------------------------------------------------------------------


def test_a_frame_with_a_wrong_checksum_makes_the_answer_malformed() -> None:
    broken = bytearray(STREAM[1])
    broken[-6] ^= 1
    answer = BACKEND.read(reply_of([(1, STREAM[0]), (2, bytes(broken)), (3, STREAM[4])], headers=EVENTS), ASK)
    assert (answer.status, "ChecksumMismatch" in (answer.error or "")) == ("malformed", True)


def test_a_chunk_s_time_is_that_of_the_read_that_completed_its_frame() -> None:
    reads = [(1, STREAM[0] + STREAM[1][:20]), (2, STREAM[1][20:40]), (3, STREAM[1][40:] + STREAM[2]), (4, STREAM[4])]
    assert BACKEND.read(reply_of(reads, headers=EVENTS), ASK).chunk_ns == [1, 3, 3, 4]


def test_an_error_before_the_stream() -> None:
    told = json.dumps({"message": "The security token included in the request is invalid."}).encode()
    reply = reply_of([(1, told)], http_status=403, headers={"x-amzn-errortype": "UnrecognizedClientException"})
    answer = BACKEND.read(reply, ASK)
    assert (answer.status, "security token" in (answer.error or "")) == ("4xx", True)


def test_reasoning_and_tools() -> None:
    answer = BACKEND.read(
        reply_of(
            [
                (1, frame("contentBlockDelta", {"delta": {"reasoningContent": {"text": "Hm"}}})),
                (2, frame("contentBlockStart", {"start": {"toolUse": {"toolUseId": "t", "name": "add"}}})),
                (3, frame("contentBlockDelta", {"delta": {"toolUse": {"input": '{"a":1}'}}})),
                (4, frame("messageStop", {"stopReason": "tool_use"})),
            ],
            headers=EVENTS,
        ),
        ASK,
    )
    assert (answer.reasoning, answer.chunk_kind, answer.chunk_chars, answer.finish_reason) == ("Hm", [2, 3, 3, 4], [2, 3, 7, 0], "tool_use")


def test_an_answer_in_one_piece() -> None:
    told = {
        "output": {"message": {"role": "assistant", "content": [{"text": "Hello"}]}},
        "stopReason": "end_turn",
        "usage": {"inputTokens": 3, "outputTokens": 1},
    }
    ask = Ask(task="chat", model=MODEL, messages=ASK.messages, stream=False)
    assert BACKEND.wire(ask, Target()).path.endswith("/converse")
    answer = BACKEND.read(reply_of([(9, json.dumps(told).encode())], headers={"content-type": "application/json"}), ask)
    assert (answer.status, answer.text, answer.finish_reason, answer.tokens_out) == ("ok", "Hello", "stop", 1)


def test_an_image_is_sent_as_its_bytes() -> None:
    content = [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}, {"type": "text", "text": "?"}]
    ask = Ask(task="image_chat", model=MODEL, messages=({"role": "user", "content": content},))
    (message,) = json.loads(BACKEND.wire(ask, Target()).body)["messages"]
    assert message["content"] == [{"text": "?"}, {"image": {"format": "png", "source": {"bytes": "AAAA"}}}]


# ---- InvokeModel -------------------------------------------------------------------------------------------------

INVOKE = Target(backend="bedrock", options={"api": "invoke"})


def chunk(told: object) -> bytes:
    return frame("chunk", {"bytes": base64.b64encode(json.dumps(told).encode()).decode(), "p": "ab"})


def invoked(model: str, *chunks: object) -> tuple[dict[str, Any], Answer]:
    ask = Ask(task="chat", model=model, messages=({"role": "user", "content": "Hi"},), max_tokens=2, seed=3)
    asked, answer = asked_for_real(INVOKE, ask, [chunk(one) for one in chunks], headers=EVENTS)
    assert asked.path.endswith("/invoke-with-response-stream")
    signature_of(asked, "eu-central-1")
    return asked.json, answer


COUNTED = {
    "amazon-bedrock-invocationMetrics": {"inputTokenCount": 5, "outputTokenCount": 2, "invocationLatency": 90, "firstByteLatency": 70}
}


@pytest.mark.parametrize(
    ("model", "body", "chunks"),
    [
        (
            "anthropic.claude-3-haiku-20240307-v1:0",
            {
                "anthropic_version": "bedrock-2023-05-31",
                "temperature": 0.0,
                "messages": [{"role": "user", "content": "Hi"}],
                "max_tokens": 2,
            },
            [
                {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "He"}},
                {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "llo"}},
                {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": {"output_tokens": 2}},
                {"type": "message_stop", **COUNTED},
            ],
        ),
        (
            "us.meta.llama3-1-8b-instruct-v1:0",
            {"temperature": 0.0, "prompt": "Hi", "max_gen_len": 2},
            [
                {"generation": "He", "prompt_token_count": 5, "generation_token_count": 1, "stop_reason": None},
                {"generation": "llo", "prompt_token_count": None, "generation_token_count": 2, "stop_reason": "length", **COUNTED},
            ],
        ),
        (
            "mistral.mistral-7b-instruct-v0:2",
            {"temperature": 0.0, "prompt": "<s>[INST] Hi [/INST]", "max_tokens": 2},
            [{"outputs": [{"text": "He", "stop_reason": None}]}, {"outputs": [{"text": "llo", "stop_reason": "length"}], **COUNTED}],
        ),
        (
            "amazon.nova-lite-v1:0",
            {
                "schemaVersion": "messages-v1",
                "inferenceConfig": {"temperature": 0.0, "maxTokens": 2},
                "messages": [{"role": "user", "content": [{"text": "Hi"}]}],
            },
            [
                {"messageStart": {"role": "assistant"}},
                {"contentBlockDelta": {"delta": {"text": "He"}, "contentBlockIndex": 0}},
                {"contentBlockDelta": {"delta": {"text": "llo"}, "contentBlockIndex": 0}},
                {"messageStop": {"stopReason": "max_tokens"}},
                {"metadata": {"usage": {"inputTokens": 5, "outputTokens": 2}}, **COUNTED},
            ],
        ),
        (
            "openai.gpt-oss-20b-1:0",
            {"temperature": 0.0, "stream": True, "messages": [{"role": "user", "content": "Hi"}], "max_completion_tokens": 2, "seed": 3},
            [
                {"choices": [{"index": 0, "delta": {"content": "He"}, "finish_reason": None}]},
                {"choices": [{"index": 0, "delta": {"content": "llo"}, "finish_reason": "length"}]},
                {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}, **COUNTED},
            ],
        ),
    ],
)
def test_each_family_s_own_json(model: str, body: dict[str, Any], chunks: list[Any]) -> None:
    sent, answer = invoked(model, *chunks)
    assert sent == body
    assert (answer.status, answer.text, answer.finish_reason) == ("ok", "Hello", "length")
    assert (answer.tokens_in, answer.tokens_out) == (5, 2)


def test_a_family_that_is_not_known_is_refused_before_it_is_asked() -> None:
    with pytest.raises(EnvironmentLacks, match='"converse" supports all'):
        BACKEND.wire(Ask(task="chat", model="stability.sd3", prompt="x"), INVOKE)


def test_a_fake_is_asked_once_and_never_again_after_an_error() -> None:
    with serving([frame("throttlingException", {"message": "slow down"}, kind="exception")], headers=EVENTS) as fake:
        assert BACKEND.prepare is not None
        wire = BACKEND.prepare(Target(backend="bedrock"))(bedrock.wire(ASK, Target()), fake.url)
        answer = BACKEND.read(exchange(fake.url, wire), ASK)
        assert len(fake.asked) == 1
    assert (answer.status, answer.error) == ("error", "throttlingException: slow down")
