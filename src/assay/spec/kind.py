"""Which kind of record does an experiment make, and what may everybody ask of a kind?

A kind is one folder, `kinds/<name>/`.  Its `__init__` declares KIND, which knows words and asks only the experiment; `judging` says how
its records are judged, `page` what is shown of them.  Those parts are loaded by the catalog where they are needed, so that naming
a record loads neither judge nor page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Final

from assay import catalog
from assay.spec.experiment import Experiment

EVERY: Final = "every"  # in the `about` of a metric, audit or gate: it has a meaning for records of every kind
STATUS_MEANINGS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "PASS": "the recommended configuration passes every gate on admissible numbers",
        "FAIL": "on admissible numbers, something that was required does not hold",
        "INCONCLUSIVE": "the evidence is too small to recommend anything",
        "INVALID": "an audit found the record inadmissible; its numbers decide nothing",
        "NOT_MEASURED": "nothing was recorded that could answer",
    }
)
DIMENSION_QUESTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "correctness": "Did distribution preserve the result?",
        "performance": "Did the machines buy speed?",
        "cost": "Was it worth it?",
        "reliability": "Does it survive?",
    }
)


@dataclass(frozen=True, kw_only=True, eq=False)  # a kind is itself and nothing else
class Kind:
    """One kind of record."""

    name: str  # "serving"
    title: str  # "a load on serving engines"
    precedence: int  # the kind that is asked first has the smallest; training is asked last and takes the rest
    applies: Callable[[Experiment], bool]
    about: frozenset[str] = frozenset()  # kinds whose metrics, audits and gates have a meaning for this one too
    questions: Mapping[str, str] = field(default_factory=lambda: DIMENSION_QUESTIONS)  # what each dimension asks
    meanings: Mapping[str, str] = field(default_factory=lambda: STATUS_MEANINGS)  # what each status means
    trains: bool = False  # its workers are ranks that train one model together
    sends_requests: bool = False  # its trials are requests to engines, not steps of workers
    sweeps: bool = False  # one launch measures every operation at every size
    probes_hosts: bool = False  # it looks at other hosts and the way to them
    times_calls: bool = False  # it times calls and claims nothing else
    chooses: bool = True  # its configurations are alternatives, of which one can be recommended
    configurations: str = "worker counts"  # what its configurations are called
    workers: str = "Workers"  # the head of the column with their number
    label: str = ""  # what its one configuration is called; empty: by the number of workers
    facts: tuple[str, ...] = ()  # the facts about its making that a report names; empty: all
    own_cost: str = "Instrument's own cost"  # what measuring cost is called

    def concerns(self, about: tuple[str, ...]) -> bool:
        """Whether something that is about these kinds has a meaning for records of this one."""
        return EVERY in about or self.name in about or not self.about.isdisjoint(about)


@cache
def kinds() -> tuple[Kind, ...]:
    """All kinds, in the order in which they are asked."""
    return tuple(sorted(catalog.load_all("kinds").values(), key=lambda kind: kind.precedence))


def kind_of(experiment: Experiment) -> Kind:
    """The kind of the records that an experiment makes."""
    return next(kind for kind in kinds() if kind.applies(experiment))
