"""A folder may be called anything: no verb lets its name steer a terminal."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
from pathlib import Path

import pytest

from fireassay.cli import main
from fireassay.printable import json_text, printable
from tests.record.making import sealed, unfinished
from tests.tiers import some

pytestmark = pytest.mark.slow


# Red, the window's title, C1's one-byte CSI, right-to-left override, a line that hides itself, a bell.
NAME = "x\x1b[31m\x1b]0;owned\x07\x9b2J\u202egnp.exe\u2066\rintact"
STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of records, one whole, one damaged, one unfinished, all called so."""
    monkeypatch.chdir(tmp_path)
    found = tmp_path / NAME
    for made, to in ((sealed(tmp_path / "a"), "whole"), (sealed(tmp_path / "b"), "bad"), (unfinished(tmp_path / "c").path, "open")):
        shutil.move(made, found / f"{to}{NAME}")
    (found / f"bad{NAME}" / "manifest.json").write_text("{")
    (found / f"whole{NAME}" / f"logs{NAME}").write_text("added")
    return found


VERBS = (
    ("list", "ROOT"),
    ("list", "ROOT", "--json"),
    ("list", "--store", "ROOT"),
    ("list", "ROOT/nowhere"),
    ("verify", "ROOT/whole"),
    ("verify", "ROOT/bad"),
    ("verify", "ROOT/open"),
    ("report", "ROOT/whole"),
    ("report", "ROOT/whole", "--html"),
    ("report", "ROOT/bad"),
    ("report", "ROOT/whole", "--json"),
    ("report", NAME),
    ("resume", "ROOT/whole"),
    ("resume", "ROOT/bad"),
    ("compare", "ROOT/whole", "ROOT/open"),
    ("check", "ROOT/whole", "--against", "ROOT"),
    ("import", "ROOT/whole"),
    ("audit", "ROOT/whole"),
    ("sign", "ROOT/whole", "--key", f"key{NAME}"),
    ("reproduce", "ROOT/whole", "--dry-run"),
    ("run", f"{NAME}.toml"),
    (f"ver{NAME}",),
    ("verify", f"--{NAME}"),
    ("rubric", f"{NAME}.csv"),
    ("tune", f"{NAME}.toml"),
)


@pytest.mark.parametrize("words", some(VERBS, 8), ids=lambda words: " ".join(words).encode("ascii", "ignore").decode()[:24])
def test_no_verb_lets_a_name_steer_the_terminal(words: tuple[str, ...], root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    filled = [re.sub(r"ROOT(/\w+)?", lambda m: f"{root}{m[1] + NAME if m[1] else ''}", word) for word in words]
    with contextlib.suppress(SystemExit):
        main(filled)
    out, err = capsys.readouterr()
    assert out + err
    assert STEERS.search(out + err) is None
    assert "defect in assay" not in err


def test_json_says_the_same_text_without_a_letter_that_steers() -> None:
    text = json_text(json.dumps({"name": NAME, "emoji": "🙂 ä"}, ensure_ascii=False))
    assert STEERS.search(text) is None
    assert json.loads(text) == {"name": NAME, "emoji": "🙂 ä"}
    assert "🙂" in text


def test_printable_leaves_words_alone() -> None:
    assert printable("ä × 漢字 🙂\t\n") == "ä × 漢字 🙂\t\n"
