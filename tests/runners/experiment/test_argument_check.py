"""Secrets in the script's arguments are refused before anything is started."""

from __future__ import annotations

import pytest

from fireassay.errors import SpecError
from fireassay.runners.experiment.script import refuse_secrets
from fireassay.spec.experiment import Experiment, Factor
from fireassay.spec.sections.workload import Workload


def asked(*arguments: str) -> Experiment:
    return Experiment(name="x", workload=Workload(script="t.py", arguments=arguments), factor=Factor(levels=(1,)))


@pytest.mark.parametrize(
    "arguments", [("--api-key", "planted-secret-1"), ("--token=planted-secret-1",), ("sk-plantedsecret1234567890abcdef",)]
)
def test_a_secret_is_refused_and_not_repeated(arguments: tuple[str, ...]) -> None:
    with pytest.raises(SpecError) as refusal:
        refuse_secrets(asked(*arguments))
    assert "environment variable" in str(refusal.value)
    assert "planted" not in str(refusal.value)


@pytest.mark.parametrize("arguments", [("--token-dim=64",), ("--token-budget", "100"), ("--seed", "{seed}"), ("--auth=none",)])
def test_sizes_placeholders_and_switches_are_no_secrets(arguments: tuple[str, ...]) -> None:
    refuse_secrets(asked(*arguments))


@pytest.mark.parametrize(
    ("name", "text"), [("api_key", "planted1"), ("note", "password=planted-99"), ("url", "https://me:planted1@host/x")]
)
def test_a_secret_among_the_conditions_is_refused_and_not_repeated(name: str, text: str) -> None:
    with pytest.raises(SpecError, match=f"conditions.{name}: found an apparent secret") as refusal:
        refuse_secrets(asked().model_copy(update={"conditions": {name: text}}))
    assert "planted" not in str(refusal.value)


def test_a_name_that_is_a_secret_is_refused_and_not_repeated() -> None:
    with pytest.raises(SpecError, match="name: found an apparent secret") as refusal:
        refuse_secrets(asked().model_copy(update={"name": "sk-plantedsecret1234567890abcdef"}))
    assert "planted" not in str(refusal.value)


def test_conditions_without_secrets_are_taken() -> None:
    conditions = {"token_length": 4096, "tokenizer": "bpe", "max_tokens": 64, "auth": "none", "precision": "bf16"}
    refuse_secrets(asked().model_copy(update={"conditions": conditions}))
