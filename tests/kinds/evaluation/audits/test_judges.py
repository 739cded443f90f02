"""Is a judge that nobody checked, that says little, or that judges itself named?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from fireassay.frames.record_data import RecordData
from fireassay.kinds.evaluation.audits.judges import AUDITS
from fireassay.verdict.judge import judge
from fireassay.verdict.types import Finding
from tests.kinds.evaluation.judged import by_worth, record
from tests.kinds.evaluation.test_judges import ITEMS, some, worths

pytestmark = pytest.mark.slow


def findings(measured: RecordData, rule: str) -> list[Finding]:
    (audit,) = (one for one in AUDITS if one.name == rule)
    return list(audit.examine(measured, {}))


@pytest.mark.parametrize(("labels", "said"), [(0, "no item labelled by people"), (12, "12 items labelled by people")])
def test_a_margin_without_labels_is_invalid_and_says_how_many_would_do(labels: int, said: str, tmp_path: Path) -> None:
    measured = record(tmp_path, worths(0.0), by_worth(), labels=some(labels) if labels else (), margin=0.12)
    (found,) = findings(measured, "judged_without_gold")
    assert (found.severity, found.configuration) == ("invalid", "answers=b")
    assert said in found.evidence
    assert "assay rate gold --record RECORD --items" in found.remedy
    assert "--gold gold/ratings.csv" in found.remedy
    assert judge(measured).verdict.status == "INVALID"


def test_without_a_margin_the_plain_number_comes_with_a_warning(tmp_path: Path) -> None:
    measured = record(tmp_path, worths(0.0), by_worth())
    (found,) = findings(measured, "judged_without_gold")
    assert found.severity == "warning"
    assert judge(measured).verdict.status == "MEASURED"


def test_with_labels_nothing_is_said(tmp_path: Path) -> None:
    measured = record(tmp_path, worths(0.0), by_worth(wrong=0.2), labels=some(100), margin=0.12)
    assert [finding for audit in AUDITS for finding in audit.examine(measured, {})] == []
    assert judge(measured).verdict.status == "PASS"


def test_few_clusters_with_labels_are_too_few(tmp_path: Path) -> None:
    clusters = ["one" if index in some(100) else f"c{index}" for index in range(ITEMS)]
    measured = record(tmp_path, worths(0.0), by_worth(), labels=some(100), margin=0.12, more={"cluster": clusters})
    assert findings(measured, "judged_without_gold")[0].severity == "invalid"


def test_labels_of_chosen_items_are_named(tmp_path: Path) -> None:
    a, b = worths(0.0).values()
    better = [index for index in range(ITEMS) if b[index] > a[index]]
    measured = record(
        tmp_path, worths(0.0), by_worth(), labels=(better + [index for index in range(ITEMS) if b[index] == a[index]])[:60], margin=0.12
    )
    (found,) = findings(measured, "gold_not_sampled")
    assert found.severity == "warning"
    assert "no random sample" in found.evidence


def test_too_many_judgements_that_cannot_be_read_are_invalid(tmp_path: Path) -> None:
    says = by_worth()

    def refuses(answers: Sequence[str], request: str) -> str | int:
        return "no" if "Question 1" in request else says(answers, request)

    (found,) = findings(record(tmp_path, worths(0.0), refuses, labels=some(100)), "unread_judgements")
    assert (found.severity, found.configuration) == ("invalid", "answers=b")
    assert "NO_ANSWER" in found.evidence


@pytest.mark.parametrize(("model", "named"), [("org/B", ["answers=b"]), ("judge-1", [])])
def test_a_judge_of_its_own_answers_is_named(model: str, named: list[str], tmp_path: Path) -> None:
    measured = record(tmp_path, worths(0.0), by_worth(), labels=some(100), model=model)
    assert [found.configuration for found in findings(measured, "own_style")] == named
