"""`assay tune`: the faster setting is found, and what loses quality or does less work is not taken for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.cli import main
from assay.cli.tune import planned
from assay.cli.tuning import check, gain_of, survivors, varying, verdict
from assay.errors import SpecError
from assay.spec.load import from_mapping
from assay.spec.tune import Tune, choices, left_out
from assay.verdict.compared import Change, Comparison
from tests.builders import estimate

KNOBS = Path(__file__).with_name("knobs.py")


def asked(**changes: Any) -> dict[str, Any]:
    return {
        "name": "knobs", "workload": {"script": str(KNOBS), "arguments": ["{batch}", "{sloppy}", "{less}"]},
        "factor": {"levels": [1]}, "launcher": {"kind": "plain"}, "quality": {"metric": "accuracy", "margin": 0.02},
        "tune": {"knobs": {"batch": [2, 8], "sloppy": ["no", "yes"], "less": [0, 32]}}, **changes,
    }  # fmt: skip


TOML = """
name = "knobs"
workload = { script = "SCRIPT", arguments = ["{batch}", "{sloppy}", "{less}"] }
factor = { levels = [1] }
launcher = { kind = "plain" }
quality = { metric = "accuracy", margin = 0.02 }
[tune]
combine = "one"
first_blocks = 1
keep = 0.3
final_blocks = 3
[tune.knobs]
batch = [2, 8]
sloppy = ["no", "yes"]
less = [0, 32]
"""


@pytest.mark.survival
def test_the_faster_setting_is_found_and_nothing_is_traded_for_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tune.toml").write_text(TOML.replace("SCRIPT", str(KNOBS)))
    code = main(["tune", str(tmp_path / "tune.toml"), "--root", str(tmp_path / "records"), "--quiet", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert code == 0
    assert found["adopted"] == {"batch": 8, "sloppy": "no", "less": 0}
    assert "quality held" in found["sentence"]
    arms = {one["label"]: one for one in found["rounds"][0]["arms"]}
    assert set(arms) == {"today", "batch=8", "sloppy=yes", "less=32"}
    assert arms["less=32"]["out"] == "other work: 32 items in a launch with workers=1 instead of 64"
    assert arms["batch=8"]["gain"] > 2.0
    assert arms["batch=8"]["goes_on"]
    assert found["final"]["sides"]
    assert len(list((tmp_path / "records").glob("knobs-0-*"))) == 4
    assert len(list((tmp_path / "records").glob("knobs-1-*"))) == 2


# ---- what is tried out


def test_a_grid_holds_every_combination_and_one_at_a_time_every_value() -> None:
    three = Tune(knobs={"a": (1, 2, 3), "b": (1, 2)})
    assert [one.label for one in choices(three)] == ["today", "b=2", "a=2", "a=2 b=2", "a=3", "a=3 b=2"]
    single = Tune(knobs={"a": (1, 2, 3), "b": (1, 2)}, combine="one")
    assert [one.label for one in choices(single)] == ["today", "a=2", "a=3", "b=2"]
    few = Tune(knobs={"a": (1, 2, 3), "b": (1, 2)}, combine="grid", at_most=4)
    assert (len(choices(few)), left_out(few)) == (4, 2)
    assert [one.label for one in choices(Tune(knobs={"a": (1, 2, 3), "b": (1, 2)}, at_most=5))] == [
        "today",
        "a=2",
        "a=3",
        "b=2",
    ]


@given(st.dictionaries(st.integers(1, 50), st.floats(0.1, 10.0), max_size=20), st.floats(0.05, 0.95))
def test_the_best_share_goes_on_and_never_all(gains: dict[int, float], keep: float) -> None:
    kept = survivors(gains, keep)
    assert len(kept) == (max(1, int(len(gains) * keep)) if gains else 0)
    worst_kept = min((gains[one] for one in kept), default=0.0)
    assert all(gains[one] <= worst_kept for one in gains if one not in kept)


def test_a_dry_run_lists_the_arms() -> None:
    text = planned(Tune(knobs={"a": (1, 2, 3)}, at_most=2))
    assert "2 arms in the first round" in text
    assert "1 more are not tried out" in text


@pytest.mark.parametrize(
    ("tune", "words"),
    [
        (None, "tune: found nothing; allowed: knobs and their values"),
        ({"knobs": {"depth": [1, 2]}}, r"tune.knobs.depth: found \{depth\} in no argument.*--depth"),
        ({"knobs": {"seed": [1, 2]}}, "tune.knobs.seed: found 'seed'; allowed: another name"),
        ({"knobs": {"batch": [1]}}, "tune.knobs.batch: found 1; allowed: at least 2 values, the first of them today's"),
        ({"knobs": {"batch": [1, 1.0]}}, "tune.knobs.batch: found 1, 1; allowed: every value once"),
    ],
)
def test_knobs_that_turn_nothing_are_refused(tune: dict[str, Any] | None, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        check(from_mapping(asked(tune=tune) if tune else {k: v for k, v in asked().items() if k != "tune"}))


def test_another_verb_refuses_knobs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "tune.toml").write_text(TOML.replace("SCRIPT", str(KNOBS)))
    assert main(["run", str(tmp_path / "tune.toml"), "--root", str(tmp_path / "records"), "--quiet"]) == 2
    assert "assay tune FILE" in capsys.readouterr().err
    assert not (tmp_path / "records").exists()


def test_only_what_is_turned_is_studied() -> None:
    experiment = from_mapping(asked())
    assert experiment.tune is not None
    assert varying(experiment, experiment.tune) == (
        "conditions.batch",
        "conditions.sloppy",
        "conditions.less",
        "workload.arguments",
    )


# ---- the decision


def change(ratio: float, outcome: str, metric: str = "step_time") -> Change:
    value = estimate(1.0, 0.1, "s")
    return Change(
        metric=metric, configuration="workers=1", side="b", outcome=outcome, word=outcome, baseline=value, value=value,  # type: ignore[arg-type]
        ratio=ratio, low=ratio * 0.9, high=ratio * 1.1, p_value=0.01, p_adjusted=0.01, minimum_detectable_effect=0.05,
        launches_needed=None, primary=True, method="", sentence="",
    )  # fmt: skip


def test_a_time_that_falls_is_a_gain_that_rises() -> None:
    assert gain_of(change(0.5, "improved"), higher=False) == (2.0, pytest.approx(1 / 0.55), pytest.approx(1 / 0.45))
    assert gain_of(change(0.5, "worse"), higher=True)[0] == 0.5


@pytest.mark.parametrize(
    ("outcome", "quality", "adopts", "words"),
    [
        ("improved", "HELD", True, "quality held"),
        ("improved", "INCONCLUSIVE", False, "it is not shown that quality was held"),
        ("improved", "NOT_MEASURED", False, "quality was not measured"),
        ("improved", "DEGRADED", False, "stay with today's settings"),
        ("inconclusive", "HELD", False, "nothing was shown to be better"),
        ("worse", "HELD", False, "nothing was shown to be better"),
    ],
)  # fmt: skip
def test_nothing_is_adopted_without_quality(outcome: str, quality: str, adopts: bool, words: str) -> None:
    from assay.verdict.compared import Side
    from assay.verdict.judge import judge
    from tests.handmade import Handmade

    sides = []
    for label in ("today", "b"):
        made = Handmade(levels=(1,), blocks=3)
        for block in range(3):
            made.steps(made.launch(workers=1, block=block), seconds=[0.1] * 30, items=4)
        measured = made.measured()
        sides.append(Side(label=label, measured=measured, judgement=judge(measured)))
    final = Comparison(
        state="compared", sides=("today", "b"), varying=(), mismatches=(), refused=(), primary="step_time", configuration="workers=1",
        changes=(change(0.5, outcome),), table={}, quality={"b": quality}, confidence=0.95, floor=0.0, notes=(), sentence="As it was.",
    )  # fmt: skip
    adopted, sentence = verdict(final, sides, {"today": {"x": 1}, "b": {"x": 2}})
    assert (adopted == {"x": 2}) is adopts
    assert words in sentence
