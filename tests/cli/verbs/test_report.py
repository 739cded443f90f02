"""`assay report`: the verdict's exit code, the reports' places, and judging without torch and without much memory."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import pytest

from fireassay.cli import main
from fireassay.cli.support.judged import judge_and_show
from fireassay.clock import FakeClock
from fireassay.estimates.estimate import Absent
from fireassay.frames.record_data import from_record
from fireassay.record import folder as record_folder
from fireassay.record.reader import open_record
from fireassay.spec.experiment import Gates
from fireassay.verdict.judge import judge
from tests.handmade import Handmade
from tests.limits import PROCESS_S
from tests.records.make import HERE
from tests.serving_made import seal, simulated
from tests.tiers import some
from tests.verdict.making import good

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("judged_once")]


@pytest.fixture
def record(tmp_path: Path) -> Path:
    """A copy of the stored record of the good trainer, in a folder of records."""
    return copied("good", tmp_path / "records")


def copied(name: str, root: Path) -> Path:
    return Path(shutil.copytree(HERE / name, root / f"{name}-20260101T000000Z-abcdef"))


def stored(made: Handmade, root: Path, *, state: str = "complete") -> Path:
    """A record written by hand, on the disk."""
    record = record_folder.create(root, made.experiment, "by hand", clock=FakeClock())
    for table, rows in made.rows.items():
        for row in rows:
            record.writer(row[0]).append(table, row)
    record.finish(state)  # type: ignore[arg-type]
    return record.path


# ---- the exit code is the verdict's


@pytest.mark.parametrize(
    ("made", "state", "status", "code"),
    some(
        [
            (good(), "complete", "GAIN", 0),
            (good(gates=Gates(deadline_s=1.0)), "complete", "FAIL", 1),
            (good(), "failed", "INVALID", 3),
            (good(), "interrupted", "INVALID", 3),
            (good(blocks=2), "complete", "INCONCLUSIVE", 4),
        ],
        3,
        rows=True,
    ),
)
def test_the_exit_code_is_the_verdict_s(
    made: Handmade, state: str, status: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = stored(made, tmp_path, state=state)
    assert main(["report", str(path), "--json"]) == code
    assert json.loads(capsys.readouterr().out)["verdict"]["status"] == status


def test_no_launch_at_all_is_reported_and_not_a_crash(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = stored(Handmade(), tmp_path)
    assert main(["report", str(path)]) == 4
    assert "INCONCLUSIVE" in capsys.readouterr().out


def test_a_folder_that_is_no_record_is_one_sentence_and_6(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(tmp_path)]) == 6
    assert capsys.readouterr().err.startswith("error: ")


def test_what_was_written_to_the_disk_is_judged_as_what_is_in_memory(tmp_path: Path) -> None:
    made = good(prices=1.0)
    made.manifest = dict(open_record(path := stored(made, tmp_path)).manifest)
    on_disk, in_memory = judge(from_record(open_record(path))), judge(made.measured())
    assert on_disk.verdict == in_memory.verdict
    for metric, values in in_memory.results.items():
        for configuration, value in values.items():
            found = on_disk.results[metric][configuration]
            if isinstance(value, Absent) or isinstance(found, Absent):
                assert found == value
            else:  # the last digit of a quotient depends on how the memory is cut
                assert (found.value, found.low, found.high) == pytest.approx((value.value, value.low, value.high), rel=1e-12)


def test_a_record_is_judged_alike_every_time(record: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fireassay.cli.support.judged.judge", judge)  # another test may have judged an equal record
    said = []
    for _ in range(2):
        main(["report", str(record), "--json"])
        said.append(capsys.readouterr().out)
    assert said[0] == said[1]


# ---- where the reports go


@pytest.mark.deep
def test_text_goes_to_standard_output_and_nothing_is_written(record: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for flag in ("--terminal", "--markdown", "--json"):
        main(["report", str(record), flag])
        assert "workers" in capsys.readouterr().out
    assert not (record / "reports").exists()


def test_html_goes_into_the_record_beside_what_is_sealed(record: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["report", str(record), "--html"])
    page = record / "reports" / "report.html"
    assert capsys.readouterr().out == f"{page}\n"
    assert "</html>" in page.read_text()
    assert main(["verify", str(record)]) == 0


@pytest.mark.deep
def test_output_names_a_file_or_with_several_reports_a_folder(record: Path, tmp_path: Path) -> None:
    main(["report", str(record), "--json", "--output", str(tmp_path / "numbers.json")])
    assert json.loads((tmp_path / "numbers.json").read_text())["verdict"]
    main(["report", str(record), "--json", "--markdown", "--output", str(tmp_path / "both")])
    assert sorted(file.name for file in (tmp_path / "both").iterdir()) == ["report.json", "report.md"]


def test_json_on_standard_output_is_alone_there(record: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["report", str(record), "--html", "--json"])
    shown = capsys.readouterr()
    assert json.loads(shown.out)["verdict"]
    assert shown.err == f"{record / 'reports' / 'report.html'}\n"


@pytest.mark.deep
def test_a_dash_is_standard_output(record: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    main(["report", str(record), "--excel", "--output", "-"])
    assert capsysbinary.readouterr().out.startswith(b"PK")
    assert not Path("-").exists()


def test_ctrl_c_while_judging_says_where_the_record_is(
    record: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(_: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("fireassay.cli.support.judged.judged", stopped)
    assert judge_and_show(record, Namespace(form="terminal")) == 130
    assert capsys.readouterr().err.endswith(f"assay report {record}\n")


def test_latest_is_found_below_the_root(record: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "latest", "--root", str(record.parent), "--json"]) in (0, 4)
    assert json.loads(capsys.readouterr().out)["verdict"]


def test_a_file_that_cannot_be_written_is_a_sentence_with_the_place(
    record: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert main(["report", str(record), "--html", "--output", str(tmp_path / "file" / "report.html")]) == 6
    assert "Choose another path with --output" in capsys.readouterr().err


# ---- without torch, without much memory

BLOCKED = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "sklearn"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None
sys.meta_path.insert(0, Blocked())
from fireassay.cli import main
codes = [main(["verify", RECORD])]
for kind in ("terminal", "json", "markdown", "html", "excel"):
    codes.append(main(["report", RECORD, f"--{kind}", "--output", f"{FOLDER}/report.{kind}"]))
print(codes)
"""


@pytest.mark.deep
def test_a_record_is_verified_judged_and_reported_where_there_is_no_torch(tmp_path: Path) -> None:
    record = copied("seed_mismatch", tmp_path / "records")
    code = f"RECORD, FOLDER = {str(record)!r}, {str(tmp_path)!r}\n{BLOCKED}"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.stdout.splitlines()[-1:] == ["[0, 1, 1, 1, 1, 1]"], result.stderr
    assert json.loads((tmp_path / "report.json").read_text())["verdict"]["status"] == "FAIL"
    assert "replica_seed_mismatch" in (tmp_path / "report.html").read_text()


@pytest.mark.deep
@pytest.mark.slow
def test_a_record_of_a_million_steps_is_reported_with_less_than_a_gigabyte(tmp_path: Path, repository: Path) -> None:
    """The time is measured in benchmarks/record_report.py, on a machine that does nothing else."""
    benchmark = str(repository / "benchmarks" / "record_report.py")
    stages = {
        stage: json.loads(subprocess.check_output([sys.executable, benchmark, "--root", str(tmp_path), "--stage", stage]))
        for stage in ("write", "seal", "report_html")
    }
    reported = stages["report_html"]
    assert reported["exit_code"] in (0, 1, 4)
    assert reported["page_bytes"] > 100_000
    # The stage's own peak: a child's `ru_maxrss` begins with that of the process that started it, here all of pytest.
    assert reported["peak_mb"] < 1000


# ---- a load


def test_a_load_is_reported_in_every_form(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = seal(simulated(rate=(5.0, 10.0), seconds=6.0, blocks=2).measured(), tmp_path)

    assert main(["report", str(path), "--panel", "--html", "--excel", "--json"]) in (0, 1, 4)

    folder = path / "reports"
    assert sorted(file.name for file in folder.iterdir()) == ["report-panel.html", "report.html", "report.xlsx"]
    page = (folder / "report-panel.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "metrics by load" in page
    assert json.loads(capsys.readouterr().out)["serving"]["load"] == "rate"


@pytest.mark.parametrize("flags", some([[], ["--markdown"], ["--full"]]))
@pytest.mark.deep
def test_a_stdout_without_unicode_gets_ascii(flags: list[str]) -> None:
    """A container without a locale, or Windows: signs and plots have plain forms, other formats lose a character rather than all."""
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "FIREASSAY_CONFIG": ""}
    words = [sys.executable, "-m", "fireassay", "report", str(HERE / "good"), *flags]
    done = subprocess.run(words, capture_output=True, env=environment, check=False, timeout=PROCESS_S)
    assert done.returncode == 4, done.stderr
    assert done.stdout.isascii()
    assert b"good" in done.stdout
    assert b"  .........." in done.stdout or flags  # a bar
