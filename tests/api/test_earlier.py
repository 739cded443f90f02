"""A record stands for the addresses of its load: same keys, and flags on top."""

from __future__ import annotations

from pathlib import Path

import pytest

from fireassay.api.experiment_run import recorded_load
from fireassay.errors import SpecError


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
