"""Records of what unmodified scripts left in one process and in two (`tests.instruments.corpus`), judged as a launch of assay's would
be.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

from fireassay.frames.record_data import RecordData
from fireassay.record.tables import TABLES
from tests import forked_ranks
from tests.handmade import Handmade
from tests.limits import TRAININGS_S

Declared = Literal["auto", "data", "sharded", "tensor", "pipeline", "local_sgd", "mixed", "none"]
MARGIN_NS = 1_000_000


def train(folder: Path, names: list[str], *, workers: int) -> None:
    """Run the scripts, each bare, attached and bare again, in one start of torch."""
    folder.mkdir()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("FIREASSAY_")}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", *forked_ranks.command(workers, "tests.instruments.corpus", str(folder), *names)],
        env={**environment, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=TRAININGS_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]


def record(folder: Path, name: str, declared: Declared = "auto", *, levels: tuple[int, ...] = (1, 2)) -> RecordData:
    """One launch of each worker count: folder/1 and folder/2 hold what the ranks left."""
    made = Handmade(levels=levels, blocks=1)
    workload = made.experiment.workload.model_copy(update={"parallelism": declared})
    made.experiment = made.experiment.model_copy(update={"workload": workload})
    for workers in levels:
        number = made.launch(workers=workers)
        ranks = [rows_of(folder / str(workers) / f"{name}.rows.{rank}") for rank in range(workers)]
        for table, row in (row for rows in ranks for row in rows):
            made.rows[table].append((number, *row[1:]))
        within(made, number)
    return made.measured()


def rows_of(path: Path) -> list[tuple[str, list[Any]]]:
    found: list[tuple[str, list[Any]]] = json.loads(path.read_text())["rows"]
    return found


def within(made: Handmade, number: int) -> None:
    """The launch lasts from before its first step to after its last."""
    names = TABLES["steps"].column_names
    begin, end = names.index("begin_ns"), names.index("end_ns")
    own = [row for row in made.rows["steps"] if row[0] == number]
    columns = list(TABLES["launches"].column_names)
    row = list(made.rows["launches"][number])
    row[columns.index("begin_ns")] = min(one[begin] for one in own) - MARGIN_NS
    row[columns.index("end_ns")] = max(one[end] for one in own) + MARGIN_NS
    made.rows["launches"][number] = tuple(row)
