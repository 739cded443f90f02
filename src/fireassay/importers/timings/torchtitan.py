"""How does a log of torchtitan become a record of its step times?  From its console (`step: 20  loss: ...`), or its structured log of a rank.

The console gives no time: a trial is the time of day between two lines over the steps between them, in milliseconds, and begins anew after a
validation.  Its own `tps` (tokens per second and device, those of tensor, context and pipeline parallelism counted once), `tflops` and `mfu` are
means over the same steps, kept as it printed them.
The structured log (`structured_logs/trainer.global_rank_0.*.jsonl`) has the spans of every step: single steps of that rank.
Source: torchtitan 0.1 to 0.3, components/metrics.py, tools/logging.py, observability/structured_logger; logs that people posted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from fireassay.importers.support.base import mapping, whole
from fireassay.importers.support.documents import Place, Words, head, lines, loads
from fireassay.importers.timings.support.base import Benchmark, Figure, Timer, Timings, Trial, time_of
from fireassay.importers.timings.support.training_logs import (
    COLOUR,
    MEANINGS,
    MISSING,
    STEP,
    Grammar,
    Logged,
    calls_of_lines,
    read_log,
    timings,
)

LINE: Final = re.compile(
    r"(validate )?step:\s*(\d{1,12})\s+loss:.*\b(?:tps|wps):\s*([\d,]{1,20})(?:\s+tflops:\s*([\d,.]{1,20}))?(?:\s+mfu:\s*([\d.]{1,10})%)?"
)
STAMP: Final = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})")
MESH: Final = re.compile(r"mesh with parallelism: ((?:\w+=-?\d+(?:, )?)+)")
TRAINER: Final = re.compile(r"local batch size (\d+), global batch size (\d+), gradient accumulation steps (\d+), sequence length (\d+)")
BATCH: Final = ("local_batch_size", "global_batch_size", "gradient_accumulation_steps", "seq_len")
FIX: Final = "Keep its lines whole, with their time stamps; log more often (metrics.log_freq)."
RANKS: Final = "Ranks of one job are no launches: import the file of global rank 0 of each job."


def _logged(text: str) -> Logged | None:
    line, stamp = LINE.search(text), STAMP.search(text)
    if line is None or stamp is None:
        return None
    moment = datetime.strptime(stamp[1], "%Y-%m-%d %H:%M:%S,%f").replace(tzinfo=UTC)
    told = (("rate per device", "tokens/s", line[3]), ("throughput per device", "TFLOP/s", line[4]), ("MFU", "%", line[5]))
    figures = tuple(Figure(name=name, unit=unit, value=value) for name, unit, digits in told if (value := _number(digits)) is not None)
    return Logged(step=int(line[2]), clock_s=moment.timestamp(), figures=figures, pause=bool(line[1]))


def _number(digits: str | None) -> float | None:
    try:
        return float(digits.replace(",", "")) if digits else None
    except ValueError:
        return None


def _settings(text: str) -> Iterator[tuple[str, str]]:
    if mesh := MESH.search(text):
        yield from (tuple(pair.split("=")) for pair in mesh[1].strip(", ").split(", "))
    if trainer := TRAINER.search(text):
        yield from zip(BATCH, trainer.groups(), strict=True)


def _trials(logged: Sequence[Logged]) -> tuple[Trial, ...]:
    begins, ends = ([line.clock_s or 0.0 for line in lines] for lines in ([one.after for one in logged], logged))
    return tuple(Trial(seconds=(end - begin) / n, calls=n) for begin, end, n in zip(begins, ends[1:], calls_of_lines(logged), strict=False))


def read(path: Path) -> Timings:
    """The step times of a log. Raises SpecError."""
    if _structured(head(path)):
        return _of_spans(path)
    return timings(path, read_log(path, GRAMMAR), _trials, FIX)


# ---- the structured log ----------------------------------------------------------------------------------------------


def _structured(beginning: str) -> bool:
    return beginning.startswith("{") and '"log_type_name"' in beginning and '"global_rank"' in beginning


def _of_spans(path: Path) -> Timings:
    trials: list[Trial] = []
    failed: set[int] = set()
    for place, line in lines(path):
        row = mapping(loads(line, place), place)
        if (rank := whole(row, "global_rank", place)) != 0:
            raise place.at("global_rank").wrong(rank, "0", RANKS)
        step = whole(row, "step", place)
        if step is not None and row.get("log_type_name") == "step_error":
            failed.add(step)
        elif step is not None and row.get("log_type_name") == "step_end" and step not in failed:
            trials.append(Trial(seconds=time_of(row.get("value"), place.at("value"), 1e-3), warm_up=not trials))
    if len(trials) < 2:
        raise Place(path.name).wrong(Words(f"{len(trials)} ends of a step"), "two or more: the first contains compiling", FIX)
    missing = (f"{len(failed)} steps that raised an error",) if failed else ()
    return Timings(benchmarks=(Benchmark(name=STEP, processes=(tuple(trials),)),), missing=missing)


GRAMMAR: Final = Grammar(
    begins=re.compile(r"\bstep:\s*\d+\s+loss:"), read=_logged, started=re.compile(r"Training starts at step \d"), settings=_settings
)
TIMER = Timer(
    name="torchtitan",
    title="torchtitan",
    files="the log of a training, as printed, or structured_logs/trainer.global_rank_0.*.jsonl",
    runs="function",
    meanings={
        **MEANINGS,
        "time": "console: time of day between two lines over the steps between them, a validation left out; structured: the span `step` of rank 0, "
        "checkpoints and validations included",
        "figures": "medians over its lines, as it printed them, per device",
        "warm_up": "the first step of each start",
    },
    reads=read,
    signs=lambda beginning: _structured(beginning) or LINE.search(COLOUR.sub("", beginning)) is not None,
    trials="lines",
    missing=MISSING,
)
