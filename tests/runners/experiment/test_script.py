"""Is a file among the arguments, as in `python job.py` or `train.py --config c.yaml`, part of what was run?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fireassay.clock import FakeClock
from fireassay.errors import SpecError
from fireassay.frames.record_data import from_record
from fireassay.record import folder as record_folder
from fireassay.record.reader import open_record
from fireassay.record.seal import plan_signature
from fireassay.runners.experiment import script
from fireassay.runners.experiment.run import resume, run
from fireassay.runners.experiment.script import argument_files
from fireassay.spec.load import from_mapping
from fireassay.verdict.comparison.compare import compare
from fireassay.verdict.comparison.types import Side
from fireassay.verdict.judge import judge


def asked(*arguments: str, runner: str = "program", **sections: Any) -> Any:
    workload = {"runner": runner, "script": "sh", "arguments": list(arguments)}
    launches = {"per_configuration": 1}
    return from_mapping(
        {"name": "a", "workload": workload, "factor": {"levels": [1]}, "launches": launches, "noise": {"sentinel_s": 0.0}, **sections}
    )


def recorded(folder: Path, job: str, *arguments: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "job.sh").write_text(job)
    return run(asked("job.sh", *arguments), root=folder / "records", folder=folder)


def differing(*paths: Path) -> set[str]:
    opened = [from_record(open_record(path)) for path in paths]
    sides = [Side(label=str(number), measured=one, judgement=judge(one)) for number, one in enumerate(opened)]
    return {one.field for one in compare(sides).mismatches if one.refuses}


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (("job.sh", "{workers}", "none"), {"job.sh"}),
        (("--config=data/a.txt", "job.sh"), {"job.sh", "data/a.txt"}),
        (("-c", "sh job.sh < data/a.txt"), {"job.sh", "data/a.txt"}),
        (("-m", "data.tool"), {"data.tool"}),
        (("-m", "missing", "data", "x" * 5000), set()),
        (("job.sh", "out.txt", "part-1", "left/a"), {"job.sh"}),  # where the program leaves its result
    ],
)
def test_files_are_found_wherever_an_argument_names_them(tmp_path: Path, arguments: tuple[str, ...], names: set[str]) -> None:
    for name in ("job.sh", "data/a.txt", "data/tool.py", "out.txt", "part-1", "left/a"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    left = {"result": ["out.txt", "part-*", "left"]}
    assert argument_files(asked(*arguments, program=left), tmp_path).keys() == names


def test_a_file_too_large_to_read_is_known_by_its_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_text("12345")
    monkeypatch.setattr(script, "MAX_READ", 4)
    assert argument_files(asked("a"), tmp_path) == {"a": "5 bytes"}


@pytest.mark.slow
def test_sides_with_different_scripts_behind_one_interpreter_are_not_compared(tmp_path: Path) -> None:
    one, same, other = (recorded(tmp_path / name, job) for name, job in (("a", "true"), ("b", "true"), ("c", "true # else")))
    assert "workload.files.job.sh" not in differing(one, same)
    assert "workload.files.job.sh" in differing(one, other)


def test_the_files_that_arguments_of_a_training_name_are_a_part_of_it(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("lr: 0.1")
    (tmp_path / "train.py").write_text("")
    experiment = asked("--config", "c.yaml", "--lr", "0.1", runner="training")
    assert script.script_identity(experiment, tmp_path)["files"].keys() == {"c.yaml"}


@pytest.mark.parametrize(("after", "changed"), [({"log": "2", "c.yaml": "1"}, "c.yaml"), ({"log": "2", "c.yaml": "5"}, ""), (None, "log")])
def test_what_the_run_itself_changed_is_no_change_of_it(after: dict[str, str] | None, changed: str) -> None:
    """Without a capture at the end nobody knows who changed it."""
    environment = {"before": {"script": {"files": {"log": "1", "c.yaml": "1"}}}, "after": after and {"script": {"files": after}}}
    assert script.changed_file(environment, {"files": {"log": "3", "c.yaml": "2"}}) == changed


@pytest.mark.slow
def test_a_file_that_the_program_itself_changes_is_no_part_of_it(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("")
    records = [recorded(tmp_path, 'echo "$2" >> "$1"', "log", "{seed}") for _ in range(2)]
    assert {"workload.files.log", "workload.files.job.sh"}.isdisjoint(differing(*records))


def test_a_record_whose_script_has_changed_is_not_resumed(tmp_path: Path) -> None:
    (tmp_path / "job.sh").write_text("true")
    experiment = asked("job.sh")
    record = record_folder.create(tmp_path / "records", experiment, plan_signature(experiment), clock=FakeClock())
    record.set_environment("before", {"script": script.script_identity(experiment, tmp_path)})
    record.finish("interrupted", "test")
    (tmp_path / "job.sh").write_text("false")
    with pytest.raises(SpecError, match=r"job\.sh, changed since the record began"):
        resume(record.path)
