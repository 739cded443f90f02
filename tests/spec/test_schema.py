"""The schema for editors and the table of keys say what the loader does."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from fireassay.spec.claim import claim_schema
from fireassay.spec.experiment import Experiment
from fireassay.spec.load import json_schema, key_table, section_table, to_toml
from tests.spec.making import experiments, smallest

jsonschema = pytest.importorskip("jsonschema")


@cache
def validator() -> Any:
    return jsonschema.Draft202012Validator(json_schema())


def errors_of(data: Any) -> list[Any]:
    return list(validator().iter_errors(data))


@pytest.mark.slow
def test_the_schema_is_a_valid_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(json_schema())


@pytest.mark.slow
@given(experiments())
def test_the_schema_accepts_what_the_loader_accepts(experiment: Experiment) -> None:
    # Through JSON, as an editor's checker sees a date: as text.
    data = json.loads(json.dumps(tomllib.loads(to_toml(experiment)), default=str))
    assert errors_of(data) == []


@pytest.mark.parametrize(
    "sections",
    [
        {"margin": 1},
        {"launches": {"per_configuraton": 5}},
        {"factor": {"levels": [0]}},
        {"factor": {"levels": []}},
        {"scaling": {"mode": "x"}},
        {"gates": {"efficiency": "off"}},
        {"faults": {"kind": "kill"}},
        {"name": "a b"},
        {"prices": {"usd_per_worker_hour": 1}},
    ],
)
def test_the_schema_refuses_what_the_loader_refuses(sections: dict[str, Any]) -> None:
    assert errors_of(smallest(**sections))


def test_the_schema_offers_no_null_because_toml_has_none() -> None:
    def types(part: Any) -> Iterator[Any]:
        if isinstance(part, dict):
            yield part.get("type")
            for inner in part.values():
                yield from types(inner)
        elif isinstance(part, list):
            for inner in part:
                yield from types(inner)

    assert "null" not in [kind for kind in types(json_schema()) if isinstance(kind, str)]


def test_every_key_in_the_table_has_a_type_and_a_meaning() -> None:
    table = key_table()
    assert all(kind and meaning for _, kind, _, meaning in table)
    rows = {path: (kind, default) for path, kind, default, _ in table}
    assert rows["name"] == ("text", "required")
    assert rows["factor.levels"] == ("list of whole numbers", "required")
    assert rows["launches.per_configuration"] == ("whole number", "5")
    assert rows["gates.deadline_s"] == ("number", "not set")
    assert rows["prices.date"] == ("date", "required")
    assert rows["scaling.mode"] == ("auto | strong | weak", '"auto"')
    assert rows["faults[].kind"] == ("text", '"kill"')


def test_every_section_is_in_the_table_of_sections() -> None:
    names = [name for name, _, _ in section_table()]
    assert names == [
        "[workload]",
        "[factor]",
        "[serving]",
        "[[serving.targets]]",
        "[serving.arrivals]",
        "[[serving.arrivals.stages]]",
        "[serving.prompts]",
        "[serving.objectives]",
        "[serving.client]",
        "[serving.correctness]",
        "[evaluation]",
        "[[evaluation.answers]]",
        "[evaluation.fields]",
        "[evaluation.steps]",
        "[evaluation.given]",
        "[evaluation.best_of]",
        "[evaluation.ratings]",
        "[evaluation.judge]",
        "[measure]",
        "[collectives]",
        "[program]",
        "[tune]",
        "[scaling]",
        "[launches]",
        "[data]",
        "[noise]",
        "[comparison]",
        "[timing]",
        "[quality]",
        "[target]",
        "[gates]",
        "[gates.latency_cap]",
        "[gates.throughput_floor]",
        "[verdict]",
        "[prices]",
        "[[prices.roles]]",
        "[energy]",
        "[carbon]",
        "[flops]",
        "[profile]",
        "[[faults]]",
        "[launcher]",
        "[[launcher.hosts]]",
        "[launcher.slurm]",
        "[launcher.mpi]",
        "[launcher.ray]",
        "[launcher.kubernetes]",
        "[limits]",
    ]


@pytest.mark.slow
def test_the_schema_of_a_claim_accepts_the_examples_and_refuses_a_misspelt_key(repository: Path) -> None:
    jsonschema.Draft202012Validator.check_schema(claim_schema())
    checker = jsonschema.Draft202012Validator(claim_schema())
    for file in sorted((repository / "examples" / "claims").glob("*.toml")):
        data = json.loads(json.dumps(tomllib.loads(file.read_text()), default=str))
        assert list(checker.iter_errors(data)) == []
        data["number"][0]["lunches"] = 5
        assert [error.validator for error in checker.iter_errors(data)] == ["additionalProperties"]
