"""`assay audit` as it is typed: what is printed, what is written, and the exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fireassay.cli import main
from tests.records.make import HERE

CLAIMS = {"claims/eight_times.toml": 1, "claims/two_methods.toml": 1, "claims/tokens_per_second.toml": 1, "claims/sound.toml": 0}


def audit(capsys: pytest.CaptureFixture[str], *words: str, code: int) -> str:
    assert main(["audit", *words, "--full"]) == code
    return capsys.readouterr().out


@pytest.mark.parametrize(("name", "code"), CLAIMS.items())
def test_every_example_has_its_exit_code(repository: Path, capsys: pytest.CaptureFixture[str], name: str, code: int) -> None:
    text = audit(capsys, str(repository / "examples" / name), code=code)
    assert ("Sound as stated" in text) is (code == 0)


def test_a_claim_that_leaves_something_open_is_exit_code_4(tmp_path: Path, repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sound = (repository / "examples" / "claims" / "sound.toml").read_text()
    (tmp_path / "open.toml").write_text(sound.replace("warm_up_excluded = true\n", ""))
    assert "Not stated: it leaves open" in audit(capsys, str(tmp_path / "open.toml"), code=4)


@pytest.mark.slow
@pytest.mark.usefixtures("judged_once")
@pytest.mark.parametrize(
    ("name", "code", "words"), [("good", 4, "Clear ("), ("dropped_shard", 1, "samples_lost"), ("unsynced", 1, "gradients_not_synchronised")]
)
def test_a_record_has_the_exit_code_of_its_verdict(capsys: pytest.CaptureFixture[str], name: str, code: int, words: str) -> None:
    assert words in audit(capsys, str(HERE / name), code=code)


@pytest.mark.slow
@pytest.mark.usefixtures("judged_once")
def test_json_is_one_document_of_either(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = json.loads(audit(capsys, str(HERE / "good"), "--json", code=4))
    claim = json.loads(audit(capsys, str(repository / "examples" / "claims" / "sound.toml"), "--json", code=0))
    assert (record["kind"], record["status"], claim["kind"], claim["status"]) == ("record", "INCONCLUSIVE", "claim", "sound")
    assert record.keys() == claim.keys()


@pytest.mark.parametrize(("name", "begin"), [("a.md", "# "), ("a.json", "{"), ("a.txt", "SOUND  8 times")])
def test_the_output_file_says_the_form(tmp_path: Path, repository: Path, capsys: pytest.CaptureFixture[str], name: str, begin: str) -> None:
    claim = tmp_path / "claim.toml"
    claim.write_text((repository / "examples" / "claims" / "sound.toml").read_text().replace("On eight GPUs", "8 times"))
    assert audit(capsys, str(claim), "--output", str(tmp_path / name), code=0) == f"{tmp_path / name}\n"
    assert (tmp_path / name).read_text().startswith(begin)


def test_markdown_goes_to_stdout(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = audit(capsys, str(repository / "examples" / "claims" / "sound.toml"), "--markdown", code=0)
    assert text.startswith("# On eight GPUs")


def test_what_cannot_be_read_or_written_is_one_sentence(tmp_path: Path, repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", str(tmp_path / "none.toml")]) == 2
    assert "a TOML file that describes a claim" in capsys.readouterr().err
    assert main(["audit", "nothing", "--root", str(tmp_path)]) == 6
    claim = str(repository / "examples" / "claims" / "sound.toml")
    (tmp_path / "no").write_text("")
    assert main(["audit", claim, "--output", str(tmp_path / "no" / "file")]) == 6
    assert "Choose another path with --output" in capsys.readouterr().err


def test_an_experiment_is_no_claim(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", str(repository / "examples" / "digits.toml")]) == 2
    assert "claim: found nothing" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["--json", "--markdown", None])
def test_a_secret_in_a_claim_reaches_neither_the_answer_nor_an_error(
    tmp_path: Path, repository: Path, capsys: pytest.CaptureFixture[str], form: str | None
) -> None:
    planted = "sk-planted0123456789ABCDEF"
    unsound = (repository / "examples" / "claims" / "eight_times.toml").read_text()
    claim, wrong = tmp_path / "claim.toml", tmp_path / "wrong.toml"
    claim.write_text(unsound.replace('precision = "fp32"', f'precision = "{planted}"'))
    wrong.write_text(f'no_such_key = "{planted}"\n{unsound}')
    shown = audit(capsys, str(claim), *([form] if form else []), code=1)
    assert "[redacted]" in shown.replace("\\", "")
    assert planted not in shown
    assert main(["audit", str(wrong)]) == 2
    assert planted not in capsys.readouterr().err


@pytest.mark.parametrize("flags", [(), ("--efficiency", "0.9", "--deadline", "100"), ("--json",)])
def test_a_table_is_judged_as_rubric_does_it(repository: Path, capsys: pytest.CaptureFixture[str], flags: tuple[str, ...]) -> None:
    table = str(repository / "examples" / "rubric" / "scaling.csv")
    code = main(["rubric", table, *flags])
    expected = capsys.readouterr().out
    assert main(["audit", table, *flags]) == code
    assert capsys.readouterr().out == expected


def test_a_missing_table_is_not_looked_up_as_a_record(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "timings.csv"]) == 2
    assert "timings.csv" in (text := capsys.readouterr().err)
    assert "record" not in text


def test_a_flag_of_tables_is_refused_with_a_claim(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", str(repository / "examples" / "claims" / "sound.toml"), "--deadline", "60"]) == 2
    assert "--deadline: found a flag for tables" in capsys.readouterr().err
