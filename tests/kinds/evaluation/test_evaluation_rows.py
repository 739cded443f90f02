"""Are subgroups, flips and outcomes those of the items?"""

from __future__ import annotations

import pytest

from fireassay.estimates.estimate import Estimate
from fireassay.kinds.evaluation.evaluation_rows import rows
from fireassay.kinds.evaluation.gates import POINTS, words
from fireassay.kinds.evaluation.groups import change_of
from fireassay.kinds.evaluation.held import Held
from fireassay.reports.page import number, one_line
from fireassay.spec.experiment import Quality
from fireassay.stats.comparing.noninferiority import Decision
from tests.answered import rows as answered
from tests.answered import scored

LABELS = {"answers=a": "a", "answers=b": "b"}


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> object:
    language = ["de", "en"] * 20
    a = answered(["yes"] * 40, language=language)
    b = answered(["no", "yes"] * 3 + ["yes"] * 32 + [None, "   "], language=language)
    measured = scored(tmp_path_factory.mktemp("rows"), {"a": a, "b": b}, margin=0.02, fields={"groups": ["language"]}, most_failed=0.1)
    return rows(measured, LABELS)


def test_a_subgroup_has_its_own_score(shown: object) -> None:
    groups = {row.label: row.values for row in shown.groups}  # type: ignore[attr-defined]
    assert set(groups) == {"de", "en"}
    de, en = groups["de"]["answers=b"], groups["en"]["answers=b"]
    assert isinstance(de, Estimate)
    assert isinstance(en, Estimate)
    assert de.value == pytest.approx(16 / 19)  # one of twenty was not answered
    assert en.value == pytest.approx(19 / 20)  # one of twenty has no answer in its text


def test_flips_are_the_items_that_changed_with_both_texts(shown: object) -> None:
    flips = shown.flips  # type: ignore[attr-defined]
    assert [flip.item for flip in flips] == ["0", "2", "39", "4"]
    assert (flips[0].before, flips[0].after, flips[0].score_before, flips[0].score_after) == ("yes", "no", 1.0, 0.0)
    assert flips[0].reference == "yes"


def test_failures_and_no_answers_stand_beside_the_answered_items(shown: object) -> None:
    outcomes = {(row.column, row.outcome): row.items for row in shown.outcomes}  # type: ignore[attr-defined]
    assert outcomes == {("a", "ok"): 40, ("b", "ok"): 38, ("b", "missing"): 1, ("b", "NO_ANSWER"): 1}


def test_a_workbook_has_every_answer_with_its_score(shown: object) -> None:
    items = shown.items  # type: ignore[attr-defined]
    assert items.height == 80
    last = items.filter((items["item"] == "38") & (items["side"] == "b"))
    assert last.select("outcome", "text", "score exact_match").rows() == [("missing", None, None)]
    first = items.filter((items["item"] == "0") & (items["side"] == "b"))
    assert first.select("outcome", "references", "answer", "score exact_match").rows() == [("ok", '["yes"]', "no", 0.0)]


@pytest.mark.parametrize("estimate", [-0.0725, -0.0724999, -0.07250001, 0.0125, -0.0005, 0.5, 0.0])
@pytest.mark.parametrize("half", [0.0004, 0.0123, 0.0961])
def test_a_sentence_and_its_table_have_the_same_digits(estimate: float, half: float) -> None:
    decision = Decision(
        estimate=estimate,
        low=estimate - half,
        high=estimate + half,
        verdict="INCONCLUSIVE",
        worse_within_margin=False,
        items_needed=None,
        launches_needed=None,
        smallest_supported_margin=0.1,
        method="",
        items=400,
        clusters=None,
        alone=400,
    )
    held = Held(task="t", metric="exact_match", title="Exact match", decision=decision, better=1, worse=2, items=400, left=0, share=True)
    quality = Quality(metric="exact_match", margin=0.05)
    told = words(held, quality, 1)
    assert one_line(number(change_of(held, quality, 0.95), POINTS)) in told
