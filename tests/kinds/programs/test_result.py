"""Is another result than one worker's found wrong, and lost neighbours refused, however fast the workers are?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fireassay.frames.record_data import from_record
from fireassay.kinds.programs.judging import result
from fireassay.verdict.judge import Judgement, judge
from tests.runners.test_program import made

pytestmark = pytest.mark.slow
WRITES = 'echo "$1" > "$2/out"'


def judged(folder: Path, script: str, *arguments: str, launches: int = 3, **sections: Any) -> Judgement:
    return judge(from_record(made(folder, script, *arguments, launches=launches, **sections)))


def correctness(judgement: Judgement, workers: int = 2) -> tuple[str, str]:
    found = judgement.verdict.dimensions[f"workers={workers}"]["correctness"]
    return found.status, found.sentence


def test_the_same_result_in_every_round_is_right(tmp_path: Path) -> None:
    judgement = judged(tmp_path, WRITES, "same", "{out}", program={"result": ["{out}/out"]})
    assert correctness(judgement) == ("PASS", "the same result as workers=1 in 3 rounds")
    assert [layer.state for layer in judgement.verdict.layers["workers=2"]] == ["pass"]


def test_another_result_is_wrong_whatever_the_speed(tmp_path: Path) -> None:
    judgement = judged(tmp_path, WRITES, "{workers}", "{out}", program={"result": ["{out}/out"]})
    assert judgement.verdict.status == "FAIL"
    (finding,) = [finding for finding in judgement.verdict.findings if finding.severity == "fail"]
    assert finding.rule == "result_differs"
    assert "in 3 of 3 rounds" in finding.evidence


def test_a_result_that_follows_the_seed_is_compared_within_a_round(tmp_path: Path) -> None:
    judgement = judged(tmp_path, WRITES, "{seed}", "{out}", program={"result": ["{out}/out"]})
    assert correctness(judgement)[0] == "PASS"


def test_a_base_that_does_not_repeat_itself_decides_nothing(tmp_path: Path) -> None:
    judgement = judged(tmp_path, WRITES, "{launch}", "{out}", program={"result": ["{out}/out"]})
    assert correctness(judgement)[0] == "NOT_MEASURED"
    assert {f.rule for f in judgement.verdict.findings if f.severity == "warning"} >= {"result_not_repeatable"}
    assert judgement.verdict.status != "FAIL"


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


def test_work_makes_a_rate_and_weak_scaling_is_seen_by_it(tmp_path: Path) -> None:
    script = 'echo "{\\"items\\": $(($1 * 100))}" > "$2/n"; sleep 0.2'
    record = made(tmp_path, script, "{workers}", "{out}", launches=3, program={"numbers": "{out}/n"})
    measured = from_record(record)
    assert measured.mode == "weak"
    results = judge(measured).results
    assert results["speedup"]["workers=2"].value == pytest.approx(2.0, rel=0.5)  # twice the work in the same time
    rate = results["work_rate"]["workers=2"]
    assert rate.value == pytest.approx(200 / results["wall_time"]["workers=2"].value, rel=1e-6)
    assert result(measured, "workers=2")[0] == "not run"
