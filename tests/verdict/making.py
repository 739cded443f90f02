"""A record in which everything is right, to be broken in one place by each test.

1 and 2 workers (or other levels) x 5 launches x 8 steps of 8 samples; an epoch is 4 steps, the data set 32 samples.
Base: steps of 1 s, times 1 + 0.01 block.  p workers: 1/(0.9 p) s, so that the efficiency is 0.9, but for a luck of
at most 1 % from launch to launch.  40 held-out examples, of which the first 36 are right everywhere: without a
single change, 40 examples bound a change by 1 - 0.05^(1/40) = 7.2 points, and the margin is 10.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fireassay.estimates.estimate import Estimate
from fireassay.spec.experiment import Quality
from fireassay.spec.plan import configuration_name
from fireassay.verdict.audits.audit import Audit
from fireassay.verdict.judge import examine
from fireassay.verdict.types import GateResult
from tests.handmade import Handmade
from tests.verdict.judging import Asked, ask

STEPS, EPOCH, SAMPLES, EXAMPLES, RIGHT = 8, 4, 32, 40, 36
LUCK = (0.0, 0.01, -0.01, 0.005, -0.005)
MARGIN = Quality(metric="accuracy", margin=0.10)


def good(
    *,
    levels: tuple[int, ...] = (1, 2),
    blocks: int = 5,
    efficiency: Mapping[int, float] | None = None,
    right: Mapping[int, int] | None = None,
    leave_out: tuple[str, ...] = (),
    **asked: Any,
) -> Handmade:
    """The record; `efficiency` and `right` (answers) by worker count; `leave_out` names parts that are not recorded."""
    made = Handmade(levels=levels, blocks=blocks, quality=asked.pop("quality", MARGIN), **asked)
    for block in range(blocks):
        for workers in levels:
            number = made.launch(workers=workers, block=block, wall_s=20.0 / workers**0.5 * (1.0 + LUCK[block % 5]))
            step_s = step_seconds(workers, block, (efficiency or {}).get(workers, 0.9), min(levels))
            parts = {
                "steps": lambda n=number, w=workers, s=step_s: add_steps(made, n, w, s),
                "scores": lambda n=number, w=workers: made.scores(n, answers((right or {}).get(w, RIGHT))),
                "samples": lambda n=number, w=workers: add_samples(made, n, w),
                "hashes": lambda n=number, w=workers: add_hashes(made, n, w),
                "losses": lambda n=number, w=workers: add_losses(made, n, w),
                "counters": lambda n=number: add_counters(made, n),
            }
            for name, add in parts.items():
                if name not in leave_out:
                    add()
    return made


def step_seconds(workers: int, block: int, efficiency: float, base: int) -> float:
    """1 s at the base; base/(efficiency workers) elsewhere, with a luck of the launch."""
    drift = 1.0 + 0.01 * block
    return drift if workers == base else drift * base / (efficiency * workers) * (1.0 + LUCK[block % 5])


def answers(right: int) -> list[float]:
    """The scores of the held-out examples: so many right ones first."""
    return [1.0] * right + [0.0] * (EXAMPLES - right)


def add_steps(made: Handmade, number: int, workers: int, step_s: float) -> None:
    """Rank 0 is the slowest."""
    for rank in range(workers):
        own = step_s if rank == 0 else 0.9 * step_s
        made.steps(number, rank=rank, seconds=[own] * STEPS, items=8.0 / workers)


def add_samples(made: Handmade, number: int, workers: int) -> None:
    """Every sample once per epoch, dealt out in turn."""
    for step in range(STEPS):
        first = 8 * (step % EPOCH)
        for rank in range(workers):
            made.samples(number, range(first + rank, first + 8, workers), rank=rank, epoch=step // EPOCH, step=step)
    made.fingerprint(number, "dataset_size", SAMPLES)


def add_hashes(made: Handmade, number: int, workers: int) -> None:
    """Equal on all ranks at every hashed step."""
    for step in (0, 1, 2, 4, 8):
        for rank in range(workers):
            made.fingerprint(number, "parameter_hash", f"hash-{step}", rank=rank, step=step)


def add_losses(made: Handmade, number: int, workers: int) -> None:
    """The same first loss everywhere."""
    for rank in range(workers):
        for step in range(STEPS):
            made.fingerprint(number, "loss", 2.0 / (step + 1), rank=rank, step=step)


def add_counters(made: Handmade, number: int) -> None:
    """10 s of 2 processors: 12 busy, 11.5 by the launch and 0.3 by assay; the probe costs 4 us a step."""
    grown = {
        ("cpu", "busy"): 12.0,
        ("cpu", "idle"): 8.0,
        ("cpu", "steal"): 0.0,
        ("cgroup", "throttled"): 0.0,
        ("launch", "cpu_time"): 11.5,
        ("coordinator", "cpu_time"): 0.3,
    }
    for (device, counter), value in grown.items():
        made.reading(number, device, counter, 100.0, at_s=0.0)
        made.reading(number, device, counter, 100.0 + value, at_s=10.0)
    made.reading(number, "probe", "cost_per_step", 4000.0, unit="ns", method="self")


def change(made: Handmade, table: str, column: int, new: Any, *, workers: int | None = None) -> None:
    """Rewrite one column of the rows of a table, of one worker count or of all."""
    launches = {row[0] for row in made.rows["launches"] if workers is None or row[4] == workers}
    made.rows[table] = [
        (*row[:column], new(row) if callable(new) else new, *row[column + 1 :]) if row[0] in launches else row for row in made.rows[table]
    ]


def judged(made: Handmade, *, state: str = "complete", sealed: bool = True) -> Asked:
    """The judgement of a record, made as far as the test reads it."""
    return ask(made, made.measured(state=state, sealed=sealed))


def rules(judgement: Asked, *audits: str) -> dict[str, list[str | None]]:
    """rule -> the configurations that it was found in: by these audits, or by all."""
    found: dict[str, list[str | None]] = {}
    for finding in examine(judgement.measured, *audits) if audits else judgement.verdict.findings:
        found.setdefault(finding.rule, []).append(finding.configuration)
    return found


def rules_of(audits: tuple[Audit, ...]) -> Callable[[Asked], dict[str, list[str | None]]]:
    """`rules` of these audits alone: the others are not asked."""
    return lambda judgement: rules(judgement, *(audit.name for audit in audits))


def wrong(judgement: Asked) -> list[str]:
    """The rules of severity fail and invalid."""
    return [f.rule for f in judgement.verdict.findings if f.severity in ("fail", "invalid")]


def gate(judgement: Asked, name: str, workers: int) -> GateResult:
    """One gate of one configuration."""
    wanted = (name, configuration_name(workers))
    return next(found for found in judgement.verdict.gates if (found.gate, found.configuration) == wanted)


def pick(judgement: Asked, goal: str) -> str | None:
    """The configuration picked for a goal."""
    return next(found.configuration for found in judgement.verdict.recommendations if found.goal == goal)


def estimate(judgement: Asked, metric: str, workers: int) -> Estimate:
    """A value that must be there."""
    value = judgement.results[metric][configuration_name(workers)]
    assert isinstance(value, Estimate), value
    return value
