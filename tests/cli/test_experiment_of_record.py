"""A record stands wherever an experiment's file does: same keys, same script, and flags on top."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import pytest

from fireassay.cli.support.experiment_of_record import recorded_load, use_record
from fireassay.errors import SpecError


def asked(name: str | None, root: Path) -> argparse.Namespace:
    return argparse.Namespace(experiment=name, root=root)


@pytest.fixture
def records(tmp_path: Path) -> Path:
    folder = tmp_path / "records" / "vit-20261126T000000Z-77ab01"
    folder.mkdir(parents=True)
    (folder / "experiment.toml").write_text('name = "vit"\n')
    script = tmp_path / "scripts"
    script.mkdir()
    (folder / "manifest.json").write_text(
        f'{{"format_version": 1, "id": "vit", "environment": {{"before": {{"script": {{"folder": "{script}"}}}}}}}}'
    )
    return tmp_path / "records"


def test_a_records_id_is_its_experiment_with_the_folder_of_its_script(records: Path, tmp_path: Path) -> None:
    arguments = asked("77ab01", records)
    assert use_record(arguments)
    assert arguments.experiment == str(records / "vit-20261126T000000Z-77ab01" / "experiment.toml")
    assert arguments.script_folder == tmp_path / "scripts"


def test_a_script_that_is_gone_is_looked_for_here(records: Path, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "scripts")
    arguments = asked("77ab01", records)
    assert use_record(arguments)
    assert arguments.script_folder == Path()


@pytest.mark.parametrize("name", [None, "vit.toml", "train.py", "nothing"])
def test_anything_else_stays_what_it_was(name: str | None, records: Path) -> None:
    arguments = asked(name, records)
    assert not use_record(arguments)
    assert arguments.experiment == name


def load_record(root: Path, *, toml: str = '[serving]\nmodel = "m"\n', foreign: str = "null") -> Path:
    folder = root / "llm-20261126T000000Z-5c07aa"
    folder.mkdir(parents=True)
    (folder / "experiment.toml").write_text(toml)
    (folder / "manifest.json").write_text(f'{{"format_version": 1, "id": "llm", "foreign": {foreign}}}')
    return root


def test_a_record_stands_for_the_addresses_of_its_load(tmp_path: Path) -> None:
    found = recorded_load(["5c07aa"], load_record(tmp_path))
    assert found is not None
    assert found.data == {"serving": {"model": "m"}}


@pytest.mark.parametrize("words", [["http://5c07aa"], ["a=http://x:1"], ["localhost:8000"], ["5c07aa", "5c07aa"], ["nothing"]])
def test_an_address_is_no_record(words: list[str], tmp_path: Path) -> None:
    assert recorded_load(words, load_record(tmp_path)) is None


def test_a_record_of_another_kind_is_refused_with_the_verb_that_repeats_it(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="assay run 5c07aa"):
        recorded_load(["5c07aa"], load_record(tmp_path, toml='name = "vit"\n'))


def test_what_another_program_sent_cannot_be_sent_again(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="another program sent"):
        recorded_load(["5c07aa"], load_record(tmp_path, foreign='{"tool": "vllm"}'))
