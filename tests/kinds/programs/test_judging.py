"""Is the same result right, and are lost neighbours refused, however fast the workers are?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fireassay.api.interim_analysis import why_futile
from fireassay.frames.record_data import from_record
from tests.programs_made import WRITES, correctness, judged, made

pytestmark = pytest.mark.slow


def test_the_same_result_in_every_round_is_right(tmp_path: Path) -> None:
    judgement = judged(tmp_path, WRITES, "same", "{out}", program={"result": ["{out}/out"]})
    assert correctness(judgement) == ("PASS", "the same result as workers=1 in 3 rounds")
    assert [layer.state for layer in judgement.verdict.layers["workers=2"]] == ["pass"]


def test_a_result_that_follows_the_seed_is_compared_within_a_round(tmp_path: Path) -> None:
    judgement = judged(tmp_path, WRITES, "{seed}", "{out}", program={"result": ["{out}/out"]})
    assert correctness(judgement)[0] == "PASS"


def test_without_a_result_correctness_is_not_measured_and_says_how(tmp_path: Path) -> None:
    status, sentence = correctness(judged(tmp_path, "true"))
    assert status == "NOT_MEASURED"
    assert "--result" in sentence


def search(folder: Path, of_two: list[str]) -> dict[str, Any]:
    """400 queries, to which one worker finds a, b, c and d."""
    for workers, ids in ((1, list("abcd")), (2, of_two)):
        (folder / f"found-{workers}").write_text("".join(json.dumps({"query": query, "ids": ids}) + "\n" for query in range(400)))
    return {"program": {"rankings": "{out}/r"}, "quality": {"metric": "recall_at_4", "margin": 0.05}}


def test_a_sharded_index_that_loses_neighbours_is_refused(tmp_path: Path) -> None:
    judgement = judged(tmp_path, 'cp "found-$1" "$2/r"; sleep 0.$((3 - $1))', "{workers}", "{out}", **search(tmp_path, list("abdx")))
    assert judgement.results["quality"]["workers=2"].value == 0.75
    assert judgement.verdict.status == "FAIL"
    assert correctness(judgement)[0] == "FAIL"
    assert judgement.verdict.recommended == "workers=1"


def test_one_that_finds_them_in_another_order_holds_its_recall_and_not_its_ndcg(tmp_path: Path) -> None:
    found = search(tmp_path, list("badc"))
    assert correctness(judged(tmp_path, 'cp "found-$1" "$2/r"', "{workers}", "{out}", **found))[0] == "PASS"
    found["quality"] = {"metric": "mrr", "margin": 0.05}
    judgement = judged(tmp_path, 'cp "found-$1" "$2/r"', "{workers}", "{out}", **found)
    assert judgement.results["quality"]["workers=2"].value == 0.5
    assert correctness(judgement)[0] == "FAIL"


def test_an_exact_search_in_a_file_is_the_reference_of_the_base_too(tmp_path: Path) -> None:
    found = search(tmp_path, list("abcd"))
    (tmp_path / "exact").write_text("".join(json.dumps({"query": query, "ids": list("abce")}) + "\n" for query in range(400)))
    found["program"]["relevant"] = "exact"
    judgement = judged(tmp_path, 'cp "found-$1" "$2/r"', "{workers}", "{out}", **found)
    assert judgement.results["quality"]["workers=1"].value == 0.75
    assert correctness(judgement)[0] == "PASS"


def test_a_program_that_never_scores_what_decides_ends_after_its_first_launch(tmp_path: Path) -> None:
    measured = from_record(made(tmp_path, "true", quality={"metric": "recall_at_4"}))
    assert "job never scored recall_at_4" in why_futile(measured)
    assert why_futile(from_record(made(tmp_path, "true"))) == ""


def test_a_query_of_which_nothing_is_known_has_no_score_where_others_have_one(tmp_path: Path) -> None:
    found = search(tmp_path, list("abcd"))
    (tmp_path / "exact").write_text("".join(json.dumps({"query": query, "relevant": ["a", "z"]}) + "\n" for query in range(200)))
    found["program"]["relevant"] = "exact"
    judgement = judged(tmp_path, 'cp "found-$1" "$2/r"', "{workers}", "{out}", **found)
    assert judgement.results["quality"]["workers=1"].value == 0.5  # 200 queries; the base's own rankings would make it 0.75
