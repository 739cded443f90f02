"""Is a function timed in trials that are long enough, with its arguments and without a pickle?"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fireassay.instruments.calls import function_calls
from tests.limits import PROCESS_S

BASE: dict[str, Any] = {"args": [], "kwargs": {}, "round_ns": 1, "trials": 3, "warm_up": 1, "calls": None, "device": "auto"}


def rows(tmp_path: Path, target: str, **asked: Any) -> list[dict[str, Any]]:
    job = {"target": target, "out": str(tmp_path / "lines"), **BASE, **asked}
    words = [sys.executable, "-m", "fireassay.instruments.calls.function_calls", json.dumps(job)]
    subprocess.run(words, check=True, timeout=PROCESS_S, cwd=tmp_path, capture_output=True)
    lines = [json.loads(line) for line in (tmp_path / "lines").read_text().splitlines()]
    assert lines[0]["floor"]["seconds"] > 0.0
    return [line["trial"] for line in lines[1:] if "trial" in line]


def test_the_calls_of_a_trial_are_doubled_until_it_is_long_enough(tmp_path: Path) -> None:
    found = rows(tmp_path, "math:sqrt", args=[2.0])
    searching = [row["calls"] for row in found if row["warm_up"]]
    assert searching[:-1] == [2**i for i in range(len(searching) - 1)]
    assert searching[-1] == searching[-2]  # the warm-up itself
    assert [row["calls"] for row in found if not row["warm_up"]] == [searching[-1]] * 3
    assert found[len(searching) - 2]["end_ns"] - found[len(searching) - 2]["begin_ns"] >= function_calls.least_ns()


def test_a_number_of_calls_that_is_known_is_kept(tmp_path: Path) -> None:
    found = rows(tmp_path, "math:sqrt", args=[2.0], calls=7)
    assert [(row["calls"], row["warm_up"]) for row in found] == [(7, 1), (7, 0), (7, 0), (7, 0)]


def test_arguments_reach_the_function(tmp_path: Path) -> None:
    (tmp_path / "work.py").write_text("def step(a, *, b):\n    assert (a, b) == ([1], {'c': None})\n")
    assert rows(tmp_path, "work:step", args=[[1]], kwargs={"b": {"c": None}}, calls=1)


def test_a_method_of_a_class_is_found() -> None:
    assert function_calls.found("json:JSONDecoder.decode") is json.JSONDecoder.decode


def test_what_cannot_be_called_is_refused() -> None:
    with pytest.raises(TypeError, match="math:pi is not callable: float"):
        function_calls.found("math:pi")


def test_a_trial_is_a_thousand_times_the_resolution_of_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    class Coarse:
        resolution = 0.015  # seconds, as on some systems

    monkeypatch.setattr(function_calls.time, "get_clock_info", lambda _: Coarse)
    assert function_calls.least_ns() == 15_000_000_000
