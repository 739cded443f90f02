"""Does a node's program give a rate or a reason for every test?"""

from __future__ import annotations

import json

import pytest

from fireassay.instruments.machine import node_tests
from fireassay.spec.fleet import TESTS


def test_every_declared_test_has_a_program() -> None:
    assert list(node_tests.RUN) == [test for test, declared in TESTS.items() if declared.of == "node"]


def test_a_rate_is_all_work_over_all_time_after_the_first_repetition() -> None:
    times = iter([10.0, 10.2, 10.4])
    calls: list[int] = []
    assert node_tests.rate_of(6.0, lambda: calls.append(1), 0.3, lambda: next(times)) == pytest.approx(30.0)
    assert len(calls) == 3


def test_a_test_that_fails_costs_only_itself(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def full() -> float:
        raise OSError(28, "No space left on device")

    monkeypatch.setitem(node_tests.RUN, "disk", full)
    monkeypatch.setitem(node_tests.RUN, "memory", lambda: 5.0)
    node_tests.main(["disk", "memory"])
    assert json.loads(capsys.readouterr().out) == {"disk": {"lack": "No space left on device"}, "memory": {"rate": 5.0}}


@pytest.mark.slow
@pytest.mark.parametrize("test", ["device", "copies"])
def test_a_test_of_the_gpu_measures_or_says_why_not(test: str, capsys: pytest.CaptureFixture[str]) -> None:
    torch = pytest.importorskip("torch")
    node_tests.main([test])
    found = json.loads(capsys.readouterr().out)[test]
    assert found["rate"] > 1e9 if torch.cuda.is_available() else found == {"lack": "torch finds no GPU"}


@pytest.mark.slow
@pytest.mark.parametrize("test", ["matrix", "memory", "disk"])
def test_the_tests_measure(test: str) -> None:
    assert node_tests.RUN[test]() > 1e6
