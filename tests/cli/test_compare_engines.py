"""`assay compare RECORD`: one record of several engines compares them, at the largest load or the one named."""

from __future__ import annotations

from pathlib import Path

import pytest

from fireassay.cli import main
from tests.serving_made import seal, simulated
from tests.tiers import some

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("judged_once")]


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two engines at two loads; one engine."""
    root = tmp_path_factory.mktemp("records")
    two = simulated(rate=(4.0, 8.0), engines=("a", "b"), blocks=3, seconds=4.0, name="two").measured()
    one = simulated(rate=(4.0, 8.0), blocks=3, seconds=4.0, name="one").measured()
    return {"two": seal(two, root), "one": seal(one, root)}


def say(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    code = main(["compare", *words, "--full"])
    out, err = capsys.readouterr()
    return code, out + err


@pytest.mark.parametrize(
    ("at", "load"), some([((), "8"), (("--at", "4"), "4"), (("--at", "rate=4"), "4"), (("--at", "engine=b rate=4"), "4")], rows=True)
)
def test_engines_of_one_record_are_compared_at_a_load(
    capsys: pytest.CaptureFixture[str], records: dict[str, Path], at: tuple[str, ...], load: str
) -> None:
    code, said = say(capsys, str(records["two"]), *at)
    assert code in (0, 4)
    assert f"At rate={load}: b against a" in " ".join(said.split())


@pytest.mark.parametrize(("at", "words"), [("7", "one of 4, 8"), ("rate=fast", "a load, for example 8")])
@pytest.mark.deep
def test_a_load_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str], records: dict[str, Path], at: str, words: str) -> None:
    code, said = say(capsys, str(records["two"]), "--at", at)
    assert code == 2
    assert words in said


def test_two_configurations_are_compared_as_before(capsys: pytest.CaptureFixture[str], records: dict[str, Path]) -> None:
    code, said = say(capsys, str(records["two"]), "--at", "engine=a rate=4", "--at", "engine=a rate=8")
    assert code in (0, 4)
    assert "engine=a rate=8 against engine=a rate=4" in " ".join(said.split())


def test_a_record_of_one_engine_needs_something_to_be_compared_with(capsys: pytest.CaptureFixture[str], records: dict[str, Path]) -> None:
    code, said = say(capsys, str(records["one"]))
    assert code == 2
    assert "one record" in said
