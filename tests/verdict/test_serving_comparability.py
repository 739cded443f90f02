"""The mutation matrix for loads: each condition of serving that must be equal refuses when it is not, and is named."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from fireassay.spec.experiment import Experiment
from fireassay.spec.sections.serving import Objectives
from fireassay.verdict.comparison.comparability import differences, refusing, unknown_on_all
from fireassay.verdict.comparison.compare import compare
from fireassay.verdict.comparison.types import Side
from fireassay.verdict.conditions.catalogue import CONDITIONS
from fireassay.verdict.conditions.facts import OURS
from tests.serving_made import simulated
from tests.tiers import some
from tests.verdict.comparing import BEFORE, relabelled, with_manifest, with_tables
from tests.verdict.judging import concluded

pytestmark = pytest.mark.slow


Mutate = Callable[[Side], Side]
ENGINES = {"server": {"path": "/version", "said": '{"version": "0.11.0"}'}}
FILES = {"prompts": "ab" * 32}


@pytest.fixture(scope="module")
def base() -> Side:
    made = simulated(rate=(4.0, 8.0), blocks=3, seconds=5.0, seed=1)
    made.manifest["environment"] = {"before": {**copy.deepcopy(dict(BEFORE)), "engines": ENGINES, "files": FILES}, "after": {}}
    measured = made.measured()
    return Side(label="A", measured=measured, judgement=concluded(measured))


def asked(path: str, value: Any) -> Mutate:
    """One key of the experiment changed: "serving.arrivals.cv"; what depends on the change is not judged again."""

    def changed(one: Side) -> Side:
        content = one.measured.experiment.model_dump(by_alias=True)
        *folders, last = path.split(".")
        inner: Any = content
        for folder in folders:
            inner = inner[int(folder)] if isinstance(inner, list | tuple) else inner[folder]
        assert last in inner
        inner[last] = value
        return with_experiment(one, content)

    return changed


def with_experiment(one: Side, content: Mapping[str, Any]) -> Side:
    experiment = Experiment.model_construct(
        **{
            **{name: getattr(one.measured.experiment, name) for name in Experiment.model_fields},
            "serving": type(one.measured.experiment.serving).model_validate(content["serving"]),  # type: ignore[union-attr]
        }
    )
    return Side(label="B", measured=replace(one.measured, experiment=experiment), judgement=one.judgement)


def manifest(path: str, value: Any) -> Mutate:
    return lambda one: with_manifest(one, "B", path, value)


def no_usage(one: Side) -> Side:
    rows = one.measured.tables["requests"]
    counted = rows.select("launch", "request", "tokens_in", "tokens_out", pl.col("chunk_ns").alias("chunk_tokens"))
    return with_tables(one, "B", requests=rows.with_columns(tokens_out=pl.lit(None, dtype=pl.Int64)), token_counts=counted)


def in_flight(one: Side) -> Side:
    """The same numbers, but of requests in flight; their configurations have other names."""
    content = one.measured.experiment.model_dump(by_alias=True)
    content["serving"] |= {"rate": (), "concurrency": (4, 8)}
    return with_experiment(one, content)


def imported(key: str, value: str) -> Mutate:
    """A record that says of another tool what ours says of assay, but for one thing (and, as every import, its machine)."""
    meanings = {**OURS, key: value}
    return manifest(
        "foreign",
        {
            "tool": meanings["tool"],
            "clock": meanings["clock"],
            "meanings": meanings,
            "times": "whole",
            "requests": True,
            "unsaid": [],
            "file": "result.json",
            "sha256": "ab" * 32,
        },
    )


IDENTITY: Mapping[str, Mutate] = {
    "serving.task": asked("serving.task", "completions"),
    "serving.model": asked("serving.model", "other"),
    "serving.tokenizer": asked("serving.tokenizer", "tokenizer.json"),
    "serving.files.*": manifest("environment/before/files/prompts", "cd" * 32),
    "serving.scenarios": asked("serving.scenarios", ("D(200,100)",)),
    "serving.load": in_flight,
    "serving.arrivals.process": asked("serving.arrivals.process", "constant"),
    "serving.arrivals.cv": asked("serving.arrivals.cv", 2.0),
    "serving.arrivals.stages": asked("serving.arrivals.stages", [{"duration_s": 1.0, "rate": 1.0}]),
    "serving.arrivals.trace": asked("serving.arrivals.trace", "trace.jsonl"),
    "serving.arrivals.trace_format": asked("serving.arrivals.trace_format", "mooncake"),
    "serving.arrivals.speed": asked("serving.arrivals.speed", 2.0),
    "serving.arrivals.samples_per_query": asked("serving.arrivals.samples_per_query", 4),
    "serving.arrivals.requests": asked("serving.arrivals.requests", 100),
    "serving.prompts.source": asked("serving.prompts.source", "prompts.jsonl"),
    "serving.prompts.*": asked("serving.prompts.turns", 3),
    "serving.stream": asked("serving.stream", False),
    "serving.temperature": asked("serving.temperature", 0.7),
    "serving.ignore_eos": asked("serving.ignore_eos", False),
    "serving.correctness.*": asked("serving.correctness.canaries", 0.1),
    "serving.objectives.*": asked("serving.objectives.ttft_s", 1.0),
    "serving.tokens_from": no_usage,
    "engine.*": asked("serving.targets.0.backend", "vllm"),
    "engines.*": manifest("environment/before/engines/server/said", '{"version": "0.12.0"}'),
    "serving.schedules": manifest("schedules/0/sha256", "ef" * 32),
    **{f"foreign.{key}": imported(key, "another" if key != "clock" else "sent") for key in OURS},
}
# Every key of a family of its own.
KEYS: Mapping[str, Mutate] = {
    **{
        f"serving.prompts.{key}": asked(f"serving.prompts.{key}", value)
        for key, value in {
            "format": "csv",
            "field": "text",
            "answer_field": "answer",
            "image_field": "image",
            "prefix_tokens": 8,
            "prefixes": 2,
            "cache": "as_is",
            "turns": 2,
            "think_s": 1.0,
            "tool_steps": 1,
            "tool_s": 1.0,
            "tool_tokens": 65,
        }.items()
    },
    **{
        f"serving.correctness.{key}": asked(f"serving.correctness.{key}", value)
        for key, value in {"canaries": 0.1, "identity": 3, "reruns": 3, "needle": True}.items()
    },
    **{
        f"serving.objectives.{key}": asked(f"serving.objectives.{key}", 0.123)
        for key in ("ttft_s", "ttft_visible_s", "tpot_s", "itl_s", "e2e_s", "attainment")
    },
    **{
        f"engine.{key}": asked(f"serving.targets.0.{key}", value)
        for key, value in {
            "backend": "sglang",
            "model": "other",
            "command": ("serve",),
            "router": ("nginx",),
            "environment": {"A": "1"},
            "options": {"body.x": 1},
            "balance": "session",
            "headers": {"X-Tenant": "1"},
        }.items()
    },
    "engine.replicas": asked("serving.targets.0.urls", ("http://127.0.0.1:8000",)),
}
HARMLESS: Mapping[str, Mutate] = {
    **{
        f"client.{key}": asked(f"serving.client.{key}", value)
        for key, value in {
            "processes": 4,
            "connections": 8,
            "timeout_s": 10.0,
            "first_byte_timeout_s": 5.0,
            "transport": "library",
            "most_lag": 0.5,
            "least_achieved": 0.5,
            "keep_text": False,
        }.items()
    },
    **{
        f"arrivals.{key}": asked(f"serving.arrivals.{key}", value)
        for key, value in {"duration_s": 20.0, "warm_up_s": 1.0, "cold": 2, "drain_s": 1.0}.items()
    },
    "grade": asked("serving.correctness.grade", "bitwise"),
    "engine's name": asked("serving.targets.0.name", "other"),
    "engine's address": asked("serving.targets.0.urls", ("http://127.0.0.1:9000", "http://127.0.0.1:9001")),
    "key's variable": asked("serving.targets.0.api_key_env", "OTHER_KEY"),
    "what the engine does not say": manifest("environment/before/engines", {}),
    "what was not digested": manifest("schedules", {}),
    "files that were not digested": manifest("environment/before/files", None),
    "a further load": asked("serving.rate", (4.0, 8.0, 16.0)),
}


def named(made: tuple[Any, ...]) -> list[str]:
    return [mismatch.field for mismatch in made]


def test_every_condition_of_loads_that_refuses_has_its_mutation() -> None:
    wanted = {c.name for c in CONDITIONS if c.about == ("serving",) and c.kind in ("identity", "hardware")}
    assert wanted == set(IDENTITY)


@pytest.mark.parametrize("field", [*IDENTITY, *KEYS])
def test_one_mutated_field_refuses_and_is_named(base: Side, field: str) -> None:
    mutated = {**IDENTITY, **KEYS}[field](base)
    made = compare([base, mutated])
    assert made.state == "incomparable"
    assert any(name == field or name.startswith(field.removesuffix("*")) for name in named(made.refused)), named(made.refused)
    assert made.refused[0].field in made.sentence
    by_flag = [mismatch for mismatch in made.refused if mismatch.field != "configurations"]  # no flag makes two of them one
    assert all(mismatch.override and len(set(mismatch.values)) == 2 and mismatch.why for mismatch in by_flag)


@pytest.mark.parametrize("field", some([name for name in (*IDENTITY, *KEYS) if name != "serving.load"], 8))
def test_the_named_field_declared_as_studied_lets_the_comparison_go_on(base: Side, field: str) -> None:
    mutated = {**IDENTITY, **KEYS}[field](base)
    made = compare([base, mutated], varying=named(refusing(differences([base, mutated]))))
    assert made.state in ("compared", "nothing_measured")


@pytest.mark.parametrize("what", some(HARMLESS, 8))
def test_what_changes_nothing_that_is_sent_never_refuses(base: Side, what: str) -> None:
    made = compare([base, HARMLESS[what](base)])
    assert (made.state, named(made.refused)) == ("compared", [])


@pytest.mark.parametrize("what", ["client.processes", "client.transport", "arrivals.warm_up_s"])
def test_the_client_is_told_where_it_differs(base: Side, what: str) -> None:
    made = compare([base, HARMLESS[what](base)])
    assert any(f"serving.{what} differs" in note for note in made.notes)


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("engine", "engine.backend"),
        ("engine", "engine.command"),
        ("engine", "engines.*"),
        ("engine", "serving.tokens_from"),
        ("objectives", "serving.objectives.ttft_s"),
        ("prompts", "serving.prompts.turns"),
        ("prompts", "serving.files.*"),
        ("model", "serving.model"),
        ("engine.replicas", "engine.replicas"),
        ("serving.objectives", "serving.objectives.tpot_s"),
        ("serving.arrivals", "serving.arrivals.cv"),
        ("serving", "serving.temperature"),
    ],
)
def test_an_alias_or_a_group_declares_its_fields(base: Side, name: str, field: str) -> None:
    mutated = {**IDENTITY, **KEYS}[field](base)
    assert named(refusing(differences([base, mutated], [name]))) == []


def test_the_same_settings_and_seed_with_other_requests_are_named_and_other_settings_are_not_named_twice(base: Side) -> None:
    assert named(refusing(differences([base, IDENTITY["serving.schedules"](base)]))) == ["serving.schedules"]
    both = manifest("schedules/0/sha256", "ef" * 32)(IDENTITY["serving.arrivals.cv"](base))
    assert named(refusing(differences([base, both]))) == ["serving.arrivals.cv"]


def test_scenarios_need_one_in_common_where_both_sides_name_them(base: Side) -> None:
    def several(*scenarios: str) -> Side:
        return asked("serving.scenarios", scenarios)(base)

    both = [relabelled(several("D(1,1)", "D(2,2)"), "A"), several("D(2,2)", "D(3,3)")]
    assert "serving.scenarios" not in named(differences(both))
    one = [relabelled(several("D(1,1)"), "A"), several("D(1,1)", "D(2,2)")]
    assert "serving.scenarios" in named(refusing(differences(one)))


def test_a_load_and_a_training_are_never_compared(base: Side) -> None:
    from tests.verdict.comparing import complete, side

    made = compare([base, side("B", complete())])
    assert made.state == "incomparable"
    assert named(made.refused) == ["kind"]


def test_what_only_training_has_is_no_gap_of_a_load(base: Side) -> None:
    assert not {"dataset.size", "model.parameters", "workload.script_sha256"} & set(unknown_on_all([base, base]))


def test_several_engines_are_told_apart_by_their_names() -> None:
    made = simulated(rate=(4.0,), blocks=1, seconds=2.0, engines=("a", "b")).measured()
    (condition,) = [c for c in CONDITIONS if c.name == "engine.*"]
    fields = condition.fields(made, {})
    assert fields["engine.a.backend"] == fields["engine.b.backend"] == "openai"


def test_no_secret_is_a_condition() -> None:
    """The variable with the key is named in the experiment; it decides nothing, and headers are compared by their names alone."""
    made = simulated(rate=(4.0,), blocks=1, seconds=2.0).measured()
    (condition,) = [c for c in CONDITIONS if c.name == "engine.*"]
    assert "engine.api_key_env" not in condition.fields(made, {})
    assert condition.fields(made, {})["engine.headers"] == []


def test_objectives_that_are_not_asked_for_say_so(base: Side) -> None:
    (found,) = refusing(differences([base, asked("serving.objectives", Objectives(tpot_s=0.05).model_dump())(base)]))
    assert (found.field, found.values) == ("serving.objectives.ttft_s", ("0.5", "not asked for"))
