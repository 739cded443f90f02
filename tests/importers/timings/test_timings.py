"""Do files that the real tools wrote become records whose numbers are those that the tools printed?

The files beside this one were written by pytest-benchmark 5.3.1, pyperf 2.11.0, hyperfine 1.15.0, Google Benchmark 1.9.5 and asv 0.6.6; only names of
hosts and paths were replaced. Expected numbers are what the tools printed when they wrote them.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fireassay.cli import main
from fireassay.clock import FakeClock
from fireassay.errors import SpecError
from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.frames.record_data import RecordData, from_record
from fireassay.importers.support.base import Imported
from fireassay.importers.timings.support.importing import import_timings, recognised
from fireassay.record.reader import open_record
from fireassay.reports.build_view import build
from fireassay.reports.pages.record import page
from fireassay.verdict.judge import Judgement, judge
from fireassay.verdict.pitfalls import of_record
from tests.reports.pages.screens import flat

pytestmark = pytest.mark.slow

FILES = Path(__file__).parent / "files"
TOOLS = {
    "pytest_benchmark": ("pytest_benchmark.json", "pytest_benchmark_saved.json", "pytest_benchmark_1.json"),
    "pyperf": ("pyperf.json", "pyperf_one.json"),
    "hyperfine": ("hyperfine.json", "hyperfine_parameters.json"),
    "google_benchmark": ("google_benchmark.json", "google_benchmark_aggregates.json"),
    "asv": ("asv.json", "asv_medians.json"),
}
EVERY = [(tool, file) for tool, names in TOOLS.items() for file in names]


def imported(root: Path, *files: Path | str, tool: str = "") -> tuple[Imported, ...]:
    paths = [FILES / file for file in files]
    return import_timings(tool or recognised(paths), paths, root, clock=FakeClock())


def one(root: Path, *files: Path | str) -> RecordData:
    (made,) = imported(root, *files)
    return from_record(open_record(made.path))


def times(measured: RecordData) -> dict[str, Value]:
    results: Judgement = judge(measured)
    return {name.removeprefix("benchmark="): value for name, value in results.results["trial_time"].items()}


def value_of(found: Value) -> float:
    assert isinstance(found, Estimate)
    return found.value


@pytest.mark.parametrize(("tool", "file"), EVERY)
def test_each_file_is_recognised_as_that_of_its_tool(tool: str, file: str) -> None:
    assert recognised([FILES / file]) == tool


# ---- the numbers that the tools printed ----


def test_the_median_of_pytest_benchmark_is_that_of_its_table(tmp_path: Path) -> None:
    """It printed medians of 2,474.0000 ns and 212.0002 ns."""
    found = times(one(tmp_path, "pytest_benchmark.json"))
    assert value_of(found["test_bench.py::test_fib"]) == pytest.approx(2474.0000e-9, rel=1e-6)
    assert value_of(found["test_bench.py::test_pedantic"]) == pytest.approx(212.0002e-9, rel=1e-6)
    assert {value.n_launches for value in found.values() if isinstance(value, Estimate)} == {1}


def test_every_worker_of_pyperf_is_a_launch(tmp_path: Path) -> None:
    """`pyperf stats`: sort 4 runs with values, 12 values, median 503 ns, mean 496 ns, standard deviation 124 ns."""
    measured = one(tmp_path, "pyperf.json")
    found = times(measured)["sort"]
    assert isinstance(found, Estimate)
    assert (found.n_launches, found.n_trials) == (4, 12)
    assert found.low < 496e-9 < found.high
    reported = {entry["name"]: entry["value"] for entry in (measured.foreign or {})["reported"] if entry["benchmark"] == "sort"}
    assert {name: round(value * 1e9) for name, value in reported.items()} == {
        "mean": 496,
        "median": 503,
        "stddev": 124,
        "min": 325,
        "max": 682,
    }
    rows = measured.table("trials")
    assert set(rows.filter(warm_up=0)["calls"]) == {32768}
    assert rows.filter(warm_up=1).height == 8  # one in each worker


def test_every_execution_of_hyperfine_is_a_launch(tmp_path: Path) -> None:
    """It printed 1.1 ms +- 0.1 ms of 8 runs for the second command."""
    found = times(one(tmp_path, "hyperfine.json"))["/bin/ls /"]
    assert isinstance(found, Estimate)
    assert (found.n_launches, found.n_trials) == (8, 8)
    assert found.low <= 1.1e-3 <= found.high


def test_the_median_of_the_repetitions_of_google_benchmark(tmp_path: Path) -> None:
    """It printed medians of 34,820 ns, 898 ns and 2,460 ns, and 933 ns of processor time (mean 935 ns) for the last."""
    measured = one(tmp_path, "google_benchmark.json")
    assert [round(value_of(value) * 1e9) for value in times(measured).values()] == [34820, 898, 2460]
    cpu = judge(measured).results["trial_cpu_time"]["benchmark=sized/n:100"]
    assert value_of(cpu) == pytest.approx(935e-9, abs=0.5e-9)


def test_the_medians_of_asv(tmp_path: Path) -> None:
    """It printed 402 ns, 765 ns and 576 ns."""
    found = times(one(tmp_path, "asv.json"))
    assert {name: round(value_of(value) * 1e9) for name, value in found.items()} == {
        "bench.Suite.time_sort(10)": 402,
        "bench.Suite.time_sort(100)": 765,
        "bench.time_sum": 576,
    }


@pytest.mark.parametrize(
    ("file", "benchmark", "ns"),
    [
        ("google_benchmark_aggregates.json", "sum_million", 41813),
        ("asv_medians.json", "bench.time_sum", 566),
        ("pytest_benchmark_saved.json", "test_bench.py::test_sum[10]", None),
    ],
)
def test_a_file_of_totals_keeps_its_own_statistic_and_says_so(tmp_path: Path, file: str, benchmark: str, ns: int | None) -> None:
    measured = one(tmp_path, file)
    own = next(
        entry["value"] for entry in (measured.foreign or {})["reported"] if (entry["benchmark"], entry["name"]) == (benchmark, "median")
    )
    assert ns is None or round(own * 1e9) == ns
    assert value_of(times(measured)[benchmark]) == pytest.approx(own, rel=1e-6)
    assert "stand" in " ".join((measured.foreign or {})["missing"])
    assert "without single times: the file's own statistic stands for them" in flat(page(build(measured, judge(measured))))


# ---- launches ----


def test_one_file_of_rounds_has_no_interval_over_launches(tmp_path: Path) -> None:
    measured = one(tmp_path, "pytest_benchmark.json")
    judgement = judge(measured)
    assert judgement.verdict.status == "INCONCLUSIVE"
    assert "2 of one launch, no interval over launches" in flat(page(build(measured, judgement)))


def test_files_of_several_processes_are_launches_of_one_record(tmp_path: Path) -> None:
    measured = one(tmp_path, "pytest_benchmark_1.json", "pytest_benchmark_2.json", "pytest_benchmark_3.json")
    found = times(measured)["test_bench.py::test_fib"]
    assert isinstance(found, Estimate)
    assert found.n_launches == 3
    assert found.low < found.value < found.high
    dates = measured.table("launches").filter(configuration="benchmark=test_bench.py::test_fib")["begin_utc"]
    assert dates.n_unique() == 3


def test_the_same_file_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "copy.json").write_bytes((FILES / "pyperf.json").read_bytes())
    with pytest.raises(SpecError, match="the same as"):
        import_timings("pyperf", [FILES / "pyperf.json", tmp_path / "copy.json"], tmp_path / "records", clock=FakeClock())
    assert not (tmp_path / "records").exists()


def test_files_of_different_machines_are_different_records(tmp_path: Path) -> None:
    changed(tmp_path / "other.json", "pytest_benchmark_2.json", lambda d: d["machine_info"]["cpu"].update(brand_raw="Another"))
    assert len(imported(tmp_path / "records", FILES / "pytest_benchmark_1.json", tmp_path / "other.json")) == 2


def test_a_folder_is_read_whole_without_the_description_of_the_machine(tmp_path: Path) -> None:
    folder = tmp_path / "box"
    folder.mkdir()
    (folder / "abc-env.json").write_bytes((FILES / "asv.json").read_bytes())
    (folder / "machine.json").write_text('{"machine": "box", "version": 1}')
    assert main(["import", str(folder), "--root", str(tmp_path / "records")]) == 0


def test_what_was_left_out_is_named(tmp_path: Path) -> None:
    assert "left out, since they failed or were skipped: skipped" in (one(tmp_path / "a", "google_benchmark.json").foreign or {})["missing"]
    missing = " ".join((one(tmp_path / "b", "asv.json").foreign or {})["missing"])
    assert "no result: bench.time_fails" in missing
    assert "time nothing: bench.Suite.track_len, bench.peakmem_list" in missing


# ---- comparing ----


def changed(path: Path, file: str, change: Callable[[dict[str, Any]], object]) -> Path:
    document = json.loads((FILES / file).read_text())
    change(document)
    path.write_text(json.dumps(document))
    return path


def slower(document: dict[str, Any]) -> None:
    """`test_fib` five times as slow, with the statistics that follow."""
    stats = document["benchmarks"][0]["stats"]
    for key in ("min", "max", "mean", "median", "stddev", "iqr"):
        stats[key] *= 5
    stats["data"] = [5 * value for value in stats["data"]]


def test_each_benchmark_of_two_imports_decides(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The last one is unchanged; the first is five times as slow, beyond the 15 % that are assumed between days."""
    names = [f"pytest_benchmark_{number}.json" for number in (1, 2, 3)]
    later = [changed(tmp_path / f"{name}", name, slower) for name in names]
    before, after = imported(tmp_path / "a", *names)[0], imported(tmp_path / "b", *later)[0]
    assert main(["compare", str(before.path), str(after.path)]) == 4  # the other one is undecided
    told = " ".join(capsys.readouterr().out.split())
    assert told.startswith("SLOWER")
    assert "1 slower, 1 undecided of 2 benchmarks" in told
    assert "test_fib 5.0 times" in told or "test_fib +400 %" in told
    assert main(["check", str(after.path), "--against", str(before.path), "--confirm", "never"]) == 1
    assert "test_fib" in capsys.readouterr().out


def test_another_processor_is_not_comparable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = changed(tmp_path / "o.json", "pytest_benchmark_2.json", lambda d: d["machine_info"]["cpu"].update(brand_raw="Another"))
    before, after = imported(tmp_path / "a", "pytest_benchmark_1.json")[0], imported(tmp_path / "b", other)[0]
    main(["compare", str(before.path), str(after.path)])
    told = " ".join(capsys.readouterr().out.split())
    assert told.startswith("NOT COMPARABLE")
    assert "conditions.cpu" in told


def test_two_machines_that_no_file_names_are_not_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """hyperfine says nothing of the machine; whoever knows it vouches for it."""
    other = changed(tmp_path / "o.json", "hyperfine.json", lambda d: d["results"][0].update(times=[0.002] * 8, mean=0.002))
    before, after = str(imported(tmp_path / "a", "hyperfine.json")[0].path), str(imported(tmp_path / "b", other)[0].path)
    assert main(["compare", before, after]) == 3
    assert "calls.machine" in capsys.readouterr().out
    assert main(["compare", before, after, "--varying", "calls.machine"]) in (0, 4)


# ---- files that cannot be trusted ----


def test_a_mean_that_does_not_follow_from_the_rounds_is_a_finding(tmp_path: Path) -> None:
    path = changed(tmp_path / "f.json", "pytest_benchmark.json", lambda d: d["benchmarks"][0]["stats"].update(mean=1e-6))
    measured = one(tmp_path / "records", path)
    (pitfall,) = [entry for entry in of_record(measured) if entry.name == "contradictory_file"]
    assert pitfall.state == "fallen into"
    assert "test_fib: it reports a mean of 1e-06 s" in pitfall.findings[0].evidence
    assert "it reports a mean of 1e-06 s" in flat(page(build(measured, judge(measured))))


def test_executions_of_no_time_are_not_measured(tmp_path: Path) -> None:
    """hyperfine without -N subtracts its estimate for the shell, here more than the command took."""
    measured = one(tmp_path, "hyperfine_parameters.json")
    assert all(isinstance(value, Absent) for value in times(measured).values())
    shown = flat(page(build(measured, judge(measured))))
    assert "8 of 8 trials ended with an exit code other than 0" in shown
    assert "4 of 4 executions take 0 s" in shown


WRONG: list[tuple[str, Callable[[dict[str, Any]], object], str]] = [
    ("pytest_benchmark.json", lambda d: d.update(benchmarks=[]), "no benchmarks"),
    ("pytest_benchmark.json", lambda d: d["benchmarks"][0]["stats"].update(data=[-1.0]), r"stats.data\[0\]"),
    ("pytest_benchmark.json", lambda d: d["benchmarks"][0]["stats"].update(iterations=0), "iterations"),
    ("pytest_benchmark.json", lambda d: d["benchmarks"][0]["stats"].update(data=[], median="fast"), "median"),
    ("pytest_benchmark.json", lambda d: d["benchmarks"][0].update(stats=None), "stats"),
    ("pyperf.json", lambda d: d.update(version="2.0"), "format 1.0 of pyperf"),
    ("pyperf.json", lambda d: d["benchmarks"][0].update(runs=[]), "no run with values"),
    ("pyperf.json", lambda d: d["benchmarks"][0]["runs"][1].update(warmups=[[1]]), "a pair"),
    ("pyperf.json", lambda d: d["benchmarks"][0]["runs"][1].update(values=[float("nan")]), "a number of seconds"),
    ("hyperfine.json", lambda d: d.update(results=[]), "no results"),
    ("hyperfine.json", lambda d: d["results"][0].update(exit_codes=[0]), "1 exit codes of 8 times"),
    ("hyperfine.json", lambda d: d["results"][0].update(times=[1e300]), "a number of seconds"),
    ("google_benchmark.json", lambda d: d["benchmarks"][0].update(time_unit="h"), "time_unit"),
    ("google_benchmark.json", lambda d: d.update(benchmarks=[]), "no timed benchmarks"),
    ("google_benchmark.json", lambda d: d["benchmarks"][0].update(real_time=None), "real_time"),
    ("google_benchmark.json", lambda d: d["benchmarks"][0].update(iterations=10**15), "in all"),
    ("asv.json", lambda d: d.update(version=1), "format 2 of asv"),
    ("asv.json", lambda d: d["results"].update({"bench.time_sum": [[1.0, 2.0], []]}), "one for each of 1 combinations"),
    ("asv.json", lambda d: d.update(results={}), "no benchmark with a time"),
]


@pytest.mark.parametrize(("file", "change", "told"), WRONG)
def test_a_wrong_file_is_refused_with_its_place_and_leaves_nothing(
    tmp_path: Path, file: str, change: Callable[[dict[str, Any]], object], told: str
) -> None:
    path = changed(tmp_path / "f.json", file, change)
    tool = next(tool for tool, name in EVERY if name == file)
    with pytest.raises(SpecError, match=told):
        imported(tmp_path / "records", path, tool=tool)
    assert not list((tmp_path / "records").glob("*"))


HOSTILE = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.just([]), st.just({}), st.just([[1]]), st.just(10**400)
)


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inside = value.items() if isinstance(value, dict) else enumerate(value[:3]) if isinstance(value, list) else ()
    return [path, *(place for key, inner in inside for place in _places(inner, (*path, key)))]


@pytest.mark.parametrize(("tool", "file"), [(tool, names[0]) for tool, names in TOOLS.items()])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_value_anywhere_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, tool: str, file: str, data: st.DataObject) -> None:
    document = copy.deepcopy(json.loads((FILES / file).read_text()))
    *path, last = data.draw(st.sampled_from([place for place in _places(document) if place]))
    inner = document
    for key in path:
        inner = inner[key]
    inner[last] = data.draw(HOSTILE)
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "f.json").write_text(json.dumps(document))
    with suppress(SpecError):
        for made in imported(folder / "records", folder / "f.json", tool=tool):
            judge(from_record(open_record(made.path)))


def test_names_hold_no_secrets_and_no_control_characters(tmp_path: Path) -> None:
    name = "curl -H 'Authorization: Bearer sk-abcdefghijklmnopqrstuvwx' \x1b[31m\n\u202ex"
    path = changed(tmp_path / "f.json", "hyperfine.json", lambda d: d["results"][0].update(command=name))
    shown = " ".join(one(tmp_path / "records", path).configurations)
    assert "sk-abcdefghij" not in shown
    assert shown.isprintable()
