"""Do the flags of `assay load` give the experiment that they describe, and are wrong ones told under their own names?"""

from __future__ import annotations

import argparse
import tomllib
from datetime import date
from pathlib import Path

import pytest

from fireassay.errors import SpecError
from fireassay.spec.experiment import Experiment
from fireassay.spec.flags.load import add_flags, experiment_from, name_from, notes
from fireassay.spec.flags.of_verb import Stored
from fireassay.spec.load import from_mapping, to_toml
from fireassay.spec.model import seconds, slo

TODAY = date(2026, 11, 22)
URL = "http://localhost:8000"


def parsed(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_flags(parser)
    return parser.parse_args([*words])


def problems(*words: str) -> dict[str, str]:
    with pytest.raises(SpecError) as caught:
        experiment_from(parsed(*words), today=TODAY)
    return {problem.where: problem.allowed for problem in caught.value.problems}


def test_the_first_example_of_the_help() -> None:
    made = experiment_from(
        parsed(URL, "--model", "M", "--scenario", "D(100,100)", "--concurrency", "1,8,16", "--slo", "ttft=0.2,tpot=0.05"), today=TODAY
    )
    serving = made.serving
    assert serving is not None
    assert (made.name, made.workload.runner, made.workload.work) == ("M", "serving", "tokens")
    assert (serving.model, serving.scenarios, serving.concurrency) == ("M", ("D(100,100)",), (1, 8, 16))
    assert (serving.objectives.ttft_s, serving.objectives.tpot_s, serving.objectives.e2e_s) == (0.2, 0.05, None)
    assert (serving.arrivals.process, serving.targets[0].urls) == ("closed", (URL,))
    assert (made.launches.per_configuration, made.gates.efficiency) == (9, None)


def test_the_second_example_of_the_help_is_poisson_and_has_objectives() -> None:
    made = experiment_from(parsed(URL, "--rate", "5,10,20", "--arrival", "poisson", "--duration", "120s", "--goodput"), today=TODAY)
    assert made.serving is not None
    assert (made.serving.rate, made.serving.arrivals.process, made.serving.arrivals.duration_s) == ((5.0, 10.0, 20.0), "poisson", 120.0)
    assert (made.serving.objectives.ttft_s, made.serving.objectives.tpot_s) == (2.0, 0.2)
    assert made.comparison.primary == "goodput"


def test_a_folder_with_a_model_is_an_engine_in_this_process(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("float", "int8")]
    for folder in folders:
        folder.mkdir()
        (folder / "config.json").write_text("{}")
    made = experiment_from(parsed(*(f"{folder.name}={folder}" for folder in folders)), today=TODAY)
    assert made.serving is not None
    found = [(target.name, target.backend, target.model, target.urls) for target in made.serving.targets]
    assert found == [(folder.name, "process", str(folder), ()) for folder in folders]
    assert experiment_from(parsed(str(folders[0])), today=TODAY).name == "float"
    assert set(problems(str(tmp_path))) == {"URL"}, "no model in it"


def test_several_addresses_are_replicas_of_one_engine_each_once() -> None:
    made = experiment_from(parsed("http://a:1", "http://b:1", "http://a:1"), today=TODAY)
    assert made.serving is not None
    assert made.serving.targets[0].urls == ("http://a:1", "http://b:1")
    assert made.serving.concurrency == (1,)  # nothing was asked for: one at a time


def test_a_price_gets_its_date_and_source_and_watts_switch_the_model_on() -> None:
    made = experiment_from(parsed(URL, "--price", "2.5", "--watts", "300"), today=TODAY)
    assert made.prices is not None
    assert (made.prices.usd_per_worker_hour, made.prices.as_of, made.prices.source) == (2.5, TODAY, "given as --price")
    assert (made.energy.source, made.energy.modelled_watts_per_worker) == ("modelled", 300.0)


def test_headers_name_their_variables() -> None:
    made = experiment_from(parsed(URL, "--header", "X-Team: search", "--header", "Authorization: Bearer {env:KEY}"), today=TODAY)
    assert made.serving is not None
    assert made.serving.targets[0].headers == {"X-Team": "search", "Authorization": "Bearer {env:KEY}"}


def test_all_wrong_flags_are_told_at_once_under_their_own_names() -> None:
    found = problems("localhost:8000", "--concurrency", "1,x", "--duration", "2y", "--slo", "foo=1", "--temperature", "hot")
    assert set(found) == {"URL", "--concurrency", "--duration", "--slo", "--temperature"}
    assert "whole numbers with commas" in found["--concurrency"]


def test_a_value_out_of_range_is_told_under_its_flag() -> None:
    assert set(problems(URL, "--concurrency", "0")) == {"--concurrency"}
    assert set(problems(URL, "--attainment", "2", "--slo", "ttft=1")) == {"--attainment"}


def test_an_unknown_backend_names_those_that_exist() -> None:
    assert "openai" in problems(URL, "--backend", "opnai")["--backend"]


@pytest.mark.parametrize(("text", "expected"), [("120s", 120.0), ("2m", 120.0), ("1.5", 1.5), ("500ms", 0.5), ("1h", 3600.0), (".5s", 0.5)])
def test_times_have_units(text: str, expected: float) -> None:
    assert seconds(text) == pytest.approx(expected)


@pytest.mark.parametrize("text", ["", "s", "-1s", "2y", "1 2", "inf", "nan"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="a time such as"):
        seconds(text)


def test_objectives_in_our_form_and_in_vllms() -> None:
    assert slo("ttft=0.2,tpot=50ms") == {"ttft_s": 0.2, "tpot_s": 0.05}
    assert slo("ttft=500 ms, tpot=50 ms") == {"ttft_s": 0.5, "tpot_s": 0.05}
    assert slo("ttft:200 e2el:3000") == {"ttft_s": 0.2, "e2e_s": 3.0}  # vLLM: milliseconds
    assert slo("ttft=500ms,e2e=90s,tpot=30") == {"ttft_s": 0.5, "e2e_s": 90.0, "tpot_s": 30.0}


def test_a_percentile_within_a_time_is_a_share_of_the_requests() -> None:
    for text in ("p95_ttft=1s", "ttft_p95=1s"):
        with pytest.raises(SpecError, match=r"For p95: --attainment 0\.95\."):
            experiment_from(parsed(URL, "--slo", text), today=TODAY)


@pytest.mark.parametrize("name", ["ttft", "tpot", "itl", "e2e"])
def test_an_objective_beyond_30_without_a_unit_asks_which_reading_is_meant(name: str) -> None:
    with pytest.raises(SpecError, match=f"{name}=500ms, or {name}=500s"):
        experiment_from(parsed(URL, "--slo", f"{name}=500"), today=TODAY)
    assert problems(URL, "--goodput", f"{name}=500").keys() == {"--goodput"}


@pytest.mark.parametrize(("text", "asked"), [("ttft=500m", "ttft=500ms, or ttft=30000s"), ("tpot=1h", "tpot=1ms, or tpot=3600s")])
def test_minutes_of_a_token_ask_which_reading_is_meant(text: str, asked: str) -> None:
    with pytest.raises(SpecError, match=asked):
        experiment_from(parsed(URL, "--slo", text), today=TODAY)
    assert slo("e2e=2m,ttft=0.5m") == {"e2e_s": 120.0, "ttft_s": 30.0}


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/completions", "/chat/completions/"])
def test_the_path_of_a_request_is_no_address_of_a_server(path: str) -> None:
    with pytest.raises(SpecError, match=r"Write http://localhost:8000/openai$"):
        experiment_from(parsed(f"http://localhost:8000/openai{path}"), today=TODAY)
    assert "URL" not in problems("http://localhost:8000/openai/v1", "--slo", "x")


@pytest.mark.parametrize("flag", ["--request-timeout", "--duration", "--warm-up", "--think"])
def test_a_time_beyond_an_hour_without_a_unit_asks_which_reading_is_meant(flag: str) -> None:
    with pytest.raises(SpecError, match="30000ms, or 30000s"):
        experiment_from(parsed(URL, flag, "30000"), today=TODAY)
    assert flag not in problems(URL, flag, "120", "--attainment", "2")


def test_the_experiment_as_a_file_is_the_same_experiment() -> None:
    import tomllib

    made = experiment_from(parsed(URL, "--model", "M", "--rate", "0.5", "--slo", "ttft=1"), today=TODAY)
    assert from_mapping(tomllib.loads(to_toml(made))) == made


def test_defaults_that_matter_are_told() -> None:
    told = notes(parsed(URL, "--goodput"))
    assert any("2 s and 0.2 s" in note for note in told)
    assert any("tokenizer" in note for note in told)
    assert notes(parsed(URL, "--goodput", "ttft=1", "--tokenizer", "t")) == ()


def test_a_record_is_named_after_the_model_or_the_host() -> None:
    one, a, b = ({"name": name, "urls": ["http://gpu-3.example:8000/v1"]} for name in ("engine", "vllm", "sglang"))
    assert name_from("org/My Model", one) == "My-Model"
    assert name_from("", one) == "gpu-3.example"
    assert name_from("org/My Model", a, b) == "My-Model-vllm-vs-sglang"
    assert name_from("", a, b) == "vllm-vs-sglang"


@pytest.mark.parametrize(
    ("flags", "launches", "seconds"),
    [
        ((), 9, 10.0),
        (("--rate", "5"), 9, 10.0),
        (("--duration", "2m"), 5, 120.0),
        (("--duration", "2m", "--launches", "3"), 3, 120.0),
        (("--requests", "1000"), 5, 30.0),  # that many may take longer than a short launch
        (("--rate", "5", "--arrival", "server"), 5, 30.0),  # MLPerf's scenarios are long
    ],
)
def test_launches_are_many_and_short_unless_flags_say_how_long_one_is(flags: tuple[str, ...], launches: int, seconds: float) -> None:
    made = experiment_from(parsed(URL, *flags), today=TODAY)
    assert made.serving is not None
    assert (made.launches.per_configuration, made.serving.arrivals.duration_s) == (launches, seconds)


def test_names_make_engines_and_plain_addresses_replicas() -> None:
    made = experiment_from(parsed("a=http://x:1", "b=http://y:1", "b=http://z:1", "--model", "M"), today=TODAY)
    assert made.serving is not None
    assert [(target.name, target.urls) for target in made.serving.targets] == [("a", ("http://x:1",)), ("b", ("http://y:1", "http://z:1"))]


def test_some_addresses_with_names_and_some_without_are_refused() -> None:
    assert problems("a=http://x:1", "http://y:1") == {"URL": "a name for every URL, or for none"}


def recorded(*words: str) -> Experiment:
    """Flags on top of the record of a load at 1 and 8 in flight."""
    first = experiment_from(parsed(URL, "--model", "M", "--concurrency", "1,8", "--slo", "ttft=0.5", "--price", "2"), today=TODAY)
    data = tomllib.loads(to_toml(first))
    return experiment_from(parsed("5c07aa", *words), today=TODAY, recorded=Stored(data=data, folder=Path(), record=Path()))


def test_a_record_keeps_every_key_that_no_flag_sets() -> None:
    made = recorded("--concurrency", "40,48")
    serving = made.serving
    assert serving is not None
    assert (made.name, serving.model, serving.targets[0].urls) == ("M", "M", (URL,))
    assert (serving.concurrency, serving.objectives.ttft_s, made.launches.per_configuration) == ((40, 48), 0.5, 9)
    assert made.prices is not None
    assert made.prices.usd_per_worker_hour == 2.0


def test_rates_on_a_record_of_a_closed_loop_open_it() -> None:
    serving = recorded("--rate", "4,8").serving
    assert serving is not None
    assert (serving.concurrency, serving.rate, serving.arrivals.process) == ((), (4.0, 8.0), "poisson")


def test_a_wrong_flag_on_a_record_is_told_under_its_name() -> None:
    with pytest.raises(SpecError, match="--concurrency"):
        recorded("--concurrency", "0")
