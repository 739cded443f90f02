"""gradients: a scaled, another, or a merely rounded gradient; nothing where an earlier layer explains it."""

from __future__ import annotations

import pytest

from fireassay.metrics.metric import Results
from fireassay.verdict.audits.training.gradients import AUDIT
from tests.handmade import Handmade
from tests.metrics.gradients_made import Named, add
from tests.verdict.making import good, judged, rules

pytestmark = pytest.mark.slow


NOTHING: Results = {}
RIGHT: Named = {"w": [3.0, 4.0], "b": [0.5]}


def found(two: Named, **words: object) -> dict[str, str]:
    made = Handmade(levels=(1, 2), blocks=1)
    add(made, [RIGHT])
    add(made, [two, two], **words)  # type: ignore[arg-type]
    return {finding.rule: finding.severity for finding in AUDIT.examine(made.measured(), NOTHING)}


def test_a_scaled_gradient_is_a_failure() -> None:
    assert found({"w": [1.5, 2.0], "b": [0.25]}) == {"gradient_scaled": "fail"}


def test_another_gradient_is_a_failure_where_no_rounding_explains_it() -> None:
    assert found({"w": [3.0, 4.5], "b": [0.5]}) == {"gradient_differs": "fail"}
    assert found({"w": [3.0, 4.5], "b": [0.5]}, precision="float32") == {"gradient_differs": "fail"}
    assert found({"w": [3.0, 4.001], "b": [0.5]}, precision="float32") == {"gradient_differs": "warning"}  # 2e-4
    assert found({"w": [3.0, 4.5], "b": [0.5]}, precision="bfloat16") == {"gradient_differs": "warning"}


def test_rounding_and_an_equal_gradient_are_nothing() -> None:
    assert found(RIGHT) == {}
    assert found({"w": [3.0, 4.0 + 1e-6], "b": [0.5]}, precision="float32") == {}
    assert found({"w": [3.0, 4.0 + 1e-13], "b": [0.5]}) == {}


def test_what_another_start_explains_is_not_said_again() -> None:
    assert found({"w": [9.0, 9.0], "b": [0.5]}, start="another") == {}


def test_a_record_without_gradients_could_not_be_examined() -> None:
    made = good()
    assert AUDIT.blind is not None
    assert "probe.watch" in str(AUDIT.blind(made.measured(), NOTHING))
    assert "gradient_differs" not in rules(judged(made))
    compared = Handmade(levels=(1, 2), blocks=1)
    add(compared, [RIGHT])
    add(compared, [RIGHT, RIGHT])
    assert AUDIT.blind(compared.measured(), NOTHING) is None
