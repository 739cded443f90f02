"""`assay reproduce`: the same experiment again, every condition that differs, and agreement that was shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fireassay.cli import main
from fireassay.record.reader import open_record
from fireassay.runners.experiment.run import run
from tests.api.test_remeasure import TURNS, experiment, write
from tests.cli.verbs.test_check import stored
from tests.verdict.sides import made

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("judged_once")]


def reproduced(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, object]]:
    code = main(["reproduce", *words, "--json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(("seconds", "state", "code"), [(10.0, "reproduced", 0), (20.0, "differs", 1), (10.2, "undecided", 4)])
def test_agreement_must_be_shown_and_has_its_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], seconds: float, state: str, code: int
) -> None:
    # RIPPLE has sd 0.0158, so SE = 0.0158 sqrt(2/5) = 0.01 at 8 df: the 90 % interval of no difference is +-1.86 %,
    # inside 3 %; that of 2 % reaches 3.8 %, outside, while its 95 % interval +-2.3 % holds 0.
    first, again = stored(made(10.0, day=1), tmp_path), stored(made(seconds, day=2), tmp_path)
    found, document = reproduced(capsys, str(first), "--against", str(again))
    assert (found, document["state"]) == (code, state), document["sentence"]


def test_another_experiment_is_not_a_reproduction(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = made(10.0, day=2)
    workload = other.experiment.workload.model_copy(update={"arguments": ("--epochs", "9")})
    other.experiment = other.experiment.model_copy(update={"workload": workload})
    first, again = stored(made(10.0, day=1), tmp_path), stored(other, tmp_path)
    code, document = reproduced(capsys, str(first), "--against", str(again))
    assert (code, document["state"]) == (3, "not_comparable")
    assert "workload.arguments" in str(document["sentence"])
    assert reproduced(capsys, str(first), "--against", str(again), "--force")[0] == 0


def test_a_record_does_not_reproduce_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = str(stored(made(10.0, day=1), tmp_path))
    assert main(["reproduce", first, "--against", first]) == 2
    assert "which are the same record" in capsys.readouterr().err


def test_losses_are_compared_bit_for_bit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = made(10.0, day=1), made(10.0, day=2)
    for record, last in ((one, 0.5), (two, 0.5 + 2**-50)):
        for number in range(5):
            record.fingerprint(number, "loss", 1.0, step=1)
            record.fingerprint(number, "loss", last if number == 3 else 0.5, step=2)
    first, again = stored(one, tmp_path), stored(two, tmp_path)
    code, document = reproduced(capsys, str(first), "--against", str(again))
    assert code == 1
    assert "not bitwise equal at 1 of 10 positions, first at step 2 on rank 0 of launch slot 3" in str(document["sentence"])


def test_a_record_without_launches_reproduces_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, again = stored(made(10.0, day=1), tmp_path), stored(made([], day=2, failed=1), tmp_path)
    code, document = reproduced(capsys, str(first), "--against", str(again))
    assert (code, document["state"]) == (5, "nothing_measured")


@pytest.mark.deep
def test_it_is_run_again_with_the_same_seeds_into_a_new_record(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, tmp_path / "day", TURNS)
    monkeypatch.chdir(tmp_path)
    first = run(experiment(), folder=tmp_path, root=tmp_path / "records")
    assert main(["reproduce", str(first), "--dry-run", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert (plan["launches"], plan["script_unchanged"]) == (3, True)
    assert [row["condition"] for row in plan["differs"] if row["kind"] == "hardware"] == [], "the same machine"
    assert len(list((tmp_path / "records").iterdir())) == 1, "a dry run makes no record"
    code, document = reproduced(capsys, str(first), "--quiet", "--root", str(tmp_path / "records"))
    assert code in (0, 1, 4), document
    again = Path(str(document["record"]))
    assert again != first
    seeds = [open_record(path).table("launches")["seed"].to_list() for path in (first, again)]
    assert seeds[0] == seeds[1]
    write(tmp_path, tmp_path / "day", 7)
    assert main(["reproduce", str(first), "--root", str(tmp_path / "records")]) == 2
    assert "changed since the record was made" in capsys.readouterr().err
    _on_another_machine(monkeypatch)
    assert main(["reproduce", str(first), "--dry-run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "the record is as it was sealed"
    refuse = next(number for number, line in enumerate(lines) if line.startswith("these refuse the comparison (exit 3)"))
    listed = lines.index("these are listed in the result, and refuse nothing:")
    differ = {line.split(":")[0].strip(): refuse < number < listed for number, line in enumerate(lines) if line.startswith("  ")}
    assert differ["workload.script_sha256"]
    assert not differ["cpu.model"]
    assert main(["reproduce", str(first), "--dry-run", "--force"]) == 0
    assert "nothing that differs now refuses the comparison" in capsys.readouterr().out
    assert main(["reproduce", str(first), "--dry-run", "--folder", str(tmp_path / "records")]) == 0
    assert "the script is not there: give the folder of the code with --folder" in capsys.readouterr().out


def test_a_dry_run_of_a_changed_record_is_refused_before_anything_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = stored(made(10.0, day=1), tmp_path)
    path = first / "manifest.json"
    path.write_text(path.read_text().replace("handmade", "handmode"))
    assert main(["reproduce", str(first), "--dry-run"]) == 6
    out, err = capsys.readouterr()
    assert out == ""
    assert "is damaged" in err


def _on_another_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    from fireassay.record import environment

    here = environment.capture

    def elsewhere(*given: Any, **more: Any) -> dict[str, Any]:
        seen = here(*given, **more)
        return {**seen, "cpu": {**seen["cpu"], "model": "Difference Engine"}}

    monkeypatch.setattr(environment, "capture", elsewhere)


def test_without_a_record_the_latest_is_taken_and_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stored(made(10.0, day=1), tmp_path)
    assert main(["reproduce", "--dry-run", "--root", str(tmp_path)]) == 0
    said = capsys.readouterr()
    (path,) = tmp_path.iterdir()
    assert f"latest: {path}" in said.err.replace("\n", "")
    assert path.name in said.out
