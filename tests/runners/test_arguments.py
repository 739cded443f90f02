"""Secrets in the script's arguments are refused before anything is started."""

from __future__ import annotations

import pytest

from assay.errors import SpecError
from assay.runners.arguments import refuse_secrets
from assay.spec.experiment import Experiment, Factor, Workload


def asked(*arguments: str) -> Experiment:
    return Experiment(name="x", workload=Workload(script="t.py", arguments=arguments), factor=Factor(levels=(1,)))


@pytest.mark.parametrize(
    "arguments",
    [("--api-key", "planted-secret-1"), ("--token=planted-secret-1",), ("sk-plantedsecret1234567890abcdef",)],
)
def test_a_secret_is_refused_and_not_repeated(arguments: tuple[str, ...]) -> None:
    with pytest.raises(SpecError) as refusal:
        refuse_secrets(asked(*arguments))
    assert "environment variable" in str(refusal.value)
    assert "planted" not in str(refusal.value)


@pytest.mark.parametrize(
    "arguments", [("--token-dim=64",), ("--token-budget", "100"), ("--seed", "{seed}"), ("--auth=none",)]
)
def test_sizes_placeholders_and_switches_are_no_secrets(arguments: tuple[str, ...]) -> None:
    refuse_secrets(asked(*arguments))
