"""OSU micro-benchmarks: outputs that people posted, and lines as OMB 7.4's print_stats_validate writes them."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from fireassay.frames.record_data import RecordData
from tests.importers.reading import foreign, imported, judged, measured, one, refusal

# open-mpi/ompi pull request 12318, EESSI/software-layer 716, a manual of Wi4MPI
REDUCE = """$ mpirun -np 192 --hostfile /home/me/hostfile --mca pml cm osu-micro-benchmarks/mpi/collective/osu_reduce -d cuda -f

# OSU MPI-CUDA Reduce Latency Test v7.3
# Datatype: MPI_CHAR.
# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
1                      53.34             24.80            158.96        1000
1024                   55.48             24.05            134.61        1000
"""
BANDWIDTH = """$ mpirun -np 2 osu_bw -d cuda -m 33554432 D D
# OSU MPI-CUDA Bandwidth Test v7.2
# Send Buffer on DEVICE (D) and Receive Buffer on DEVICE (D)
# Size      Bandwidth (MB/s)
# Datatype: MPI_CHAR.
1                       1.01
33554432            93130.52
"""
LATENCY = """# OSU MPI Latency Test v5.8
# Size          Latency (us)
0                       9.29
1                       9.04
"""
ALLREDUCE = """ # OSU MPI Allreduce Latency Test v5.9
 # Size       Avg Latency(us)
 4                       0.93
 1048576              1465.73
"""

# PerfKitBenchmarker, tests/linux_packages/omb_test.py
PAIRS = """# OSU MPI Multiple Bandwidth / Message Rate Test v5.7
# [ pairs: 15 ] [ window size: 64 ]
# Size                  MB/s        Messages/s
1                       6.39        6385003.80
"""
# posted outputs of openmpi 1.10.7, and of a test on two nodes
NON_BLOCKING = """openmpi@1.10.7%intel@19.0.5.281 osu_iallreduce

# OSU MPI Non-blocking Allreduce Latency Test v5.6.3
# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait

# Size           Overall(us)       Compute(us)    Pure Comm.(us)        Overlap(%)
4                       8.77              5.32              4.43             22.08
8                       8.63              4.71              3.90              0.00
"""
ONE_SIDED = """mpirun -N 2 -np 2 osu-micro-benchmarks/mpi/one-sided/osu_put_latency
# OSU MPI_Put Latency Test v5.8
# Window creation: MPI_Win_allocate
# Synchronization: MPI_Win_flush
# Size          Latency (us)
1                      39.13
"""


def line(size: int, value: float, status: str = "") -> str:
    """As print_stats_validate: widths 10 and 20, two decimals."""
    return f"{size:<10d}{value:20.2f}" + (f"{status:>20}" if status else "")


def calls(record: RecordData) -> pl.DataFrame:
    return record.table("collectives").filter(pl.col("op") != "barrier").sort("launch", "call")


def microseconds(record: RecordData) -> list[float]:
    return ((calls(record)["end_ns"] - calls(record)["begin_ns"]) / 1e3).to_list()


def test_a_posted_reduction_has_its_ranks_bytes_and_mean_times(tmp_path: Path) -> None:
    record = one(tmp_path, "osu.txt", REDUCE)
    rows = calls(record)
    assert (rows["op"].unique().to_list(), rows["size"].to_list(), rows["bytes"].to_list()) == (["reduce"], [192, 192], [1, 1024])
    assert microseconds(record) == pytest.approx([53.34, 55.48])
    told = foreign(record)
    assert (told["version"], told["meanings"]["rank"], told["meanings"]["backend"]) == ("7.3", "mean of ranks", "mpi")
    assert any("158.96" in text for text in told["kept"][0]["text"])  # the slowest rank
    assert rows["wrong"].to_list() == [None, None]


def test_a_bandwidth_is_the_time_of_a_message_in_decimal_megabytes(tmp_path: Path) -> None:
    record = one(tmp_path, "osu.txt", BANDWIDTH)
    assert microseconds(record) == pytest.approx([1 / 1.01, 33554432 / 93130.52], rel=1e-3)
    assert "window of messages" in foreign(record)["meanings"]["time"]
    assert calls(record)["size"].to_list() == [2, 2]


def test_a_message_of_many_pairs_takes_its_bytes_over_the_share_of_one_pair(tmp_path: Path) -> None:
    record = one(tmp_path, "osu.txt", PAIRS)
    assert calls(record)["size"].to_list() == [30]
    assert microseconds(record) == pytest.approx([1e6 / (6385003.80 / 15)], rel=1e-3)  # its messages per second are those of 15 pairs
    assert foreign(record)["meanings"]["rank"] == "mean of 15 pairs at once"


def test_a_non_blocking_collective_is_timed_without_computing_and_its_overlap_is_missing(tmp_path: Path) -> None:
    record = one(tmp_path, "osu_iallreduce_np40.txt", NON_BLOCKING)
    rows = calls(record)
    assert (rows["op"].unique().to_list(), rows["size"].to_list(), microseconds(record)) == (
        ["all_reduce"],
        [40, 40],
        pytest.approx([4.43, 3.90]),
    )
    assert any("its overlap has no metric here" in sentence for sentence in foreign(record)["missing"])
    assert any("22.08" in text for text in foreign(record)["kept"][0]["text"])
    full = "# Size  Overall(us)  Compute(us)  Coll. Init(us)  MPI_Test(us)  MPI_Wait(us)  Pure Comm.(us)  Overlap(%)\n"
    full += "4  9.00  5.00  0.50  0.00  3.50  4.00  0.00\n"
    assert microseconds(one(tmp_path, "full_np2.txt", NON_BLOCKING[: NON_BLOCKING.index("# Size")] + full)) == pytest.approx([4.0])


def test_one_sided_results_beside_others_are_left_out_by_name(tmp_path: Path) -> None:
    assert any(
        "Put Latency Test: it is left out" in sentence for sentence in foreign(one(tmp_path, "osu.txt", ONE_SIDED + LATENCY))["missing"]
    )


def test_an_indented_output_takes_its_ranks_from_the_command_or_the_files_name(tmp_path: Path) -> None:
    for file, text in (("osu.txt", f" mpirun -n 4 osu_allreduce\n{ALLREDUCE}"), ("osu_allreduce_np4.txt", ALLREDUCE)):
        record = one(tmp_path, file, text)
        assert (calls(record)["size"].to_list(), microseconds(record)) == ([4, 4], pytest.approx([0.93, 1465.73]))
        assert any("taken for char, of reductions for float" in sentence for sentence in foreign(record)["missing"])


@pytest.mark.parametrize(
    ("command", "ranks"),
    [
        ("time flux run -N4 --tasks-per-node=96 -o cpu-affinity=per-task osu_allreduce", 384),
        ("mpirun --hostfile ./hostfile.txt --allow-run-as-root -N 2 -np 2 -map-by ppr:1:node osu_allreduce", 2),
        ("srun --mpi=pmi2 -N 2 -n 4 osu_allreduce", 4),
        ("srun --nodes=8 --ntasks-per-node=4 osu_allreduce", 32),
    ],
)
def test_the_ranks_of_posted_command_lines(tmp_path: Path, command: str, ranks: int) -> None:
    assert calls(one(tmp_path, "osu.txt", f"{command}\n{ALLREDUCE}"))["size"].to_list() == [ranks, ranks]


def test_without_ranks_a_collective_is_refused_and_a_pair_is_not(tmp_path: Path) -> None:
    assert "mpirun -np 16" in refusal(tmp_path, "osu.txt", ALLREDUCE)
    assert "0 ranks" in refusal(tmp_path, "osu_np0.txt", ALLREDUCE)
    assert "0 ranks" in refusal(tmp_path, "osu.txt", f"$ mpirun -np 0 ./osu_allreduce\n{ALLREDUCE}")
    record = one(tmp_path, "osu.txt", LATENCY)
    assert (calls(record)["size"].to_list(), microseconds(record)) == ([2], pytest.approx([9.04]))
    assert any("0 bytes" in sentence for sentence in foreign(record)["missing"])


def test_a_gather_counts_the_bytes_of_all_ranks_and_a_scattered_reduction_does_not(tmp_path: Path) -> None:
    for title, nbytes in (("Allgather", 4096), ("All-to-All Personalized Exchange", 4096), ("Reduce_scatter", 1024)):
        text = f"# OSU MPI {title} Latency Test v7.4\n# Datatype: MPI_INT.\n# Size       Avg Latency(us)\n{line(1024, 5.0)}\n"
        rows = calls(one(tmp_path, "osu_np4.txt", text, name=title.lower()))
        assert (rows["bytes"].to_list(), rows["dtype"].to_list()) == ([nbytes], ["int32"])


def test_lines_of_srun_and_validation_columns_are_read(tmp_path: Path) -> None:
    body = ["# OSU MPI Allreduce Latency Test v7.4", "# Datatype: MPI_FLOAT.", f"{'# Size':<10}{'Avg Latency(us)':>20}{'Validation':>20}"]
    text = "\n".join(f"0: {part}" for part in (*body, line(4, 1.5, "Pass"), line(8, 1.75, "Fail")))
    (made,) = imported(tmp_path, "osu_np8.txt", text)
    rows = calls(measured(made))
    assert (rows["wrong"].to_list(), rows["dtype"].to_list(), made.failed) == ([0, 1], ["float32", "float32"], 1)
    assert any(finding.rule == "collective_data_wrong" for finding in judged(measured(made)).verdict.findings)


def test_a_file_of_several_benchmarks_is_a_record_each_and_repetitions_are_launches(tmp_path: Path) -> None:
    barrier = "# OSU MPI Barrier Latency Test v5.9\n# Avg Latency(us)\n            12.57\n"
    made = imported(tmp_path, "all_np4.txt", ALLREDUCE + barrier + LATENCY + ALLREDUCE)
    assert [(record.configurations, record.launches) for record in made] == [(("workers=4",), 2), (("workers=2",), 1)]
    assert any("Barrier Latency Test: it is left out" in sentence for sentence in made[0].missing)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (REDUCE.replace("53.34 ", "nan   "), "above 0"),
        (REDUCE.replace("53.34 ", "-1    "), "above 0"),
        (REDUCE.replace("1024 ", "9" * 30 + " "), "64 GiB"),
        (REDUCE[:-20], "half a line"),
        (PAIRS[: PAIRS.index("1  ")], "no result line"),
        (PAIRS.replace("# [ pairs: 15 ]", "#"), "the line # [ pairs: N ]"),
        (PAIRS.replace("pairs: 15", "pairs: 0"), "pairs: 0"),
        (ONE_SIDED, "OSU MPI_Put Latency Test v5.8 (one-sided, in which the target takes no part"),
        (BANDWIDTH + "# Datatype: MPI_INT.\n4  4.00\n", "the types MPI_CHAR, MPI_INT"),
        (REDUCE[: REDUCE.index("# Size")], "no result line"),
    ],
)
def test_a_wrong_output_is_named(tmp_path: Path, text: str, said: str) -> None:
    assert said in refusal(tmp_path, "osu.txt", text)
