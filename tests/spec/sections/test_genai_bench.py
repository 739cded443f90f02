"""Are genai-bench's names of tasks and backends ours?"""

from __future__ import annotations

import pytest

from fireassay import catalog
from fireassay.cli import main
from fireassay.spec.sections.genai_bench import BACKENDS, TASKS
from fireassay.spec.sections.serving import Serving, Target


def test_every_name_is_that_of_a_task_or_backend_of_ours() -> None:
    assert set(TASKS.values()) <= set(catalog.names("traffic.tasks"))
    assert set(BACKENDS.values()) <= set(catalog.names("traffic.backends"))
    assert not set(BACKENDS) & set(catalog.names("traffic.backends"))


@pytest.mark.parametrize(("theirs", "ours"), TASKS.items())
def test_a_task_is_kept_under_our_name(theirs: str, ours: str) -> None:
    assert Serving(task=theirs).task == Serving(task=ours).task == ours


def test_a_name_is_ours_beside_other_problems(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["load", "http://127.0.0.1:9", "--task", "text-to-speech", "--backend", "azure-openai", "--canaries", "0.1", "--toml"]
    assert main(words) == 2
    message = " ".join(capsys.readouterr().err.split())
    assert "--canaries" in message
    assert "--task: found" not in message
    assert "--backend" not in message


def test_a_backend_is_kept_under_our_name() -> None:
    assert Target(backend="azure-openai").backend == "azure"
    assert Target(backend="oci-genai").options == {}
    cohere = Target(backend="oci-cohere", options={"compartment_id": "c"})
    assert (cohere.backend, cohere.options) == ("oci", {"api_format": "COHERE", "compartment_id": "c"})
    assert Target(backend="nobody").backend == "nobody"  # refused later, with the names that there are
