"""How long, and with how much memory, is a record of a million step rows written, sealed, verified, read and reported?

The record has 1, 2 and 4 workers, five launches each: 35 rank streams with a million steps in all, with the losses, the
sample ids and the events that a script reports.  Every stage is a process of its own, so that its peak of resident
memory (VmHWM) is its own.  The promise is on the report: 10 seconds and 1 GB.

    python benchmarks/record_report.py --rows 1000000
"""

from __future__ import annotations

import argparse
import io
import json
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

LEVELS = (1, 2, 4)
LAUNCHES = 5
STEP_NS = {1: 100_000, 2: 55_000, 4: 40_000}
GLOBAL_BATCH = 256
RIPPLE_NS = 4001
PROMISE_S = 10.0
PROMISE_BYTES = 1_000_000_000


def write(root: Path, rows: int) -> dict[str, Any]:
    """Append every row through the writers that workers use; the time of `append` itself is told apart."""
    from fireassay.clock import SystemClock
    from fireassay.record.folder import create
    from fireassay.record.writer import StreamWriter
    from fireassay.spec.experiment import Experiment, Factor, Launches
    from fireassay.spec.plan import plan
    from fireassay.spec.sections.workload import Workload

    asked = Experiment(
        name="million", workload=Workload(script="train.py"), factor=Factor(levels=LEVELS), launches=Launches(per_configuration=LAUNCHES)
    )
    folder = create(root, asked, "benchmark", clock=SystemClock())
    steps = rows // (LAUNCHES * sum(LEVELS))
    appending = appended = launch_begin = 0
    for launch, planned in enumerate(plan(asked)):
        step_ns = STEP_NS[planned.workers]
        launch_end = launch_begin + steps * (step_ns + RIPPLE_NS)
        for rank in range(planned.workers):
            writer = StreamWriter(folder.launch_folder(launch), f"rank={rank}.inc=0.pid=1")
            made = list(step_rows(launch, rank, launch_begin, steps, step_ns, GLOBAL_BATCH / planned.workers))
            begin = time.perf_counter_ns()
            for row in made:
                writer.append("steps", row)
            appending += time.perf_counter_ns() - begin
            appended += steps
            for row in sample_rows(launch, rank, planned.workers, steps):
                writer.append("samples", row)
            if rank == 0:
                for step in range(steps):
                    writer.append("fingerprints", (launch, 0, 0, step + 1, "loss", 2.0 / (step + 1), None))
            writer.close()
        row = (
            launch,
            planned.slot,
            0,
            planned.configuration,
            planned.workers,
            planned.block,
            planned.order,
            "timed",
            planned.seed,
            launch_begin,
            launch_end,
            "2026-01-01T00:00:00+00:00",
            "ok",
            "",
            0,
            0,
            "{}",
        )
        folder.writer(launch).append("launches", row)
        folder.writer(launch).close()
        launch_begin = launch_end
    folder.finish("interrupted", "to be sealed by the next stage")
    return {"steps": appended, "append_ns": round(appending / appended, 1)}


def step_rows(launch: int, rank: int, now: int, steps: int, step_ns: int, items: float) -> Iterator[tuple[Any, ...]]:
    """Steps with a ripple of a few per cent, so that nothing compresses to nothing and no launch is a copy of another."""
    for step in range(steps):
        took = step_ns + (step * 7919 + rank * 104_729) % (RIPPLE_NS - 2 * launch)
        phases = (took // 10, took * 3 // 10, took * 4 // 10, took // 10, None, None)
        yield (launch, rank, 0, step, now, now + took, *phases, items, "monotonic")
        now += took


def sample_rows(launch: int, rank: int, workers: int, steps: int) -> Iterator[tuple[Any, ...]]:
    """Four sample ids per step; every 1000 steps are an epoch."""
    for step in range(steps):
        first = (step % 1000) * 4 * workers + rank * 4
        yield (launch, rank, 0, step // 1000, step, [first, first + 1, first + 2, first + 3])


def seal(root: Path, _rows: int) -> dict[str, Any]:
    """Compact, digest and seal."""
    from fireassay.record.folder import reopen
    from fireassay.record.lookup import resolve

    path = resolve("latest", root)
    before = size(path)
    reopen(path).finish("complete")
    return {"stream_bytes": before, "sealed_bytes": size(path)}


def verify(root: Path, _rows: int) -> dict[str, Any]:
    """Digest everything again."""
    from fireassay.record.lookup import resolve
    from fireassay.record.seal import verify as check

    return {"problems": len(check(resolve("latest", root)))}


def read(root: Path, _rows: int) -> dict[str, Any]:
    """Open the record and load every table."""
    from fireassay.record.lookup import resolve
    from fireassay.record.reader import open_record
    from fireassay.record.tables import TABLES

    record = open_record(resolve("latest", root))
    frames = {name: record.table(name) for name in TABLES}
    return {"rows": sum(frame.height for frame in frames.values())}


def fold(root: Path, _rows: int) -> dict[str, Any]:
    """Fold the steps of all ranks into the steps of the job, and find the warm-up of each launch."""
    from fireassay.frames.record_data import from_record
    from fireassay.record.lookup import resolve
    from fireassay.record.reader import open_record

    measured = from_record(open_record(resolve("latest", root)))
    return {"global_steps": measured.global_steps.height, "launches": len(measured.steady)}


def report(root: Path, _rows: int) -> dict[str, Any]:
    """`assay report --json`: open, judge, show."""
    from fireassay.cli import main as assay

    said = io.StringIO()
    with redirect_stdout(said):
        code = assay(["report", "latest", "--root", str(root), "--json"])
    return {"exit_code": code, "configurations": said.getvalue().count('"workers=')}


def report_html(root: Path, _rows: int) -> dict[str, Any]:
    """`assay report --html`: the same with every picture drawn."""
    from fireassay.cli import main as assay

    with redirect_stdout(io.StringIO()) as said:
        code = assay(["report", "latest", "--root", str(root), "--html"])
    return {"exit_code": code, "page_bytes": Path(said.getvalue().strip()).stat().st_size}


STAGES: dict[str, Callable[[Path, int], dict[str, Any]]] = {
    stage.__name__: stage for stage in (write, read, fold, seal, verify, report, report_html)
}
ORDER = ("write", "read", "fold", "seal", "verify", "read", "fold", "report", "report_html")  # read and fold: from streams, then sealed


def size(path: Path) -> int:
    """Bytes of all files below a folder."""
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def peak_bytes() -> int:
    """The largest resident memory of this process so far."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def run_stage(name: str, root: Path, rows: int) -> None:
    """In the stage's own process: run it and print what it took."""
    begin = time.perf_counter()
    found = STAGES[name](root, rows)
    seconds = time.perf_counter() - begin
    print(json.dumps({"stage": name, "seconds": round(seconds, 2), "peak_mb": round(peak_bytes() / 1e6), **found}))


def main() -> int:
    """Print one JSON object; exit with 1 if the promise is broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000, help="step rows of the record (default 1000000)")
    parser.add_argument("--stage", choices=sorted(STAGES), help=argparse.SUPPRESS)
    parser.add_argument("--root", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.stage:
        run_stage(arguments.stage, arguments.root, arguments.rows)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--rows", str(arguments.rows), "--root", folder, "--stage"]
        stages = [json.loads(subprocess.check_output([*command, stage])) for stage in ORDER]
    reports = [stage for stage in stages if stage["stage"].startswith("report")]
    kept = all(stage["seconds"] <= PROMISE_S and stage["peak_mb"] * 1e6 <= PROMISE_BYTES for stage in reports)
    result = {
        "benchmark": "record_report",
        "utc": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "machine": platform.platform(),
        "rows": arguments.rows,
        "stages": stages,
        "promise": {"stage": "report", "seconds": PROMISE_S, "peak_mb": PROMISE_BYTES // 10**6, "kept": kept},
    }
    print(json.dumps(result, indent=2))
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
