"""Do the rules of MLPerf Inference give the verdicts of its own checkers?  On LoadGen's logs, planted wrong, and on a public one."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.api.mlperf import Submission, check_files
from fireassay.errors import SpecError
from fireassay.record.mllog import Entry, Log
from fireassay.spec.mlperf.tables import inference_rules
from fireassay.stats.models.queueing import dropped, least_passes
from fireassay.verdict.mlperf.inference import ComplianceRun, Runs, judge_inference
from tests.verdict.mlperf.inference_logs import LOGS, PLANTED, Planted, made, nothing, write

HERE = Path(__file__).parent
EXPECTED = tomllib.loads((HERE / "planted_inference.toml").read_text(encoding="utf-8"))
FIRST = PLANTED[0]


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.name)
def test_a_planted_scenario_gets_the_verdict_of_the_official_checkers(planted: Planted, tmp_path: Path) -> None:
    result = check_files([write(planted, tmp_path)], Submission(round="5.1", division=planted.division))
    assert result.passed is EXPECTED[planted.name]["passed"], result.of("fail")


def test_the_public_log_is_named_by_its_seeds_and_its_folders(tmp_path: Path) -> None:
    planted = next(one for one in PLANTED if one.name == "public-server")
    result = check_files([write(planted, tmp_path)], Submission())
    assert result.passed
    assert (result.round, result.benchmark, result.scenario) == ("5.1", "stable-diffusion-xl", "Server")
    assert result.score is not None
    assert result.score.text == "16.2044 samples/s"  # as published


@pytest.mark.parametrize(
    ("queries", "p", "discarded"),  # LoadGen 6.0.17: "Processed at least 64 queries (28857). Would discard 2766 highest latency queries"
    [(28_857, 0.90, 2766), (19_380, 0.99, 160), (100, 0.90, 2)],
)
def test_early_stopping_discards_what_loadgen_says(queries: int, p: float, discarded: int) -> None:
    assert dropped(queries, p) == discarded + 1  # the estimate is the next one


def test_late_queries_need_as_many_more_as_loadgen_says() -> None:
    """LoadGen 6.0.17: "Processed 12064 queries. Would need to run at least 34191 more queries" with 413 late."""
    assert least_passes(413, 0.99) + 413 - 12_064 == 34_191


def test_of_a_single_log_the_other_runs_are_not_checked(tmp_path: Path) -> None:
    path = write(FIRST, tmp_path) / "performance/run_1/mlperf_log_detail.txt"
    result = check_files([path], Submission(benchmark="resnet"))
    assert result.passed
    assert {"accuracy run", "TEST01", "TEST04", "system", "power"} <= {rule.rule for rule in result.of("unchecked")}


def test_a_model_that_nothing_names_is_asked_for(tmp_path: Path) -> None:
    path = write(FIRST, tmp_path) / "performance/run_1/mlperf_log_detail.txt"
    moved = tmp_path / "elsewhere.txt"
    moved.write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(SpecError, match="--benchmark"):
        check_files([moved], Submission())


def test_logs_of_a_training_beside_those_of_loadgen_are_refused() -> None:
    with pytest.raises(SpecError, match="of a training and of LoadGen"):
        check_files([HERE / "tinybox_green_retinanet", LOGS / "SingleStream/performance.txt"], Submission())


def _metered(tmp_path: Path, lines: list[str], **window: str) -> dict[str, tuple[str, str]]:
    def change(folder: object) -> None:
        from tests.verdict.mlperf.inference_logs import Folder, put

        assert isinstance(folder, Folder)
        for key, value in window.items():
            put(folder.performance, key, value)

    path = write(Planted("metered", "public/Server", change, "stable-diffusion-xl"), tmp_path)
    (path / "performance/run_1/spl.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    result = check_files([path], Submission(round="5.1"))
    return {rule.rule: (rule.status, rule.found) for rule in result.rules if rule.rule.startswith("power")}


def _sample(second: int, watts: float) -> str:
    return f"Time,07-31-2025 21:{30 + second // 60:02d}:{second % 60:02d}.500,Watts,{watts},Volts,230,Amps,1,PF,1,Mark,notset"


WINDOW = {"power_begin": "07-31-2025 21:31:00.000", "power_end": "07-31-2025 21:33:00.000"}  # 120 s


def test_the_power_is_the_mean_of_the_samples_inside_the_window(tmp_path: Path) -> None:
    """A fake meter: 100 W before and after the window of two minutes, 500 W and 700 W in its halves: 600 W."""
    watts = [100.0] * 60 + [500.0] * 60 + [700.0] * 60 + [100.0] * 60
    found = _metered(tmp_path, ["header", *(_sample(second, value) for second, value in enumerate(watts))], **WINDOW)
    assert found["power: average"] == ("pass", "600 W")
    assert found["power: samples"] == ("pass", "120 of 240")
    assert {status for status, _ in found.values()} == {"pass"}


def test_a_meter_that_misses_the_window_or_a_part_of_it_fails(tmp_path: Path) -> None:
    early = [_sample(second, 500.0) for second in range(59)]
    assert _metered(tmp_path / "a", early, **WINDOW)["power: samples"][0] == "fail"
    half = [_sample(second, 500.0) for second in range(120)]
    assert _metered(tmp_path / "b", half, **WINDOW)["power: gaps"] == ("fail", "60.5 s")


def test_a_short_window_and_broken_samples_fail(tmp_path: Path) -> None:
    lines = [*(_sample(second, 500.0) for second in range(60, 180)), "Time,yesterday,Watts,3", "Time,07-31-2025 21:31:30.000,Watts,nan,"]
    short = {**WINDOW, "power_end": "07-31-2025 21:31:30.000"}
    found = _metered(tmp_path, lines, **short)
    assert found["power: window"] == ("fail", "30 s")
    assert found["power: lines"] == ("fail", "2 broken")


def test_zero_watts_are_left_out_as_the_checker_does(tmp_path: Path) -> None:
    lines = [_sample(second, 0.0 if second % 2 else 400.0) for second in range(60, 180)]
    assert _metered(tmp_path, lines, **WINDOW)["power: average"] == ("pass", "400 W")


def test_millijoules_a_query_of_a_stream(tmp_path: Path) -> None:
    """100 W for 600.16 s over 28,857 queries: 100 * window / 28857 * 1000; the window is that of the log."""
    path = write(Planted("metered", "SingleStream", nothing), tmp_path)
    from datetime import datetime, timedelta

    from fireassay.importers.support.mllog import read_log

    log = read_log(path / "performance/run_1/mlperf_log_detail.txt")
    begin, end = (datetime.strptime(log.value(key), "%m-%d-%Y %H:%M:%S.%f") for key in ("power_begin", "power_end"))
    seconds = (end - begin).total_seconds()
    rows = [f"Time,{(begin + timedelta(seconds=second)):%m-%d-%Y %H:%M:%S.%f},Watts,100.0,x\n" for second in range(1, int(seconds) + 1)]
    (path / "performance/run_1/spl.txt").write_text("".join(rows), encoding="utf-8")
    result = check_files([path], Submission(round="5.1"))
    (rule,) = (rule for rule in result.rules if rule.rule == "power: average")
    assert float(rule.found.split(", ")[1].removesuffix(" mJ/query")) == pytest.approx(100.0 * seconds / 28_857 * 1000.0, rel=1e-4)


KEYS = sorted({row["key"] for planted in PLANTED for row in made(planted).performance})
VALUES = (
    st.none() | st.booleans() | st.integers() | st.just(10**400) | st.floats() | st.sampled_from(["Server", "Offline", "SingleStream", "x"])
)


@given(
    st.dictionaries(st.sampled_from(KEYS), VALUES),
    st.dictionaries(st.sampled_from(KEYS), VALUES),
    st.sampled_from(["", "Server", "Interactive"]),
)
def test_no_values_are_an_error(performance: dict[str, object], accuracy: dict[str, object], scenario: str) -> None:
    logs = [
        Log(file="a", entries=tuple(Entry(key=key, value=value, time_ms=0.0, file="a", line=1) for key, value in values.items()))
        for values in (performance, accuracy)
    ]
    rules = inference_rules("5.1", "llama2-70b-99")
    assert rules is not None
    runs = Runs(performance=logs[0], accuracy=logs[1], accuracy_text="'rouge1': 1.5", tests={"TEST06": ComplianceRun()})
    assert not judge_inference(runs, rules, "closed", scenario, folder=True).passed


def test_the_logs_are_those_of_loadgen() -> None:
    assert sorted(path.name for path in LOGS.iterdir()) == [
        "MultiStream",
        "Offline",
        "SOURCE.md",
        "ServerLate",
        "SingleStream",
        "SingleStreamShort",
        "public",
    ]
