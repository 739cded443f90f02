"""Do the flags of every verb come from the fields, in one order, and is their text read by the field's type?"""

from __future__ import annotations

import argparse
from datetime import date
from typing import Any

import pytest

from fireassay import catalog
from fireassay.errors import Problem
from fireassay.spec.experiment import Experiment
from fireassay.spec.flags.of_verb import declare, flags_of, given, put, put_all
from fireassay.spec.keys import keys

EVERY = sorted({verb for key in keys(Experiment).values() for flag in key.flags for verb in flag.places})


def read(verb: str, *words: str) -> tuple[dict[str, Any], list[Problem]]:
    parser = argparse.ArgumentParser()
    declare(parser, flags_of(verb))
    data: dict[str, Any] = {"serving": {"targets": [{}]}}
    problems = put_all(data, given(parser.parse_args(words), flags_of(verb)))
    return data, problems


def test_the_verbs_that_set_keys_are_verbs() -> None:
    assert set(EVERY) == {"comm", "evaluate", "gate", "load", "profile", "run", "score", "time"}
    assert set(EVERY) < set(catalog.names("cli.verbs"))


@pytest.mark.parametrize("verb", EVERY)
def test_no_two_flags_of_a_verb_share_a_name_a_key_or_a_place(verb: str) -> None:
    flags = flags_of(verb)
    for shared in (lambda item: item.name, lambda item: item.path, lambda item: item.flag.places[verb]):
        assert len(set(map(shared, flags))) == len(flags)


@pytest.mark.parametrize("verb", EVERY)
def test_a_switch_stands_for_a_yes_or_no(verb: str) -> None:
    assert {item.key.type for item in flags_of(verb) if not item.flag.metavar} <= {"true or false"}


@pytest.mark.parametrize(
    ("verb", "words", "path", "value"),
    [
        ("run", ["--workers", "1,2"], "factor.levels", [1, 2]),
        ("run", ["--confidence", "0.9"], "launches.confidence", 0.9),
        ("run", ["--only", "cost, performance"], "verdict.only", ["cost", "performance"]),
        ("run", ["--price-date", "2026-01-31"], "prices.date", date(2026, 1, 31)),
        ("run", ["--efficiency", "none"], "gates.efficiency", "none"),
        ("run", ["--fresh-folder"], "workload.fresh_folder", True),
        ("run", ["--env", "A=1=2", "--env", "B="], "workload.environment", {"A": "1=2", "B": ""}),
        ("run", ["--fault", "kill", "--fault", "stop"], "faults", [{"kind": "kill"}, {"kind": "stop"}]),
        ("profile", ["--no-memory"], "profile.memory", False),
        ("comm", ["--ops", "all_gather,reduce"], "collectives.operations", ["all_gather", "reduce"]),
        ("comm", ["--matrix"], "collectives.matrix", "4M"),
        ("load", ["--server-engine", " vLLM "], "conditions.server_engine", "vLLM"),
        ("load", ["--server-gpu-count", "04"], "conditions.server_gpu_count", "4"),
        ("load", ["--rate", "0.5,2"], "serving.rate", [0.5, 2.0]),
        ("load", ["--duration", "2m"], "serving.arrivals.duration_s", 120.0),
        ("load", ["--scenario", "D(1,2)", "--scenario", "E(3)"], "serving.scenarios", ["D(1,2)", "E(3)"]),
        ("load", ["--no-stream"], "serving.stream", False),
        ("time", ["--show-output"], "timing.keep_output", True),
    ],
)
def test_the_text_of_a_flag_is_read_by_its_key(verb: str, words: list[str], path: str, value: object) -> None:
    data, problems = read(verb, *words)
    assert problems == []
    for part in path.split("."):
        data = data[part]
    assert data == value


@pytest.mark.parametrize(
    ("verb", "words", "allowed"),
    [
        ("run", ["--launches", "many"], "a whole number from 1 to 100000"),
        ("comm", ["--workers", "2,x"], "whole numbers with commas and no spaces, as in 2,4"),
        ("load", ["--rate", "fast"], "numbers with commas and no spaces, as in 5,10,20"),
        ("load", ["--think", "2y"], "a time such as 120s"),
        ("time", ["--round", "long"], "a number above 0 and at most 3600"),
    ],
)
def test_text_that_is_none_is_told_under_the_flag_with_what_is_allowed(verb: str, words: list[str], allowed: str) -> None:
    _, (problem,) = read(verb, *words)
    assert (problem.where, problem.found) == (words[0], words[1])
    assert problem.allowed.startswith(allowed)


def test_a_value_replaces_what_is_no_table_and_is_added_to_one() -> None:
    data: dict[str, Any] = {"a": 3, "b": {"c": {"x": 1}}}
    put(data, "a.b", 1)
    put(data, "b.c", {"y": 2})
    assert data == {"a": {"b": 1}, "b": {"c": {"x": 1, "y": 2}}}
