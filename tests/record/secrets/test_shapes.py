"""Keys of current vendors are seen by their shape; hashes, ids and prose are not."""

from __future__ import annotations

import hashlib
import json
import random
import re
import string
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.record.secrets.redact import REDACTED, redact
from fireassay.record.secrets.shapes import PLACES, SEPARATOR, key_heads, keys, spans

ALONE = re.compile(r"\(\?:(?:\(\?<=\w+\)\|?)+\)")  # what a place requires to stand before it
ALNUM = string.ascii_letters + string.digits


def drawn(size: int, alphabet: str = ALNUM, seed: int = 1) -> str:
    """Characters as an issuer draws them."""
    return "".join(random.Random(f"{seed}{size}{alphabet}").choices(alphabet, k=size))


# Lengths and alphabets as the issuers' pages and gitleaks' test cases have them.
KEYS = {
    "OpenAI": f"sk-proj-{drawn(74)}T3BlbkFJ{drawn(74, seed=2)}",
    "Anthropic": f"sk-ant-api03-{drawn(93)}AA",
    "Hugging Face": f"hf_{drawn(34, string.ascii_letters)}",
    "GitHub": f"ghp_{drawn(36)}",
    "GitHub, fine-grained": f"github_pat_{drawn(22)}_{drawn(59)}",
    "GitLab": f"glpat-{drawn(20)}",
    "AWS": f"AKIA{drawn(16, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567')}",
    "AWS, temporary": f"ASIA{drawn(16, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567')}2"[:20],
    "Google": f"AIza{drawn(35)}",
    "Slack": f"xoxb-{drawn(12, string.digits)}-{drawn(12, string.digits)}{drawn(24)}",
    "npm": f"npm_{drawn(36)}",
    "PyPI": f"pypi-AgEIcHlwaS5vcmc{drawn(70)}",
    "NVIDIA": f"nvapi-{drawn(64)}",
    "Groq": f"gsk_{drawn(52)}",
    "Replicate": f"r8_{drawn(37)}",
    "xAI": f"xai-{drawn(80)}",
    "Perplexity": f"pplx-{drawn(48)}",
    "Databricks": f"dapi{drawn(32, '0123456789abcdef')}",
    "Stripe": f"sk_live_{drawn(24)}",
    "SendGrid": f"SG.{drawn(22)}.{drawn(43)}",
    "DigitalOcean": f"dop_v1_{drawn(64, '0123456789abcdef')}",
    "Azure AI, JWT": f"eyJ{drawn(30)}.eyJ{drawn(60)}.{drawn(43)}",
    "Vault": f"hvs.{drawn(95)}",
    "Linear": f"lin_api_{drawn(40)}",
}


@pytest.mark.parametrize("vendor", KEYS)
@pytest.mark.parametrize("around", ["{}", "key {}, and", '"{}"', "k={}&x=1", "({})", "x:{}\n", "<{}>"])
def test_a_key_of_this_vendor_is_taken_out_whatever_stands_around_it(vendor: str, around: str) -> None:
    assert redact(around.format(KEYS[vendor])) == around.format(REDACTED)


PLACED = (
    ("https://{}@github.com/x/y.git", "0a1B2c3D4e5F6g7H8"),
    ("https://{}@o1.ingest.sentry.io/42", "0123456789abcdef0123456789abcdef"),
    ("postgres://me:{}@db/x", "hunter2"),
    ("https://h/p?token={}&x=1", "abcdefgh"),
    ("https://h/p?x=1&key={}", "abcdefgh"),
    ("https://b.blob.core.windows.net/c?sv=2024&sig={}", "aB%2Bc%3D1234"),
    ("https://b.s3.amazonaws.com/o?X-Amz-Signature={}&x", "fe5f80f77d5fa3beca038a248ff027d0"),
    ("https://storage.googleapis.com/o?X-Goog-Signature={}", "fe5f80f77d5fa3beca038a248ff027d0"),
    ("Cookie: {}", "session=abcdef123; theme=dark"),
    ("set-cookie: {}", "sid=s%3Aabcdef; Path=/; HttpOnly"),
    ("machine api.example.com login me password {}", "s3cret"),
    ("machine h\n  login me\n  password {}\n", "s3cret"),
    ("curl -s -u me:{} https://h/", "s3cret99"),
    ("https://hooks.slack.com/{}", "services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX"),
    ("https://discord.com/api/webhooks/{}", "123456789012345678/abcDEF-ghi_jklMNOpqrs"),
    ("authorization: Bearer {}", "abcd1234"),
    ('{{"Authorization": "Bearer {}"}}', "abcd1234"),
    ("SSHPASS={} ssh h", "correcthorse"),
)


@pytest.mark.parametrize(("text", "secret"), PLACED)
def test_what_stands_where_secrets_stand_is_taken_out(text: str, secret: str) -> None:
    assert redact(text.format(secret)) == text.format(REDACTED)


ORDINARY = (
    "ssh://git@host/x",
    "https://user@host/x",
    "https://h/p?page=2&sort=key",
    "s3://bucket/key=value/part.parquet",
    "the cookie monster",
    "machine learning password",
    "curl -u",
    "num_key_value_heads=8",
    "key: value",
    "?token",
    "--max-token=128",
    "attention key=query",
    "sk-learn",
    "hf_hub_download_with_a_very_long_name",
    "fw_bw_optimizer_step_in_one_kernel",
    "gsk_norm",
    "r8_unorm",
    "pattern/patience/path/patches.2024",
    "xai-explainability-of-models",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUA",
)


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_stays(text: str) -> None:
    assert redact(text) == text


@pytest.mark.slow
def test_measurements_stay() -> None:
    """Hashes, ids, UUIDs, times and paths as records have them: four hundred of each."""
    random.seed(7)
    for number in range(400):
        raw = random.randbytes(64)
        words = [hashlib.new(name, raw).hexdigest() for name in ("md5", "sha1", "sha256", "sha512")]
        words += [raw.hex().upper(), str(uuid.UUID(bytes=raw[:16])), f"chatcmpl-{raw[:12].hex()}", f"req_{raw[:16].hex()}"]
        words += [f"{number}.{number * 7919 % 10**9}", str(random.getrandbits(63)), f"cmpl-{uuid.UUID(bytes=raw[16:32]).hex}"]
        text = json.dumps({"id": words, "sha256": words[2], "token": words[3], "digest": f"sha256:{words[2]}"})
        assert redact(text) == text


@pytest.mark.slow
def test_every_rule_compiles_and_begins_with_its_heads() -> None:
    """The search is for the heads: a rule that does not begin with one would never be tried."""
    assert len(keys()) > 100
    for key in keys():
        assert key.compiled
        assert all(head == head.lower() and len(head) >= 3 for head in key.heads)
    assert all(place.compiled.groupindex.get("secret") for place in PLACES)
    assert not any(a != b and b.startswith(a) for a in key_heads() for b in key_heads())


@given(st.sampled_from(PLACES).flatmap(lambda place: st.from_regex(ALONE.sub("", place.regex).encode(), fullmatch=True)))
def test_every_place_needs_a_sign_that_names_of_packages_lack(match: bytes) -> None:
    """A text without any is not searched for places."""
    assert SEPARATOR.search(match)


def test_in_a_models_words_only_keys_are_secrets() -> None:
    program = b'password = passphrase\nclient(api_key="EXAMPLE_KEY_1")\n'
    assert spans(program)
    assert spans(program, keys_only=True) == []
    assert [one.rule for one in spans(KEYS["Hugging Face"].encode(), keys_only=True)] == ["hf_"]
