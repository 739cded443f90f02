"""How many requests decide a load whose objectives are undecided?

Where no request missed, the exact interval of n requests reaches up to the required share once (1 - confidence) / 2 = share^n; else its
length falls with the root of the requests, as far as the observed share stays as it is. It then lies beyond the required share in at least 80 %
of loads (`POWER`, as for trainings) once the gap is (1 + z_power / z_confidence) of its length: 88 to 96 % where launches do not differ, as the
interval of five launches is longer than that of more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import Final

from fireassay.estimates.format import count, given
from fireassay.kinds.serving.brief import load_name
from fireassay.metrics.serving.objectives import SLO_ATTAINMENT
from fireassay.reports import answering
from fireassay.reports.page import Next
from fireassay.reports.view import Column, View
from fireassay.stats.comparing.comparison import POWER
from fireassay.stats.comparing.noninferiority import items_needed_without_flips

MIN_LAUNCHES: Final = 5
MOST_LAUNCHES: Final = 20  # beyond, longer launches cost less than more of them
MOST_TIMES: Final = 20.0  # as many requests as there were; more mean that the launches differ, or the share is near the required one


def open_loads(view: View) -> list[Column]:
    """The loads that the interval of the share leaves open, except below a load that passes: more load does not help."""
    standing = {gate.configuration: gate.status for gate in view.gates if gate.gate == "objectives"}
    passed = [column for column in view.columns if standing.get(column.key) == "PASS"]
    return [
        column
        for column in view.columns
        if standing.get(column.key) == "INCONCLUSIVE"
        and not any(other.group == column.group and (other.load or 0.0) > (column.load or 0.0) for other in passed)
    ]


def decide(view: View, columns: Sequence[Column]) -> Next:
    """The load again with as many requests as decide every one of these."""
    wanted = {column: _requests(view, column) for column in columns}
    words = [_loads(view, columns), *_long_enough(view, wanted)]
    return Next(reason=_reason(view, wanted), command=" ".join(("assay load", answering.named(view), *(word for word in words if word))))


def _reason(view: View, wanted: Mapping[Column, float | None]) -> str:
    needed = [number for number in wanted.values() if number is not None]
    if len(needed) < len(wanted):
        return "decide with more launches on a quiet machine"
    if max(needed) == math.inf:
        return "decide with more launches on a quiet machine: no number can be said, as the share is what is required"
    if any(_too_many(view, column, number) for column, number in wanted.items()):
        return f"quiet the machine: as far as these launches differ, it takes about {max(needed):,.0f} requests to decide"
    shares = [view.estimate(SLO_ATTAINMENT.name, column.key) for column in wanted]
    what = f"{count(round(max(needed)), 'requests')}{' a load' * (len(wanted) > 1)} decide"
    missed = any(share and share.value < 1.0 for share in shares)
    return f"about {what} with {given(100 * POWER)} % at this share, on a quiet machine" if missed else f"{what} if again none misses"


def _requests(view: View, column: Column) -> float | None:
    """The requests that decide a load; infinite where the share is the required one, None where too few launches say."""
    value, least = view.estimate(SLO_ATTAINMENT.name, column.key), view.load.attainment
    if value is None or least is None or least >= 1.0:
        return None
    if value.value >= 1.0:
        return float(items_needed_without_flips(1.0 - least, 1.0 - (1.0 - value.confidence) / 2.0))
    half, gap = max(value.high - value.value, value.value - value.low), abs(value.value - least)
    if value.n_launches < MIN_LAUNCHES or not math.isfinite(half):
        return None
    return trials_beyond(half, gap, value.n_trials, value.confidence)


def trials_beyond(half: float, gap: float, trials: int, confidence: float) -> float:
    """The trials whose interval lies beyond a limit: from `trials` it reaches `half` to a side, and the limit is `gap` away."""
    z = NormalDist().inv_cdf
    sure = 1.0 + z(POWER) / z(1.0 - (1.0 - confidence) / 2.0)
    return trials * (sure * half / gap) ** 2 if gap else math.inf


def _too_many(view: View, column: Column, needed: float | None) -> bool:
    """True if so many cannot be meant: the launches differ, or the share is near the required one."""
    value = view.estimate(SLO_ATTAINMENT.name, column.key)
    return needed is not None and value is not None and value.value < 1.0 and needed > MOST_TIMES * value.n_trials


def _long_enough(view: View, wanted: Mapping[Column, float | None]) -> tuple[str, ...]:
    """More launches, or longer ones."""
    launches = max((_launches(view, column, needed) for column, needed in wanted.items()), default=MIN_LAUNCHES)
    serving = view.measured.experiment.serving
    assert serving is not None
    arrivals = serving.arrivals
    if launches <= MOST_LAUNCHES or arrivals.requests is not None or arrivals.process == "trace":
        return (f"--launches {launches}",)
    fewer = max(answering.timed(view), MIN_LAUNCHES)
    return (f"--duration {math.ceil(arrivals.duration_s * launches / fewer)}s", f"--launches {fewer}")


def _launches(view: View, column: Column, needed: float | None) -> int:
    """As long as those that were, and twice as many where no number is known."""
    value = view.estimate(SLO_ATTAINMENT.name, column.key)
    if needed is None or value is None or _too_many(view, column, needed):
        return 2 * max(answering.timed(view), MIN_LAUNCHES)
    return max(MIN_LAUNCHES, math.ceil(needed * value.n_launches / max(value.n_trials, 1)))


def _loads(view: View, columns: Sequence[Column]) -> str:
    by_load = {column.load: load_name(column) for column in columns if column.load is not None}
    name = "--concurrency" if view.load_word == "concurrency" else "--rate"
    return f"{name} {','.join(by_load[load] for load in sorted(by_load))}" if by_load else ""
