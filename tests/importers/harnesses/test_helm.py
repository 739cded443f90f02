"""Are HELM's statistics of every instance, and its means, ours?  A real run, and others by hand from HELM's source: helm_runs.py."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from fireassay.errors import SpecError
from fireassay.kinds.evaluation.recorded import reported
from fireassay.verdict.judge import judge
from tests.importers.harnesses.helm_runs import helm_run
from tests.importers.harnesses.read_back import LOGS, imported, nothing_left, scores

pytestmark = pytest.mark.slow

RIGHT = [index % 4 != 0 for index in range(40)]
WORSE = [index % 3 != 0 for index in range(40)]


def test_every_statistic_of_every_instance_is_helms(tmp_path: Path) -> None:
    found = scores(imported(tmp_path, helm_run(tmp_path / "run", RIGHT)))
    assert len(found) == 40
    for (task, item, _), row in found.items():
        right = RIGHT[int(item.removeprefix("id"))]
        assert task == "sums:subject=small"
        assert row == {"exact_match": float(right), "f1_score": 0.25 + right / 2}


def test_its_means_are_computed_from_the_instances_by_perturbation(tmp_path: Path) -> None:
    measured = imported(tmp_path, helm_run(tmp_path / "run", RIGHT, perturbed=WORSE))
    rows = [row for row in reported(measured) if row.name.startswith("exact_match")]
    assert [row.same for row in rows] == [True, True, False]
    assert [row.ours for row in rows[:2]] == [pytest.approx(row.theirs, abs=1e-9) for row in rows[:2]]
    assert rows[0].theirs == sum(RIGHT) / 40
    assert rows[1].theirs == sum(WORSE) / 40
    assert not [found for found in judge(measured).verdict.findings if found.rule == "reported_totals"]


def test_perturbed_copies_are_groups_in_the_cluster_of_their_instance(tmp_path: Path) -> None:
    rows = imported(tmp_path, helm_run(tmp_path / "run", RIGHT, perturbed=WORSE)).table("answers")
    assert rows["cluster"].n_unique() == 40
    assert rows["item"].n_unique() == 80
    assert {json.loads(groups)["perturbation"] for groups in rows["groups"]} == {"none", "dialect(prob=1.0)"}


def test_what_a_run_counts_is_no_score_but_reported(tmp_path: Path) -> None:
    measured = imported(tmp_path, helm_run(tmp_path / "run", RIGHT))
    assert list(measured.before["evaluation"]["tasks"]["sums:subject=small"]["metrics"]) == ["exact_match", "f1_score"]
    (row,) = [row for row in reported(measured) if row.name.startswith("num_references")]
    assert (row.theirs, row.ours, row.same) == (2.0, None, False)


def test_a_real_run_is_read_instance_by_instance(tmp_path: Path) -> None:
    """20 instances and their perturbed copies, made by crfm-helm 0.5.16: logs/README.md."""
    measured = imported(tmp_path, LOGS / "helm")
    wanted: dict[tuple[str, str, int], dict[str, float]] = {}
    for entry in json.loads((LOGS / "helm" / "per_instance_stats.json").read_text()):
        item = entry["instance_id"] + (" extra_space(num_spaces=2)" if "perturbation" in entry else "")
        told = {stat["name"]["name"]: stat["mean"] for stat in entry["stats"] if "exact_match" in stat["name"]["name"]}
        wanted.setdefault(("sums", item, 0), {}).update(told)
    assert len(wanted) == 40
    assert scores(measured) == wanted
    same = [row for row in reported(measured) if row.same]
    assert len(same) == 4
    assert [row.ours for row in same] == [pytest.approx(row.theirs, abs=1e-9) for row in same]
    assert not [found for found in judge(measured).verdict.findings if found.rule == "reported_totals"]


def test_train_trials_are_repetitions(tmp_path: Path) -> None:
    measured = imported(tmp_path, helm_run(tmp_path / "run", RIGHT, trials=3))
    assert sorted({repetition for _, _, repetition in scores(measured)}) == [0, 1, 2]
    assert judge(measured).results["exact_match"]["answers=simple-model1"].n_trials == 40  # type: ignore[union-attr]


def test_a_failed_request_is_not_answered_and_never_wrong(tmp_path: Path) -> None:
    measured = imported(tmp_path, helm_run(tmp_path / "run", RIGHT, failed=frozenset({0, 4})))
    assert {row["item"] for row in measured.table("answers").filter(outcome="error").iter_rows(named=True)} == {"id0", "id4"}
    assert not {"id0", "id4"} & {item for _, item, _ in scores(measured)}
    assert judge(measured).verdict.status == "INVALID"


def test_two_models_are_sides_of_one_task(tmp_path: Path) -> None:
    helm_run(tmp_path / "runs" / "a", RIGHT, model="simple/model1")
    helm_run(tmp_path / "runs" / "b", WORSE, model="simple/model2")
    measured = imported(tmp_path, tmp_path / "runs", margin=0.02)
    worse = sum(before > after for before, after in zip(RIGHT, WORSE, strict=True))
    (gate,) = judge(measured).verdict.gates
    assert f"{worse} items worse" in gate.sentence


def test_without_the_requests_the_scores_remain(tmp_path: Path) -> None:
    run = helm_run(tmp_path / "run", RIGHT)
    (run / "scenario_state.json").unlink()
    measured = imported(tmp_path, run)
    assert len(scores(measured)) == 40
    assert set(measured.table("answers")["text"]) == {None}
    assert "the replies: there is no scenario_state.json" in (measured.foreign or {})["missing"]


@pytest.mark.parametrize("file", ["run_spec.json", "scenario_state.json", "per_instance_stats.json", "stats.json"])
@pytest.mark.parametrize("content", ["", "{", "[" * 100_000, '{"a": ' + "9" * 5000 + "}", "[1, 2]", '"text"'])
def test_a_damaged_file_is_a_clear_error_and_leaves_nothing(file: str, content: str, tmp_path: Path) -> None:
    run = helm_run(tmp_path / "run", RIGHT[:3])
    (run / file).write_text(content)
    with pytest.raises(SpecError) as error:
        imported(tmp_path, run)
    assert file in str(error.value)
    assert nothing_left(tmp_path)


def test_an_instance_twice_is_refused(tmp_path: Path) -> None:
    run = helm_run(tmp_path / "run", RIGHT[:3])
    entries = json.loads((run / "per_instance_stats.json").read_text())
    (run / "per_instance_stats.json").write_text(json.dumps([*entries, entries[0]]))
    with pytest.raises(SpecError, match="twice in trial 0"):
        imported(tmp_path, run)


@pytest.mark.parametrize("again", ["exact_match", "f1_score"])
def test_an_id_as_a_number_and_as_a_text_is_named(again: str, tmp_path: Path) -> None:
    """Two instances, which are never one: not even where the second has another statistic."""
    run = helm_run(tmp_path / "run", RIGHT[:3])
    one, two, *others = json.loads((run / "per_instance_stats.json").read_text())
    two |= {"instance_id": 1, "stats": [stat for stat in two["stats"] if stat["name"]["name"] == again]}
    one |= {"instance_id": "1", "stats": [stat for stat in one["stats"] if stat["name"]["name"] == "exact_match"]}
    (run / "per_instance_stats.json").write_text(json.dumps([one, two, *others]))
    with pytest.raises(SpecError, match="found 1, as a text and as a number"):
        imported(tmp_path, run)
    assert nothing_left(tmp_path)


def edited(folder: Path, file: str, change: Callable[[str], str]) -> Path:
    helm_run(folder, RIGHT)
    (folder / file).write_text(change((folder / file).read_text()))
    return folder


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e308"])
def test_values_beyond_use_are_no_scores_and_named(number: str, tmp_path: Path) -> None:
    def spoilt(text: str) -> str:
        entries = json.loads(text)
        entries[3]["stats"][1] |= {"mean": "HERE", "sum": "HERE"}
        return json.dumps(entries).replace('"HERE"', number)

    measured = imported(tmp_path, edited(tmp_path / "run", "per_instance_stats.json", spoilt))
    assert "exact_match" not in scores(measured)["sums:subject=small", "id3", 0]
    assert any("1 values of exact_match are NaN, infinite or beyond use" in words for words in (measured.foreign or {})["doubts"])


@pytest.mark.parametrize("number", [None, "NaN"])
def test_a_scenario_without_a_usable_score_loses_no_other(number: str | None, tmp_path: Path) -> None:
    def spoilt(text: str) -> str:
        entries = json.loads(text)
        for entry in entries:
            entry["stats"] = [] if number is None else [{**stat, "mean": "HERE", "sum": "HERE"} for stat in entry["stats"]]
        return json.dumps(entries).replace('"HERE"', str(number))

    edited(tmp_path / "runs" / "a", "per_instance_stats.json", spoilt)
    edited(tmp_path / "runs" / "b", "run_spec.json", lambda text: text.replace("small", "large"))
    measured = imported(tmp_path, tmp_path / "runs")
    assert {task for task, _, _ in scores(measured)} == {"sums:subject=large"}
    assert "the instances of a: none has a statistic" in (measured.foreign or {})["missing"]


def test_a_key_that_stands_twice_is_named(tmp_path: Path) -> None:
    folder = edited(tmp_path / "run", "per_instance_stats.json", lambda text: text.replace('"mean":', '"mean": 0.5, "mean":', 1))
    with pytest.raises(SpecError, match='the key "?.?mean.? twice in one object'):
        imported(tmp_path, folder)


def test_a_field_of_the_instances_that_groups_them_is_named(tmp_path: Path) -> None:
    def grouped(text: str) -> str:
        document = json.loads(text)
        for index, state in enumerate(document["request_states"]):
            state["instance"]["extra_data"] = {"passage": f"p{index // 4}"}
        return json.dumps(document)

    measured = imported(tmp_path, edited(tmp_path / "run", "scenario_state.json", grouped))
    (found,) = (one for one in judge(measured).verdict.findings if one.rule == "grouped_items")
    assert "the field 'passage' puts 40 items into 10 groups" in found.evidence
