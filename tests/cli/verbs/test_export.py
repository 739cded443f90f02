"""`assay export` writes a new folder, never among files, and refuses records of other kinds."""

from __future__ import annotations

from pathlib import Path

import pytest

from fireassay.api.exporting import targets
from fireassay.cli import main
from tests.record.making import sealed
from tests.serving_made import ServingMade, seal, simulated

pytestmark = pytest.mark.slow


def test_a_folder_is_written_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = seal(simulated(concurrency=(1, 2), blocks=2, seconds=4.0, seed=1).measured(), tmp_path)
    folder = tmp_path / "for" / "genai-bench"
    assert main(["export", str(record), "--genai-bench", str(folder)]) == 0
    assert capsys.readouterr().out.strip() == str(folder)
    written = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert len(written) == 3
    assert main(["export", str(record), "--to", "genai-bench", "--out", str(folder)]) == 0
    assert "nothing was changed" in capsys.readouterr().err
    assert {path.name: path.stat().st_mtime_ns for path in folder.iterdir()} == written
    (folder / "mine").touch()
    assert main(["export", str(record), "--to", "genai-bench", "--out", str(folder)]) == 2
    assert "a new or an empty folder" in capsys.readouterr().err


def test_a_void_record_is_said_to_be_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = ServingMade(concurrency=(1,), blocks=3)
    for block in range(3):
        launch = made.launch(block=block)
        for second in range(4):  # times that may be wrong by as much as they are long
            made.request(launch, float(second), stream=0, unsure_s=0.1)
    record = seal(made.measured(), tmp_path)
    assert main(["export", str(record), "--genai-bench", str(tmp_path / "folder")]) == 0
    assert "INVALID" in capsys.readouterr().err


def test_a_record_of_another_kind_and_a_file_in_the_way_are_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = sealed(tmp_path / "a")
    assert main(["export", str(record), "--genai-bench", str(tmp_path / "b")]) == 2
    assert "kind serving" in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "b").exists()
    (tmp_path / "file").write_text("mine")
    assert main(["export", str(record), "--genai-bench", str(tmp_path / "file")]) == 2
    assert (tmp_path / "file").read_text() == "mine"


def test_a_program_has_to_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["export", "latest"])
    assert left.value.code == 2
    assert "--to" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--to", "genai-bensh"), "Did you mean genai-bench?"),
        (("--to", "genai-bench", "--option", "colour=red"), "genai-bench has none"),
        (("--to", "genai-bench", "--option", "colour"), "genai-bench has none"),
        (("--to", "genai-bench", "--out", "http://user:pass@host/"), "is written to files"),
    ],
)
def test_what_a_target_does_not_know_is_refused_before_a_record_is_looked_for(
    words: tuple[str, ...], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", "--root", str(tmp_path), *words]) == 2
    err = capsys.readouterr().err
    assert said in " ".join(err.split())
    assert "user:pass" not in err


def test_every_target_says_what_it_gets(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "--to", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(targets())
    assert all(len(line) <= 100 for line in lines)
