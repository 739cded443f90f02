"""Names that say secret, and names that somebody declares."""

from __future__ import annotations

import pytest

from fireassay.record.secrets.redact import declare, is_secret_name, is_vague_name, redact, redact_environment, secret_values

# Issue 12 names the first five kinds; the others are variables of current services.
SECRET = (
    "GATEWAY_KEY",
    "DB_PWD",
    "SENTRY_DSN",
    "SLACK_WEBHOOK_URL",
    "TEAMS_WEBHOOK",
    "SSHPASS",
    "OPENAI_KEY",
    "COSMOS_KEYS",
    "REDIS_PWD",
    "DD_APP_KEY",
    "Ocp-Apim-Subscription-Key",
    "RABBITMQ_DSN",
)
ORDINARY = (
    "PWD",
    "OLDPWD",
    "INIT_PWD",
    "KEY",
    "HOST_KEY",
    "SORT_KEY",
    "PARTITION_KEY",
    "CACHE_KEY",
    "--text-key",
    "text_key",
    "key",
    "THREADS_NUM",
    "READS_NEXT",
    "MONKEY",
    "keyboard",
)


@pytest.mark.parametrize("name", SECRET)
def test_a_name_that_says_secret_is_secret(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("name", ORDINARY)
def test_an_ordinary_name_is_not_secret(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize("value", ["timestamp", "user-name", "/home/me/project", "8080", "created_at"])
def test_an_ordinary_word_behind_a_vague_name_is_redacted_there_and_searched_for_nowhere(value: str) -> None:
    environ = {"ORDER_KEY": value}
    assert is_vague_name("ORDER_KEY")
    assert redact_environment(environ) == {"ORDER_KEY": "[redacted]"}
    assert secret_values(environ) == ()


def test_an_ordinary_word_behind_a_name_that_says_it_plainly_is_searched_for() -> None:
    assert not is_vague_name("ENGINE_API_KEY")
    assert redact("say correct-horse-battery", secret_values({"ENGINE_API_KEY": "correct-horse-battery"})) == "say [redacted]"


@pytest.fixture
def _declared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fireassay.record.secrets.redact._DECLARED", set())
    monkeypatch.setenv("HOUSE", "perfectly-ordinary-words")
    declare(["HOUSE", ""])


@pytest.mark.usefixtures("_declared")
def test_what_a_declared_variable_holds_is_known_everywhere_whatever_its_name() -> None:
    assert is_secret_name("HOUSE")
    assert redact("they said perfectly-ordinary-words again") == "they said [redacted] again"
    assert redact_environment({"HOUSE": "x", "HOME": "/perfectly-ordinary-words"}) == {"HOUSE": "[redacted]", "HOME": "/[redacted]"}


@pytest.mark.usefixtures("_declared")
def test_a_declared_variable_that_is_unset_is_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOUSE")
    assert redact("perfectly-ordinary-words") == "perfectly-ordinary-words"
