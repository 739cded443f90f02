"""Does the folder of a holder's socket go, however the holder ends?"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from fireassay.errors import EnvironmentLacks
from fireassay.launchers.support.held import Held
from tests.launchers.helpers import many_files

HOLDS = """
import json, pathlib, sys
order = json.loads(sys.stdin.readline())
(pathlib.Path(order["folder"]) / "socket").touch()
print("x" * 1_000_000, file=sys.stderr)
print(json.dumps({"order": order, "words": sys.argv}), flush=True)
sys.stdin.read()
sys.exit("last words")
"""


def test_the_folder_of_a_killed_holder_goes_when_the_nodes_are_given_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    held = Held("Ray", [sys.executable, "-c", HOLDS], ["ray", "status"], {})
    held.answer(lambda _: False)
    assert [path.name for path in tmp_path.glob("*/*")] == ["socket"]
    held.process.kill()
    assert held.has_ended(300)
    held.release()
    assert not list(tmp_path.iterdir())


def test_a_refusal_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    held = Held("Ray", [sys.executable, "-c", "import sys; sys.exit('no such cluster')"], ["ray", "status"])
    with pytest.raises(EnvironmentLacks, match="no such cluster"):
        held.answer(lambda _: False)
    assert not list(tmp_path.iterdir())


def test_an_order_is_no_argument_and_a_talkative_holder_is_not_blocked() -> None:
    """Arguments are seen by every user of the machine, and a pod's fields may hold a secret."""
    with many_files():
        held = Held("Ray", [sys.executable, "-c", HOLDS], ["ray", "status"], {"password": "correct-horse"})
        answer = held.answer(lambda _: False)
    assert (answer["order"]["password"], answer["words"]) == ("correct-horse", ["-c"])
    held._end()
    assert held.why() == "last words"
    held.release()
