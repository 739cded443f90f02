"""An experiment's file: what is accepted, and what is said about what is not."""

from __future__ import annotations

import tomllib
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.errors import Problem, SpecError
from fireassay.spec.experiment import Experiment, Factor, Gates
from fireassay.spec.load import from_mapping, load, read, to_toml
from fireassay.spec.rules.experiment import MIN_LAUNCHES, notes
from fireassay.spec.sections.workload import Workload
from fireassay.verdict.gates import gate
from tests.spec.making import SMALLEST, experiments, smallest, written


def problems_of(data: Any) -> tuple[Problem, ...]:
    with pytest.raises(SpecError) as caught:
        from_mapping(data)
    return caught.value.problems


def only_problem(data: Any) -> Problem:
    found = problems_of(data)
    assert len(found) == 1, found
    return found[0]


def file_problems(path: Path) -> tuple[Problem, ...]:
    with pytest.raises(SpecError) as caught:
        load(path)
    return caught.value.problems


# ---- what is accepted --------------------------------------------------------------------------------------------


def test_the_smallest_file_gets_the_documented_defaults(tmp_path: Path) -> None:
    experiment = load(written(tmp_path, SMALLEST))
    assert experiment.factor.levels == (1, 2)
    assert experiment.launches.per_configuration == 5
    assert experiment.launches.confidence == 0.95
    assert experiment.gates.efficiency == 0.70
    assert experiment.quality is None
    assert experiment.prices is None
    assert experiment.base_level == 1


def test_a_whole_number_stands_where_seconds_are_asked_for() -> None:
    experiment = from_mapping(smallest(gates={"deadline_s": 60}))
    assert experiment.gates.deadline_s == 60.0


@pytest.mark.parametrize("written_date", ["2026-01-31", '"2026-01-31"'])
def test_a_date_may_stand_with_or_without_quotes(written_date: str) -> None:
    text = f'[prices]\nusd_per_worker_hour = 2\ndate = {written_date}\nsource = "a list"\n'
    experiment = from_mapping(tomllib.loads(SMALLEST + text))
    assert experiment.prices is not None
    assert experiment.prices.as_of == date(2026, 1, 31)


def test_none_switches_off_the_efficiency_gate_and_survives_the_round_trip() -> None:
    experiment = from_mapping(smallest(gates={"efficiency": "none"}))
    assert experiment.gates.efficiency is None
    assert from_mapping(tomllib.loads(to_toml(experiment))) == experiment


@pytest.mark.slow
@given(experiments())
def test_what_is_written_is_read_again_as_the_same_experiment(experiment: Experiment) -> None:
    assert from_mapping(tomllib.loads(to_toml(experiment))) == experiment


def test_a_stored_experiment_is_read_although_its_script_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "experiment.toml"
    path.write_text(SMALLEST, encoding="utf-8")
    assert read(path).name == "small"


# ---- wrong values ------------------------------------------------------------------------------------------------


def test_an_unknown_key_is_told_with_the_closest_valid_one() -> None:
    problem = only_problem(smallest(launches={"per_configuraton": 5}))
    assert str(problem) == (
        "launches.per_configuraton: found 5; allowed: per_configuration, seed, confidence, quick, precision, budget_s, at_most. "
        "Did you mean per_configuration?"
    )


def test_a_key_in_the_wrong_section_is_told_with_its_home() -> None:
    problem = only_problem(smallest(margin=0.1))
    assert problem.where == "margin"
    assert problem.fix == "Did you mean quality.margin?"


@pytest.mark.parametrize("levels", [[0, 1], [-1], [True], [1.0], ["1"], [100_001], [], 4, "1,2"])
def test_a_level_is_a_whole_number_from_1_to_100000(levels: object) -> None:
    problem = only_problem(smallest(factor={"levels": levels}))
    assert problem.where.startswith("factor.levels")
    assert "a whole number from 1 to 100000" in problem.allowed


@pytest.mark.parametrize("margin", [0, -0.1, float("nan"), float("inf"), True, "0.1"])
def test_a_margin_is_a_finite_number_above_0(margin: object) -> None:
    problem = only_problem(smallest(quality={"margin": margin}))
    assert (problem.where, problem.allowed) == ("quality.margin", "a number above 0")


@pytest.mark.parametrize(
    ("section", "key", "value", "fix"),
    [
        ("launches", "per_configuration", "5", "Write 5, without quotes."),
        ("launches", "per_configuration", 5.0, "Write 5, without the point."),
        ("scaling", "mode", "stong", "Did you mean strong?"),
        ("workload", "script", 3, 'Write "3", in quotes.'),
        ("factor", "levels", 4, "Write [4], in brackets."),
        ("workload", "arguments", 4, 'Write ["4"], in brackets.'),
        ("target", "goal", 3, ""),
    ],
)
def test_a_slip_is_told_with_what_was_meant(section: str, key: str, value: object, fix: str) -> None:
    data = smallest()
    data[section] = {**data.get(section, {}), key: value}
    assert only_problem(data).fix == fix


def test_one_pair_of_brackets_for_faults_is_told() -> None:
    problem = only_problem(smallest(faults={"kind": "kill"}))
    assert problem.where == "faults"
    assert problem.fix.startswith("Write [[faults]], with two brackets")


def test_what_is_missing_is_told_with_the_line_to_add() -> None:
    missing = problems_of({})
    assert [problem.where for problem in missing] == ["name", "workload", "factor"]
    assert all(problem.found == "nothing" for problem in missing)
    assert missing[1].fix.startswith("Add [workload]")


def test_all_problems_are_told_at_once() -> None:
    data = smallest(
        launches={"per_configuration": 0, "sed": 1},
        gates={"budget_usd": 3},
        scaling={"base": 8},
        quality={"margin": 0},
        launcher={"nodes": 2},
    )
    assert {problem.where for problem in problems_of(data)} == {
        "launches.per_configuration",
        "launches.sed",
        "gates.budget_usd",
        "scaling.base",
        "quality.margin",
        "launcher.rendezvous_endpoint",
    }


JARGON = ("Input should", "validation error", "pydantic", "Extra inputs", "type=", "Field required", "greater than")


@pytest.mark.slow
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.dates(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "name",
                        "workload",
                        "factor",
                        "levels",
                        "script",
                        "faults",
                        "kind",
                        "gates",
                        "prices",
                        "date",
                        "environment",
                        "launcher",
                        "nodes",
                        "quality",
                        "x",
                    ]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    )
)
def test_no_data_whatever_get_past_a_sentence_in_our_own_words(data: Any) -> None:
    message = ""
    try:
        from_mapping(data)
    except SpecError as error:
        message = str(error)
    assert not any(word in message for word in JARGON)


def test_a_python_object_is_refused_in_the_same_words() -> None:
    with pytest.raises(SpecError, match=r"scaling.mode: found \"weird\"; allowed: one of auto, strong, weak"):
        Experiment.model_validate({**smallest(), "scaling": {"mode": "weird"}})
    with pytest.raises(SpecError, match="each worker count once"):
        Experiment(name="x", workload=Workload(script="a.py"), factor=Factor(levels=(1, 1)))
    with pytest.raises(SpecError, match="only together with"):
        Experiment(name="x", workload=Workload(script="a.py"), factor=Factor(levels=(1,)), gates=Gates(budget_usd=1.0))


# ---- contradictions ----------------------------------------------------------------------------------------------


def test_a_level_given_twice_is_told_beside_a_level_of_the_wrong_type() -> None:
    with pytest.raises(SpecError) as refusal:
        from_mapping(smallest(factor={"levels": [2, "a", 2]}), "x.toml")
    assert {problem.where for problem in refusal.value.problems} == {"factor.levels[1]", "factor.levels"}


def test_a_level_given_twice_is_named() -> None:
    problem = only_problem(smallest(factor={"levels": [4, 1, 4]}))
    assert problem.found == "[4, 1, 4]"
    assert problem.fix == "4 occurs more than once: write it once."


@pytest.mark.parametrize(
    ("sections", "where"),
    [
        ({"scaling": {"base": 4}}, "scaling.base"),
        ({"gates": {"required_workers": 4}}, "gates.required_workers"),
        ({"faults": [{}, {"levels": [2, 4]}]}, "faults[1].levels[1]"),
    ],
)
def test_what_names_a_level_names_one_that_is_run(sections: dict[str, Any], where: str) -> None:
    problem = only_problem(smallest(**sections))
    assert (problem.where, problem.found, problem.allowed) == (where, "4", "one of the levels 1, 2")


@pytest.mark.parametrize(
    ("sections", "where"),
    [
        ({"faults": [{}], "launcher": {"max_restarts": 0}}, "launcher.max_restarts"),
        ({"faults": [{"times": 4}]}, "faults[0].times"),
        ({"faults": [{}, {"times": 2}], "launcher": {"max_restarts": 1}}, "faults[1].times"),
        ({"faults": [{"kind": "slow", "at_step": 5, "times": 2}]}, "faults[0].times"),
        ({"gates": {"budget_usd": 1.0}}, "gates.budget_usd"),
        ({"energy": {"source": "modelled"}}, "energy.modelled_watts_per_worker"),
        ({"workload": {"script": "a", "calibrate_communication": 1, "attach": False}}, "workload.calibrate_communication"),
        ({"workload": {"script": "a", "calibrate_communication": 1}, "factor": {"levels": [1]}}, "workload.calibrate_communication"),
        ({"launcher": {"nodes": 2}}, "launcher.rendezvous_endpoint"),
        ({"launcher": {"nodes": 2, "rendezvous_endpoint": "host"}}, "launcher.rendezvous_endpoint"),
        ({"launcher": {"nodes": 2, "rendezvous_endpoint": "host:99999"}}, "launcher.rendezvous_endpoint"),
        ({"launcher": {"nodes": 2, "node_rank": 2, "rendezvous_endpoint": "host:1"}}, "launcher.node_rank"),
        ({"launcher": {"node_rank": 1}}, "launcher.node_rank"),
        ({"workload": {"script": "a\0b"}}, "workload.script"),
        ({"workload": {"script": "a", "arguments": ["\0"]}}, "workload.arguments[0]"),
        ({"workload": {"script": "a", "environment": {"A=B": "x"}}}, "workload.environment"),
    ],
)
def test_keys_that_contradict_one_another_are_told(sections: dict[str, Any], where: str) -> None:
    assert only_problem(smallest(**sections)).where == where


@pytest.mark.parametrize("endpoint", ["host:29400", "10.0.0.1:1", "[fe80::1]:29400"])
def test_nodes_that_can_meet_are_accepted(endpoint: str) -> None:
    launcher = {"nodes": 2, "node_rank": 1, "rendezvous_endpoint": endpoint}
    assert from_mapping(smallest(launcher=launcher)).launcher.nodes == 2


def test_faults_without_a_restart_key_are_accepted() -> None:
    assert from_mapping(smallest(faults=[{}])).launcher.max_restarts == 3


def test_a_price_from_the_future_is_only_a_note() -> None:
    prices = {"usd_per_worker_hour": 1, "date": date(2026, 5, 2), "source": "a list"}
    experiment = from_mapping(smallest(prices=prices, quality={"metric": "accuracy"}))
    assert notes(experiment, date(2026, 5, 2)) == ()
    assert "prices.date is 2026-05-02" in notes(experiment, date(2026, 5, 1))[0]


def test_what_is_allowed_but_says_little_is_noted() -> None:
    data = smallest(factor={"levels": [2, 4]}, launches={"per_configuration": 1}, energy={"modelled_watts_per_worker": 5})
    text = " ".join(notes(from_mapping(data), date(2026, 1, 1)))
    assert "one launch gives no interval" in text
    assert "speedups are relative to 2 workers" in text
    assert "modelled_watts_per_worker is ignored" in text
    assert "no quality metric is named" not in text  # the screen says that quality was not checked


def test_fewer_launches_than_the_gates_judge_are_noted_before_they_are_made() -> None:
    for launches, noted in ((1, True), (2, True), (3, False)):
        experiment = from_mapping(smallest(launches={"per_configuration": launches}))
        text = " ".join(notes(experiment, date(2026, 1, 1)))
        assert ("Write at least 3" in text) is noted
    assert MIN_LAUNCHES == gate.MIN_LAUNCHES  # what the gates ask for


def test_with_a_precision_the_launches_before_the_first_look_are_at_most_all_of_them() -> None:
    problem = only_problem(smallest(launches={"per_configuration": 5, "precision": 0.02, "at_most": 3}))
    assert problem.where == "launches.at_most"
    assert "at least launches.per_configuration" in problem.allowed
    from_mapping(smallest(launches={"per_configuration": 5, "precision": 0.02, "at_most": 5}))
    assert only_problem(smallest(launches={"per_configuration": 61, "precision": 0.02})).found == "60"  # the default


def test_of_launches_that_are_added_one_is_no_reason_for_a_note_and_a_limit_without_precision_is() -> None:
    adaptive = from_mapping(smallest(launches={"per_configuration": 1, "precision": 0.02}))
    assert "per_configuration" not in " ".join(notes(adaptive, date(2026, 1, 1)))
    fixed = from_mapping(smallest(launches={"at_most": 3}))
    assert "launches.at_most is ignored" in " ".join(notes(fixed, date(2026, 1, 1)))
    assert "at_most" not in " ".join(notes(from_mapping(smallest()), date(2026, 1, 1)))


def test_what_was_resolved_and_is_run_back_is_not_told_of_a_limit_that_nobody_wrote() -> None:
    back = from_mapping(tomllib.loads(to_toml(from_mapping(smallest()))))
    assert "at_most" in back.launches.model_fields_set
    assert "at_most" not in " ".join(notes(back, date(2026, 1, 1)))


# ---- files -------------------------------------------------------------------------------------------------------


def test_problems_come_with_their_line(tmp_path: Path) -> None:
    text = SMALLEST.replace("[1, 2]", "[\n  1, 2, 2,\n]") + "[launches]\nsed = 1\n[[faults]]\n[[faults]]\nsignal = 9\n"
    found = file_problems(written(tmp_path, text))
    assert [problem.where for problem in found] == ["factor.levels", "launches.sed", "faults[1].signal"]


def test_a_missing_key_comes_with_the_line_of_its_section(tmp_path: Path) -> None:
    found = file_problems(written(tmp_path, SMALLEST + "[prices]\nusd_per_worker_hour = 1\n"))
    assert [problem.where for problem in found] == ["prices.date", "prices.source"]


def test_a_script_that_is_not_there_is_told_with_the_closest_file(tmp_path: Path) -> None:
    path = written(tmp_path, SMALLEST.replace("train.py", "trian.py"))
    (problem,) = file_problems(path)
    assert problem.where == "workload.script"
    assert problem.fix == "Did you mean train.py?"


def test_a_script_and_a_key_are_told_together(tmp_path: Path) -> None:
    path = written(tmp_path, SMALLEST.replace("train.py", "sub/train.py").replace("[1, 2]", "[0]"))
    script, levels = file_problems(path)
    assert "There is no folder" in script.fix
    assert levels.where == "factor.levels[0]"


def test_a_folder_is_no_script(tmp_path: Path) -> None:
    (tmp_path / "job").mkdir()
    (tmp_path / "job" / "main.py").write_text("", encoding="utf-8")
    (problem,) = file_problems(written(tmp_path, SMALLEST.replace("train.py", "job")))
    assert problem.found == '"job", a folder'
    assert problem.fix == f"Did you mean {Path('job') / 'main.py'}?"


def test_a_path_with_spaces_and_accents_is_a_script_like_any_other(tmp_path: Path) -> None:
    path = written(tmp_path, SMALLEST.replace("train.py", "my träin.py"), script="my träin.py")
    assert load(path).workload.script == "my träin.py"


def test_a_script_may_lie_in_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "mine.py").write_text("", encoding="utf-8")
    monkeypatch.setenv("HOME", str(home))
    assert load(written(tmp_path, SMALLEST.replace("train.py", "~/mine.py"))).workload.script == "~/mine.py"
    (problem,) = file_problems(written(tmp_path, SMALLEST.replace("train.py", "~/other.py")))
    assert problem.where == "workload.script"


def test_plug_ins_that_do_not_exist_are_told_with_the_closest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"runners": ("replay", "training"), "launchers": ("local",), "faults": ("kill",)}
    monkeypatch.setattr("fireassay.catalog.names", lambda package: known.get(package, ()))
    text = SMALLEST.replace("[factor]", 'runner = "trainig"\n[factor]')
    text += '[launcher]\nkind = "lokal"\n[[faults]]\nkind = "kil"\n'
    found = file_problems(written(tmp_path, text))
    assert [(problem.where.partition(" ")[0], problem.fix) for problem in found] == [
        ("workload.runner", "Did you mean training?"),
        ("launcher.kind", "Did you mean local?"),
        ("faults[0].kind", "Did you mean kill?"),
    ]


def test_no_plug_in_is_refused_while_a_folder_has_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fireassay.catalog.names", lambda package: ())
    monkeypatch.setattr("fireassay.catalog.third_party", lambda package: ())
    assert load(written(tmp_path, SMALLEST + '[launcher]\nkind = "moon"\n')).launcher.kind == "moon"


def test_a_missing_file_is_told_with_the_closest(tmp_path: Path) -> None:
    written(tmp_path, SMALLEST)
    (problem,) = file_problems(tmp_path / "experimnt.toml")
    assert problem.found == "no such file"
    assert problem.fix == f"Did you mean {tmp_path / 'experiment.toml'}?"


def test_a_folder_instead_of_a_file_is_told_with_a_file_in_it(tmp_path: Path) -> None:
    path = written(tmp_path, SMALLEST)
    (problem,) = file_problems(tmp_path)
    assert problem.found == "a folder"
    assert str(path) in problem.fix


@pytest.mark.parametrize(
    ("raw", "found"),
    [
        (b"\xef\xbb\xbf" + SMALLEST.encode(), "a byte-order mark at its beginning"),
        (SMALLEST.encode("utf-16"), "the byte 0xff on line 1"),
        (SMALLEST.encode() + b'[quality]\nmetric = "\xe9"\n', "the byte 0xe9 on line 9"),
    ],
)
def test_a_file_that_is_not_plain_utf8_is_told_with_the_byte(tmp_path: Path, raw: bytes, found: str) -> None:
    path = tmp_path / "experiment.toml"
    path.write_bytes(raw)
    (problem,) = file_problems(path)
    assert problem.found == found
    assert "UTF-8" in problem.fix


@pytest.mark.parametrize(
    ("text", "where", "fix"),
    [
        ("name = small\n", "line 1, column 8", "text stands in quotes"),
        ('name = "a"\nname = "b"\n', "line 2, column 11", "This key or table was given before."),
        ("[workload]\n[workload]\n", "line 2, column 10", "This key or table was given before."),
        ('\n[workload\nscript = "x"\n', "line 2, column 10", "Expected ']'"),
        ('name = "a', "the last line", "Unterminated string"),
        ("", "name", "Add name"),
    ],
)
def test_a_file_that_is_no_toml_is_told_with_the_place(tmp_path: Path, text: str, where: str, fix: str) -> None:
    found = file_problems(written(tmp_path, text))
    assert found[0].where == where
    assert fix in found[0].fix


def test_a_condition_of_a_wrong_type_is_told_once() -> None:
    problem = only_problem(smallest(conditions={"model": ["a"], "precision": "float32", "batch": 8, "compile": False}))
    assert str(problem) == 'conditions.model: found ["a"]; allowed: text, a number or true/false.'
