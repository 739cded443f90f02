"""How is an evaluation made, in the terms of Hoefler and Belli's rules?  Its sample are items, not launches."""

from __future__ import annotations

from typing import Final

from fireassay.frames.evaluation.item_scores import requested
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.verdict.judging import Methods, RuleAnswer


def _normal(_: RecordData, __: Results) -> RuleAnswer:
    return "kept", "shares have Wilson's interval, means one that is corrected for skewness, other scores are resampled over items", ""


def _comparison(measured: RecordData, _: Results) -> RuleAnswer:
    if len(measured.configurations) < 2:
        return "not applicable", "one configuration only", ""
    if measured.experiment.quality is None:
        return "in part", "the sides answered the same items; without a margin no change was tested", "give a margin beforehand: --margin"
    return "kept", "the same items at both sides are paired, whole clusters together, against a margin that was fixed beforehand", ""


def _statistic(measured: RecordData, _: Results) -> RuleAnswer:
    return (
        "kept",
        f"{len(requested(measured))} scores over items are reported beside failures, answers cut off and those without a result",
        "",
    )


def _bounds(_: RecordData, __: Results) -> RuleAnswer:
    return (
        "in part",
        "shown against guessing where its score is known; no upper bound of these items was measured",
        "have people answer them",
    )


METHODS: Final = Methods(
    answers={6: _normal, 7: _comparison, 8: _statistic, 11: _bounds},
    launches="every side once, in random order; the items are the sample",
    run_times="per launch",
)
