"""A known value is found however a program spells it, and where a line or the text's end divides it."""

from __future__ import annotations

import base64
import html
import json
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.record.secrets.redact import redact, redact_bytes, secret_values

VALUE = "correct+horse/battery=staple&<canary> 'quoted\""
SPELLED = {
    "plain": VALUE,
    "percent": quote(VALUE, safe=""),
    "percent, slashes kept": quote(VALUE),
    "form": quote_plus(VALUE),
    "percent twice": quote(quote(VALUE, safe=""), safe=""),
    "percent, small letters": quote(VALUE, safe="")
    .replace("%2B", "%2b")
    .replace("%2F", "%2f")
    .replace("%3D", "%3d")
    .replace("%3C", "%3c")
    .replace("%3E", "%3e"),
    "JSON": json.dumps(VALUE)[1:-1],
    "HTML": html.escape(VALUE),
    "hex": VALUE.encode().hex(),
    "HEX": VALUE.encode().hex().upper(),
    "base64": base64.b64encode(VALUE.encode()).decode(),
    "base64url": base64.urlsafe_b64encode(VALUE.encode()).decode(),
}


@pytest.mark.parametrize("how", SPELLED)
def test_a_known_value_is_found_in_this_spelling(how: str) -> None:
    cleaned = redact(f"<{SPELLED[how]}>", secret_values({"MY_TOKEN": VALUE}))
    assert "[redacted]" in cleaned
    assert len(cleaned) < len("<[redacted]>") + 4


@given(st.binary(max_size=7), st.binary(max_size=7))
def test_a_known_value_is_found_in_base64_whatever_stands_around_it(before: bytes, after: bytes) -> None:
    """Every third byte begins a new group of four characters: all but one character at either end goes."""
    coded = base64.b64encode(before + VALUE.encode() + after).decode()
    cleaned = redact(coded, secret_values({"MY_TOKEN": VALUE}))
    assert "[redacted]" in cleaned
    assert len(cleaned.replace("[redacted]", "")) <= len(base64.b64encode(before)) + len(base64.b64encode(after)) + 4


@pytest.mark.parametrize("at", range(1, len(VALUE)))
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_value_that_is_broken_over_two_lines_is_found(at: int, newline: str) -> None:
    cleaned = redact(f"a\n{VALUE[:at]}{newline}{VALUE[at:]} b\n", secret_values({"MY_TOKEN": VALUE}))
    assert cleaned == "a\n[redacted] b\n"


@pytest.mark.parametrize("at", range(8, len(VALUE)))
def test_the_half_that_a_cut_leaves_is_found_at_either_end(at: int) -> None:
    secrets = secret_values({"MY_TOKEN": VALUE})
    assert redact(f"cut: {VALUE[:at]}", secrets).rstrip() == "cut: [redacted]"
    assert redact(f"{VALUE[-at:]} cut", secrets).lstrip() == "[redacted] cut"


def test_it_is_found_in_utf_16() -> None:
    for code in ("utf-16-le", "utf-16-be"):
        cleaned = redact_bytes(f"x {VALUE} y".encode(code), secret_values({"MY_TOKEN": VALUE}))
        assert VALUE.encode(code) not in cleaned


def test_the_parts_of_a_dsn_and_of_a_webhook_are_known_by_themselves() -> None:
    secrets = secret_values(
        {
            "SENTRY_DSN": "https://publickey0123456@o1.ingest.sentry.io/42",
            "SLACK_WEBHOOK_URL": "https://h.example/services/T0/B0/abcdefghij",
        }
    )
    assert redact("sent publickey0123456", secrets) == "sent [redacted]"
    assert redact("POST /services/T0/B0/abcdefghij HTTP/1.1", secrets) == "POST [redacted] HTTP/1.1"
    assert redact("o1.ingest.sentry.io", secrets) == "o1.ingest.sentry.io"
