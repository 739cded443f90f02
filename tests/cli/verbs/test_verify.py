"""`assay verify` names each damaged file and returns 0 or 6."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from fireassay.cli import main
from fireassay.reports.documents.verification import DOCUMENT
from tests.record.making import sealed, unfinished
from tests.reports.documents.conforming import conforming

pytestmark = pytest.mark.slow


def flat(text: str) -> str:
    """Without white space: the terminal folds long paths."""
    return "".join(text.split())


def seal_of(path: Path) -> str:
    """The seal, independently computed."""
    return hashlib.sha256((path / "manifest.json").read_bytes()).hexdigest()


def test_an_intact_record_returns_0_and_shows_its_seal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = sealed(tmp_path)
    assert main(["verify", str(path)]) == 0
    head, facts = capsys.readouterr().out.split("Identity")
    assert flat(head) == flat(f"INTACT {path}")
    assert facts.splitlines()[1:] == [f"seal  {seal_of(path)}"]
    assert main(["verify", str(path), "--json"]) == 0
    document = conforming(DOCUMENT, capsys.readouterr().out)
    assert (document["record"], document["intact"], document["seal"], document["signed"]) == (str(path), True, seal_of(path), False)


def test_an_expected_seal_accepts_only_its_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, other = sealed(tmp_path / "a"), sealed(tmp_path / "b")
    assert main(["verify", str(path), "--expect", f"sha256:{seal_of(path).upper()}"]) == 0
    assert "yes, this is the expected record" in capsys.readouterr().out
    assert main(["verify", str(other), "--expect", seal_of(path)]) == 6
    assert "another record" in capsys.readouterr().out


@pytest.mark.parametrize("digest", ["", "abc", "z" * 64, "0" * 63])
def test_a_malformed_digest_is_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str], digest: str) -> None:
    assert main(["verify", str(sealed(tmp_path)), "--expect", digest]) == 2
    assert "64 hexadecimal digits" in capsys.readouterr().err


def test_a_record_changed_and_sealed_again_is_consistent_but_not_the_expected_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = sealed(tmp_path)
    before = seal_of(path)
    content = (path / "manifest.json").read_bytes().replace(b'"name": "digits"', b'"name": "forged"')
    (path / "manifest.json").write_bytes(content)
    (path / "SEAL").write_text(f"{hashlib.sha256(content).hexdigest()}  manifest.json\n")
    assert main(["verify", str(path)]) == 0
    assert main(["verify", str(path), "--expect", before]) == 6


KEY = "hf_" + "aBcD3fGh" * 5


def test_a_record_with_a_secret_is_not_intact_and_the_secret_is_not_repeated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = unfinished(tmp_path)
    (record.path / "logs").mkdir(exist_ok=True)
    (record.path / "logs" / "launch=0009.log").write_text(f"token {KEY}\n")
    record.finish("complete")
    assert main(["verify", str(record.path)]) == 6
    out = capsys.readouterr().out
    assert "- logs/launch=0009.log: holds what looks like a secret" in out
    assert KEY not in out


def test_a_damaged_record_returns_6_and_names_every_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = sealed(tmp_path)
    (path / "logs/launch=0000.log").write_text("other")
    (path / "tables/steps/launch=0001/part-0.parquet").unlink()
    assert main(["verify", str(path)]) == 6
    head, problems = capsys.readouterr().out.split("Problems")
    assert flat(head) == flat(f"2 PROBLEMS {path}")
    damaged = ["logs/launch=0000.log", "tables/steps/launch=0001/part-0.parquet"]
    assert re.findall(r"^- ([^:\n]+)", problems, re.MULTILINE) == damaged
    assert main(["verify", str(path), "--junit", "--output", "-"]) == 6
    assert 'failures="2"' in capsys.readouterr().out


def test_an_unsealed_record_returns_6_and_names_the_next_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = unfinished(tmp_path).path
    assert main(["verify", str(path)]) == 6
    assert "`assay resume" in " ".join(capsys.readouterr().out.split())


def test_the_default_is_the_latest_record(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    path = sealed(tmp_path / "records")
    monkeypatch.chdir(tmp_path)
    assert main(["verify"]) == 0
    assert capsys.readouterr().out.startswith(f"INTACT  records/{path.name}\n")


def test_a_record_below_another_root_is_found_by_name_prefix(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = sealed(tmp_path)
    assert main(["verify", "digits", "--root", str(tmp_path)]) == 0
    assert path.name in flat(capsys.readouterr().out)


def test_a_missing_record_is_one_sentence_on_stderr(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(tmp_path / "nothing")]) == 6
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("error: ")
    assert "does not exist" in printed.err
    assert printed.err.count("\n") == 1
