"""A record stands wherever an experiment's file does: same keys, same script, and flags on top."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import pytest

from fireassay.cli.support.experiment_of_record import use_record


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
