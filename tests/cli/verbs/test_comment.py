"""`assay comment`: from a file to one comment, with an exit code a job can act on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fireassay.cli import main
from tests.api.ci.forge import TOKEN, Fake, serving


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with a verdict, in a job of a pull request."""
    (tmp_path / "event.json").write_text(json.dumps({"pull_request": {"number": 7}}))
    monkeypatch.setenv("GITHUB_EVENT_PATH", str(tmp_path / "event.json"))
    monkeypatch.setenv("GITHUB_REPOSITORY", "owner/name")
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    file = tmp_path / "comment.md"
    file.write_text("### PASS\n")
    return file


def test_a_verdict_is_posted_and_its_address_is_printed(
    job: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(Fake()) as fake:
        monkeypatch.setenv("GITHUB_API_URL", fake.address)
        assert main(["comment", str(job)]) == 0
        assert capsys.readouterr().out == f"{fake.address}/c/0\n"
        assert "### PASS" in fake.comments[0]["body"]


def test_a_missing_file_is_bad_input_and_a_dead_api_is_not(
    job: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["comment", str(job.parent / "none.md")]) == 2
    assert "assay gate --markdown FILE" in capsys.readouterr().err
    monkeypatch.setattr("fireassay.api.ci.comments.time.sleep", lambda _: None)
    with serving(Fake()) as fake:
        monkeypatch.setenv("GITHUB_API_URL", fake.address)
    monkeypatch.setattr("fireassay.api.ci.comments.post.__defaults__", (lambda _: None,))
    assert main(["comment", str(job)]) == 7
    shown = capsys.readouterr().err
    assert "Run the job again later" in " ".join(shown.split())
    assert TOKEN not in shown
