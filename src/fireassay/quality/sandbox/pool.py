"""How are many programs checked, and what is left when the user stops it?  Nothing runs on, and every finished verdict is kept."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from fireassay.quality.sandbox.check import Program, check_program
from fireassay.quality.sandbox.outcomes import CodeResult, Limits
from fireassay.quality.sandbox.probing import probe
from fireassay.quality.sandbox.tiers import Tier, signature

Progress = Callable[[int, int], None]  # how many are done, of how many


@dataclass(frozen=True, kw_only=True)
class Checked:
    """The verdicts in the order of the programs; None: it was not reached."""

    results: tuple[CodeResult | None, ...]
    interrupted: bool
    signature: str  # of everything in the surroundings that moves a verdict


def check_all(
    programs: Sequence[Program],
    workers: int = 1,
    on_progress: Progress | None = None,
    limits: Limits | None = None,
    tier: Tier | None = None,
) -> Checked:
    """Check programs, `workers` at a time; Ctrl-C ends all sandboxes and returns what was done.

    Raises:
        EnvironmentLacks: code cannot be isolated on this machine.
    """
    if workers < 1:
        raise ValueError(f"at least one worker, not {workers}")
    used, held = tier or probe(), limits or Limits()
    stop, results, interrupted = threading.Event(), dict[int, CodeResult](), False
    with ThreadPoolExecutor(workers, thread_name_prefix="sandbox") as pool:
        places: dict[Future[CodeResult], int] = {}
        try:
            for place, program in enumerate(programs):
                places[pool.submit(check_program, program, held, used, stop)] = place
            _collect(places, results, on_progress)
        except KeyboardInterrupt:
            interrupted = True
        finally:
            stop.set()  # also where a check raised: nothing runs on
            pool.shutdown(wait=True, cancel_futures=True)
    if interrupted:
        results |= _finished(places)
    every = tuple(results.get(place) for place in range(len(programs)))
    return Checked(results=every, interrupted=interrupted, signature=signature(used, held))


def _collect(places: dict[Future[CodeResult], int], results: dict[int, CodeResult], on_progress: Progress | None) -> None:
    waiting = set(places)
    while waiting:
        done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
        for future in done:
            results[places[future]] = future.result()
            if on_progress is not None:
                on_progress(len(results), len(places))


def _finished(places: dict[Future[CodeResult], int]) -> dict[int, CodeResult]:
    """What had ended before the stop."""
    ended = {
        place: future.result() for future, place in places.items() if future.done() and not future.cancelled() and not future.exception()
    }
    return {place: result for place, result in ended.items() if result.outcome != "stopped"}
