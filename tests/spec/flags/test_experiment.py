"""Flags: each stands for a key, overrides the file's, and is named when it is wrong."""

from __future__ import annotations

import argparse
import shutil
import sys
import tomllib
from datetime import date
from pathlib import Path

import pytest

from fireassay.errors import Problem, SpecError
from fireassay.spec.experiment import QUICK_STEPS, Experiment
from fireassay.spec.flags.experiment import add_flags, experiment_from, name_from, split_at_dashes
from fireassay.spec.flags.of_verb import Stored, flags_of
from fireassay.spec.load import to_toml
from fireassay.spec.plan import plan
from fireassay.spec.rules.experiment import notes
from tests.spec.making import SMALLEST, written

TODAY = date(2026, 3, 4)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory that holds train.py and experiment.toml."""
    written(tmp_path, SMALLEST)
    monkeypatch.chdir(tmp_path)
    return tmp_path


TOML_OF_BUDGET = """
name = "budget"
workload = { script = "train.py" }
factor = { levels = [1, 2] }
launches = { budget_s = 60 }
"""


def parsed(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_flags(parser, flags_of("run"))
    return parser.parse_args(list(words))


def made(*words: str) -> tuple[Experiment, Path]:
    return experiment_from(parsed(*words), flags_of("run"), today=TODAY)


def asked(*words: str) -> Experiment:
    return made(*words)[0]


def problems(*words: str) -> tuple[Problem, ...]:
    with pytest.raises(SpecError) as caught:
        asked(*words)
    return caught.value.problems


def test_a_script_needs_no_file(here: Path) -> None:
    experiment, folder = made("--workers", "1,2,4", "--launches", "3", "--", "train.py", "--epochs", "3", "--", "-x")
    assert experiment.name == "train"
    assert experiment.workload.script == "train.py"
    assert experiment.workload.arguments == ("--epochs", "3", "--", "-x")
    assert experiment.factor.levels == (1, 2, 4)
    assert experiment.launches.per_configuration == 3
    assert folder == Path()


def test_flags_override_the_keys_of_a_file_wherever_they_stand(here: Path) -> None:
    for words in (("experiment.toml", "--launches", "2"), ("--launches", "2", "experiment.toml")):
        experiment = asked(*words)
        assert (experiment.name, experiment.launches.per_configuration) == ("small", 2)
        assert experiment.factor.levels == (1, 2)


def test_a_command_overrides_the_file_s_script_and_is_relative_to_here(here: Path) -> None:
    (here / "sub").mkdir()
    written(here / "sub", SMALLEST)
    (here / "other.py").write_text("", encoding="utf-8")
    experiment, folder = made("sub/experiment.toml", "--seed", "3", "--", "other.py", "-v")
    assert (experiment.workload.script, experiment.workload.arguments) == ("other.py", ("-v",))
    assert (experiment.name, folder) == ("small", Path())
    assert made("sub/experiment.toml")[1] == Path("sub")


def test_a_script_of_several_counts_is_measured_until_it_is_decided_unless_a_flag_says_how_often(here: Path) -> None:
    launches = asked("--workers", "1,2", "--", "train.py").launches
    assert (launches.until_decided, launches.budget_s, launches.per_configuration, launches.at_most) == (True, 600.0, 3, 20)
    assert asked("--workers", "1,2", "--budget", "90s", "--", "train.py").launches.budget_s == 90.0
    for words in (("--launches", "5"), ("--precision", "0.02")):
        assert not asked("--workers", "1,2", *words, "--", "train.py").launches.until_decided
    assert not asked("--workers", "2", "--", "train.py").launches.adaptive


def test_a_record_that_was_measured_until_decided_is_run_a_fixed_number_of_times_without_a_note(here: Path) -> None:
    """As after a crash: the record's limit of launches bounds nothing then."""
    stored = Stored(
        data=tomllib.loads(to_toml(asked("--workers", "1,2", "--", "train.py"))), folder=here, record=here / "records" / "train-1"
    )
    once = experiment_from(parsed("1", "--launches", "3"), flags_of("run"), stored=stored)[0]
    assert (once.launches.adaptive, once.launches.per_configuration) == (False, 3)
    assert [note for note in notes(once, TODAY) if "at_most" in note] == []


def test_quick_is_one_short_launch_of_each_count_and_without_it_the_same_experiment_is_decided(here: Path) -> None:
    quick = asked("--quick", "--", "train.py")
    assert [(launch.workers, launch.role) for launch in sorted(plan(quick), key=lambda launch: launch.workers)] == [
        (1, "timed"),
        (2, "timed"),
    ]
    assert (quick.launches.adaptive, quick.every_step) == (False, QUICK_STEPS)
    stored = Stored(data=tomllib.loads(to_toml(quick)), folder=here, record=here / "records" / "train-1")
    again = experiment_from(parsed("1"), flags_of("run"), stored=stored)[0]
    assert again == asked("--workers", "1,2", "--", "train.py")
    assert (again.launches.until_decided, again.every_step) == (True, None)
    assert asked("--quick", "--steps", "30", "--", "train.py").every_step == 50
    assert asked("--quick", "--runner", "command", "--", "true").factor.levels == (1,)


def test_quick_times_the_starts_of_a_program(here: Path) -> None:
    program = asked("--quick", "--", "python3", "work.py", "-v")
    assert (program.workload.runner, program.workload.script, program.workload.arguments) == ("command", "python3", ("work.py", "-v"))
    assert (program.factor.levels, program.launches.adaptive) == ((1,), False)
    assert asked("--quick", "--", sys.executable, "-c", "pass").workload.runner == "command"
    (here / "true").write_text("", encoding="utf-8")
    assert asked("--quick", "--", "true").workload.runner == "training", "a file of this folder is a script"
    (problem,) = problems("--quick", "--workers", "1,2", "--", "python3", "work.py")
    assert problem.fix.startswith("Leave out python3"), "with worker counts a script is meant"


def test_quick_makes_no_other_launch_of_a_file(here: Path) -> None:
    (here / "budget.toml").write_text(f"{TOML_OF_BUDGET}faults = [{{ kind = 'kill' }}]", encoding="utf-8")
    assert {launch.role for launch in plan(asked("budget.toml"))} == {"timed", "fault"}
    assert [launch.role for launch in plan(asked("budget.toml", "--quick"))] == ["timed", "timed"]


def test_quick_refuses_what_one_launch_cannot_do(here: Path) -> None:
    found = problems("--quick", "--launches", "5", "--budget", "5m", "--", "train.py")
    assert [problem.where for problem in found] == ["--launches", "--budget"]
    assert found[0].fix == "Leave out --quick, or --launches."


def test_a_number_of_launches_replaces_the_budget_of_a_file(here: Path) -> None:
    (here / "budget.toml").write_text(TOML_OF_BUDGET, encoding="utf-8")
    assert asked("budget.toml").launches.until_decided
    fixed = asked("budget.toml", "--launches", "7")
    assert (fixed.launches.adaptive, fixed.blocks) == (False, 7)


def test_a_budget_without_its_unit_could_be_dollars(here: Path) -> None:
    (problem,) = problems("--workers", "1,2", "--budget", "9", "--", "train.py")
    assert problem.fix == "Dollars of a run are --budget-usd."


def test_each_flag_reaches_its_key(here: Path) -> None:
    experiment = asked(
        "--workers",
        "2,4",
        "--seed",
        "9",
        "--confidence",
        "0.9",
        "--name",
        "n",
        "--work",
        "tokens",
        "--env",
        "A=1=2",
        "--env",
        "B=",
        "--scaling",
        "weak",
        "--base",
        "2",
        "--time",
        "wall",
        "--quality-metric",
        "loss",
        "--quality-direction",
        "lower",
        "--margin",
        "0.5",
        "--efficiency",
        "none",
        "--deadline",
        "60",
        "--budget-usd",
        "2",
        "--required-workers",
        "4",
        "--price",
        "1.5",
        "--energy",
        "modelled",
        "--watts",
        "9",
        "--fault",
        "kill",
        "--max-restarts",
        "1",
        "--threads",
        "2",
        "--nodes",
        "2",
        "--node-rank",
        "1",
        "--rendezvous-endpoint",
        "h:1",
        "--rendezvous-id",
        "j",
        "--timeout",
        "30",
        "--total-timeout",
        "90",
        "--",
        "train.py",
    )
    assert (experiment.factor.levels, experiment.scaling.mode, experiment.scaling.base) == ((2, 4), "weak", 2)
    assert (experiment.launches.seed, experiment.launches.confidence) == (9, 0.9)
    assert dict(experiment.workload.environment) == {"A": "1=2", "B": ""}
    assert experiment.quality is not None
    assert (experiment.quality.metric, experiment.quality.direction, experiment.quality.margin) == ("loss", "lower", 0.5)
    gates = experiment.gates
    assert (gates.efficiency, gates.deadline_s, gates.budget_usd, gates.required_workers) == (None, 60.0, 2.0, 4)
    assert [fault.kind for fault in experiment.faults] == ["kill"]
    launcher = experiment.launcher
    assert (launcher.nodes, launcher.node_rank, launcher.rendezvous_endpoint, launcher.rendezvous_id) == (2, 1, "h:1", "j")
    assert (experiment.limits.launch_timeout_s, experiment.limits.experiment_timeout_s) == (30.0, 90.0)


def test_a_price_on_the_command_line_is_of_today_unless_it_says_otherwise(here: Path) -> None:
    prices = asked("--workers", "1", "--price", "2", "--", "train.py").prices
    assert prices is not None
    assert (prices.usd_per_worker_hour, prices.as_of, prices.source) == (2.0, TODAY, "given as --price")
    dated = asked("--workers", "1", "--price", "2", "--price-date", "2025-12-01", "--price-source", "list", "--", "train.py").prices
    assert dated is not None
    assert (dated.as_of, dated.source) == (date(2025, 12, 1), "list")


def test_wrong_flags_are_named_as_flags_and_all_at_once(here: Path) -> None:
    found = problems("--workers", "1,x", "--launches", "0", "--margin", "nan", "--budget-usd", "3", "--seed", "1.5", "--", "t.py")
    assert {problem.where for problem in found} == {"--workers", "--launches", "--margin", "--budget-usd", "--seed", "the script after --"}
    by_flag = {problem.where: problem for problem in found}
    assert by_flag["--workers"].found == "1,x"
    assert by_flag["--launches"].allowed == "a whole number from 1 to 100000"
    assert by_flag["--budget-usd"].fix == "Add --price USD."


@pytest.mark.parametrize("levels", ["0", "1,1", "", "1,,2", "1.0", "-1", "9" * 5000])
def test_worker_counts_on_the_command_line_are_checked_as_in_a_file(here: Path, levels: str) -> None:
    assert [problem.where for problem in problems(f"--workers={levels}", "--", "train.py")] == ["--workers"]


def test_flags_and_file_are_told_together(here: Path) -> None:
    (here / "experiment.toml").write_text(SMALLEST + "[launches]\nsed = 1\n", encoding="utf-8")
    found = problems("experiment.toml", "--confidence", "2")
    assert {problem.where for problem in found} == {"--confidence", "launches.sed"}


def test_without_worker_counts_the_flag_to_add_is_told(here: Path) -> None:
    (problem,) = problems("--", "train.py")
    assert (problem.where, problem.fix) == ("--workers", "Add --workers 1,2,4.")


@pytest.mark.parametrize(
    ("words", "fix"),
    [
        ((), "assay run --workers 1,2,4 -- train.py"),
        (("train.py",), "assay run --workers 1,2,4 -- train.py"),
        (("--workers", "1,2", "--seed", "3", "train.py"), "assay run --workers 1,2 --seed 3 -- train.py"),
        (("--workers", "1", "--", "trian.py"), "Did you mean train.py?"),
        (("--workers", "1", "--", "torchrun", "train.py"), "Leave out torchrun"),
        (("--workers", "1", "--env", "A", "--", "train.py"), "--env A=1"),
    ],
)
def test_a_wrong_command_line_is_told_with_the_right_one(here: Path, words: tuple[str, ...], fix: str) -> None:
    (problem,) = problems(*words)
    assert fix in problem.fix


@pytest.mark.parametrize("broken", ['workload = "x"\n', "launches = 3\n", "[workload]\nenvironment = 3\n"])
def test_flags_on_top_of_a_broken_file_give_a_sentence(here: Path, broken: str) -> None:
    (here / "experiment.toml").write_text('name = "x"\n' + broken, encoding="utf-8")
    assert problems("experiment.toml", "--work", "x", "--env", "A=1", "--launches", "0")


@pytest.mark.parametrize(
    ("script", "name"),
    [("a/my train.py", "my-train"), ("träin.py", "tr-in"), ("-x-.py", "x"), ("ä.py", "experiment"), ("t" * 99, "t" * 80)],
)
def test_the_record_is_named_after_the_script(script: str, name: str) -> None:
    assert name_from(script) == name


def test_only_the_first_dashes_separate() -> None:
    assert split_at_dashes(["a", "--", "b", "--"]) == (["a"], ("b", "--"))
    assert split_at_dashes(["a"]) == (["a"], ())


def test_a_path_to_a_python_is_no_script(here: Path) -> None:
    (problem,) = problems("--workers", "1,2", "--", sys.executable, "train.py")
    assert problem.fix.endswith(f"To run it with that Python: --python {sys.executable} -- SCRIPT")
    assert asked("--workers", "1,2", "--python", "env/bin/python", "--", "train.py").launcher.python == str(here / "env/bin/python")
    assert asked("--workers", "1,2", "--python", "sh", "--", "train.py").launcher.python == shutil.which("sh")
