"""`fireassay.time`: functions that a fresh process finds are timed, all others are refused with the fix."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from types import ModuleType

import pytest

import fireassay
from fireassay.api.timing import target_of
from fireassay.errors import SpecError
from fireassay.estimates.estimate import Estimate


def inner() -> None:
    """A function of a module that tests import."""


def test_a_function_is_timed_in_fresh_processes(tmp_path: Path) -> None:
    result = fireassay.time(json.dumps, [1, 2], sort_keys=True, launches=3, round_s=0.005, root=tmp_path)
    assert isinstance(result.estimate, Estimate)
    assert result.estimate.n_launches == 3
    assert 0.0 < result.estimate.value < 0.1
    assert result.record.sealed
    assert str(result).startswith("json:dumps\n  time ")


@pytest.mark.deep
def test_a_module_beside_the_script_is_found_wherever_the_work_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "assay_time_work.py").write_text("def step(n):\n    return sum(range(n))\n")
    monkeypatch.syspath_prepend(folder)
    import importlib

    work = importlib.import_module("assay_time_work")
    result = fireassay.time(work.step, 10, launches=3, round_s=0.002, root=tmp_path / "records")
    assert isinstance(result.estimate, Estimate)


class Machine:
    def step(self) -> None:
        """A method of an object, which no fresh process has."""


def test_a_method_of_an_object_is_refused_before_anything_is_started() -> None:
    with pytest.raises(SpecError, match="step of an object, which a fresh process does not have"):
        fireassay.time(Machine().step)


def test_a_lambda_is_refused() -> None:
    with pytest.raises(SpecError, match=r"Define it with def step"):
        fireassay.time(lambda: None)


def test_a_function_of_the_main_script_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inner, "__module__", "__main__")
    with pytest.raises(SpecError, match=r'fireassay.time\("work:inner"\)'):
        fireassay.time(inner)


def test_a_partial_is_refused() -> None:
    with pytest.raises(SpecError, match="has no name"):
        fireassay.time(partial(print, 1))


def test_another_object_under_that_name_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("assay_replaced")
    module.step = print  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "assay_replaced", module)

    def step() -> None:
        pass

    step.__module__, step.__qualname__ = "assay_replaced", "step"
    with pytest.raises(SpecError, match="another object"):
        target_of(step)


@pytest.mark.parametrize("argument", [object(), float("nan"), (1, 2), {1: 2}])
def test_an_argument_that_json_cannot_hold_is_refused(argument: object) -> None:
    with pytest.raises(SpecError, match="JSON"):
        fireassay.time(json.dumps, argument)


def test_a_name_is_taken_as_it_is() -> None:
    assert target_of("work:step") == ("work:step", None)
    assert target_of(json.dumps) == ("json:dumps", None)
