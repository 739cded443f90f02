"""Results of nccl-tests become records whose numbers are those that it printed, and that say what they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fireassay.clock import FakeClock
from fireassay.errors import SpecError
from fireassay.estimates.estimate import Estimate
from fireassay.frames.links.network_probe import factor
from fireassay.frames.record_data import RecordData, from_record
from fireassay.importers.nccl_tests import read
from fireassay.importers.support.base import Imported
from fireassay.importers.support.importing import import_results
from fireassay.importers.support.nccl_logs import PROGRAMS
from fireassay.record.reader import open_record
from fireassay.reports.build_view import build
from fireassay.spec.sections.collectives import Collectives
from fireassay.verdict.judge import Judgement, judge
from tests.reports.written import written

pytestmark = pytest.mark.slow


# Lines as nccl-tests 2.13 prints them, with times and bandwidths that were published for two nodes of eight H100 (all_reduce_perf -b 8 -e
# 8G).
DEVICES = "\n".join(
    f"#  Rank {rank:2d} Group  0 Pid   69{rank:02d} on node{rank // 8} device {rank % 8:2d} [0000:04:00] NVIDIA H100 80GB HBM3"
    for rank in range(16)
)
TEXT = f"""\
# nThread 1 nGpus 1 minBytes 8 maxBytes 8589934592 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
#
# Using devices
{DEVICES}
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
           8             2     float     sum      -1    135.8    0.00    0.00      0    123.5    0.00    0.00      0
       65536         16384     float     sum      -1    159.4    0.41    0.77      0    157.6    0.42    0.78      0
    16777216       4194304     float     sum      -1    977.6   17.16   32.18      0    951.6   17.63   33.06      0
  8589934592    2147483648     float     sum      -1    47535  180.71  338.82      0    47743  179.92  337.35      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 70.742
"""


def document(*, wrong: float | None = 0.0, args: tuple[str, ...] = (), scale: float = 1.0) -> dict[str, Any]:
    """What nccl-tests 2.17 and later write with -J, for a link with alpha = 10 us and 1 / beta = 100 GB/s."""
    each, processes = 2, 2
    ranks = each * processes
    results = []
    for size in (0, 2**10, 2**16, 2**20, 2**24, 2**28):
        seconds = scale * ((ranks - 1) * 10e-6 + (ranks - 1) / ranks * size * 1e-11)
        algbw = size / seconds / 1e9
        one = {"time": seconds * 1e6, "alg_bw": algbw, "bus_bw": algbw * (ranks - 1) / ranks, "nwrong": wrong}
        results.append(
            {
                "size": size,
                "count": size // 4 // ranks,
                "type": "float",
                "redop": "none",
                "root": "    -1",
                "out_of_place": one,
                "in_place": {**one, "nwrong": None},
                "actual_iterations": 20,
                "experiment_name": "",
            }
        )
    devices = [
        {
            "rank": place * each,
            "group": 0,
            "pid": 7,
            "hostname": f"node{place}",
            "device": 0,
            "device_hex": "0000:04:00",
            "device_info": "H100",
        }
        for place in range(processes)
    ]
    return {
        "version": 2,
        "start_time": "2026-01-01 10:00:00",
        "args": ["./all_gather_perf", "-b", "8", *args],
        "nccl_version": 22703,
        "env": ["HOME=/home/somebody", "MY_API_KEY=verysecret", "NCCL_DEBUG=WARN"],
        "config": {"nthreads": 1, "ngpus": each, "minimum_bytes": 8, "maximum_bytes": 2**28, "devices": devices},
        "results": results,
        "out_of_bounds": {"count": 0, "okay": "true"},
        "end_time": "2026-01-01 10:00:30",
    }


def imported(path: Path, root: Path, **rest: Any) -> tuple[Imported, ...]:
    return import_results(path, root / "records", clock=FakeClock(), **rest)


def judged(one: Imported) -> tuple[RecordData, Judgement]:
    measured = from_record(open_record(one.path))
    return measured, judge(measured)


def value(judgement: Judgement, metric: str, key: str) -> Estimate:
    found = judgement.results[metric][key]
    assert isinstance(found, Estimate), found
    return found


def test_printed_bandwidths_come_out_as_they_were_printed(tmp_path: Path) -> None:
    (tmp_path / "all_reduce_perf.txt").write_text(TEXT)
    (one,) = imported(tmp_path / "all_reduce_perf.txt", tmp_path)
    assert (one.tool, one.configurations, one.launches, one.requests, one.failed) == ("nccl_tests", ("workers=16",), 1, 8, 0)
    _, judgement = judged(one)
    for size, place, algbw, busbw in (
        (16777216, "out", 17.16, 32.18),
        (8589934592, "out", 180.71, 338.82),
        (8589934592, "in", 179.92, 337.35),
    ):
        key = f"workers=16 op=all_reduce place={place} bytes={size}"
        assert value(judgement, "algbw", key).value / 1e9 == pytest.approx(algbw, rel=4e-4)
        assert value(judgement, "busbw", key).value / 1e9 == pytest.approx(busbw, rel=4e-4)
    assert judgement.verdict.status == "INCONCLUSIVE"  # one run has no interval


def test_runs_of_a_folder_are_launches_and_fit_a_link(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    runs.mkdir()
    for place, scale in enumerate((0.98, 1.0, 1.01, 0.99, 1.02)):
        (runs / f"run{place}.json").write_text(json.dumps(document(scale=scale)))
    (one,) = imported(runs, tmp_path, name="fabric")
    measured, judgement = judged(one)
    assert (one.launches, measured.levels, measured.experiment.name) == (5, (4,), "fabric")
    group = "workers=4 op=all_gather place=out"
    assert value(judgement, "alpha", group).value == pytest.approx(10e-6, rel=0.02)
    assert value(judgement, "beta", group).value == pytest.approx(1e-11, rel=0.02)
    assert "rank:mean of ranks" in value(judgement, "busbw", f"{group} bytes=1048576").signature
    assert judgement.verdict.status == "MEASURED"
    assert {"collective_check_apart"} <= {finding.rule for finding in judgement.verdict.findings}
    assert "a separate iteration, not the timed ones" in written(build(measured, judgement), "terminal", width=200)


def test_nothing_of_the_file_is_lost_but_other_peoples_variables(tmp_path: Path) -> None:
    written = document()
    (tmp_path / "a.json").write_text(json.dumps(written))
    (one,) = imported(tmp_path / "a.json", tmp_path)
    (kept,) = from_record(open_record(one.path)).foreign["kept"]  # type: ignore[index]
    assert kept["results"] == written["results"]
    assert kept["config"] == written["config"]
    assert kept["env"] == {"NCCL_DEBUG": "WARN"}


def test_the_ranks_that_were_averaged_are_part_of_the_definition(tmp_path: Path) -> None:
    for words, meant in ((("-a", "3"), "slowest"), (("--average", "2"), "fastest"), ((), "mean of ranks")):
        (tmp_path / "a.json").write_text(json.dumps(document(args=words)))
        (run,) = read(tmp_path / "a.json")
        assert run.aggregation == meant


def test_wrong_elements_fail_the_record(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(document(wrong=3.0)))
    _, judgement = judged(imported(tmp_path / "a.json", tmp_path)[0])
    assert judgement.verdict.status == "FAIL"
    assert "gave wrong data" in judgement.verdict.sentence


def test_a_group_that_the_numbers_contradict_is_told(tmp_path: Path) -> None:
    """Devices of one node alone, of a run on two: the printed busbw has the factor of sixteen ranks."""
    few = "\n".join(line for line in TEXT.splitlines() if "on node1" not in line)
    (tmp_path / "all_reduce_perf.txt").write_text(few)
    (one,) = imported(tmp_path / "all_reduce_perf.txt", tmp_path)
    _, judgement = judged(one)
    (found,) = [finding for finding in judgement.verdict.findings if finding.rule == "collective_numbers_contradict"]
    assert "on 8 ranks are a busbw of" in found.evidence


# ---- odd files -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prefix", ["[1,0]<stdout>:", "[1,0]<stdout>: ", "0: ", "[default0]:", "node-7.rack: "])
def test_what_a_starter_of_processes_writes_before_each_line_is_taken_off(tmp_path: Path, prefix: str) -> None:
    path = tmp_path / "all_reduce_perf.txt"
    path.write_text(TEXT)
    plain = read(path)
    path.write_text("".join(f"{prefix}{line}\n" for line in TEXT.splitlines()))
    (run,) = read(path)
    assert (run.ranks, run.lines) == (16, plain[0].lines)


@pytest.mark.parametrize("op", ["all_reduce", "all_gather", "reduce_scatter", "reduce", "gather", "scatter"])
def test_the_program_is_found_anywhere_in_a_files_name(tmp_path: Path, op: str) -> None:
    """What it printed does not name it before 2.13, and people add what was special of a run."""
    path = tmp_path / f"run1_{op}_perf_16gpus.txt"
    path.write_text(TEXT)
    assert [run.op for run in read(path)] == [op]


@pytest.mark.parametrize("name", ["allreduce_perf.txt", "all-reduce_perf.txt"])
def test_the_end_of_another_word_is_no_program(tmp_path: Path, name: str) -> None:
    """Its busbw would have the factor of another operation."""
    (tmp_path / name).write_text(TEXT)
    with pytest.raises(SpecError, match="no program name"):
        read(tmp_path / name)


def test_several_runs_in_one_file_are_kept_apart(tmp_path: Path) -> None:
    """Three programs one after the other, as from a shell's loop: each has its own ranks, operation and lines."""
    named = [f"# Collective test starting: {op}_perf\n{TEXT}" for op in ("all_reduce", "all_reduce", "all_gather")]
    (tmp_path / "log.txt").write_text("".join(named))
    found = read(tmp_path / "log.txt")
    assert [(run.op, run.ranks, len(run.lines)) for run in found] == [("all_reduce", 16, 8), ("all_reduce", 16, 8), ("all_gather", 16, 8)]
    first, second = imported(tmp_path / "log.txt", tmp_path)
    assert (first.launches, second.launches) == (2, 1)


def test_types_and_operators_of_one_run_are_records_of_their_own(tmp_path: Path) -> None:
    row = "    16777216       4194304     float     sum      -1    977.6   17.16   32.18      0    951.6   17.63   33.06      0\n"
    text = TEXT + row.replace("float", " half") + row.replace("sum", "max")
    (tmp_path / "all_reduce_perf.txt").write_text(text)
    found = read(tmp_path / "all_reduce_perf.txt")
    assert [(run.dtype, run.redop, len(run.lines)) for run in found] == [
        ("float32", "sum", 8),
        ("float16", "sum", 2),
        ("float32", "max", 2),
    ]
    assert len(imported(tmp_path / "all_reduce_perf.txt", tmp_path)) == 3


def test_types_that_are_not_known_are_left_out_and_told(tmp_path: Path) -> None:
    """Of -d all; a file of nothing else is refused."""
    row = "    16777216       4194304     float     sum      -1    977.6   17.16   32.18      0    951.6   17.63   33.06      0\n"
    text = TEXT + row.replace("   float", "f4e2m1x2") + row.replace("float", " half")
    (tmp_path / "all_reduce_perf.txt").write_text(text)
    one, two = imported(tmp_path / "all_reduce_perf.txt", tmp_path)
    assert (one.requests, two.requests) == (8, 2)
    for made in (one, two):
        assert "the meaning of type f4e2m1x2: 2 of 12 results have it and are left out" in made.missing
        assert made.missing == tuple(from_record(open_record(made.path)).foreign["missing"])  # type: ignore[index]


# test_typenames of src/common.cu and wordSize of src/common.h, version 2.19.1: all that -d all goes through, with their bytes
EVERY_TYPE = {
    "int8": 1,
    "uint8": 1,
    "int32": 4,
    "uint32": 4,
    "int64": 8,
    "uint64": 8,
    "half": 2,
    "float": 4,
    "double": 8,
    "bfloat16": 2,
    "f8e4m3": 1,
    "f8e5m2": 1,
}


def test_every_type_of_a_run_of_all_is_read_with_its_bytes(tmp_path: Path) -> None:
    row = "    16777216       4194304     float     sum      -1    977.6   17.16   32.18      0    951.6   17.63   33.06      0\n"
    head = TEXT[: TEXT.index("           8  ")]
    rows = [row.replace("   float", f"{name:>8}") for name in EVERY_TYPE]
    (tmp_path / "all_reduce_perf.txt").write_text(head + "".join(rows))
    runs = read(tmp_path / "all_reduce_perf.txt")
    assert [Collectives(dtype=run.dtype).element_size for run in runs] == list(EVERY_TYPE.values())  # type: ignore[arg-type]
    assert len({run.dtype for run in runs}) == 12
    assert not any(word in told for run in runs for told in run.missing for word in EVERY_TYPE)


def test_a_record_of_eight_bits_is_judged(tmp_path: Path) -> None:
    (tmp_path / "all_reduce_perf.txt").write_text(TEXT.replace("   float", "  f8e4m3"))
    measured, judgement = judged(imported(tmp_path / "all_reduce_perf.txt", tmp_path)[0])
    assert measured.experiment.collectives is not None
    assert measured.experiment.collectives.dtype == "float8_e4m3fn"
    key = "workers=16 op=all_reduce place=out bytes=16777216"
    assert value(judgement, "busbw", key).value / 1e9 == pytest.approx(32.18, rel=4e-4)


# AllReduceGetBw of src/all_reduce.cu and its eight neighbours in version 2.17, written out: busbw / algbw on 1, 2 ... 8 ranks
TWICE = (0.0, 1.0, 1.3333333333, 1.5, 1.6, 1.6666666667, 1.7142857143, 1.75)
ONCE = (0.0, 0.5, 0.6666666667, 0.75, 0.8, 0.8333333333, 0.8571428571, 0.875)
SAME = (1.0,) * 8
FACTORS = {
    "all_reduce": TWICE,
    "all_gather": ONCE,
    "reduce_scatter": ONCE,
    "alltoall": ONCE,
    "gather": ONCE,
    "scatter": ONCE,
    "broadcast": SAME,
    "reduce": SAME,
    "sendrecv": SAME,
}


@pytest.mark.parametrize("program", FACTORS)
def test_a_programs_bandwidths_have_the_factors_of_its_source(program: str) -> None:
    assert set(FACTORS) == set(PROGRAMS)
    assert [factor(PROGRAMS[program], ranks) for ranks in range(1, 9)] == pytest.approx(FACTORS[program], abs=1e-9)


def test_a_size_that_comes_again_is_another_loop_of_its_launch(tmp_path: Path) -> None:
    """Run cycles (-N): the median of three, not their sum nor half of it."""
    rows = [f"  16777216  4194304  float  sum  -1  {time}  1.0  2.0  0  {time}  1.0  2.0  0\n" for time in (900, 1000, 1200)]
    head = TEXT[: TEXT.index("           8  ")]
    (tmp_path / "all_reduce_perf.txt").write_text(head + "".join(rows))
    _, judgement = judged(imported(tmp_path / "all_reduce_perf.txt", tmp_path)[0])
    found = value(judgement, "collective_time", "workers=16 op=all_reduce place=out bytes=16777216")
    assert found.value == pytest.approx(1000e-6)


def test_lines_are_read_by_their_header(tmp_path: Path) -> None:
    """Before 2.11 a table had no root, and its last column was the largest error, which counts no elements."""
    old = [
        "# nThread 1 nGpus 1 minBytes 8 warmup iters: 5",
        DEVICES,
        "#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error",
        "    16777216       4194304   float     sum    977.6   17.16   32.18  2e+00    951.6   17.63   33.06  2e+00",
    ]
    (tmp_path / "all_reduce_perf.txt").write_text("\n".join(old))
    (run,) = read(tmp_path / "all_reduce_perf.txt")
    assert [line.seconds for line in run.lines] == pytest.approx([977.6e-6, 951.6e-6])
    assert [line.wrong for line in run.lines] == [None, None]


# From writeResultHeader, writeBenchmarkLineBody, writePerIterReport and writeTimestamp of src/util.cu, version 2.19.1 (which brought -I).
ITERATED = "     time   algbw   busbw  #wrong    i_min    i_max    i_p99    i_cv%"
UNITS = "     (us)  (GB/s)  (GB/s)             (us)     (us)     (us)      (%)"
OUT = "   100.00   10.49   19.66       0    90.00   140.00   140.00     9.50"
IN = "   120.00    8.74   16.38       2    99.00   150.00   150.00     8.10"
PER_ITERATION = f"""\
# nccl-tests version 2.19.1 nccl-headers=22900 nccl-library=22900
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 1 minBytes 1048576 maxBytes 1048576 step: 1048576(bytes) warmup iters: 1 iters: 20 agg iters: 1 validation: 1 graph: 0
# unalign: 0
# Per-Iteration Report: CUDA event timing; i_* uses max over process rows 
#
# Using devices
{DEVICES}
#
# out-of-place (+ per-iteration)                                in-place (+ per-iteration)
#       size         count      type   redop    root{ITERATED}{ITERATED} 
#        (B)    (elements)                          {UNITS}{UNITS} 
     1048576        262144     float     sum      -1{OUT}{IN}
# Out of bounds values : 0 OK
"""  # noqa: W291 (as it is printed)


def with_timestamps(text: str) -> str:
    """What -S 1 adds: %21s at the end of a line, the name and the format in the header."""
    found = []
    for line in text.splitlines():
        if " redop " in line:
            found.append(f"{line} {'timestamp':>19}")
        elif "(elements)" in line:
            found.append(f"{line} %Y-%m-%d %H:%M:%S")
        else:
            found.append(f"{line}{'2025-11-22 10:01:02':>21}" if line[:1] == " " else line)
    return "\n".join(found)


@pytest.mark.parametrize("stamped", [False, True], ids=["-I 1", "-I 1 -S 1"])
def test_columns_of_single_iterations_are_told_from_the_mean_by_their_names(tmp_path: Path, stamped: bool) -> None:
    (tmp_path / "a.txt").write_text(with_timestamps(PER_ITERATION) if stamped else PER_ITERATION)
    (run,) = read(tmp_path / "a.txt")
    assert [(line.in_place, line.busbw, line.wrong) for line in run.lines] == [(False, 19.66, 0), (True, 16.38, 2)]
    assert [line.seconds for line in run.lines] == pytest.approx([100e-6, 120e-6])
    assert (run.op, run.ranks, run.version) == ("all_reduce", 16, "22900")


def test_timestamps_change_nothing(tmp_path: Path) -> None:
    """-S 1 of version 2.17; also where only out of place stands."""
    path = tmp_path / "all_reduce_perf.txt"
    for text in (TEXT, TEXT.replace("    951.6   17.63   33.06      0", "")):
        path.write_text(text)
        plain = read(path)[0].lines
        path.write_text(with_timestamps(text))
        assert read(path)[0].lines == plain


def test_further_columns_without_the_header_that_names_them_are_refused_with_their_flags(tmp_path: Path) -> None:
    bare = "\n".join(line for line in with_timestamps(TEXT).splitlines() if "redop" not in line)
    (tmp_path / "all_reduce_perf.txt").write_text(bare)
    with pytest.raises(SpecError) as caught:
        read(tmp_path / "all_reduce_perf.txt")
    assert "15 words" in str(caught.value)
    assert "-I and -S add columns" in str(caught.value)


def test_whose_times_they_are_cannot_be_told_without_the_names_of_the_columns(tmp_path: Path) -> None:
    path = tmp_path / "all_reduce_perf.txt"
    for text, told in ((TEXT, False), ("\n".join(line for line in TEXT.splitlines() if "redop" not in line), True)):
        path.write_text(text)
        (run,) = read(path)
        assert len(run.lines) == 8
        assert any("or of the processor (-C)" in words for words in run.missing) == told


def test_an_operator_that_is_not_printed_shifts_no_column(tmp_path: Path) -> None:
    """all_gather, gather and others passed an empty name to the common header before they passed "none" (gather.cu of 2021)."""
    (tmp_path / "gather_perf.txt").write_text(TEXT.replace("    sum      -1", "              0"))
    (run,) = read(tmp_path / "gather_perf.txt")
    assert (run.redop, run.root, len(run.lines)) == ("none", 0, 8)
    assert run.lines[4].seconds == pytest.approx(977.6e-6)


def test_placements_and_checks_that_are_not_there_are_not_made_up(tmp_path: Path) -> None:
    text = TEXT.replace("    951.6   17.63   33.06      0", "").replace(
        "    157.6    0.42    0.78      0", "      N/A     N/A     N/A    N/A"
    )
    (tmp_path / "all_reduce_perf.txt").write_text(text.replace("0.00    0.00      0    123.5", "0.00    0.00    N/A    123.5"))
    (run,) = read(tmp_path / "all_reduce_perf.txt")
    assert [line.nbytes for line in run.lines if line.in_place] == [8, 8589934592]
    assert [line.wrong for line in run.lines][:2] == [None, 0]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("all_reduce_perf.txt", TEXT[: TEXT.index("   17.63")], "A run that ended early leaves half a line"),
        ("all_reduce_perf.txt", TEXT.replace("135.8", "  nan"), "microseconds above 0"),
        ("a.json", json.dumps(document()).replace('"results": [', '"results": [3, '), "results[0]"),
        ("a.json", json.dumps({**document(), "results": document()["results"][:1]}), "no result line"),
        ("a.json", json.dumps({**document(), "args": 3}), "no program name"),
        ("a.json", json.dumps(document()).replace('"out_of_place": {', '"out_of_place": 7, "x": {'), "results[1].out_of_place"),
        ("hypercube_perf.txt", TEXT, "hypercube_perf"),
        ("out.txt", TEXT, "no program name"),
        ("all_reduce_perf.txt", TEXT.replace("# Using devices", "").replace("#  Rank", "#  Ran"), "no device line"),
        ("all_reduce_perf.txt", TEXT.replace("   float", "fp8_e4m3"), "fp8_e4m3"),
        ("a.json", json.dumps(document())[:-40], "not JSON"),
        ("a.json", json.dumps(document()).replace('"time"', '"cpu_time"'), "processor times"),
        # writeResultHeader: timeStr = report_cputime ? "cputime" : "time", right-aligned to seven
        ("all_reduce_perf.txt", TEXT.replace("   time   algbw", "cputime   algbw"), "processor times"),
    ],
)
def test_what_cannot_be_used_is_told_and_leaves_nothing_behind(tmp_path: Path, name: str, content: str, said: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(SpecError) as caught:
        imported(tmp_path / name, tmp_path, tool="nccl_tests")
    assert said in str(caught.value)
    assert not list((tmp_path / "records").glob("*"))
