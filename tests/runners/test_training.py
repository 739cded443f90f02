"""Real launches of small scripts: what goes wrong is told in a sentence that says what to do, and the rest goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fireassay.errors import Interrupted, SpecError, WorkloadError
from fireassay.launchers.support import supervisor
from fireassay.record.reader import Record, open_record
from fireassay.runners.experiment.progress import RunProgress
from fireassay.runners.experiment.run import run
from fireassay.spec.plan import plan
from tests.runners.making import experiment

pytestmark = pytest.mark.slow


def attempt(folder: Path, source: str, **changes: Any) -> tuple[Record, str]:
    """Run a script; the record, and what was raised."""
    folder.mkdir(exist_ok=True)
    (folder / "train.py").write_text(source)
    said = ""
    try:
        run(experiment(**changes), folder=folder, root=folder / "records")
    except (WorkloadError, Interrupted) as error:
        said = str(error)
    [path] = (folder / "records").iterdir()
    assert supervisor.marked(f"{path.name}.") == []
    return open_record(path), said


def rows(record: Record) -> list[dict[str, Any]]:
    return record.table("launches").to_dicts()


ONCE = {"factor": {"levels": [1]}, "launches": {"per_configuration": 1}}


def test_a_script_that_knows_nothing_of_assay_is_measured_by_its_wall_time(tmp_path: Path) -> None:
    record, said = attempt(tmp_path, "import os\nos.write(1, b'hello\\n')", launches={"per_configuration": 1})
    assert said == ""
    assert (record.state, record.sealed) == ("complete", True)
    assert [row["status"] for row in rows(record)] == ["ok"] * 2
    assert sorted(row["configuration"] for row in rows(record)) == ["workers=1", "workers=2"]
    assert all(row["end_ns"] > row["begin_ns"] for row in rows(record))
    assert (record.path / "logs" / "launch=0000.log").read_text() == "hello\n" * rows(record)[0]["workers"]


def test_a_script_that_exits_with_3_everywhere_fails_the_experiment_with_its_reason(tmp_path: Path) -> None:
    record, said = attempt(tmp_path, "print('bye'); raise SystemExit(3)", factor={"levels": [1]})
    assert said.startswith("train.py failed in launch 1 of 2 (workers=1)\n  the script exited with code 3; its last output was: bye")
    assert f"1 launch not started, output kept: {record.path}\n" in said
    assert (record.state, record.sealed) == ("failed", True)
    assert [(row["status"], row["exit_code"]) for row in rows(record)] == [("failed", 3)]


def one_worker_first() -> int:
    """A seed whose plan begins with one worker."""
    return next(seed for seed in range(100) if plan(experiment(launches={"per_configuration": 3, "seed": seed}))[0].workers == 1)


@pytest.mark.deep
def test_a_configuration_that_keeps_failing_is_skipped_and_the_others_go_on(tmp_path: Path) -> None:
    only_one = "import os\nif os.environ['WORLD_SIZE'] == '2': raise MemoryError('too small a machine')"
    record, said = attempt(tmp_path, only_one, launches={"per_configuration": 3, "seed": one_worker_first()})
    assert said == ""
    assert record.state == "complete"
    assert [row["status"] for row in rows(record) if row["workers"] == 1] == ["ok"] * 3
    two = [row for row in rows(record) if row["workers"] == 2]
    assert [row["status"] for row in two] == ["failed", "failed", "skipped"]
    assert [row["reason"] for row in two if "MemoryError: too small a machine" not in row["reason"]] == []


def test_an_absent_package_is_told_with_the_line_that_installs_it(tmp_path: Path) -> None:
    _record, said = attempt(tmp_path, "import yaml_that_is_not_there", **ONCE)
    assert said.startswith(
        "train.py failed in launch 1 of 1 (workers=1)\n  the script needs a missing package "
        "(No module named 'yaml_that_is_not_there'): pip install yaml_that_is_not_there"
    )


@pytest.mark.deep
def test_a_script_that_hangs_is_ended_at_the_limit(tmp_path: Path) -> None:
    hangs = "import time\nprint('waiting', flush=True)\ntime.sleep(600)"
    record, said = attempt(tmp_path, hangs, **ONCE, limits={"launch_timeout_s": 5.0, "grace_s": 0.2})
    assert "limits.launch_timeout_s = 5 s" in said  # time enough to say something, on a busy machine too
    assert "its last output was: waiting" in said
    assert rows(record)[0]["status"] == "timeout"


def test_output_that_is_not_utf8_is_kept_and_disturbs_nothing(tmp_path: Path) -> None:
    source = "import sys\nsys.stdout.buffer.write(b'caf\\xe9 \\xff\\xfe\\n')\nraise SystemExit(1)"
    record, said = attempt(tmp_path, source, **ONCE)
    assert (record.path / "logs" / "launch=0000.log").read_bytes() == b"caf\xe9 \xff\xfe\n"
    assert "caf\ufffd" in said


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Record:
    """One launch of a script that tells its folder; no energy is metered."""
    folder = tmp_path_factory.mktemp("plain") / "a folder, so to speak: ünd"
    record, said = attempt(folder, "import os\nprint(os.getcwd())", **ONCE, energy={"source": "none"})
    assert said == ""
    return record


def test_paths_with_spaces_and_foreign_letters_are_no_trouble(plain: Record) -> None:
    assert (plain.path / "logs" / "launch=0000.log").read_text() == f"{plain.path.parents[1]}\n"


def test_secrets_given_to_the_script_are_nowhere_in_the_record(tmp_path: Path) -> None:
    prints = "import os\nprint('the key is', os.environ['API_KEY'])"
    record, _ = attempt(tmp_path, prints, **ONCE, workload={"script": "train.py", "environment": {"API_KEY": "correct-horse-battery"}})
    assert (record.path / "logs" / "launch=0000.log").read_text() == "the key is [redacted]\n"
    assert not any(b"correct-horse" in file.read_bytes() for file in record.path.rglob("*") if file.is_file())


def test_after_the_experiments_time_no_further_launch_is_started(tmp_path: Path) -> None:
    record, _ = attempt(tmp_path, "print('hello')", limits={"experiment_timeout_s": 0.01})
    assert rows(record)[-1]["status"] == "skipped"
    assert rows(record)[-1]["reason"] == "limits.experiment_timeout_s = 0.01 s had passed before it could start"


@pytest.mark.deep
def test_progress_tells_every_launch_and_ends_with_all_of_them(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("pass")
    told: list[RunProgress] = []
    run(experiment(), folder=tmp_path, root=tmp_path / "records", on_progress=told.append)
    assert [row["slot"] for row in told[-1].rows] == [0, 1, 2, 3]
    assert told[-1].seconds_left == 0.0
    assert {one.running.planned.slot for one in told if one.running is not None} == {0, 1, 2, 3}


def test_the_environment_is_described_before_and_after(plain: Record) -> None:
    environment = plain.manifest["environment"]
    assert environment["before"]["host"]["kernel"] == environment["after"]["host"]["kernel"]
    assert environment["before"]["script"]["path"] == str(plain.path.parents[1] / "train.py")


def test_what_could_not_be_metered_is_told_with_its_reason(plain: Record) -> None:
    assert plain.manifest["environment"]["after"]["not_metered"]["energy"] != ""


def test_a_folder_instead_of_a_script_is_refused(tmp_path: Path) -> None:
    (tmp_path / "train.py").mkdir()
    with pytest.raises(SpecError, match=r"workload.script: found 'train.py', a folder"):
        run(experiment(), folder=tmp_path, root=tmp_path / "records")
