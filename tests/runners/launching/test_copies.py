"""Workers that print the same without a use of their rank are copies; whatever divides the work, or says so, is not one."""

from __future__ import annotations

from pathlib import Path

import pytest

from fireassay.runners.launching.copies import same_output

PLAIN = "import multiprocessing\nprint('sum 17')\n"


def printed(folder: Path, text: str, script: str = PLAIN, workers: int = 2) -> int:
    log, source = folder / "launch.log", folder / "work.py"
    log.write_text(text, encoding="utf-8")
    source.write_text(script, encoding="utf-8")
    return same_output(log, source, workers)


@pytest.mark.parametrize(
    ("text", "workers", "lines"),
    [
        ("sum 17\nsum 17\n", 2, 1),
        ("sumsum 17  17\n\nsum 17\n", 3, 0),  # three copies in two lines: not told apart
        ("sum sum 17\n17\n", 2, 1),  # two that wrote at once
        ("a\nb\na\nb\n", 2, 2),
        ("sum 17\ntook 1.25 s\nsum 17\ntook 1.31 s\n", 2, 2),
        ("W1129 10:00:00 torch/distributed/run.py:766] OMP\nsum 17\nsum 17\n", 2, 1),
        ("rank 0\nrank 1\n", 2, 0),
        ("sum 17\n", 2, 0),
        ("sum 17\nsum 18\n", 2, 0),
        ("", 2, 0),
    ],
)
def test_equal_output_is_counted_in_lines_of_each_worker(tmp_path: Path, text: str, workers: int, lines: int) -> None:
    assert printed(tmp_path, text, workers=workers) == lines


@pytest.mark.parametrize("script", ["os.environ['RANK']", "import torch.distributed as dist", "from mpi4py import MPI", "import socket"])
def test_a_script_that_may_divide_the_work_may_print_one_result_on_every_rank(tmp_path: Path, script: str) -> None:
    assert printed(tmp_path, "sum 17\nsum 17\n", script) == 0


def test_compiling_is_no_mpi(tmp_path: Path) -> None:
    assert printed(tmp_path, "sum 17\nsum 17\n", "compile('1', '', 'eval')") == 1
