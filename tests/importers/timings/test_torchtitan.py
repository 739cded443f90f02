"""Logs of torchtitan: the console's time stamps and rates agree, and the structured log has single steps.

`torchtitan.log` and `.jsonl` were written by torchtitan 0.3.0's own code around sleeps of 10 ms (50 in the first step), with a validation of 300 ms
after step 20.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.importers.timings.made import FILES, one, times, value_of
from tests.importers.timings.test_megatron import STEP, TITAN, lines, read, refusal

pytestmark = pytest.mark.slow


def test_an_interval_of_torchtitan_is_the_time_between_its_lines_and_a_validation_is_in_none(tmp_path: Path) -> None:
    measured = one(tmp_path, "torchtitan.log")
    assert lines(measured) == [(0, 9, 0), (0, 10, 0), (0, 10, 0), (0, 10, 0)]
    rows = measured.table("trials").sort("trial")
    seconds = ((rows["end_ns"] - rows["begin_ns"]) / rows["calls"] / 1e9).to_list()
    tps = [float(found.replace(",", "")) for found in re.findall(r"  \x1b\[34mtps: ([\d,]+)  ", TITAN)][1:]
    # tokens of a step on a device, 8 sequences of 128, over its rate; two devices share each token by tensor parallelism
    assert seconds == pytest.approx([8 * 128 / 2 / rate for rate in tps], rel=0.02)
    conditions = measured.experiment.conditions
    assert (conditions["tp"], conditions["global_batch_size"], conditions["seq_len"]) == ("2", "16", "128")


def test_the_structured_log_has_single_steps_of_rank_0(tmp_path: Path) -> None:
    measured = one(tmp_path, "torchtitan.jsonl")
    assert lines(measured) == [(0, 1, 1), *[(0, 1, 0)] * 11]
    assert 0.010 <= value_of(times(measured)[STEP]) < 0.020
    other = (FILES / "torchtitan.jsonl").read_text().replace('"global_rank": 0', '"global_rank": 3')
    assert "import the file of global rank 0" in refusal(tmp_path, other, "torchtitan")


def test_of_several_ranks_the_first_is_read_and_the_others_are_named(tmp_path: Path) -> None:
    both = "".join(line + line.replace("[rank0]", "[rank1]").replace("step: ", "step:  ") for line in TITAN.splitlines(keepends=True))
    record, measured = read(tmp_path, both)
    assert lines(measured) == [(0, 9, 0), (0, 10, 0), (0, 10, 0), (0, 10, 0)]
    assert "the lines of 1 other ranks: those of the first that prints are read" in record.missing
