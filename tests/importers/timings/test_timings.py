"""Do files that the real tools wrote become records whose numbers are those that the tools printed?

The files beside this one were written by pytest-benchmark 5.3.1, pyperf 2.11.0, hyperfine 1.15.0, Google Benchmark 1.9.5 and asv 0.6.6; only names of
hosts and paths were replaced. Expected numbers are what the tools printed when they wrote them.
"""

from __future__ import annotations

import copy
import gzip
import json
import shutil
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
from fireassay.estimates.estimate import Estimate
from fireassay.frames.record_data import from_record
from fireassay.importers.timings.support.importing import import_timings, recognised
from fireassay.record.reader import open_record
from fireassay.reports.build_view import build
from fireassay.reports.pages.record import page
from fireassay.verdict.judge import judge
from tests.importers.timings.made import EVERY, FILES, TOOLS, changed, imported, one, times, value_of
from tests.reports.pages.screens import flat

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("tool", "file"), EVERY)
def test_each_file_is_recognised_as_that_of_its_tool(tool: str, file: str) -> None:
    assert recognised([FILES / file]) == tool


# ---- totals ----


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


def test_what_was_left_out_is_named(tmp_path: Path) -> None:
    assert "benchmarks that failed or were skipped: skipped" in (one(tmp_path / "a", "google_benchmark.json").foreign or {})["missing"]
    missing = " ".join((one(tmp_path / "b", "asv.json").foreign or {})["missing"])
    assert "benchmarks that have no result: bench.time_fails" in missing
    assert "benchmarks that time nothing: bench.Suite.track_len, bench.peakmem_list" in missing


def test_thousands_of_executions_are_one_file_per_table(tmp_path: Path) -> None:
    """hyperfine -N makes some 5,000 of a short command; synchronising a file for each took a minute."""
    seconds = [0.001 + index * 1e-9 for index in range(2001)]
    execute = {"command": "true", "times": seconds, "exit_codes": [0] * 2001, "median": 0.001001, "mean": 0.001001, "stddev": 0.0}
    (tmp_path / "many.json").write_text(json.dumps({"results": [execute]}))
    (made,) = imported(tmp_path / "records", tmp_path / "many.json")
    assert made.launches == 2001
    assert len(list(made.path.glob("tables/*/*/*.parquet"))) == 2
    measured = from_record(open_record(made.path))
    assert measured.table("launches")["launch"].to_list() == list(range(2001))
    assert (measured.table("trials")["end_ns"] - measured.table("trials")["begin_ns"]).to_list() == [1_000_000 + i for i in range(2001)]


def test_results_in_folders_of_machines_and_gzipped_ones_are_found(tmp_path: Path) -> None:
    """asv and pytest-benchmark write a folder for each machine; pyperf writes FILE.json.gz."""
    (tmp_path / "results" / "vm").mkdir(parents=True)
    (tmp_path / "results" / "vm" / "machine.json").write_text("{}")
    (tmp_path / "results" / "benchmarks.json").write_text("{}")
    shutil.copy(FILES / "asv.json", tmp_path / "results" / "vm" / "1a2b-env.json")
    assert imported(tmp_path / "records", tmp_path / "results")[0].tool == "asv"
    packed = tmp_path / "pyperf.json.gz"
    packed.write_bytes(gzip.compress((FILES / "pyperf.json").read_bytes()))
    assert imported(tmp_path / "records", packed)[0].requests == imported(tmp_path / "records", "pyperf.json")[0].requests


@pytest.mark.parametrize("damage", [lambda raw: raw[:-20], lambda raw: raw[:200] + b"xxxxx" + raw[205:]])
def test_a_damaged_gzip_file_is_refused(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    packed = tmp_path / "pyperf.json.gz"
    packed.write_bytes(damage(gzip.compress((FILES / "pyperf.json").read_bytes())))
    with pytest.raises(SpecError, match="damaged or cut off"):
        imported(tmp_path / "records", packed, tool="pyperf")


def test_files_of_one_name_are_told_apart(tmp_path: Path) -> None:
    for number in (1, 2):
        (tmp_path / str(number)).mkdir()
        shutil.copy(FILES / f"pytest_benchmark_{number}.json", tmp_path / str(number) / "run.json")
    measured = one(tmp_path / "records", tmp_path / "1" / "run.json", tmp_path / "2" / "run.json")
    assert len((measured.foreign or {})["files"]) == 2


def test_a_benchmark_with_fewer_launches_breaks_no_plan(tmp_path: Path) -> None:
    """Each command of hyperfine has as many executions as its time allows."""
    path = changed(tmp_path / "f.json", "hyperfine.json", lambda d: d["results"][0].update(times=[0.002] * 3, exit_codes=[0] * 3))
    judgement = judge(one(tmp_path / "records", path))
    words = " ".join(f"{finding.evidence} {finding.remedy}" for finding in judgement.verdict.findings)
    assert "plan" not in words
    assert "per_configuration" not in words
    assert "import the files of 5 runs or more" in words


# ---- comparing ----


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
    printed = " ".join(capsys.readouterr().out.split())
    assert printed.startswith("SLOWER")
    assert "1 slower, 1 undecided of 2 benchmarks" in printed
    assert "test_fib 5.0 times" in printed or "test_fib +400 %" in printed
    assert main(["check", str(after.path), "--against", str(before.path), "--confirm", "never"]) == 1
    assert "test_fib" in capsys.readouterr().out


def test_rows_of_a_check_name_their_benchmarks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [f"pytest_benchmark_{number}.json" for number in (1, 2, 3)]
    before = imported(tmp_path / "a", *names)[0]
    after = imported(tmp_path / "b", *(changed(tmp_path / name, name, lambda d: d.update(datetime="2026-11-30")) for name in names))[0]
    assert main(["check", str(after.path), "--against", str(before.path), "--confirm", "never"]) == 4
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("?")]
    assert sorted(row.split()[1] for row in rows) == ["test_fib", "test_pedantic"]


def test_a_benchmark_that_only_one_side_has_is_said_on_the_first_screen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The later files lack the first benchmark, as if it had failed."""
    names = [f"pytest_benchmark_{number}.json" for number in (1, 2, 3)]
    before = imported(tmp_path / "a", *names)[0]
    after = imported(tmp_path / "b", *(changed(tmp_path / name, name, lambda d: d["benchmarks"].pop(0)) for name in names))[0]
    for command in (["compare", str(before.path), str(after.path)], ["check", str(after.path), "--against", str(before.path)]):
        main(command)
        printed = " ".join(capsys.readouterr().out.split())
        assert "Not compared: test_bench.py::test_fib: only in" in printed
        assert "test_pedantic" in printed


def test_another_processor_is_not_comparable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = changed(tmp_path / "o.json", "pytest_benchmark_2.json", lambda d: d["machine_info"]["cpu"].update(brand_raw="Another"))
    before, after = imported(tmp_path / "a", "pytest_benchmark_1.json")[0], imported(tmp_path / "b", other)[0]
    main(["compare", str(before.path), str(after.path)])
    printed = " ".join(capsys.readouterr().out.split())
    assert printed.startswith("NOT COMPARABLE")
    assert "conditions.cpu" in printed


def test_two_machines_that_no_file_names_are_not_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """hyperfine says nothing of the machine; whoever knows it vouches for it."""
    other = changed(tmp_path / "o.json", "hyperfine.json", lambda d: d["results"][0].update(times=[0.002] * 8, mean=0.002))
    before, after = str(imported(tmp_path / "a", "hyperfine.json")[0].path), str(imported(tmp_path / "b", other)[0].path)
    assert main(["compare", before, after]) == 3
    assert "calls.machine" in capsys.readouterr().out
    assert main(["compare", before, after, "--varying", "calls.machine"]) in (0, 4)


# ---- files that cannot be trusted ----


WRONG: list[tuple[str, Callable[[dict[str, Any]], object], str]] = [
    ("pytest_benchmark.json", lambda d: d.update(benchmarks=[]), "Run pytest with tests"),
    ("pytest_benchmark.json", lambda d: d["benchmarks"][0]["stats"].update(data=[-1.0]), r"stats.data\[0\]"),
    ("pytest_benchmark.json", lambda d: d["benchmarks"][0]["stats"].update(iterations=0), "iterations"),
    ("pytest_benchmark.json", lambda d: d["benchmarks"][0]["stats"].update(data=[], median="fast"), "median"),
    ("pytest_benchmark.json", lambda d: d["benchmarks"][0].update(stats=None), "stats"),
    ("pyperf.json", lambda d: d.update(version="2.0"), "format 1.0 of pyperf"),
    ("pyperf.json", lambda d: d["benchmarks"][0].update(runs=[]), "no run with values"),
    ("pyperf.json", lambda d: d["benchmarks"][0]["runs"][1].update(warmups=[[1]]), "a pair"),
    ("pyperf.json", lambda d: d["benchmarks"][0]["runs"][1].update(values=[float("nan")]), "a number of seconds"),
    ("hyperfine.json", lambda d: d.update(results=[]), "Was hyperfine interrupted"),
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


@pytest.mark.parametrize(("file", "change", "message"), WRONG)
def test_a_wrong_file_is_refused_with_its_place_and_leaves_nothing(
    tmp_path: Path, file: str, change: Callable[[dict[str, Any]], object], message: str
) -> None:
    path = changed(tmp_path / "f.json", file, change)
    tool = next(tool for tool, name in EVERY if name == file)
    with pytest.raises(SpecError, match=message):
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
