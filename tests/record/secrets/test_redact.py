"""A planted secret never survives; ordinary words do."""

from __future__ import annotations

import base64
import json
import string
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.record.secrets.redact import (
    HARMLESS_VALUES,
    REDACTED,
    is_secret_name,
    redact,
    redact_arguments,
    redact_bytes,
    redact_environment,
    secret_values,
)

SECRET_NAMES = (
    "HF_TOKEN",
    "HUGGING_FACE_HUB_TOKEN",
    "GITHUBTOKEN",
    "WANDB_API_KEY",
    "OPENAI_APIKEY",
    "apiKey",
    "--api-key",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "PGPASSWORD",
    "DB_PASSWD",
    "SSH_PRIVATE_KEY",
    "APP_CREDENTIALS",
    "HTTP_COOKIE",
    "PHP_SESSION",
    "HTTP_AUTH",
    "AUTHORIZATION",
    "JWT",
    "CI_JOB_TOKEN",
    "--auth-token",
    "client.secret",
    "LICENSE_KEY",
    "clientSecret",
    "AZURE_STORAGE_CONNECTION_STRING",
)
ORDINARY_NAMES = (
    "TOKENIZERS_PARALLELISM",
    "KEYBOARD",
    "MAX_TOKENS",
    "MONKEY",
    "AUTHOR",
    "GIT_AUTHOR_NAME",
    "PATH",
    "PWD",
    "OLDPWD",
    "HOME",
    "KEY_ORDER",
    "--tokenizer",
    "--pad-token",
    "EOS_TOKEN",
    "PRICE_PER_TOKEN",
    "SSH_AUTH_SOCK",
    "XDG_SESSION_TYPE",
    "DESKTOP_SESSION",
    "OMP_NUM_THREADS",
    "PASSES",
    "COMPASS",
    "HF_TOKEN_PATH",
    "PUBLIC_KEY",
    "PRIMARY_KEY",
    "SORT_KEY",
    "BYPASS",
    "PATTERN",
    "MAX_TOKEN_LENGTH",
    "",
)


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_a_name_that_says_secret_is_secret(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("name", ORDINARY_NAMES)
def test_an_ordinary_name_is_not_secret(name: str) -> None:
    assert not is_secret_name(name)


# ---- shapes ------------------------------------------------------------------------------------------------------------

ALNUM = string.ascii_letters + string.digits
BASE64URL = ALNUM + "-_"


def _key(prefix: str, alphabet: str, size: int, *, end: str = "7Q") -> st.SearchStrategy[str]:
    """A prefixed key as its issuer makes them. `end` has the digit and the capital that keys have."""
    return st.text(alphabet, min_size=size, max_size=size + 20).map(lambda body: f"{prefix}{body}{end}")


def _exact(prefix: str, size: int) -> st.SearchStrategy[str]:
    return st.text(string.ascii_uppercase + string.digits, min_size=size - 1, max_size=size - 1).map(lambda body: f"{prefix}{body}7")


JWT = st.builds(
    lambda head, body, tail: f"eyJ{head}.eyJ{body}.{tail}",
    st.text(BASE64URL, min_size=8, max_size=40),
    st.text(BASE64URL, min_size=8, max_size=80),
    st.text(BASE64URL, min_size=8, max_size=60),
)
SHAPED = st.one_of(
    _key("sk-", ALNUM, 30),
    _key("sk-proj-", BASE64URL, 30),
    _key("sk-ant-api03-", BASE64URL, 30),
    _key("hf_", ALNUM, 32),
    _key("ghp_", ALNUM, 34),
    _key("gho_", ALNUM, 34),
    _key("ghs_", ALNUM, 34),
    _key("github_pat_", ALNUM + "_", 60),
    _exact("AKIA", 16),
    _exact("ASIA", 16),
    _key("xoxb-", ALNUM, 20),
    _key("xoxp-", ALNUM, 20),
    _key("AIza", BASE64URL, 33),
    _key("glpat-", ALNUM, 18),
    _key("npm_", ALNUM, 34),
    _key("sk_live_", ALNUM, 22),
    _key("nvapi-", ALNUM, 40),
    JWT,
)


@given(SHAPED, st.sampled_from(["", "key is ", "'", "x=", "\n", "(", "url?a="]), st.sampled_from(["", " and more", "'", "\n", ")", "&b=1"]))
def test_a_key_with_a_known_shape_never_survives(key: str, before: str, after: str) -> None:
    cleaned = redact(f"{before}{key}{after}")
    assert key not in cleaned
    assert cleaned == f"{before}{REDACTED}{after}"


WORD = st.text(ALNUM + "!$%^*+~", min_size=1, max_size=30)


@given(WORD, WORD)
def test_a_password_in_a_url_never_survives_and_the_rest_of_the_url_does(user: str, password: str) -> None:
    assert redact(f"at postgres://{user}:{password}@db.example:5432/x ") == f"at postgres://{user}:{REDACTED}@db.example:5432/x "


@given(st.text(ALNUM + "-._~+/", min_size=12, max_size=60).map(lambda token: f"{token}7"), st.sampled_from(["Bearer", "bearer", "BEARER"]))
def test_a_bearer_token_never_survives(token: str, word: str) -> None:
    assert redact(f"Authorization: {word} {token}\n") == f"Authorization: {word} {REDACTED}\n"
    assert redact(f"sent {word} {token}\n") == f"sent {word} {REDACTED}\n"


@given(WORD, WORD)
def test_basic_credentials_never_survive(user: str, password: str) -> None:
    code = base64.b64encode(f"{user}:{password}:".encode()).decode()  # the last colon makes the shortest one long enough
    assert code not in redact(f"header Basic {code} end")


PEM_BODY = "\n".join(["MIIEpAIBAAKCAQEA7bq5S2K1l0Zb9uVt3c8o1", "q9+Zx/AbCdEfGhIjKlMnOpQrStUvWxYz0123", "456789=="])


@pytest.mark.parametrize("kind", ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\\n"])
def test_a_private_key_never_survives(kind: str, newline: str) -> None:
    text = f"-----BEGIN {kind}PRIVATE KEY-----\n{PEM_BODY}\n-----END {kind}PRIVATE KEY-----".replace("\n", newline)
    cleaned = redact(f"before {text} after")
    assert not any(line in cleaned for line in PEM_BODY.splitlines())
    assert cleaned.startswith("before ")
    assert cleaned.endswith(" after")


def test_a_private_key_whose_end_was_cut_off_is_removed_too() -> None:
    cleaned = redact(f"-----BEGIN PRIVATE KEY-----\n{PEM_BODY}\n[log capped]\n")
    assert PEM_BODY.splitlines()[0] not in cleaned
    assert "[log capped]" in cleaned


def test_a_public_certificate_stays() -> None:
    text = f"-----BEGIN CERTIFICATE-----\n{PEM_BODY}\n-----END CERTIFICATE-----"
    assert redact(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("connect(password=hunter2hunter2)", "connect(password=[redacted])"),
        ('{"api_key": "abcdefghij", "n": 3}', '{"api_key": "[redacted]", "n": 3}'),
        ("aws_secret_access_key = abc/def+ghi9", "aws_secret_access_key = [redacted]"),
        ("Password: hunter22", "Password: [redacted]"),
        ("?access_token=abcdefgh&x=1", "?access_token=[redacted]&x=1"),
        ("PASSWD='hunter2 '", "PASSWD='[redacted] '"),
    ],
)
def test_a_value_assigned_to_a_secret_word_goes(text: str, expected: str) -> None:
    assert redact(text) == expected


ORDINARY_TEXTS = (
    "risk-assessment-of-something-very-long",
    "disk-usage-over-the-last-thirty-days",
    "the sk-learn-compatible-estimator-interface",
    "Basic training",
    "Basic authentication required",
    "Bearer of bad news",
    "bearer certificates",
    "Password: required",
    "password=self.password",
    "password=password",
    "the secret: practice",
    "tokens=1024000 token=hello",
    "eos_token=<|endoftext|>",
    "pad_token: [PAD]",
    "http://localhost:8000/v1",
    "user@example.com",
    "tcp://127.0.0.1:29500",
    "epoch 3 step 12345 loss 0.48213",
    "hf_transformers_integration_with_many_words",
    "keyboard monkey tokenizer author",
    "authorization: required",
    "https://example.com/@user/post:1",
    "git@github.com:owner/repository.git",
    "session 4 started at 12:00:03",
    "3f786850e387550fdab836ed7e6dc881de23001b",
    "ASIA PACIFIC",
    "ghosts ghp xoxo eyJ",
    "passwd: command not found",
    "--api-key",
    "äöü 漢字 🙂",
)


@pytest.mark.parametrize("text", ORDINARY_TEXTS)
def test_ordinary_text_stays(text: str) -> None:
    assert redact(text) == text
    assert redact_bytes(text.encode()) == text.encode()


@given(st.text())
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    assert redact(redact(text)) == redact(text)


@given(st.lists(st.sampled_from(["epoch", "loss", "0.25", "rank", "[0]", "token", "key", "step:", "12", "\n", "worker=3", "auth"])))
def test_words_of_a_training_log_stay(words: list[str]) -> None:
    assert redact(" ".join(words)) == " ".join(words)


# ---- known values ------------------------------------------------------------------------------------------------------

SECRET_VALUE = st.text(ALNUM + "-_./+ \"'\\äé", min_size=8, max_size=40).filter(
    lambda value: len(value.strip()) >= 8 and value.strip() not in HARMLESS_VALUES
)


@pytest.mark.slow
@given(SECRET_VALUE, st.text(max_size=30), st.text(max_size=30))
def test_a_known_value_never_survives_in_text_or_bytes(value: str, before: str, after: str) -> None:
    secrets = secret_values({"MY_TOKEN": value})
    text = f"{before}{value}{after}"
    assert value not in redact(text, secrets)
    assert value.encode() not in redact_bytes(text.encode(errors="surrogatepass"), secrets)


@given(SECRET_VALUE)
def test_a_known_value_never_survives_in_json_or_in_a_url(value: str) -> None:
    secrets = secret_values({"MY_TOKEN": value})
    escaped = json.dumps(value.strip())[1:-1]
    assert escaped not in redact(json.dumps({"a": value.strip()}), secrets)
    assert quote(value.strip(), safe="") not in redact(f"GET /?k={quote(value.strip(), safe='')}", secrets)


def test_of_two_values_of_which_one_holds_the_other_both_go() -> None:
    secrets = secret_values({"A_TOKEN": "abcdefgh", "B_TOKEN": "abcdefghijkl"})
    assert redact("abcdefghijkl abcdefgh", secrets) == f"{REDACTED} {REDACTED}"


def test_a_short_value_is_not_searched_for_but_its_variable_is_redacted() -> None:
    environ = {"DB_PASSWORD": "loss"}
    assert secret_values(environ) == ()
    assert redact_environment(environ) == {"DB_PASSWORD": REDACTED}


def test_the_password_of_a_url_is_known_without_its_url() -> None:
    secrets = secret_values({"DATABASE_URL": "postgres://me:correcthorse@db/x"})
    assert redact("pw correcthorse", secrets) == f"pw {REDACTED}"


def test_the_lines_of_a_key_are_known_one_by_one() -> None:
    secrets = secret_values({"DEPLOY_KEY": f"-----BEGIN X-----\n{PEM_BODY}\n-----END X-----"})
    assert redact(PEM_BODY.splitlines()[1], secrets) == REDACTED


def test_an_environment_keeps_its_ordinary_variables() -> None:
    environ = {
        "HF_TOKEN": "anything",
        "TOKENIZERS_PARALLELISM": "false",
        "EMPTY_TOKEN": "",
        "NOTE": "uses anything",
        "OMP_NUM_THREADS": "1",
    }
    assert redact_environment(environ) == {
        "HF_TOKEN": REDACTED,
        "TOKENIZERS_PARALLELISM": "false",
        "EMPTY_TOKEN": "",
        "NOTE": f"uses {REDACTED}",
        "OMP_NUM_THREADS": "1",
    }


def test_an_undecodable_value_is_found_in_the_bytes_of_a_log() -> None:
    raw = b"secret\xff\xfevalue"
    secrets = secret_values({"MY_TOKEN": raw.decode("utf-8", "surrogateescape")})
    assert redact_bytes(b"<" + raw + b">", secrets) == b"<[redacted]>"


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (["--api-key", "abc", "--lr", "1"], ["--api-key", REDACTED, "--lr", "1"]),
        (["--token=abc", "x"], [f"--token={REDACTED}", "x"]),
        (["WANDB_API_KEY=abc", "train.py"], [f"WANDB_API_KEY={REDACTED}", "train.py"]),
        (["--use-auth", "--lr", "1"], ["--use-auth", "--lr", "1"]),
        (["--password", "-x"], ["--password", REDACTED]),
        (["--pad-token", "<pad>", "--tokenizer", "gpt2"], ["--pad-token", "<pad>", "--tokenizer", "gpt2"]),
        (["--url", "https://u:pw@h/x"], ["--url", f"https://u:{REDACTED}@h/x"]),
        (["-H", "Authorization: Bearer abc123def"], ["-H", f"Authorization: Bearer {REDACTED}"]),
        (["token", "value"], ["token", "value"]),
        ([], []),
    ],
)
def test_secret_arguments_are_removed(argv: list[str], expected: list[str]) -> None:
    assert redact_arguments(argv) == expected


@pytest.mark.slow
@given(st.lists(st.text(max_size=12)))
def test_arguments_keep_their_number(argv: list[str]) -> None:
    assert len(redact_arguments(argv)) == len(argv)


def test_an_ordinary_word_behind_a_secret_name_is_not_searched_for() -> None:
    assert secret_values({"REGISTRY_AUTH": "disabled"}) == ()


@pytest.mark.slow
def test_beginnings_without_an_end_take_no_quadratic_time() -> None:
    """A careless pattern would scan to the end of the log from every beginning: more than 10^11 steps."""
    data = b"-----BEGIN PRIVATE KEY-----\n" * 50_000 + b"password=" * 50_000 + b"://a:" * 50_000 + b"eyJ" * 50_000
    assert redact_bytes(data).count(b"BEGIN PRIVATE KEY") == 50_000
