"""`assay run` measures, seals, judges and reports in one go; its exit code is the verdict's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fireassay.api.experiment_run import Foreseen, stored
from fireassay.cli import main
from fireassay.cli.support.judged import judged
from fireassay.exit_codes import EXIT_OF_STATUS
from fireassay.record.reader import open_record
from fireassay.spec.experiment import QUICK_STEPS
from tests.api.records.several import again

pytestmark = pytest.mark.slow


WORDS = ["run", "--workers", "1", "--launches", "2", "--launcher", "plain"]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("pass")


def only_record() -> Path:
    [path] = Path("records").iterdir()
    return path


def test_a_script_is_measured_sealed_judged_and_reported(capsys: pytest.CaptureFixture[str]) -> None:
    code = main([*WORDS, "--", "train.py"])
    path = only_record()
    assert open_record(path).sealed
    assert code == EXIT_OF_STATUS[judged(path)[1]]
    captured = capsys.readouterr()
    told = captured.out
    assert f"record {path}: 2 launches\n[1/2] workers=1 round 0 ok after " in captured.err
    assert "\x1b" not in captured.err
    assert f"report: {path / 'reports' / 'report.html'}\n" in told
    assert (path / "reports" / "report.html").stat().st_size > 0
    assert "\x1b" not in told


@pytest.mark.deep
def test_json_is_alone_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    main([*WORDS, "--json", "--", "train.py"])
    told = capsys.readouterr()
    assert json.loads(told.out)["record"]["sealed"] is True
    assert "record: records/" in told.err


ENDLESS = """
import itertools
from fireassay import probe
with probe.start() as p:
    for _ in p.steps(itertools.count()):
        with p.phase("optimizer"):
            pass
"""


def test_a_quick_run_of_an_endless_script_shows_raw_numbers_and_its_command_is_the_ordinary_run(capsys: pytest.CaptureFixture[str]) -> None:
    Path("train.py").write_text(ENDLESS)
    code = main(["run", "--quick", "--workers", "1", "--launcher", "plain", "--", "train.py"])
    out = capsys.readouterr().out
    assert "p50, ms" in out
    assert open_record(only_record()).table("steps").height == QUICK_STEPS
    if code == 0:  # INVALID where the machine is too busy; the numbers come all the same
        command = next(line for line in out.splitlines() if line.startswith("  assay run")).split()
        assert main([*command[1:], "--dry-run"]) == 0
        assert "5 launches" in capsys.readouterr().out


def test_quiet_shows_the_result_alone_and_the_record_is_made_where_it_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    main([*WORDS, "--quiet", "--root", "some where/else", "--", "train.py"])
    told = capsys.readouterr()
    assert "block 0" not in told.out + told.err
    assert "report: " in told.out
    assert len(list(Path("some where/else").iterdir())) == 1


def test_a_workload_that_fails_gives_exit_code_5_and_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    Path("train.py").write_text("import no_such_package")
    assert main([*WORDS, "--quiet", "--", "train.py"]) == 5
    told = capsys.readouterr().err
    assert "error: train.py failed in launch 1 of 2 (workers=1)\n  the script needs a missing package" in told
    assert told.endswith(f"  assay run {only_record()} --workers 1 --launches 1\n")
    assert "pip install no_such_package" in told
    assert str(only_record()) in told


@pytest.mark.deep
def test_a_record_is_run_again_with_a_flag_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    main([*WORDS, "--quiet", "--", "train.py", "--lr", "0.1"])
    first = only_record()
    capsys.readouterr()
    words = ["run", first.name.rsplit("-", 1)[1], "--launches", "3", "--dry-run", "--json"]
    assert main(words) == 0
    assert len(json.loads(capsys.readouterr().out)["launches"]) == 3
    main(["run", str(first), "--launches", "1", "--quiet"])
    (second,) = (path for path in Path("records").iterdir() if path != first)
    before, after = open_record(first).experiment, open_record(second).experiment
    assert after.workload == before.workload
    assert (before.launches.per_configuration, after.launches.per_configuration) == (2, 1)


def test_a_name_that_is_neither_a_file_nor_a_record_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "nothing"]) == 2
    assert capsys.readouterr().err.startswith("error: nothing: found no such file")


def test_with_nothing_to_run_two_ways_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run"]) == 2
    assert capsys.readouterr().err == (
        "error: nothing to run: found no experiment file, and no script after --\n"
        "  assay run experiment.toml\n"
        "  assay run --workers 1,2,4 -- train.py --epochs 3\n"
    )


def test_a_missing_script_gives_exit_code_2_and_no_record(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*WORDS, "--", "trian.py"]) == 2
    assert "train.py" in capsys.readouterr().err
    assert not Path("records").exists()


def test_a_dry_run_shows_the_plan_in_order_and_starts_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--workers", "2,1", "--launches", "2", "--fault", "kill", "--dry-run", "--", "train.py"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "5 launches; expected time: unknown: no complete record in records ran this workload at all these levels"
    head = next(number for number, line in enumerate(lines) if line.split()[:1] == ["slot"])
    assert lines[head].split() == ["slot", "block", "order", "configuration", "role", "seed", "fault"]
    rows = [line.split() for line in lines[head + 1 :]]
    assert [row[0] for row in rows] == ["0", "1", "2", "3", "4"]
    assert [row[1] for row in rows] == ["0", "0", "1", "1", "2"]
    assert sorted(row[3] for row in rows[:2]) == ["workers=1", "workers=2"]
    assert rows[0][5] == rows[1][5]  # one seed for a block
    assert rows[4][3:5] == ["workers=2", "fault"]
    assert rows[4][6] == "kill"
    at = lines.index("Detectable differences:")
    assert lines[at + 2].startswith("  verdict: 2 launches per configuration cannot decide anything")
    assert not Path("records").exists()


def test_a_dry_run_begins_with_what_is_measured_and_its_limits(capsys: pytest.CaptureFixture[str]) -> None:
    quality = ["--quality-metric", "accuracy", "--margin", "0.03", "--price", "2.50", "--price-date", "2026-11-01", "--budget-usd", "9"]
    assert main(["run", "--workers", "2,1", "--launches", "7", "--fault", "kill", *quality, "--dry-run", "--", "train.py"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[2:8] == [
        "  script    train.py",
        "  workers   1, 2",
        "  launches  7 of each of 2 configurations, in rounds of random order; 1 fault",
        "  quality   accuracy, margin 0.03",
        "  gates     efficiency at least 0.7, budget $9",
        "  price     $2.5 per worker-hour (2026-11-01, given as --price)",
    ]
    assert out.splitlines()[-3:-1] == [line for line in out.splitlines() if " timed " in line], "the first round"
    assert out.splitlines()[-1] == "  and 13 more: --full lists all"
    main(["run", "--workers", "2,1", "--launches", "7", "--fault", "kill", "--full", "--dry-run", "--", "train.py"])
    out = capsys.readouterr().out
    assert sum(" timed " in line or " fault " in line for line in out.splitlines()) == 15
    assert "more:" not in out


def test_a_dry_run_names_the_targets_the_first_of_which_decides(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--workers", "1", "--target", "accuracy=75%", "--target", "loss<=0.3", "--dry-run", "--", "train.py"]) == 0
    assert "  target    accuracy 0.75, then loss 0.3\n" in capsys.readouterr().out


def test_a_dry_run_of_adaptive_launches_gives_a_bound(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", "--workers", "1", "--precision", "0.02", "--at-most", "7", "--dry-run", "--", "train.py"]
    assert main(words) == 0
    assert capsys.readouterr().out.startswith("at most 7 launches; expected time: unknown")


def test_a_dry_run_until_decided_is_bounded_by_its_budget(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--workers", "1,2", "--budget", "1m", "--dry-run", "--", "train.py"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert out.startswith("at most 40 launches; expected time: until it is decided, at most about 1 min, or as long as 3 rounds take")
    assert "launches 3 to 20 of each of 2 configurations" in out


@pytest.mark.parametrize(("known_s", "bound"), [(60.0, "1 min"), (400.0, "1 min"), (4000.0, "10 min")])
def test_the_first_rounds_are_made_whatever_they_take(
    known_s: float, bound: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """20 rounds of an earlier record took so long; 3 of them come before the first look."""
    known = lambda *_: Foreseen(seconds=known_s, differences=())  # noqa: E731
    monkeypatch.setattr("fireassay.api.experiment_run.foreseen", known)
    main(["run", "--workers", "1,2", "--budget", "1m", "--dry-run", "--", "train.py"])
    assert f"until it is decided, at most about {bound} " in f"{' '.join(capsys.readouterr().out.split())} "


def test_detect_asks_a_dry_run_for_the_number_of_launches(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", "--workers", "1,2", "--detect", "0.02"]
    assert main([*words, "--dry-run", "--", "train.py"]) == 0
    assert capsys.readouterr().out.count("; 2 % needs ") == 3  # one for each assumed spread
    assert main([*words, "--dry-run", "--json", "--", "train.py"]) == 0
    assert sum("2 % needs" in one["sentence"] for one in json.loads(capsys.readouterr().out)["able_to_show"]) == 3
    assert main([*words, "--", "train.py"]) == 2
    assert "Add --dry-run" in capsys.readouterr().err
    assert not Path("records").exists()


def test_the_noise_floor_of_a_dry_run_is_that_of_interleaved_launches(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fireassay.api.experiment_run.carried_fitness", lambda now: {"noise_floor": 0.03, "noise_floor_apart": 0.73})
    assert main(["run", "--workers", "1,2", "--detect", "0.02", "--dry-run", "--launches", "5", "--", "train.py"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert out.count("2 % is not above this machine's noise floor, 3 %, so no number of launches shows it") == 3
    assert "73 %" not in out


def test_a_dry_run_as_json_holds_the_same_plan(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--workers", "2,1", "--launches", "2", "--fault", "kill", "--dry-run", "--json", "--", "train.py"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["expected_s"] is None
    assert [launch["slot"] for launch in shown["launches"]] == [0, 1, 2, 3, 4]
    assert [launch["workers"] for launch in shown["launches"]][-1] == 2
    assert shown["launches"][-1]["fault"]["kind"] == "kill"
    assert shown["able_to_show"][0]["subject"] == "verdict"
    assert shown["able_to_show"][0]["possible"] is False


@pytest.mark.deep
def test_a_dry_run_expects_the_time_that_the_same_workload_took_before(capsys: pytest.CaptureFixture[str]) -> None:
    main([*WORDS, "--quiet", "--", "train.py"])
    Path("records/no record").mkdir()
    capsys.readouterr()
    main([*WORDS, "--dry-run", "--", "train.py"])
    assert "2 launches; expected time: about " in (shown := capsys.readouterr().out)
    assert "Detectable differences:" in shown
    main([*WORDS, "--dry-run", "--", "train.py", "--epochs", "9"])
    assert "expected time: unknown" in capsys.readouterr().out


@pytest.mark.parametrize("folder", [None, "/no/such/folder"])
def test_a_record_whose_folder_is_unknown_or_gone_runs_in_the_working_folder(tmp_path: Path, folder: str | None) -> None:
    again("unsynced", tmp_path, "aaaaaa", 1, environment={"before": {"script": {"folder": folder}}})
    found = stored("aaaaaa", tmp_path)
    assert found is not None
    assert found.folder == Path()
