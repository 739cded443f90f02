"""Are prompts that a model read only in part counted?"""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from fireassay.kinds.evaluation.audits.images import examine_cut
from fireassay.runners.evaluating import pictures
from fireassay.verdict.types import Finding
from tests.answered import rows, scored
from tests.runners.evaluating import colour_model


@pytest.fixture(autouse=True)
def colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures.models, "load", colour_model.load)


def found(folder: Path, prompts: Sequence[str], **options: Any) -> list[Finding]:
    """Of one red image for each prompt."""
    into = BytesIO()
    Image.new("RGB", (8, 8), "red").save(into, "PNG")
    folder.mkdir(exist_ok=True)
    (folder / "x.png").write_bytes(into.getvalue())
    items = [{"id": number, "prompt": prompt, "image": "x.png"} for number, prompt in enumerate(prompts)]
    given = {"clipscore.model": "colours", "clipscore.template": "{}", **options}
    return list(examine_cut(scored(folder, {"a": items}, fields={"image": "image"}, metrics=["clipscore"], options=given), {}))


def test_texts_that_were_cut_are_counted(tmp_path: Path) -> None:
    """The model of this test marks texts of more than five words."""
    (finding,) = found(tmp_path, ["red", "one two three four five red", "a red"])
    assert (finding.rule, finding.severity) == ("cut_texts", "warning")
    assert finding.evidence == "CLIPScore saw only the beginning of the texts of 1 of 3 items"


def test_the_template_counts_too(tmp_path: Path) -> None:
    (finding,) = found(tmp_path, ["three words red"], **{"clipscore.template": "A photo depicts {}"})
    assert "1 of 1 item" in finding.evidence


def test_whole_texts_and_other_scores_are_no_finding(tmp_path: Path) -> None:
    assert found(tmp_path / "whole", ["red", "a red"]) == []
    assert list(examine_cut(scored(tmp_path / "texts", {"a": rows(["yes"])}), {})) == []
