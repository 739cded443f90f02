"""Contradictions within a load on engines: each is told with its key, and what makes sense is let through."""

from __future__ import annotations

import copy
import re
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.errors import Problem, SpecError
from fireassay.spec.experiment import Experiment
from fireassay.spec.load import from_mapping, to_toml
from fireassay.spec.plan import configurations

URL = "http://127.0.0.1:8000"
COMMAND = ["serve", "--port", "{port}"]


def load(**changes: Any) -> dict[str, Any]:
    """A valid load with some keys changed: `serving__arrivals__process="poisson"`; None takes a key away."""
    data: dict[str, Any] = {
        "name": "load",
        "workload": {"runner": "serving"},
        "serving": {"targets": [{"urls": [URL]}], "concurrency": [1, 8]},
    }
    for path, value in changes.items():
        *above, key = path.split("__")
        place = data
        for name in above:
            place = place.setdefault(name, {})
        if value is None:
            place.pop(key, None)
        else:
            place[key] = copy.deepcopy(value)
    return data


def arrivals(process: str, concurrency: list[int] | None = None, rate: list[float] | None = None, **keys: Any) -> dict[str, Any]:
    return {"serving__concurrency": concurrency, "serving__rate": rate, "serving__arrivals": {"process": process, **keys}}


def told(data: object) -> list[Problem]:
    try:
        Experiment.model_validate(data)
    except SpecError as error:
        return list(error.problems)
    return []


STAGES = [{"duration_s": 10.0, "rate": 1.0, "rate_to": 5.0}, {"duration_s": 20.0, "rate": 5.0}]
FINE: dict[str, dict[str, Any]] = {
    "as it is": {},
    "its URL as the script": {"serving__targets": None, "workload__script": URL},
    "one engine at the script's URL": {"serving__targets": [{"name": "a"}], "workload__script": URL},
    "an engine that is started": {"serving__targets": [{"command": COMMAND, "replicas": 2, "router": ["haproxy"]}]},
    "a model in this process": {"serving__targets": [{"backend": "process"}]},
    "two engines": {"serving__targets": [{"name": "a", "urls": [URL]}, {"name": "b", "urls": ["https://b/v1", "https://c:1"]}]},
    "a record that is replayed": {"workload": {"runner": "replay", "script": URL}},
    "poisson": arrivals("poisson", rate=[5.0]),
    "constant": arrivals("constant", rate=[5.0]),
    "gamma": arrivals("gamma", rate=[5.0], cv=2.0),
    "server": arrivals("server", rate=[5.0]),
    "users": arrivals("users", [4]),
    "users at a rate": arrivals("users", rate=[4.0]),
    "stages": arrivals("stages", stages=STAGES),
    "stages of a rate": arrivals("stages", rate=[1.0, 2.0], stages=STAGES),
    "trace": arrivals("trace", trace="trace.jsonl"),
    "single_stream": arrivals("single_stream"),
    "multi_stream": arrivals("multi_stream"),
    "offline": arrivals("offline", requests=100),
    "search": {**arrivals("poisson", rate=[1.0, 100.0]), "serving__search": True, "serving__objectives": {"ttft_s": 0.2}},
    "embeddings": {"serving__task": "embeddings", "serving__scenarios": ["E(100)"], "serving__objectives": {"e2e_s": 1.0}},
    "a file": {"serving__scenarios": ["dataset"], "serving__prompts": {"source": "questions.jsonl", "answer_field": "answer"}},
    "checks": {"serving__correctness": {"canaries": 0.1, "identity": 8, "needle": True, "grade": "near_tie"}},
    "a proxy": {"serving__client": {"proxy": "http://proxy:3128", "transport": "library"}},
    "HTTP/2": {"serving__client": {"http2": True}},
    "conversations": {"serving__prompts": {"turns": 3, "think_s": 1.0, "tool_steps": 1}},
    "a fault by a command": {"faults": [{"kind": "command", "command": "kubectl delete pod a", "at_s": 5.0, "load": 8.0}]},
    "a replica that is killed": {"serving__targets": [{"command": COMMAND, "replicas": 2}], "faults": [{"kind": "kill", "replica": 1}]},
    "one engine of two is killed": {
        "serving__targets": [{"name": "a", "urls": [URL]}, {"name": "b", "command": COMMAND}],
        "faults": [{"kind": "kill", "target": "b"}],
    },
}


@pytest.mark.parametrize("case", FINE)
def test_what_makes_sense_is_let_through(case: str) -> None:
    assert told(load(**FINE[case])) == []
    assert configurations(from_mapping(load(**FINE[case])))


@pytest.mark.parametrize("case", FINE)
def test_what_was_stored_is_read_again(case: str) -> None:
    """A stored experiment has every key, with its default where nothing was asked for."""
    experiment = from_mapping(load(**FINE[case]))
    assert from_mapping(tomllib.loads(to_toml(experiment))) == experiment
    assert told(experiment) == []


WRONG: list[tuple[dict[str, Any], str, str]] = [
    # the runner and the engines
    ({"workload__runner": "training"}, "serving", 'found a table, where workload.runner is "training"'),
    ({"serving": None}, "serving", 'a table if workload.runner = "serving"'),
    ({"factor": {"levels": [1, 2]}}, "factor", "no [factor] together with [serving]"),
    ({"serving__targets": None}, "serving.targets", "an engine: a list of tables, or its URL as workload.script"),
    ({"serving__targets": None, "workload__script": "localhost:8000"}, "workload.script", 'Write "http://localhost:8000" if'),
    ({"serving__targets": None, "workload__script": "/run/socket"}, "workload.script", "http://HOST:PORT or https://HOST:PORT"),
    ({"serving__targets": [{"name": "a"}]}, "serving.targets[0].urls", "found nothing; allowed: where the engine listens, or"),
    ({"serving__targets": [{"urls": [URL], "command": COMMAND}]}, "serving.targets[0].urls", "urls or command, not both"),
    ({"serving__targets": [{"urls": [URL, "ftp://a"]}]}, "serving.targets[0].urls[1]", 'found "ftp://a"'),
    ({"serving__targets": [{"urls": ["http://a:99999"]}]}, "serving.targets[0].urls[0]", "http://HOST:PORT"),
    ({"serving__targets": [{"urls": [URL], "replicas": 2}]}, "serving.targets[0].replicas", "replicas only with command"),
    ({"serving__targets": [{"urls": [URL], "router": ["x"]}]}, "serving.targets[0].router", "router only with command"),
    ({"serving__targets": [{"urls": [URL]}, {"urls": [URL]}]}, "serving.targets", '"server" occurs more than once'),
    ({"serving__concurrency": [8, 1, 8]}, "serving.concurrency", "8 occurs more than once. Write [8, 1]."),
    ({"serving__scenarios": ["D(1,1)", "D(1,1)"]}, "serving.scenarios", '"D(1,1)" occurs more than once.'),
    (arrivals("poisson", rate=[5.0, 5.0]), "serving.rate", "5.0 occurs more than once"),
    # arrivals
    (arrivals("closed"), "serving.concurrency", "Write concurrency = [1, 8, 16] below [serving]."),
    (arrivals("closed", rate=[5.0]), "serving.concurrency", 'Or write process = "poisson" below [serving.arrivals].'),
    (arrivals("users"), "serving.concurrency", 'a load where arrivals.process is "users"'),
    (arrivals("poisson", [8]), "serving.rate", "Write rate = [5, 10] below [serving]."),
    (arrivals("gamma"), "serving.rate", 'a load where arrivals.process is "gamma"'),
    (arrivals("closed", [8], [5.0]), "serving.rate", 'rate and concurrency, where arrivals.process is "closed"'),
    (arrivals("users", [8], [5.0]), "serving.rate", "Make two experiments."),
    (arrivals("offline", [8], requests=5), "serving.concurrency", "offline says its load itself"),
    (arrivals("trace", rate=[8.0], trace="t"), "serving.rate", "trace says its load itself"),
    (arrivals("stages", [8], stages=STAGES), "serving.concurrency", "stages that are multiples of a rate"),
    (arrivals("stages"), "serving.arrivals.stages", 'a list that is not empty if process = "stages"'),
    (arrivals("poisson", rate=[5.0], stages=STAGES), "serving.arrivals.stages", 'found 2 of them, where process is "poisson"'),
    (
        arrivals("stages", stages=STAGES, duration_s=60.0),
        "serving.arrivals.duration_s",
        "found 60; allowed: the total duration of the stages: 30",
    ),
    (arrivals("stages", stages=STAGES[:1]), "serving.arrivals.duration_s", "Write duration_s = 10 below [serving.arrivals]."),
    (arrivals("trace"), "serving.arrivals.trace", 'Write trace = "FILE" below [serving.arrivals].'),
    (arrivals("closed", [8], trace="t"), "serving.arrivals.trace", 'Write process = "trace"'),
    (arrivals("offline"), "serving.arrivals.requests", "MLPerf requires requests = 24576"),
    ({**arrivals("multi_stream"), "serving__prompts": {"turns": 2}}, "serving.prompts.turns", "allowed: 1 where"),
    ({**arrivals("trace", trace="t"), "serving__prompts": {"tool_steps": 2}}, "serving.prompts.tool_steps", "are defined in its file"),
    ({"serving__search": True, "serving__objectives": {"ttft_s": 1.0}}, "serving.search", "true without serving.rate"),
    ({**arrivals("poisson", rate=[5.0]), "serving__search": True}, "serving.search", "true without an objective"),
    (
        {**arrivals("poisson", rate=[5.0]), "serving__search": True, "serving__task": "text_to_image"},
        "serving.search",
        "[serving.objectives] with e2e_s = 10",
    ),
    (
        {**arrivals("poisson", rate=[5.0]), "serving__search": True, "serving__objectives": {"attainment": 0.9}},
        "serving.search",
        "objective",
    ),
    # what is sent and what is checked
    ({"serving__scenarios": ["D(1,1)", "D(1, 1)"]}, "serving.scenarios[1]", 'Write "D(1,1)".'),
    ({"serving__scenarios": ["E(100)"]}, "serving.scenarios[0]", 'Write task = "embeddings".'),
    ({"serving__scenarios": ["dataset"]}, "serving.scenarios[0]", 'Add [serving.prompts] with source = "FILE".'),
    ({"serving__stream": False, "serving__objectives": {"tpot_s": 0.1}}, "serving.objectives.tpot_s", "none with stream = false"),
    ({"serving__task": "embeddings", "serving__objectives": {"ttft_s": 0.1}}, "serving.objectives.ttft_s", 'none with task = "embeddings"'),
    ({"serving__task": "embeddings", "serving__correctness": {"canaries": 0.1}}, "serving.correctness.canaries", "They compare texts."),
    ({"serving__task": "embeddings", "serving__correctness": {"identity": 8}}, "serving.correctness.identity", "none with task"),
    (
        {"serving__client": {"keep_text": False}, "serving__correctness": {"canaries": 0.1}},
        "serving.correctness.canaries",
        "Remove keep_text",
    ),
    (
        {"serving__client": {"keep_text": False}, "serving__prompts": {"answer_field": "a"}},
        "serving.prompts.answer_field",
        "the answers' text, kept",
    ),
    ({"serving__correctness": {"needle": True}}, "serving.correctness.needle", "Write identity = 8"),
    ({"serving__correctness": {"grade": "bitwise"}}, "serving.correctness.grade", '"bitwise" without prompts to compare'),
    ({"serving__client": {"proxy": "socks5://a:1"}}, "serving.client.proxy", "http://HOST:PORT"),
    ({"serving__client": {"proxy": "http://a:1", "transport": "lean"}}, "serving.client.transport", '"lean" with proxy'),
    ({"serving__client": {"http2": True, "transport": "lean"}}, "serving.client.transport", '"lean" with http2'),
    # faults
    ({"faults": [{"kind": "stop"}]}, "faults[0].kind", '"stop" for server, which assay does not start'),
    ({"faults": [{}]}, "faults[0].kind", '"kill" for server'),
    ({"faults": [{"kind": "command", "command": "x"}, {"kind": "command"}]}, "faults[1].command", "a line for the shell"),
    ({"faults": [{"kind": "delay", "replica": 1}]}, "faults[0].replica", "a number below the replicas of server: 1"),
    ({"faults": [{"kind": "delay", "target": "servr"}]}, "faults[0].target", "one of the engines server"),
    ({"faults": [{"kind": "delay", "at_s": 30, "load_s": 30}]}, "faults[0].at_s", "less than load_s of this fault, 30"),
    ({"faults": [{"kind": "delay", "load_s": 8.0}]}, "faults[0].at_s", "found 10; allowed: less than"),
    ({"faults": [{"kind": "delay", "load": 4.0}]}, "faults[0].load", "one of the loads 1, 8"),
]


@pytest.mark.parametrize(("changes", "where", "words"), WRONG, ids=[f"{where}-{n}" for n, (_, where, _) in enumerate(WRONG)])
def test_a_contradiction_is_told_with_its_key(changes: dict[str, Any], where: str, words: str) -> None:
    (problem,) = told(load(**changes))
    assert problem.where == where
    assert words in str(problem)
    with pytest.raises(SpecError, match=re.escape(where)):
        from_mapping(load(**changes))


def test_everything_that_is_wrong_is_told_at_once() -> None:
    data = load(
        serving__targets=[{"urls": ["a"]}],
        serving__scenarios=["D"],
        serving__arrivals={"process": "trace"},
        serving__correctness={"needle": True},
        factor={"levels": [2]},
    )
    assert {problem.where for problem in told(data)} == {
        "factor",
        "serving.targets[0].urls[0]",
        "serving.scenarios[0]",
        "serving.concurrency",
        "serving.arrivals.trace",
        "serving.correctness.needle",
    }


def test_a_wrong_value_is_told_once_and_by_its_type() -> None:
    with pytest.raises(SpecError) as caught:
        from_mapping(load(serving__concurrency="8", serving__targets=[{"urls": URL}], serving__arrivals={"process": 3}))
    assert [problem.where for problem in caught.value.problems] == [
        "serving.targets[0].urls",
        "serving.concurrency",
        "serving.arrivals.process",
    ]


def test_an_experiment_without_engines_is_no_matter_of_these_rules() -> None:
    assert told({"name": "a", "workload": {"script": "train.py"}, "factor": {"levels": [1, 2]}, "faults": [{"at_s": 1e6}]}) == []


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats() | st.sampled_from(["", "a", URL, "D(1,1)", "dataset", "users", "//["]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["urls", "command", "name", "rate", "kind"]), inner, max_size=3)
    ),
    max_leaves=8,
)
KEYS = [
    "workload",
    "workload__runner",
    "workload__script",
    "factor",
    "serving",
    "serving__targets",
    "serving__scenarios",
    "serving__concurrency",
    "serving__rate",
    "serving__arrivals",
    "serving__arrivals__process",
    "serving__arrivals__stages",
    "serving__arrivals__duration_s",
    "serving__arrivals__trace",
    "serving__task",
    "serving__search",
    "serving__objectives",
    "serving__prompts",
    "serving__client",
    "serving__client__proxy",
    "serving__correctness",
    "faults",
]


@pytest.mark.slow
@given(st.dictionaries(st.sampled_from(KEYS), ANYTHING, max_size=4))
def test_whatever_stands_there_no_rule_breaks(changes: dict[str, Any]) -> None:
    try:
        data = load(**dict(sorted(changes.items())))
    except (AttributeError, TypeError):  # a key below something that is no table
        return
    assert all(isinstance(problem, Problem) for problem in told(data))
    try:
        assert isinstance(from_mapping(data), Experiment)
    except SpecError:
        return


def test_a_key_under_a_wrong_name_is_not_repeated() -> None:
    from fireassay.errors import SpecError
    from fireassay.spec.load import from_mapping

    target = {"urls": ["http://h:1"], "api_key": "sk-foo", "colour": "blue"}
    with pytest.raises(SpecError) as caught:
        from_mapping({"name": "a", "workload": {"runner": "serving"}, "serving": {"concurrency": [1], "targets": [target]}})
    assert "sk-foo" not in str(caught.value)
    assert "blue" in str(caught.value)
