"""Are lm-eval's scores of every item, and what it made of them, ours?  Real logs of 0.4.13: logs/README.md."""

from __future__ import annotations

import json
import math
import shutil
import statistics
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from fireassay.errors import SpecError
from fireassay.estimates.estimate import Estimate
from fireassay.frames.record_data import RecordData
from fireassay.kinds.evaluation.recorded import reported
from fireassay.verdict.judge import Judgement, judge
from tests.importers.harnesses.read_back import LOGS, Scores, imported, nothing_left, scores

REAL = LOGS / "lm_eval"
RUNS = ("tiny", "tiny-damaged", "answering", "failing")
SCORED = ("acc", "acc_norm", "exact_match")


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], RecordData]:
    """The record of a real run, made once."""
    return cache(lambda run: imported(tmp_path_factory.mktemp(run), REAL / run))


def theirs(folder: Path) -> Scores:
    """Every score in the lines of the samples, as lm-eval wrote them."""
    found: dict[tuple[str, str, int], dict[str, float]] = {}
    for file in folder.glob("samples_*.jsonl"):
        task = file.name.removeprefix("samples_").rpartition("_")[0]
        for line in file.read_text().splitlines():
            row = json.loads(line)
            for metric in SCORED:
                if metric in row:
                    name = metric if row["filter"] == "none" else f"{metric},{row['filter']}"
                    found.setdefault((task, str(row["doc_id"]), 0), {})[name] = row[metric]
    return found


def results_of(folder: Path) -> dict[str, Any]:
    (file,) = folder.glob("results_*.json")
    found: dict[str, Any] = json.loads(file.read_text())
    return found


def copied(tmp_path: Path, run: str, change: Callable[[dict[str, Any]], object] = lambda row: None, name: str = "run") -> Path:
    """A run with every line of its samples changed."""
    folder = tmp_path / name
    shutil.copytree(REAL / run, folder)
    for file in folder.glob("samples_*.jsonl"):
        rows = [json.loads(line) for line in file.read_text().splitlines()]
        for row in rows:
            change(row)
        file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return folder


def with_results(folder: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    (file,) = folder.glob("results_*.json")
    found = json.loads(file.read_text())
    change(found)
    file.write_text(json.dumps(found))
    return folder


def value(judgement: Judgement, name: str, side: str) -> float:
    estimate = judgement.results[name][f"answers={side}"]
    assert isinstance(estimate, Estimate)
    return estimate.value


@pytest.mark.parametrize("run", RUNS)
def test_every_score_of_every_item_is_the_one_that_lm_eval_logged(run: str, real: Callable[[str], RecordData]) -> None:
    wanted = theirs(REAL / run)
    assert len(wanted) >= 40
    assert scores(real(run)) == wanted


@pytest.mark.parametrize("run", RUNS)
def test_what_lm_eval_made_of_them_is_computed_from_them_to_1e_9(run: str, real: Callable[[str], RecordData]) -> None:
    measured = real(run)
    stated = {
        (task, key): number
        for task, totals in results_of(REAL / run)["results"].items()
        for key, number in totals.items()
        if isinstance(number, float) and key.partition(",")[0].removesuffix("_stderr") in SCORED
    }
    ours = {(row.task, row.name): row.ours for row in reported(measured) if row.same}
    assert ours.keys() == stated.keys()
    assert len(ours) >= 4
    for key, number in stated.items():
        assert ours[key] == pytest.approx(number, abs=1e-9)
    assert not [found for found in judge(measured).verdict.findings if found.rule == "reported_totals"]


def test_the_judged_score_is_theirs_under_its_own_name_with_an_interval(real: Callable[[str], RecordData]) -> None:
    measured = real("tiny")
    judgement = judge(measured)
    totals = results_of(REAL / "tiny")["results"]["sums_mc"]
    assert value(judgement, "acc", "tiny") == pytest.approx(totals["acc,none"], abs=1e-12)
    assert judgement.metrics["acc"].title == "acc"
    assert judgement.verdict.status == "MEASURED"


def test_a_score_named_as_ours_is_still_theirs(real: Callable[[str], RecordData]) -> None:
    """lm-eval's exact_match ignores case and filters first; that of ours is another one."""
    judgement = judge(real("answering"))
    assert judgement.metrics["exact_match"].title == "exact_match"
    assert "lm-evaluation-harness" in judgement.metrics["exact_match"].caveat


def test_filters_are_scores_of_their_own_and_the_first_decides(real: Callable[[str], RecordData]) -> None:
    tasks = real("answering").before["evaluation"]["tasks"]
    assert list(tasks["sums_gen"]["metrics"]) == ["exact_match,strict-match", "exact_match,flexible-extract"]
    assert tasks["sums_gen"]["filter"] == "strict-match"
    assert list(tasks["sums_plain"]["metrics"]) == ["exact_match"]


def test_what_moves_a_score_is_recorded(real: Callable[[str], RecordData]) -> None:
    facts = real("answering").before["evaluation"]["tasks"]["sums_gen"]
    assert facts["harness"] == "lm-eval@0.4.13"
    assert facts["version"] == "2.0"
    assert facts["shots"] == "0"
    assert '"max_gen_toks": 8' in facts["generation_kwargs"]
    assert all(len(facts[which]) == 64 for which in ("docs", "prompts", "targets"))


def test_a_score_without_numbers_per_item_is_only_reported(real: Callable[[str], RecordData]) -> None:
    measured = real("tiny")
    assert "brier_score" not in {name for row in scores(measured).values() for name in row}
    (row,) = [row for row in reported(measured) if row.name == "brier_score,none"]
    assert row.theirs == results_of(REAL / "tiny")["results"]["sums_mc"]["brier_score,none"]
    assert row.ours is None
    assert not row.same


def test_the_text_is_the_reply_and_the_answer_what_the_filter_left(real: Callable[[str], RecordData]) -> None:
    measured = real("answering")
    answers = {(row["task"], row["item"]): row for row in measured.table("answers").iter_rows(named=True)}
    rows = [json.loads(line) for line in next((REAL / "answering").glob("samples_sums_gen_*")).read_text().splitlines()]
    strict = [row for row in rows if row["filter"] == "strict-match"]
    assert len(strict) == 40
    for row in strict:
        answer = answers["sums_gen", str(row["doc_id"])]
        assert answer["text"] == row["resps"][0][0]
        assert answer["answer"] == (None if row["filtered_resps"][0] == "[invalid]" else row["filtered_resps"][0])
        assert json.loads(answer["references"]) == [row["target"]]


def test_of_choices_the_answer_is_the_likeliest(real: Callable[[str], RecordData]) -> None:
    measured = real("tiny")
    for row in measured.table("answers").iter_rows(named=True):
        right = row["answer"] == json.loads(row["references"])[0]
        assert scores(measured)["sums_mc", row["item"], 0]["acc"] == float(right)


def test_replies_that_lm_eval_left_empty_are_counted_and_not_admissible(real: Callable[[str], RecordData]) -> None:
    """A server that answers with null content: lm-eval's score is 0.4 without any error in its files."""
    judgement = judge(real("failing"))
    assert judgement.verdict.status == "INVALID"
    (finding,) = [found for found in judgement.verdict.findings if found.rule == "empty_replies"]
    empty = sum(not any(reply for replies in json.loads(line)["resps"] for reply in replies) for line in _lines("failing", "sums_plain"))
    assert empty == 20
    assert finding.evidence.startswith(f"{2 * empty} of 80 replies are empty")


def test_empty_replies_may_be_allowed(tmp_path: Path) -> None:
    judgement = judge(imported(tmp_path, REAL / "failing", most_failed=0.99))
    assert judgement.verdict.status == "MEASURED"
    assert [found.severity for found in judgement.verdict.findings if found.rule == "empty_replies"] == ["warning"]


def _lines(run: str, task: str) -> list[str]:
    return next((REAL / run).glob(f"samples_{task}_*")).read_text().splitlines()


def test_a_score_that_does_not_follow_from_its_items_is_a_finding(tmp_path: Path) -> None:
    changed = copied(tmp_path, "tiny", lambda row: row.update(acc=0.0) if row["doc_id"] == 0 else None)
    judgement = judge(imported(tmp_path, changed))
    (finding,) = [found for found in judgement.verdict.findings if found.rule == "reported_totals"]
    assert finding.evidence.startswith("acc,none of sums_mc is reported as 0.525, and its items make 0.5")


@pytest.mark.parametrize(("margin", "status"), [(0.1, "PASS"), (0.02, "INCONCLUSIVE")])
def test_two_results_of_the_same_items_are_held_or_undecided(margin: float, status: str, tmp_path: Path) -> None:
    judgement = judge(imported(tmp_path, REAL / "tiny", copied(tmp_path, "tiny", name="again"), margin=margin))
    assert judgement.verdict.status == status
    assert "0 items worse and 0 better of 40" in judgement.verdict.gates[0].sentence


def test_a_worse_result_is_degraded(tmp_path: Path) -> None:
    measured = imported(tmp_path, REAL / "answering", REAL / "failing", margin=0.05, most_failed=0.99)
    assert tuple(measured.configurations) == ("answers=answering", "answers=failing")
    assert judge(measured).verdict.status == "FAIL"


def test_the_wanted_score_decides(tmp_path: Path) -> None:
    measured = imported(tmp_path, REAL / "tiny", REAL / "tiny-damaged", margin=0.05, metric="acc_norm")
    assert "acc_norm" in judge(measured).verdict.gates[0].sentence
    with pytest.raises(SpecError, match="acc_nrm"):
        imported(tmp_path / "b", REAL / "tiny", metric="acc_nrm")


def test_sides_that_were_prompted_otherwise_are_refused_by_name(tmp_path: Path) -> None:
    other = copied(tmp_path, "tiny", lambda row: row.update(prompt_hash="0" * 64))
    with pytest.raises(SpecError) as error:
        imported(tmp_path, REAL / "tiny", other, margin=0.1)
    assert [problem.where for problem in error.value.problems] == ["sums_mc: prompts"]
    assert nothing_left(tmp_path)
    assert imported(tmp_path, REAL / "tiny", other, varying=("prompts",)).configurations


def test_sides_with_other_limits_are_refused(tmp_path: Path) -> None:
    other = with_results(
        copied(tmp_path, "answering"), lambda found: found["configs"]["sums_gen"]["generation_kwargs"].update(max_gen_toks=4)
    )
    with pytest.raises(SpecError, match="sums_gen: generation_kwargs"):
        imported(tmp_path, REAL / "answering", other)


def test_a_folder_of_models_has_a_side_for_each(tmp_path: Path) -> None:
    for run in ("tiny", "tiny-damaged"):
        shutil.copytree(REAL / run, tmp_path / "out" / run)
    assert tuple(imported(tmp_path, tmp_path / "out").configurations) == ("answers=tiny", "answers=tiny-damaged")


def test_a_samples_file_is_one_task(tmp_path: Path) -> None:
    (file,) = (REAL / "answering").glob("samples_sums_plain_*")
    assert {task for task, _, _ in scores(imported(tmp_path, file))} == {"sums_plain"}


def test_the_same_task_twice_is_refused(tmp_path: Path) -> None:
    folder = copied(tmp_path, "tiny")
    for file in list(folder.iterdir()):
        shutil.copy(file, folder / file.name.replace("2026-11-26T", "2026-11-27T"))
    with pytest.raises(SpecError, match="more than once"):
        imported(tmp_path, folder)


def test_a_list_of_verdicts_is_a_share_of_all_of_them(tmp_path: Path) -> None:
    """As IFEval's inst_level_strict_acc: [true, false] and [true] make 2 of 3, no mean of item scores."""
    lists = {0: [True, False], 1: [True]}
    folder = copied(tmp_path, "tiny", lambda row: row.update(acc=lists.get(row["doc_id"], [False, True, True])))
    measured = imported(tmp_path, with_results(folder, lambda found: found["results"]["sums_mc"].update({"acc,none": 78 / 117})))
    row = next(row for row in reported(measured) if row.name == "acc,none")
    assert row.same
    assert row.ours == pytest.approx((2 + 38 * 2) / (3 + 38 * 3))


def test_no_number_is_no_score_and_never_0(tmp_path: Path) -> None:
    changed = copied(tmp_path, "tiny", lambda row: row.update(acc=math.nan) if row["doc_id"] < 3 else None)
    assert sum("acc" not in row for row in scores(imported(tmp_path, changed)).values()) == 3


def test_the_standard_error_is_that_of_a_mean(tmp_path: Path) -> None:
    values = [row["acc"] for row in theirs(REAL / "tiny").values()]
    assert results_of(REAL / "tiny")["results"]["sums_mc"]["acc_stderr,none"] == pytest.approx(
        statistics.stdev(values) / math.sqrt(len(values)), abs=1e-12
    )


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"doc_id": ', "not JSON"),
        ("[1]", "an object"),
        ('{"doc_id": null, "acc": 1.0}', "a document's number"),
        (f'{{"doc_id": {"9" * 400}, "acc": 1.0}}', "a document's number"),
        ('{"doc_id": 0, "filter": "none", "acc": 1.0}', "each document once"),
        ('{"doc_id": 99, "x": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deeply"),
        ('{"doc_id": 99, "acc": ' + "9" * 5000 + "}", "thousands of digits"),
    ],
)
def test_a_damaged_line_is_a_clear_error_and_leaves_nothing(line: str, told: str, tmp_path: Path) -> None:
    folder = copied(tmp_path, "tiny")
    (file,) = folder.glob("samples_*")
    file.write_text(f"{file.read_text()}{line}\n")
    with pytest.raises(SpecError, match=told) as error:
        imported(tmp_path, folder)
    assert "line 41" in str(error.value.problems[0].where)
    assert nothing_left(tmp_path)


def test_numbers_beyond_a_double_and_lone_surrogates_are_survived(tmp_path: Path) -> None:
    def change(row: dict[str, Any]) -> None:
        row["acc"] = 10**400 if row["doc_id"] == 0 else row["acc"]
        row["arguments"]["gen_args_0"]["arg_0"] = "\ud800 text"

    measured = imported(tmp_path, copied(tmp_path, "tiny", change))
    assert "acc" not in scores(measured)["sums_mc", "0", 0]
    assert set(measured.table("answers")["prompt"]) == {"? text"}


def test_a_task_that_names_a_path_outside_opens_nothing(tmp_path: Path) -> None:
    folder = copied(tmp_path, "tiny")
    outside = tmp_path / f"samples_x_{next(folder.glob('results_*')).stem.removeprefix('results_')}.jsonl"
    outside.write_text('{"doc_id": 0, "acc": 1.0}\n')
    with_results(folder, lambda found: found.update(results={"../samples_x": found["results"]["sums_mc"]}))
    with pytest.raises(SpecError, match="--log_samples"):
        imported(tmp_path, folder)


def test_results_without_samples_say_how_to_get_them(tmp_path: Path) -> None:
    folder = copied(tmp_path, "tiny")
    next(folder.glob("samples_*")).unlink()
    with pytest.raises(SpecError, match="--log_samples"):
        imported(tmp_path, folder)


def test_a_key_in_the_models_arguments_is_not_recorded(tmp_path: Path) -> None:
    key = "sk-" + "a1B2" * 12
    folder = with_results(copied(tmp_path, "tiny"), lambda found: found["config"]["model_args"].update(api_key=key))
    assert key not in json.dumps(dict(imported(tmp_path, folder).foreign or {}))


@pytest.mark.parametrize("huge", [1e99, -1e99, 1e-320])
def test_scores_at_the_edge_of_doubles_are_judged_without_an_error(huge: float, tmp_path: Path) -> None:
    changed = copied(tmp_path, "tiny", lambda row: row.update(acc=huge))
    judgement = judge(imported(tmp_path, changed, copied(tmp_path, "tiny", name="b"), margin=0.1))
    assert any(found.rule == "reported_totals" for found in judgement.verdict.findings)


def test_a_score_that_cannot_be_summed_is_none(tmp_path: Path) -> None:
    measured = imported(tmp_path, copied(tmp_path, "tiny", lambda row: row.update(acc=1e308) if row["doc_id"] else None))
    assert sum("acc" in row for row in scores(measured).values()) == 1
    assert any(found.rule == "reported_totals" for found in judge(measured).verdict.findings)


def test_a_score_named_as_a_metric_of_ours_is_theirs(tmp_path: Path) -> None:
    folder = copied(tmp_path, "tiny", lambda row: row.update(no_answer=1.0))
    measured = imported(tmp_path, with_results(folder, lambda found: found["results"]["sums_mc"].update({"no_answer,none": 1.0})))
    judgement = judge(measured)
    assert value(judgement, "no_answer", "tiny") == 1.0
    assert "lm-evaluation-harness" in judgement.metrics["no_answer"].caveat


def test_a_task_without_a_score_of_an_item_loses_no_other(tmp_path: Path) -> None:
    folder = copied(tmp_path, "answering")
    tasks = [file.name.removeprefix("samples_").rpartition("_")[0] for file in sorted(folder.glob("samples_*"))]
    lost, kept = tasks[0], set(tasks[1:])

    def perplexity(found: dict[str, Any]) -> None:
        found["results"][lost] = {"alias": lost, "word_perplexity,none": 12.5}

    measured = imported(tmp_path, with_results(folder, perplexity))
    assert {task for task, _, _ in scores(measured)} == kept
    assert any(
        f"the items of {lost}: none of its scores (word_perplexity) is one of an item" in words
        for words in (measured.foreign or {})["missing"]
    )


@pytest.mark.parametrize("number", [math.nan, math.inf, 1e308])
def test_values_beyond_use_are_no_scores_and_named(number: float, tmp_path: Path) -> None:
    def spoilt(row: dict[str, Any]) -> None:
        if row["doc_id"] == 3:
            row["acc"] = number

    measured = imported(tmp_path, copied(tmp_path, "tiny", spoilt))
    assert "acc" not in scores(measured)["sums_mc", "3", 0]
    assert any("1 values of acc are NaN, infinite or beyond use" in words for words in (measured.foreign or {})["doubts"])
    assert any(found.rule == "unscored_items" and "of 1 answer," in found.evidence for found in judge(measured).verdict.findings)


@pytest.mark.parametrize("kept", [{}, {"doc_hash": "h", "prompt_hash": "h", "target_hash": "h", "acc": 1.0, "acc_norm": 1.0}])
def test_an_id_as_a_number_and_as_a_text_is_named(kept: dict[str, Any], tmp_path: Path) -> None:
    """Two documents, which are never one: not even where all that is known of them is equal."""

    def mixed(row: dict[str, Any]) -> None:
        if row["doc_id"] in (1, 2):
            row.update(kept, doc_id=1 if row["doc_id"] == 1 else "1")

    with pytest.raises(SpecError, match="found 1, as a text and as a number"):
        imported(tmp_path, copied(tmp_path, "tiny", mixed))
    assert nothing_left(tmp_path)


def test_a_key_that_stands_twice_is_named(tmp_path: Path) -> None:
    folder = copied(tmp_path, "tiny")
    file = next(folder.glob("samples_*.jsonl"))
    lines = file.read_text().splitlines()
    file.write_text("\n".join([lines[0].replace('"acc":', '"acc": 0.5, "acc":'), *lines[1:]]))
    with pytest.raises(SpecError, match='the key "?.?acc.? twice in one object'):
        imported(tmp_path, folder)


def test_a_field_of_the_documents_that_groups_them_is_named(tmp_path: Path) -> None:
    folder = copied(tmp_path, "tiny", lambda row: row["doc"].update(passage=f"p{int(row['doc_id']) // 4}"))
    (found,) = (one for one in judge(imported(tmp_path, folder)).verdict.findings if one.rule == "grouped_items")
    assert "the field 'passage' puts 40 items into 10 groups" in found.evidence
