"""How does a log of Megatron-LM become a record of its step times?  From lines `iteration 20/ 100 | ... | elapsed time per iteration (ms): ...`.

A line's time is the mean over the iterations since the line before (`--log-interval`), skipped ones included; evaluations and checkpoints are not in
it, as the timer is stopped for them.  The time of an iteration is that of the slowest rank: the timer ends with a barrier.  Newer versions print a
line after the first iteration alone without resetting the timer, so that the next line contains it again: both are warm-up.
TFLOP/s are per GPU, of the model's formula.  Forks that keep the words (GPT-NeoX, ModelLink) are read too.
Source: NVIDIA Megatron-LM megatron/training/training.py (training_log, save_checkpoint_and_time), of 2019 to core 0.16; logs that people posted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from fireassay.importers.timings.support.base import Figure, Timer, Timings, Trial
from fireassay.importers.timings.support.training_logs import MEANINGS, MISSING, Grammar, Logged, calls_of_lines, read_log, timings, warm

ITERATION: Final = re.compile(r"\biteration\s+(\d{1,12})/\s*\d+ \|")
NUMBER: Final = r"([\d.]{1,20})(?:/[\d.]+)? \|"  # AMD's fork adds a mean; what ends it shows that it is whole
ELAPSED: Final = re.compile(rf"elapsed time per iteration \(ms\):\s*{NUMBER}")
TFLOPS: Final = re.compile(rf"throughput per GPU \(TFLOP/s/GPU\):\s*{NUMBER}")
TOKENS: Final = re.compile(rf"[Tt]okens per second per GPU \(Tok/s/GPU\):\s*{NUMBER}")
BATCH: Final = re.compile(r"global batch size:\s*(\d{1,12}) \|")
SKIPPED: Final = re.compile(r"number of skipped iterations:\s*(\d{1,9}) \|")
ARGUMENT: Final = re.compile(r"^\s+(\w+) \.{3,} (\S.{0,60})$")
CONDITIONS: Final = (
    *("world_size", "tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size", "expert_model_parallel_size"),
    *("num_layers", "hidden_size", "seq_length", "micro_batch_size", "global_batch_size", "params_dtype"),
)
FIX: Final = "Log more often (--log-interval), or import a longer log."


def _logged(text: str) -> Logged | None:
    iteration, elapsed = ITERATION.search(text), ELAPSED.search(text)
    milliseconds = _number(elapsed)
    if iteration is None or milliseconds is None or milliseconds <= 0.0:
        return None
    rates = (("throughput per GPU", "TFLOP/s", TFLOPS), ("rate per GPU", "tokens/s", TOKENS))
    batch, skipped = BATCH.search(text), SKIPPED.search(text)
    return Logged(
        step=int(iteration[1]),
        seconds=milliseconds / 1e3,
        figures=tuple(
            Figure(name=name, unit=unit, value=value) for name, unit, form in rates if (value := _number(form.search(text))) is not None
        ),
        batch=int(batch[1]) if batch else None,
        skipped=int(skipped[1]) if skipped else 0,
    )


def _number(match: re.Match[str] | None) -> float | None:
    try:
        return float(match[1]) if match else None
    except ValueError:
        return None


def _settings(text: str) -> Iterator[tuple[str, str]]:
    if (match := ARGUMENT.match(text.rstrip())) and match[1] in CONDITIONS:
        yield match[1], match[2].strip()


def _trials(lines: Sequence[Logged]) -> tuple[Trial, ...]:
    """A trial for each line; the first, and a second that may contain it again, are warm-up."""
    steps = calls_of_lines(lines)
    again = bool(steps) and (steps[0] == 1 or steps[0] < max(steps))
    trials = [Trial(seconds=line.seconds or 0.0, calls=calls) for line, calls in zip(lines, [1, *steps], strict=True)]
    return warm(trials, 1 + again)


def read(path: Path) -> Timings:
    """The step times of a log. Raises SpecError."""
    return timings(path, read_log(path, GRAMMAR), _trials, FIX)


GRAMMAR: Final = Grammar(
    begins=re.compile(r"\biteration\s+\d+/\s*\d+ \|"),
    read=_logged,
    started=re.compile(r"\[before the start of training step\]"),
    settings=_settings,
)
TIMER = Timer(
    name="megatron",
    title="Megatron-LM",
    files="the log of a training, as printed",
    runs="function",
    meanings={
        **MEANINGS,
        "time": "seconds of an iteration, of the slowest rank; without evaluations and checkpoints",
        "waits": "for all ranks: its timer ends with a barrier",
        "figures": "medians over its lines, as it printed them, per GPU",
    },
    reads=read,
    signs=lambda beginning: "elapsed time per iteration (ms):" in beginning and ITERATION.search(beginning) is not None,
    trials="lines",
    missing=MISSING,
)
