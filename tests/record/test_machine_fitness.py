"""Is the doctor's result kept for this machine, found again, and marked where it is old, foreign or damaged?"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from fireassay import __version__
from fireassay.errors import RecordError
from fireassay.record import environment
from fireassay.record.machine import Machine

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def machine(root: Path, *, model: str = "Xeon", kernel_kb: int = 0) -> Machine:
    (root / "proc").mkdir(parents=True, exist_ok=True)
    (root / "proc" / "cpuinfo").write_text(f"model name : {model}\nphysical id : 0\ncore id : 0\n")
    (root / "proc" / "meminfo").write_text(f"MemTotal: {16 * 1024**2 - kernel_kb} kB\n")
    return Machine(root=root, environ={})


def result(**changes: Any) -> dict[str, Any]:
    return {"utc": NOW.isoformat(), "assay_version": __version__, "noise_floor": 0.02, "fitness": "fit", **changes}


def test_what_is_written_is_carried_without_the_raw_values(tmp_path: Path) -> None:
    path = environment.write_fitness(result(launch_values_s=[1.0]), at=tmp_path)
    carried = environment.carried_fitness(NOW, at=tmp_path)
    assert path.parent == tmp_path
    assert carried["noise_floor"] == 0.02
    assert "launch_values_s" not in carried
    assert "stale" not in carried


def test_a_machine_that_was_never_examined_says_so(tmp_path: Path) -> None:
    assert environment.carried_fitness(NOW, at=tmp_path) == {"absent": environment.NEVER}


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"version": "1"}', "\udcff"])
def test_a_damaged_file_is_as_none_with_the_reason(tmp_path: Path, content: str) -> None:
    environment.write_fitness(result(), at=tmp_path).write_bytes(content.encode("utf-8", "surrogateescape"))
    assert list(environment.carried_fitness(NOW, at=tmp_path)) == ["absent"]


def test_a_newer_file_is_not_guessed_at(tmp_path: Path) -> None:
    environment.write_fitness(result(version=environment.FITNESS_VERSION + 1), at=tmp_path)
    assert "newer assay" in environment.read_fitness(at=tmp_path)["absent"]


def test_an_old_result_and_one_of_another_version_are_stale(tmp_path: Path) -> None:
    environment.write_fitness(result(), at=tmp_path)
    later = NOW + timedelta(days=environment.STALE_DAYS + 1)
    assert "31 days old" in environment.carried_fitness(later, at=tmp_path)["stale"]
    environment.write_fitness(result(assay_version="0.0.1"), at=tmp_path)
    assert "made by assay 0.0.1" in environment.carried_fitness(NOW, at=tmp_path)["stale"]


def test_the_key_is_the_machines_and_not_a_readings(tmp_path: Path) -> None:
    key = environment.machine_key(machine(tmp_path))
    assert environment.machine_key(machine(tmp_path, kernel_kb=5000)) == key  # another kernel reserves some memory more
    assert environment.machine_key(machine(tmp_path, model="Epyc")) != key


def test_a_machine_that_says_nothing_has_a_key_too(tmp_path: Path) -> None:
    assert len(environment.machine_key(Machine(root=tmp_path, environ={}))) == 12


def test_the_folder_is_the_users_state_folder() -> None:
    assert environment.fitness_folder({"XDG_STATE_HOME": "/state", "HOME": "/home/x"}) == Path("/state/assay/doctor")
    assert environment.fitness_folder({"XDG_STATE_HOME": "relative", "HOME": "/home/x"}) == Path("/home/x/.local/state/assay/doctor")


def test_a_state_folder_that_cannot_be_written_is_an_error_with_its_path(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RecordError, match="assay doctor"):
        environment.write_fitness(result(), at=tmp_path / "file" / "below")


def test_the_machines_and_the_clients_results_leave_each_other_as_they_are(tmp_path: Path) -> None:
    client = {"utc": NOW.isoformat(), "assay_version": __version__, "ceiling": {"requests_per_s": 9000.0}, "checks": []}
    environment.write_client_fitness(client, at=tmp_path)
    assert environment.read_fitness(at=tmp_path) == {"absent": environment.NEVER}
    assert environment.read_client_fitness(at=tmp_path) == client

    environment.write_fitness(result(), at=tmp_path)
    assert environment.read_fitness(at=tmp_path)["noise_floor"] == 0.02
    assert environment.read_client_fitness(at=tmp_path) == client

    environment.write_client_fitness({**client, "seconds": 3.0}, at=tmp_path)
    assert "client" not in environment.read_fitness(at=tmp_path)
    carried = environment.carried_fitness(NOW, at=tmp_path)
    assert carried["noise_floor"] == 0.02
    assert carried["client"]["ceiling"] == {"requests_per_s": 9000.0}
    assert "checks" not in carried["client"]
    later = environment.carried_fitness(NOW + timedelta(days=environment.STALE_DAYS + 1), at=tmp_path)
    assert later["client"]["stale"].endswith("run assay doctor client again")
    assert later["stale"].endswith("run assay doctor again")


def test_a_client_that_was_never_calibrated_says_so_and_a_damaged_file_too(tmp_path: Path) -> None:
    assert environment.read_client_fitness(at=tmp_path) == {"absent": environment.NEVER_CLIENT}
    path = environment.write_fitness(result(), at=tmp_path)
    assert environment.read_client_fitness(at=tmp_path) == {"absent": environment.NEVER_CLIENT}
    path.write_text("{")
    assert "cannot be read" in environment.read_client_fitness(at=tmp_path)["absent"]
