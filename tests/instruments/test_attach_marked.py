"""A script that marks its own steps has the last word, wherever it imports torch: its steps are not counted a second time."""

from __future__ import annotations

import sys

import pytest

from fireassay import probe
from fireassay.instruments import attach


def waiting() -> list[object]:
    return [finder for finder in sys.meta_path if type(finder).__name__ == "Waits"]


def test_after_the_probe_was_started_torch_is_no_longer_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """`probe.start()` first and `import torch` later: the hooks would go in then, beside the script's own marks."""
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    left_by_others = waiting()
    monkeypatch.setattr(sys, "meta_path", [finder for finder in sys.meta_path if finder not in left_by_others])
    attach.arm()
    assert len(waiting()) == 1
    probe.start()
    assert waiting() == []


def test_scores_alone_leave_the_hooks_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """A script that marks nothing but its scores is measured by the hooks to its end."""
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.setattr(sys, "meta_path", [finder for finder in sys.meta_path if finder not in waiting()])
    attach.arm()
    probe.examples([1, 2], [True, False], metric="f1")
    assert len(waiting()) == 1


def test_scores_go_to_the_probe_of_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[object, ...]] = []

    class Records(probe.Probe):
        def examples(self, ids: object, scores: object, **more: object) -> None:
            told.append((ids, scores, more))

    monkeypatch.setattr(probe, "started", Records)
    probe.examples([1], [0.5], metric="f1", cluster=["q"])
    assert told == [([1], [0.5], {"metric": "f1", "cluster": ["q"]})]
