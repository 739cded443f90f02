"""Faults that one worker's training has as well."""

from __future__ import annotations

import json

import pytest

from fireassay.verdict.judge import examine
from tests.handmade import Handmade

CHECKS = (0, 1, 2, 4, 8, 12)


def record(**prints: list[float | str]) -> Handmade:
    """One worker; what the first checks said."""
    made = Handmade(levels=(1,), blocks=1)
    number = made.launch(workers=1)
    for what, values in prints.items():
        for step, value in zip(CHECKS, values, strict=False):
            made.fingerprint(number, what, value, step=step)
    return made


def rules(made: Handmade, name: str) -> list[tuple[str, str]]:
    return [(one.rule, one.severity) for one in examine(made.measured(), name)]


@pytest.mark.parametrize(
    ("hashes", "right"),
    [
        ("abcdef", []),
        ("aaaaaa", [("parameters_never_change", "warning")]),
        ("abcccc", [("parameters_stop_changing", "warning")]),
        ("abcdee", []),  # one interval
        ("aaa", []),  # two steps: a scaler may have skipped them
    ],
)
def test_parameters_that_do_not_change_are_told(hashes: str, right: list[tuple[str, str]]) -> None:
    assert rules(record(parameter_hash=list(hashes), mode=["train"] * 6), "parameters_change") == right
    assert rules(record(parameter_hash=list(hashes)), "parameters_change") == []  # no optimizer of it stepped: another model's turn


def test_a_model_that_no_optimizer_holds_is_a_fault() -> None:
    made = record(parameter_hash=["a"] * 6, without_optimizer=[json.dumps(["w", "b"])] * 6, parameter_names=["w\nb"])
    assert rules(made, "parameters_change") == [("parameters_never_change", "fail")]


@pytest.mark.parametrize(("second", "right"), [("1" * 8, [("parameters_left_out", "warning")]), ("2" * 8, [])])
def test_a_layer_that_the_optimizer_lacks_is_told_unless_it_changes(second: str, right: list[tuple[str, str]]) -> None:
    each = ["0" * 8 + "1" * 8, "f" * 8 + "1" * 8, "e" * 8 + second]
    outside = [json.dumps(["head"])] * 3
    made = record(parameter_hash=list("abc"), parameter_hashes=[*each], without_optimizer=[*outside], parameter_names=["body\nhead"])
    made.rows["gradients"].append((0, 0, 0, 0, "head", 1, "float32", 0.5, [0.5], 0, 1, None))
    assert rules(made, "parameters_change") == right


@pytest.mark.parametrize(
    ("modes", "layers", "right"),
    [
        (["train", "train", "eval"], 1.0, [("evaluation_mode_left_on", "warning")]),
        (["train", "train", "eval"], 0.0, []),  # nothing depends on it
        (["eval", "eval", "eval"], 1.0, []),  # meant: it began so
        (["train", "eval", "train"], 1.0, []),  # switched back
    ],
)
def test_evaluation_mode_that_stays_on_is_told(modes: list[float | str], layers: float, right: list[tuple[str, str]]) -> None:
    assert rules(record(mode=modes, random_layers=[layers]), "evaluation_mode") == right


@pytest.mark.parametrize(
    ("old", "right"), [([2.0, 2.0, 2.0], [("gradients_never_cleared", "warning")]), ([2.0, 0.0, 2.0], []), ([2.0], [])]
)
def test_old_gradients_in_every_step_are_told(old: list[float | str], right: list[tuple[str, str]]) -> None:
    assert rules(record(old_gradients=old), "fresh_gradients") == right


@pytest.mark.parametrize(
    ("norms", "limit", "right"),
    [
        ([6e4, 5e4, 5e4], 1.0, [("clipped_while_scaled", "warning")]),
        ([0.6, 0.6, 5e4], 1.0, [("clipped_while_scaled", "warning")]),
        ([0.6, 0.6, 0.6], 1.0, []),  # nothing was clipped
        ([9e4, 9e4, 9e4], 65536.0, []),  # the limit is scaled as well
    ],
)
def test_clipping_of_scaled_gradients_is_told(norms: list[float | str], limit: float, right: list[tuple[str, str]]) -> None:
    made = record(clip_norm=norms, clip_limit=[limit] * 3, clip_scale=[65536.0] * 3)
    assert rules(made, "clipped_scaled") == right
    assert rules(record(clip_norm=norms, clip_limit=[limit] * 3), "clipped_scaled") == []


@pytest.mark.parametrize(
    ("largest", "limit", "right"),
    [
        ([0.01, 0.01, 3e4], 0.5, [("clipped_while_scaled", "warning")]),
        ([0.4, 0.4, 0.4], 0.5, []),  # nothing was clipped
        ([9e4, 9e4, 9e4], 32768.0, []),  # the limit is scaled as well
    ],
)
def test_clipping_of_scaled_gradients_by_value_is_told_as_that_by_norm_is(
    largest: list[float | str], limit: float, right: list[tuple[str, str]]
) -> None:
    made = record(clip_largest=largest, clip_value=[limit] * 3, clip_scale=[65536.0] * 3)
    found = list(examine(made.measured(), "clipped_scaled"))
    assert [(one.rule, one.severity) for one in found] == right
    for one in found:
        assert "clip_grad_value_ clipped gradients to 0.5 that a GradScaler had multiplied by 65,536" in one.evidence
        assert "their largest element was 0.458," in one.evidence  # 30,000 / 65,536
        assert one.remedy == "call scaler.unscale_(optimizer) before clip_grad_value_"
    assert rules(record(clip_largest=largest, clip_value=[limit] * 3), "clipped_scaled") == []


@pytest.mark.parametrize(("size", "right"), [(4, []), (8, [("one_batch_again_and_again", "note")])])
def test_one_batch_again_and_again_is_told_if_there_are_more(size: int, right: list[tuple[str, str]]) -> None:
    """Four rows of a data set of four are all of it, in every step."""
    text = json.dumps({"tensors": [["a", "b", "c", "d"]], "rows": 4, "of": size})
    assert rules(record(batch_contents=[text] * 4), "changing_batches") == right
