"""Can the answers of an evaluation be scored, and do they depend on the items?"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from fireassay import catalog
from fireassay.frames.evaluation.item_scores import item_scores, metric_named, tasks
from fireassay.frames.record_data import RecordData
from fireassay.kinds.evaluation.audits.answers import examine_unscored, loop_of
from fireassay.kinds.evaluation.gates import HELD
from fireassay.kinds.evaluation.held import Chance, chance_of
from fireassay.verdict.judge import judge
from tests.answered import rows, scored
from tests.importers.harnesses.read_back import LOGS, imported

# ---- uneven answers ----

UNEVEN_ANSWERS = catalog.load("verdict.audits", "uneven_answers")


@pytest.mark.parametrize(
    ("again", "evidence"), [([0, 3], ["2 of 4 items have more answers than the others"]), ([0, 1, 2, 3], []), ([], [])]
)
def test_items_that_are_in_a_file_twice_are_counted(again: list[int], evidence: list[str], tmp_path: Path) -> None:
    lines = rows(["yes", "no", "yes", "yes"])
    measured = scored(tmp_path, {"a": lines, "b": [*lines, *(lines[index] for index in again)]})
    assert [(found.configuration, found.evidence) for found in UNEVEN_ANSWERS.examine(measured, {})] == [
        ("answers=b", words) for words in evidence
    ]


# ---- degenerate answers ----
# Are answers that repeat themselves, each other, or stop at the token limit named, and healthy ones left alone?

DEGENERATE_ANSWERS = catalog.load("verdict.audits", "degenerate_answers")
HEALTHY = [f"The result of item {index} is {index * 37 % 101}, because of its parts." for index in range(40)]
LOOP = "I think so. " + "the cat " * 30


def ending(measured: RecordData, reasons: Sequence[str | None]) -> RecordData:
    """The record with why each answer ended."""
    answers = measured.table("answers").sort(pl.col("item").cast(pl.Int64))
    return replace(measured, tables={**measured.tables, "answers": answers.with_columns(pl.Series("finish_reason", reasons))})


def asked(texts: Sequence[str | None]) -> list[dict[str, object]]:
    """Items of which each wants another answer."""
    return [{**row, "reference": f"reference {row['id']}"} for row in rows(texts)]


def found(folder: Path, texts: Sequence[str | None]) -> list[str]:
    return [finding.evidence for finding in DEGENERATE_ANSWERS.examine(scored(folder, {"a": asked(texts)}), {})]


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("yes " * 8, "yes "),
        ("!" * 16, "!"),
        ("Sure, here it is: " + "that is the reason " * 9, "that is the reason "),
        ("Sure: " + "a b c " * 12 + "a b", "c a b "),  # cut inside of a turn
        ("דג " * 12, "דג "),
    ],
)
def test_a_loop_is_found_with_what_it_repeats(text: str, unit: str) -> None:
    loop = loop_of(text)
    assert loop in unit * 2
    assert len(loop) == len(unit)


@pytest.mark.parametrize("text", ["", "yes", "0.33333333", "no no no", *HEALTHY[:3], "a, b, c and a, b, c again; then a, b, d"])
def test_a_text_that_goes_on_has_no_loop(text: str) -> None:
    assert loop_of(text) == ""


def test_loops_in_a_tenth_of_the_answers_are_a_warning(tmp_path: Path) -> None:
    (finding,) = DEGENERATE_ANSWERS.examine(scored(tmp_path, {"a": rows([LOOP] * 4 + HEALTHY[4:])}), {})
    assert (finding.severity, finding.configuration) == ("warning", "answers=a")
    assert finding.evidence.startswith("of 40 answers 4 end in a loop, ")
    assert found(tmp_path / "fewer", [LOOP] * 3 + HEALTHY[3:]) == []


def test_one_text_for_most_items_is_a_warning_unless_it_is_what_they_ask_for(tmp_path: Path) -> None:
    (evidence,) = found(tmp_path / "same", ["I cannot help."] * 30 + HEALTHY[30:])
    assert evidence == 'of 40 answers 30 are the same text, "I cannot help."'
    assert list(DEGENERATE_ANSWERS.examine(scored(tmp_path / "right", {"a": rows(["yes"] * 40)}), {})) == []


def test_one_class_for_all_is_no_answer_to_two_classes(tmp_path: Path) -> None:
    even = [{"id": n, "answer": "yes", "reference": "yes" if n % 2 else "no"} for n in range(40)]
    (finding,) = DEGENERATE_ANSWERS.examine(scored(tmp_path, {"a": even}), {})
    assert "40 are the same text" in finding.evidence
    rare = [{"id": n, "answer": "yes", "reference": "no" if n % 4 == 0 else "yes"} for n in range(40)]
    assert list(DEGENERATE_ANSWERS.examine(scored(tmp_path / "rare", {"a": rare}), {})) == []


def test_repetitions_of_an_item_may_be_alike(tmp_path: Path) -> None:
    assert list(DEGENERATE_ANSWERS.examine(scored(tmp_path, {"a": asked(HEALTHY[:11]) + asked([HEALTHY[0]]) * 30}), {})) == []


def test_cut_answers_are_a_warning_unless_they_say_what_was_asked_for(tmp_path: Path) -> None:
    measured = scored(tmp_path / "cut", {"a": rows(HEALTHY)})
    (finding,) = DEGENERATE_ANSWERS.examine(ending(measured, ["length"] * 8 + ["stop"] * 32), {})
    assert finding.evidence == "of 40 answers 8 were cut at the token limit"
    assert "max_tokens" in finding.remedy
    assert list(DEGENERATE_ANSWERS.examine(ending(measured, ["length"] * 7 + ["stop"] * 33), {})) == []
    right = scored(tmp_path / "right", {"a": rows(["yes"] * 40)})
    assert list(DEGENERATE_ANSWERS.examine(ending(right, ["length"] * 40), {})) == []


@pytest.mark.parametrize("texts", [["no"], ["no"] * 9, [None] * 40, [" "] * 9])
def test_a_handful_of_answers_says_nothing(texts: list[str | None], tmp_path: Path) -> None:
    assert found(tmp_path, texts) == []


def test_each_side_is_named_and_failures_are_no_answers(tmp_path: Path) -> None:
    sides = {"a": asked([*HEALTHY[:39], None]), "b": asked([LOOP] * 39 + [None])}
    (finding,) = DEGENERATE_ANSWERS.examine(scored(tmp_path, sides, most_failed=0.1), {})
    assert finding.configuration == "answers=b"
    assert finding.evidence.startswith('of 39 answers 39 end in a loop, "')
    assert "39 are the same text" in finding.evidence


def test_white_space_alone_is_named(tmp_path: Path) -> None:
    assert found(tmp_path / "few", [*HEALTHY[:37], *["  \n "] * 3]) == []
    assert found(tmp_path / "some", [*HEALTHY[:36], *["  \n "] * 4]) == ["of 40 answers 4 are white space alone"]
    assert found(tmp_path / "all", ["\n"] * 40) == ["of 40 answers 40 are white space alone"]


def test_an_extractor_that_fits_nothing_is_named(tmp_path: Path) -> None:
    measured = scored(tmp_path, {"a": asked(["no digits here"[: 3 + index] for index in range(11)])}, extractor="last_number")
    (finding,) = DEGENERATE_ANSWERS.examine(measured, {})
    assert finding.evidence == "of 11 answers 11 hold no answer that the extractor finds"
    assert "--extract" in finding.remedy
    assert list(DEGENERATE_ANSWERS.examine(scored(tmp_path / "fits", {"a": asked(HEALTHY)}, extractor="last_number"), {})) == []


# ---- empty replies ----
# Are replies that a harness left empty counted, and too many of them inadmissible?

EMPTY_REPLIES = catalog.load("verdict.audits", "empty_replies")


@pytest.mark.parametrize(("empty", "most_failed", "severity"), [(1, 0.05, "warning"), (2, 0.05, "warning"), (3, 0.05, "invalid")])
def test_more_empty_replies_than_allowed_are_invalid(empty: int, most_failed: float, severity: str, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(LOGS / "lm_eval" / "answering", folder)
    next(folder.glob("samples_sums_gen_*")).unlink()
    file = next(folder.glob("samples_sums_plain_*"))
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    file.write_text("".join(f"{json.dumps(row | {'resps': [['']]} if row['doc_id'] < empty else row)}\n" for row in lines))
    (finding,) = EMPTY_REPLIES.examine(imported(tmp_path, folder, most_failed=most_failed), {})
    assert finding.severity == severity
    assert finding.evidence.startswith(f"{empty} of 40 replies are empty")


def test_our_own_records_have_outcomes_instead(tmp_path: Path) -> None:
    assert list(EMPTY_REPLIES.examine(scored(tmp_path, {"a": rows([None, " ", "yes"])}), {})) == []


# ---- unanswered items ----
# Does an evaluation with failures say how many, and when they are too many?

UNANSWERED_ITEMS = catalog.load("verdict.audits", "unanswered_items")


@pytest.mark.parametrize(("missing", "severity"), [(1, "warning"), (2, "warning"), (3, "invalid")])
def test_more_failures_than_allowed_are_invalid(missing: int, severity: str, tmp_path: Path) -> None:
    answers = [None] * missing + ["yes"] * (200 - missing)
    (finding,) = UNANSWERED_ITEMS.examine(scored(tmp_path, {"a": rows(answers)}), {})
    assert finding.severity == severity
    assert f"{missing} of 200 items were not answered" in finding.evidence


def test_the_limit_is_the_experiments(tmp_path: Path) -> None:
    measured = scored(tmp_path, {"a": rows([None] * 40 + ["yes"] * 60)}, most_failed=0.5)
    (finding,) = UNANSWERED_ITEMS.examine(measured, {})
    assert finding.severity == "warning"


def test_lines_of_a_file_without_an_answer_are_scored_again_and_no_engine_is_asked(tmp_path: Path) -> None:
    (finding,) = UNANSWERED_ITEMS.examine(scored(tmp_path, {"a": rows(["yes", None])}), {})
    assert (finding.severity, finding.remedy) == ("invalid", "find out why these lines have no answer, then score again")


def test_without_failures_there_is_nothing_to_say(tmp_path: Path) -> None:
    assert list(UNANSWERED_ITEMS.examine(scored(tmp_path, {"a": rows(["yes", "no"])}), {})) == []


# ---- insensitive items ----
# Does a reference at chance, or a pair of sides at the ceiling, never count as held?

INSENSITIVE_ITEMS = catalog.load("verdict.audits", "insensitive_items")


def pair(folder: Path, right: int, of: int, lost: int = 0, margin: float = 0.02) -> object:
    a = ["yes"] * right + ["no"] * (of - right)
    return scored(folder, {"a": rows(a), "b": rows(["no"] * lost + a[lost:])}, margin=margin)


@pytest.mark.parametrize(
    ("right", "words"), [(0, "is no better than nothing right, 0"), (8, "is within the margin of 0.02 of nothing right")]
)
def test_a_reference_that_gets_nothing_right_is_invalid(right: int, words: str, tmp_path: Path) -> None:
    judgement = judge(pair(tmp_path, right, 400))  # type: ignore[arg-type]
    (finding,) = [found for found in judgement.verdict.findings if found.rule == "insensitive_items"]
    assert judgement.verdict.status == "INVALID"
    assert (finding.severity, finding.configuration) == ("invalid", "answers=a")
    assert words in finding.evidence
    assert judgement.verdict.gates[0].status == "INCONCLUSIVE"  # never held


def test_both_sides_at_the_ceiling_are_undecided(tmp_path: Path) -> None:
    measured = pair(tmp_path, 400, 400)
    (finding,) = INSENSITIVE_ITEMS.examine(measured, {})  # type: ignore[arg-type]
    assert (finding.severity, finding.configuration) == ("warning", "answers=b")
    (result,) = HELD.check(measured, {})  # type: ignore[arg-type]
    assert result.status == "INCONCLUSIVE"
    assert "both sides have the highest Exact match on all 400 items" in result.sentence


@pytest.mark.parametrize(("right", "lost"), [(400, 1), (399, 0), (200, 0), (25, 0)])
def test_items_that_could_show_a_loss_are_left_alone(right: int, lost: int, tmp_path: Path) -> None:
    """One lost item of 400 at the ceiling shows that the items can tell the sides apart; 25 right ones have room for a loss of 3 margins."""
    assert list(INSENSITIVE_ITEMS.examine(pair(tmp_path, right, 400, lost), {})) == []  # type: ignore[arg-type]


def test_a_degraded_candidate_at_the_ceiling_of_its_reference_is_degraded(tmp_path: Path) -> None:
    assert judge(pair(tmp_path, 400, 400, lost=80)).verdict.status == "FAIL"  # type: ignore[arg-type]


def test_without_a_margin_nothing_is_decided_and_nothing_said(tmp_path: Path) -> None:
    assert list(INSENSITIVE_ITEMS.examine(scored(tmp_path, {"a": rows(["no"] * 50), "b": rows(["no"] * 50)}), {})) == []


def test_guessing_among_choices_is_known_from_the_items(tmp_path: Path) -> None:
    """Four choices, one right: 0.25."""
    entry = {"logprob": -1.0, "tokens": 1, "characters": 1, "bytes": 1, "scored_bytes": 1}
    side = [{"id": number, "answer": json.dumps([entry] * 4), "reference": "0"} for number in range(20)]
    measured = scored(tmp_path, {"a": side}, margin=0.02)
    made = replace(item_scores(measured, "answers=a", tasks(measured)[0], "exact_match"), metric=metric_named("acc"))
    assert chance_of(measured, tasks(measured)[0], made) == Chance(value=0.25, guessed=True)


@pytest.mark.parametrize("name", ["mcc", "pearson", "spearman"])
def test_a_correlation_of_nothing_is_0(name: str) -> None:
    assert metric_named(name).chance == 0.0


def test_a_reference_that_is_not_shown_to_beat_guessing_never_held(tmp_path: Path) -> None:
    """80 of 280 leads 0.25 by more than the margin, but Wilson's interval [0.236, 0.341] contains it."""
    side = rows(["yes"] * 80 + ["no"] * 200)
    measured = scored(tmp_path, {"a": side, "b": side}, margin=0.02, chance=0.25)
    assert list(INSENSITIVE_ITEMS.examine(measured, {})) == []
    (result,) = HELD.check(measured, {})
    assert result.status == "INCONCLUSIVE"
    assert "the reference is not shown to be better than guessing, 0.25" in result.sentence


def test_recorded_answers_that_are_all_given_again_are_held(tmp_path: Path) -> None:
    """The references are the reference side's own answers: its score of 1 says nothing of how hard the items are."""
    side = rows(["yes"] * 400)
    measured = scored(tmp_path, {"a": side, "b": side}, margin=0.02, own_references=True)
    assert list(INSENSITIVE_ITEMS.examine(measured, {})) == []
    (result,) = HELD.check(measured, {})
    assert result.status == "PASS"
    assert "against the reference side's own answers" in result.sentence


def test_recorded_answers_that_are_too_few_or_lost_are_not_held(tmp_path: Path) -> None:
    side, lost = rows(["yes"] * 400), rows(["no"] * 40 + ["yes"] * 360)
    for name, sides, status in (("lost", {"a": side, "b": lost}, "FAIL"), ("few", {"a": side[:100], "b": side[:100]}, "INCONCLUSIVE")):
        (result,) = HELD.check(scored(tmp_path / name, sides, margin=0.02, own_references=True), {})
        assert result.status == status


@pytest.mark.parametrize("number", ["nan", "inf", "1e308", "many"])
def test_answers_without_a_score_are_named(number: str, tmp_path: Path) -> None:
    answers = [{"id": index, "answer": number if index == 3 else str(index + index % 3), "reference": str(index)} for index in range(20)]
    measured = scored(tmp_path, {"a": answers}, metrics=["pearson"])
    (found,) = examine_unscored(measured, {})
    assert found.evidence == "no Pearson correlation of 1 answer, which the score leaves out of 20 items"
    assert list(examine_unscored(scored(tmp_path / "b", {"a": rows(["yes", None, "no"])}, most_failed=0.9), {})) == []
