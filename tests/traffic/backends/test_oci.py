"""Is Oracle's service asked in both of its forms, with a request that its own signer can sign?

Oracle's library takes half a gigabyte, so its signer is faked here at its documented interface (a callable that is given a
request with method, url, path_url, headers and body, and fills the headers).  Where `oci` is installed, its own signer
signs, and the signature is verified with the public key.
"""

from __future__ import annotations

import base64
import hashlib
import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from fireassay.errors import EnvironmentLacks
from fireassay.spec.sections.serving import Target
from fireassay.traffic.backends import oci
from fireassay.traffic.backends.oci import BACKEND, signed
from fireassay.traffic.parts import Ask, Wire
from tests.traffic.fakes import SeenRequest, asked_for_real, sse
from tests.traffic.transcripts import reply_of

OPTIONS: dict[str, str | int | float | bool] = {"compartment_id": "ocid1.compartment.oc1..a"}
TARGET = Target(backend="oci", options=OPTIONS)
ASK = Ask(task="chat", model="meta.llama-3.3-70b-instruct", messages=({"role": "user", "content": "Hi"},), max_tokens=2, seed=3)
EVENTS = [
    {"index": 0, "message": {"role": "ASSISTANT", "content": [{"type": "TEXT", "text": "Bon"}]}},
    {"index": 0, "message": {"role": "ASSISTANT", "content": [{"type": "TEXT", "text": "jour"}]}},
    {"message": {"role": "ASSISTANT"}, "finishReason": "stop"},
]


def fake_signer(request: Any) -> Any:
    """Signs as Oracle's does: the date, the body's digest, and an authorization over both."""
    assert request.url.endswith(request.path_url)
    assert request.headers["content-length"] == str(len(request.body))
    request.headers["date"] = "Thu, 05 Jan 2026 21:31:40 GMT"
    request.headers["x-content-sha256"] = base64.b64encode(hashlib.sha256(request.body).digest()).decode()
    request.headers["authorization"] = f'Signature keyId="t/u/f",signature="{request.method.lower()} {request.path_url}"'
    return request


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A library `oci` with the parts that are used."""
    made: Any = ModuleType("oci")
    made.config = SimpleNamespace(
        DEFAULT_LOCATION="~/.oci/config", DEFAULT_PROFILE="DEFAULT", from_file=lambda file, profile: {"file": file, "profile": profile}
    )
    made.signer = SimpleNamespace(Signer=SimpleNamespace(from_config=lambda config: fake_signer))
    made.auth = SimpleNamespace(
        signers=SimpleNamespace(
            InstancePrincipalsSecurityTokenSigner=lambda: fake_signer, get_resource_principals_signer=lambda: fake_signer
        )
    )
    monkeypatch.setitem(sys.modules, "oci", made)
    found: ModuleType = made
    return found


def checked(asked: SeenRequest) -> None:
    """What a server checks."""
    assert asked.headers["x-content-sha256"] == base64.b64encode(hashlib.sha256(asked.body).digest()).decode()
    assert asked.headers["authorization"] == f'Signature keyId="t/u/f",signature="post {asked.path}"'
    assert asked.headers["content-length"] == str(len(asked.body))


@pytest.mark.usefixtures("library")
def test_a_generic_model() -> None:
    asked, answer = asked_for_real(TARGET, ASK, [sse(one) for one in EVENTS])
    checked(asked)
    assert asked.path == "/20231130/actions/chat"
    assert asked.json == {
        "compartmentId": "ocid1.compartment.oc1..a",
        "servingMode": {"servingType": "ON_DEMAND", "modelId": "meta.llama-3.3-70b-instruct"},
        "chatRequest": {
            "apiFormat": "GENERIC",
            "isStream": True,
            "temperature": 0.0,
            "streamOptions": {"isIncludeUsage": True},
            "messages": [{"role": "USER", "content": [{"type": "TEXT", "text": "Hi"}]}],
            "maxTokens": 2,
            "seed": 3,
        },
    }
    assert (answer.status, answer.text, answer.chunk_kind, answer.finish_reason) == ("ok", "Bonjour", [1, 1, 4], "stop")


@pytest.mark.usefixtures("library")
def test_a_model_of_cohere_at_a_dedicated_endpoint() -> None:
    target = Target(backend="oci", options={**OPTIONS, "endpoint_id": "ocid1.endpoint", "auth": "instance", "body.chatRequest.topK": 1})
    turns = (
        {"role": "system", "content": "Short."},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Yes?"},
        {"role": "user", "content": "Why?"},
    )
    ask = Ask(task="chat", model="cohere.command-r", messages=turns, max_tokens=2)
    last = {"apiFormat": "COHERE", "text": "So.", "finishReason": "MAX_TOKENS"}
    asked, answer = asked_for_real(
        target, ask, [sse({"apiFormat": "COHERE", "text": "So"}), sse({"apiFormat": "COHERE", "text": "."}), sse(last)]
    )
    checked(asked)
    assert asked.json["servingMode"] == {"servingType": "DEDICATED", "endpointId": "ocid1.endpoint"}
    chat = asked.json["chatRequest"]
    assert (chat["apiFormat"], chat["message"], chat["maxTokens"], chat["topK"]) == ("COHERE", "Why?", 2, 1)
    assert chat["chatHistory"] == [
        {"role": "SYSTEM", "message": "Short."},
        {"role": "USER", "message": "Hi"},
        {"role": "CHATBOT", "message": "Yes?"},
    ]
    assert (answer.text, answer.chunk_chars, answer.finish_reason) == ("So.", [2, 1, 0], "length")


def test_the_signature_is_never_shown_and_a_signer_s_words_neither() -> None:
    made = signed(BACKEND.wire(ASK, TARGET), "https://h", fake_signer)
    assert "keyId" not in repr(made)
    assert "content-length" not in dict(made.headers)  # the transport writes it

    def broken(request: Any) -> None:
        raise ValueError("-----BEGIN PRIVATE KEY----- never to be seen")

    with pytest.raises(EnvironmentLacks) as caught:
        signed(Wire(path="/", body=b""), "https://h", broken)
    assert "never" not in str(caught.value)


def test_what_lacks_is_told(monkeypatch: pytest.MonkeyPatch, library: ModuleType) -> None:
    def missing(file: str, profile: str) -> None:
        raise FileNotFoundError("/home/somebody/.oci/config")

    monkeypatch.setattr(library.config, "from_file", missing)
    assert BACKEND.prepare is not None
    with pytest.raises(EnvironmentLacks, match="auth = 'config': FileNotFoundError"):
        BACKEND.prepare(TARGET)
    monkeypatch.setitem(sys.modules, "oci", None)
    with pytest.raises(EnvironmentLacks, match=r"pip install 'fireassay\[oci\]'"):
        BACKEND.prepare(TARGET)


def test_other_things_that_it_says() -> None:
    message = {"role": "ASSISTANT", "reasoningContent": "Hm", "toolCalls": [{"name": "add", "arguments": "{}"}]}
    usage = {"completionTokens": 2, "promptTokens": 5, "completionTokensDetails": {"reasoningTokens": 1}}
    answer = BACKEND.read(
        reply_of([(1, sse({"message": message})), (2, sse({"message": {}, "finishReason": "tool_calls"})), (3, sse({"usage": usage}))]), ASK
    )
    assert (answer.status, answer.reasoning, answer.chunk_kind, answer.chunk_chars) == ("ok", "Hm", [2, 4, 5], [7, 0, 0])
    assert (answer.tokens_in, answer.tokens_out, answer.tokens_reasoning) == (5, 2, 1)
    failed = BACKEND.read(reply_of([(1, sse({"code": "400", "message": "Too long"}))]), ASK)
    assert (failed.status, failed.error) == ("error", "Too long")


@pytest.mark.parametrize(
    "response",
    [
        {
            "apiFormat": "GENERIC",
            "choices": [
                {
                    "index": 0,
                    "finishReason": "stop",
                    "usage": {"completionTokens": 1, "promptTokens": 2},
                    "message": {"role": "ASSISTANT", "content": [{"type": "TEXT", "text": "Yes"}]},
                }
            ],
        },
        {"apiFormat": "COHERE", "text": "Yes", "finishReason": "COMPLETE", "usage": {"completionTokens": 1, "promptTokens": 2}},
    ],
)
def test_an_answer_in_one_piece(response: dict[str, Any]) -> None:
    told = {"modelId": "m", "chatResponse": response}
    reply = reply_of([(4, json.dumps(told).encode())], headers={"content-type": "application/json"})
    answer = BACKEND.read(reply, Ask(task="chat", model="m", stream=False))
    assert (answer.status, answer.text, answer.finish_reason, answer.tokens_in, answer.tokens_out) == ("ok", "Yes", "stop", 2, 1)


def test_oracle_s_own_signer(tmp_path: Path) -> None:
    pytest.importorskip("oci", reason="Oracle's library takes half a gigabyte and is not part of the tests' environment")
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import padding, rsa

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (tmp_path / "key.pem").write_bytes(pem)
    (tmp_path / "config").write_text(
        "[MINE]\nuser=ocid1.user.oc1..aaaaaaaau\ntenancy=ocid1.tenancy.oc1..aaaaaaaat\nregion=eu-frankfurt-1\n"
        f"fingerprint=20:3b:97:13:55:1c:5b:0d:d3:37:d8:50:4e:c5:3a:34\nkey_file={tmp_path / 'key.pem'}\n"
    )
    (tmp_path / "config").chmod(0o600)
    (tmp_path / "key.pem").chmod(0o600)
    target = Target(backend="oci", options={**OPTIONS, "config_file": str(tmp_path / "config"), "profile": "MINE"})
    asked, answer = asked_for_real(target, ASK, [sse(one) for one in EVENTS])
    fields = dict(part.split("=", 1) for part in asked.headers["authorization"].removeprefix("Signature ").split(","))
    names = fields["headers"].strip('"').split()
    values = {**asked.headers, "(request-target)": f"post {asked.path}"}
    text = "\n".join(f"{name}: {values[name]}" for name in names)
    key.public_key().verify(base64.b64decode(fields["signature"].strip('"')), text.encode(), padding.PKCS1v15(), hashes.SHA256())
    assert set(names) == {"date", "(request-target)", "host", "content-length", "content-type", "x-content-sha256"}
    assert answer.status == "ok"
    assert asked.path == oci.PATH_OF_CHAT
