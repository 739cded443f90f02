"""Do the rules of MLPerf Training give the verdicts of its own checkers?  On planted submissions, and on a public one."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.api.mlperf import Submission, check_files, check_training
from fireassay.errors import SpecError
from fireassay.record.mllog import Entry, Log, written
from tests.verdict.mlperf.training_logs import PLANTED, Planted, write

HERE = Path(__file__).parent
EXPECTED = tomllib.loads((HERE / "planted_training.toml").read_text(encoding="utf-8"))
PUBLIC = HERE / "tinybox_green_retinanet"
RULES = {"count": "runs", "files": "files that comply", "seeds": "seeds", "rcp": "convergence"}  # part of the checkers -> our rule


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.name)
def test_a_planted_submission_gets_the_verdict_of_the_official_checkers(planted: Planted, tmp_path: Path) -> None:
    result = check_files([write(planted, tmp_path / planted.name)], Submission(round=planted.round, division=planted.division))
    failed = {rule.rule for rule in result.of("fail")}
    expected = EXPECTED[planted.name]
    assert result.passed is expected["passed"]
    assert {part: rule not in failed for part, rule in RULES.items() if part in expected} == {
        part: expected[part] for part in RULES if part in expected
    }


@pytest.mark.parametrize("name", ["converges-faster-allowed", "lora-rank"])
def test_a_score_is_scaled_by_the_checkers_factor(name: str, tmp_path: Path) -> None:
    planted = next(one for one in PLANTED if one.name == name)
    result = check_files([write(planted, tmp_path / "a")], Submission(round=planted.round))
    (rule,) = (rule for rule in result.rules if rule.rule == "convergence")
    assert float(rule.found.split("times ")[1]) == pytest.approx(EXPECTED[name]["factor"], abs=1e-4)


def test_a_public_submission_passes_with_one_run_without_an_end() -> None:
    """tinycorp, round 5.0: accepted and published. The score by hand: run_stop - run_start of the three middle runs, minutes."""
    result = check_files([PUBLIC], Submission(round="5.0"))
    assert result.passed
    assert result.benchmark == "retinanet"
    assert [(rule.rule, rule.file) for rule in result.of("excused")] == [("run_stop", "result_4.txt"), ("target", "result_4.txt")]
    assert {rule.rule for rule in result.of("unchecked")} == {"system", "program"}
    assert result.score is not None
    assert result.score.value == pytest.approx((800.254683 + 803.607033 + 806.922517) / 3, abs=1e-5)


def test_the_rule_that_fails_is_named_with_its_line(tmp_path: Path) -> None:
    planted = next(one for one in PLANTED if one.name == "lora-rank")
    result = check_files([write(planted, tmp_path / "a")], Submission(round="5.0"))
    rule = next(rule for rule in result.of("fail") if rule.rule == "lora_rank")
    lines = (tmp_path / "a/result_0.txt").read_text(encoding="utf-8").splitlines()
    assert rule.required == "once, == 16"
    assert rule.found == "32"
    assert '"lora_rank"' in lines[int(rule.where.partition(":")[2]) - 1]


def test_a_run_that_ends_before_it_begins_has_no_time_to_train(tmp_path: Path) -> None:
    """run_start of the first public file is at 1,745,598,081,340 ms or so; its run_stop is set to 5 ms."""
    text = (PUBLIC / "result_0.txt").read_text(encoding="utf-8").splitlines()
    stop = next(number for number, line in enumerate(text) if '"run_stop"' in line)
    text[stop] = re.sub(r'"time_ms": \d+', '"time_ms": 5', text[stop])
    (tmp_path / "result_0.txt").write_text("\n".join(text), encoding="utf-8")
    result = check_files([tmp_path / "result_0.txt"], Submission(round="5.0"))
    (failed,) = result.of("fail")
    assert (failed.rule, failed.where) == ("time to train", f"result_0.txt:{stop + 1}")
    assert result.score is None


def test_an_interval_of_short_times_does_not_begin_below_zero(tmp_path: Path) -> None:
    """The public runs, five of which now take 6 ms, 0.6 s, 6 s, 60 s and 600 s: five are kept of a wide spread."""
    for number in range(5):
        text = (PUBLIC / f"result_{number}.txt").read_text(encoding="utf-8")
        start = int(re.search(r'"time_ms": (\d+)', next(line for line in text.splitlines() if '"run_start"' in line))[1])  # type: ignore[index]
        stop = str(start + (6, 600, 6_000, 60_000, 600_000)[number])
        lines = [re.sub(r'("time_ms": )\d+', rf"\g<1>{stop}", line) if '"run_stop"' in line else line for line in text.splitlines()]
        (tmp_path / f"result_{number}.txt").write_text("\n".join(lines), encoding="utf-8")
    score = check_files([tmp_path], Submission(round="5.0")).score
    assert score is not None
    assert score.estimate is not None
    assert score.estimate.low == 0.0


def test_of_a_single_file_the_rules_on_all_runs_are_not_checked() -> None:
    result = check_files([PUBLIC / "result_0.txt"], Submission(round="5.0"))
    assert result.passed
    assert {"runs", "seeds", "convergence"} <= {rule.rule for rule in result.of("unchecked")}
    assert not check_files([PUBLIC / "result_4.txt"], Submission(round="5.0")).passed  # nothing excuses it alone


def test_a_round_or_benchmark_without_rules_is_refused() -> None:
    for submission in (Submission(round="9.9"), Submission(round="5.0", benchmark="gpt3")):
        with pytest.raises(SpecError, match="one of"):
            check_files([PUBLIC], submission)


def test_of_fewer_than_three_runs_none_is_excused(tmp_path: Path) -> None:
    """An olympic mean drops the fastest and the slowest of three or more."""
    (tmp_path / "result_0.txt").write_text(written([Entry(key="seed", value=1, time_ms=1.0)]), encoding="utf-8")
    result = check_files([tmp_path], Submission(round="5.0"))
    assert not result.of("excused")
    failed = {rule.rule: rule.found for rule in result.of("fail")}
    assert failed["run_start"] == "missing"


def test_what_only_some_files_name_is_said_by_the_file(tmp_path: Path) -> None:
    for number in range(5):
        text = (PUBLIC / f"result_{number}.txt").read_text(encoding="utf-8")
        if number == 1:
            text = "".join(line for line in text.splitlines(keepends=True) if "submission_benchmark" not in line and "batch" not in line)
        (tmp_path / f"result_{number}.txt").write_text(text, encoding="utf-8")
    failed = {rule.rule: rule.found for rule in check_files([tmp_path], Submission(round="5.0")).of("fail")}
    assert failed["one benchmark"] == "none in result_1.txt, retinanet"
    assert failed["convergence"] == "global_batch_size differs: 96, none"


def test_a_log_of_loadgen_among_result_files_is_refused_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "result_0.txt").write_text((PUBLIC / "result_0.txt").read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "result_1.txt").write_text((HERE / "loadgen/Offline/performance.txt").read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(SpecError, match=r"of a training and of LoadGen \(.*result_1.txt"):
        check_files([tmp_path], Submission())


def test_files_without_the_marker_or_missing_are_refused(tmp_path: Path) -> None:
    (tmp_path / "result_0.txt").write_text("nothing here\n", encoding="utf-8")
    for path in (tmp_path, tmp_path / "result_0.txt", tmp_path / "missing.txt"):
        with pytest.raises(SpecError):
            check_files([path], Submission())
    with pytest.raises(SpecError, match="result_"):
        check_files([HERE.parent], Submission())


KEYS = st.sampled_from(
    [
        "run_start",
        "run_stop",
        "init_stop",
        "eval_accuracy",
        "global_batch_size",
        "seed",
        "block_start",
        "submission_benchmark",
        "submission_division",
    ]
)
VALUES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.just(10**400)
    | st.floats()
    | st.sampled_from(["retinanet", "stable_diffusion", "closed", "open", "x"])
    | st.lists(st.integers(), max_size=2)
)
METADATA = st.dictionaries(
    st.sampled_from(["epoch_num", "samples_count", "metric", "status", "epoch_count", "file", "lineno"]), VALUES, max_size=4
)


@given(st.lists(st.lists(st.tuples(KEYS, VALUES, METADATA, st.floats(0, 1e15)), max_size=12), min_size=1, max_size=4))
def test_no_lines_are_an_error(runs: list[list[tuple[str, object, dict[str, object], float]]]) -> None:
    logs = [
        Log(
            file=f"{index}.txt",
            entries=tuple(
                Entry(key=key, value=value, metadata=metadata, time_ms=ms, line=line)
                for line, (key, value, metadata, ms) in enumerate(rows, 1)
            ),
        )
        for index, rows in enumerate(runs)
    ]
    result = check_training(logs, Submission(), whole=True)
    assert not result.passed  # a run needs far more keys than these
