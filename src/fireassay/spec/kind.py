"""Which kind of record does an experiment make, and what does a kind declare?

A kind is one folder, `kinds/<name>/`.  Its `__init__` declares KIND, which holds wording and depends only on the experiment;
`judging` says how its records are judged, `page` what is shown of them.  The catalog loads those parts on demand, so that naming
a record loads neither.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Final, Literal

from fireassay import catalog
from fireassay.spec.experiment import Experiment

LAUNCHED: Final = ("training", "calls", "programs")  # kinds whose metrics, audits and gates stand in the same folders
EVERY: Final = "every"  # in the `about` of a metric, audit or gate: applies to records of every kind
STATUS_MEANINGS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "PASS": "what was required holds on admissible numbers",
        "GAIN": "a larger configuration is faster than the base and passes every gate",
        "NO_GAIN": "the base is recommended: every larger configuration misses a gate",
        "MEASURED": "the numbers have their intervals; nothing was required of them",
        "FAIL": "on admissible numbers, something that was required does not hold",
        "INCONCLUSIVE": "the evidence is too small to decide",
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


@dataclass(frozen=True, kw_only=True, eq=False)  # kinds compare by identity
class Kind:
    """One kind of record."""

    name: str  # "serving"
    title: str  # "a load on serving engines"
    precedence: int  # smallest is tried first; training comes last and takes the rest
    applies: Callable[[Experiment], bool]
    variant: Callable[[Experiment], Kind | None] = lambda _: None  # the kind as it is for some experiments, under the same name
    about: frozenset[str] = frozenset()  # other kinds whose metrics, audits and gates apply too
    questions: Mapping[str, str] = field(default_factory=lambda: DIMENSION_QUESTIONS)  # the question of each dimension
    meanings: Mapping[str, str] = field(default_factory=lambda: STATUS_MEANINGS)  # the meaning of each status
    trains: bool = False  # its workers are ranks of one training
    sends_requests: bool = False  # its trials are requests to engines, not steps of workers
    sweeps: bool = False  # one launch measures every operation at every size
    times_calls: bool = False  # it times calls only
    observes: bool = False  # it measured nothing: what applies to every kind does not apply, and nothing is compared with it
    chooses: bool = True  # its configurations are alternatives; one can be recommended
    configurations: str = "worker counts"  # name of its configurations
    workers: str = "Workers"  # heading of the column with their number
    label: str = ""  # name of its only configuration; empty: by the number of workers
    facts: tuple[str, ...] = ()  # provenance facts in reports; empty: all
    names_scores: bool = True  # its scores carry the name of their metric
    interleaving: str = "both in one session, as knobs of assay tune"  # how to interleave two settings
    own_cost: str = "Instrument's own cost"  # name of the measurement overhead
    own_processes: bool = True  # a launch starts all processes that its counters cover
    unit: Literal["launch", "item"] = "launch"  # of analysis; items: launches only repeat them
    judges_quality: bool = False  # as its result, with metrics and a gate of its own
    speeds_up: bool = True  # its numbers are relative to a base level; a load and an evaluation have none
    unchecked: str = ""  # how its result can be checked, where it was not; empty: by scoring held-out examples
    same_examples: bool = True  # all configurations score the same held-out examples
    # what to do about a configuration whose quality is worse
    quality_remedy: str = "keep the global batch, seed and learning rate of the base, or tune this worker count separately"

    def concerns(self, about: tuple[str, ...]) -> bool:
        """True if something about these kinds applies to records of this one."""
        return (EVERY in about and not self.observes) or self.name in about or not self.about.isdisjoint(about)

    def word(self, status: str, words: Mapping[str, str]) -> str:
        """The status for people; of what was only seen, that it was."""
        return self.name if self.observes else words[status]

    @property
    def unconcerned(self) -> frozenset[str]:
        """The kinds whose folders hold no metric, audit or gate about records of this one: a judge need not load them."""
        near = {self.name, *self.about}
        return frozenset(catalog.names("kinds")) - (near if near.isdisjoint(LAUNCHED) else near | {*LAUNCHED})


@cache
def kinds() -> tuple[Kind, ...]:
    """All kinds, by precedence."""
    return tuple(sorted(catalog.load_all("kinds").values(), key=lambda kind: kind.precedence))


def kind_of(experiment: Experiment) -> Kind:
    """The kind of an experiment's records."""
    kind = next(kind for kind in kinds() if kind.applies(experiment))
    return kind.variant(experiment) or kind
