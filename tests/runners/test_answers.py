"""Are files of answers scored as they are, and refused where they are not comparable?"""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fireassay.errors import SpecError
from fireassay.frames.evaluation.item_scores import item_scores
from fireassay.kinds.evaluation.held import held
from fireassay.quality.scoring import scoring
from fireassay.quality.scoring.scoring import extractor
from tests.answered import rows, scored
from tests.limits import PROCESS_S


def test_every_item_is_in_the_record_with_its_text_and_score(tmp_path: Path) -> None:
    measured = scored(tmp_path, {"a": rows([" yes ", None, "  "])})
    answers = measured.table("answers").sort("item")
    assert answers["text"].to_list() == [" yes ", None, "  "]
    assert answers["outcome"].to_list() == ["ok", "missing", "ok"]
    assert answers["answer"].to_list() == ["yes", None, None]
    assert [answers[name][0] for name in ("rule", "begin", "end")] == ["whole", 1, 4]
    assert json.loads(answers["references"][0]) == ["yes"]
    scores = measured.table("scores").sort("item")
    assert scores["item"].to_list() == ["0", "2"]
    assert scores["score"].to_list() == [1.0, 0.0]


def test_what_moves_a_score_is_in_the_record(tmp_path: Path) -> None:
    facts = scored(tmp_path, {"a": rows(["yes"])}).before["evaluation"]["tasks"]["answers"]
    assert facts["metrics"] == {"exact_match": "metric:exact_match|impl:fireassay@2|strip:yes|case:mixed|nfkc:no|refs:any"}
    assert facts["extractor"] == "extract:whole@2"
    assert set(facts["files"]) == {"a"}
    assert len(facts["files"]["a"]) == 64


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (rows(["yes"] * 3), "items that the other file lacks: 1 ('2')"),
        (rows(["yes"] * 2, reference="no"), "other references: 2 ('0', '1')"),
    ],
)
def test_sides_that_were_asked_different_things_are_refused(other: list[dict[str, object]], words: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError) as refused:
        scored(tmp_path, {"a": rows(["yes"] * 2), "b": other})
    assert words in str(refused.value)
    assert not (tmp_path / "records").exists()


def test_the_items_that_every_file_has_are_compared_on_request(tmp_path: Path) -> None:
    """The second file has half of the items, in another order; its wrong answer is that to the item 0."""
    whole, half = rows(["yes"] * 8), rows(["no", "yes", "yes", "yes"])[::-1]
    with pytest.raises(SpecError, match="Add --common to compare the 4 items that every file has"):
        scored(tmp_path / "refused", {"a": whole, "b": half})
    (found,) = held(scored(tmp_path, {"a": whole, "b": half}, common=True), "answers=b")
    assert (found.items, found.worse, found.better, found.missing) == (4, 1, 0, 0)


@pytest.mark.parametrize(("field", "words"), [("cluster", "other clusters"), ("weight", "other weights"), ("group", "other groups")])
def test_sides_whose_items_belong_or_count_otherwise_are_refused(field: str, words: str, tmp_path: Path) -> None:
    """Only the first file's would count, so that the order of the files would decide."""
    before, after = ([{**row, field: 1 + index % 2 * first} for index, row in enumerate(rows(["yes"] * 4))] for first in (0, 1))
    fields = {"groups": ["group"]} if field == "group" else {field: field}
    with pytest.raises(SpecError) as refused:
        scored(tmp_path, {"a": before, "b": after}, fields=fields)
    assert f"{words}: 2 ('1', '3')" in str(refused.value)
    assert scored(tmp_path, {"a": before, "b": before}, fields=fields).configurations


def test_an_option_of_no_score_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"evaluation.options.exact_match.stem"):
        scored(tmp_path, {"a": rows(["yes"])}, options={"exact_match.stem": True})


def voted(*answers: str, reference: str = "7") -> list[dict[str, object]]:
    return [{"id": index, "answer": f"5 or so. Final: {one}", "reference": reference} for index, of in enumerate(answers) for one in of]


@pytest.mark.parametrize(("answers", "right"), [(("779", "997"), [1.0, 0.0]), (("79", "97"), [1.0, 0.0]), (("7?9", "???"), [1.0, 0.0])])
def test_the_majority_of_an_items_answers_is_its_answer(answers: tuple[str, ...], right: list[float], tmp_path: Path) -> None:
    """Of two that are as frequent the first; one in which nothing is found has no vote."""
    measured = scored(tmp_path, {"a": voted(*answers)}, extractor=r"regex:Final: (\d)", majority=True)
    found = item_scores(measured, "answers=a", "answers", "exact_match")
    assert found.metric.item_scores(found.rows).tolist() == right
    without = scored(tmp_path / "mean", {"a": voted("779", "997")}, extractor=r"regex:Final: (\d)")
    assert item_scores(without, "answers=a", "answers", "exact_match").value == 0.5


@pytest.mark.parametrize(
    ("pattern", "answer"),
    [(r"Final: (\d+)|is (\d+)", "9"), (r"\d", "9"), (r"<b>(.*)</b>", "a b"), (r"x(y)?", "x"), ("nowhere", None), (r"Final:( *)", None)],
)
def test_a_pattern_of_ones_own_finds_its_last_match(pattern: str, answer: str | None) -> None:
    found = extractor(f"regex:{pattern}").extract("<think>Final: 1</think>It is 8. x <b> a b </b> Final: 9", ())
    assert (found.answer, found.rule) == (answer, "regex" if answer else "none")


def test_a_pattern_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="a regular expression of Python: missing"):
        scored(tmp_path, {"a": rows(["yes"])}, extractor="regex:(")


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$"])
def test_a_text_that_a_pattern_would_divide_in_every_way_has_no_verdict_and_the_others_a_score(
    pattern: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scoring, "MAX_PATTERN_S", 0.05)
    measured = scored(tmp_path, {"a": rows(["aaa", "a" * 60 + "b", "x"])}, extractor=f"regex:{pattern}")
    found = measured.table("answers").sort("item")
    assert found["outcome"].to_list() == ["ok", "no verdict: the expression took longer than 0.05 s", "ok"]
    assert measured.table("scores")["item"].n_unique() == 2


def test_a_line_whose_request_failed_is_missing_and_one_that_was_cut_is_said_to_be(tmp_path: Path) -> None:
    lines = rows(["yes", "", "no"], error=[None, "timeout", ""], finish_reason=["stop", None, "max_tokens"])
    found = scored(tmp_path, {"a": lines}).table("answers").sort("item")
    assert found["outcome"].to_list() == ["ok", "missing", "ok"]
    assert found["finish_reason"].to_list() == ["stop", None, "length"]


@pytest.mark.slow
def test_a_pattern_that_does_not_end_is_one_items_outcome_in_any_thread() -> None:
    """Python receives signals in its main thread only."""
    texts = ["Final: 7", "a" * 40 + "!", None]
    patterned = extractor(r"regex:(\d+)|(?:a+)+$")
    with ThreadPoolExecutor(1) as other:
        found = other.submit(scoring.found, patterned, texts, [()] * 3).result(timeout=PROCESS_S)
    assert found[0] == patterned.extract("Final: 7", ())
    assert [None if one is None else scoring.outcome("ok", one) for one in found] == [
        "ok",
        "no verdict: the expression took longer than 2 s",
        None,
    ]
