"""What is wrong with a distributed training?

The first known fault with evidence in the record, in this order: an earlier fault explains the later ones.

| layer | evidence | name |
|---|---|---|
| A ledger | two ranks read the same samples while others were read by none | `shard_read_twice` |
| A | samples that no rank used | `samples_lost` |
| A | samples used twice: as many as padding adds, or not | `samples_duplicated_by_padding`, `samples_duplicated` |
| A | a reported denominator that is not items / workers: each rank's own, or the same on all | `unequal_shards`, `gradient_scaled` |
| C hashes | parameters differ before the first step | `replica_seed_mismatch` |
| B, C | the gradients of some parameters differ between ranks | `parameter_not_reduced` |
| B, C | the gradients of all parameters differ, in the first step or a later sampled one | `gradients_not_synchronised` |
| C | parameters diverge later: learning rate or other settings | `learning_rate_differs_by_rank`, `optimizer_settings_differ_by_rank` |
| C | parameters diverge later: restored states (`fireassay.verdict.evidence.divergence`) | `optimizer_states_differ` |
| C | parameters diverge later: not by an update | `parameters_changed_on_one_rank` |
| B | norms found by torch's clipping differ between ranks, and gradients do not | `clipped_before_reduction` |
| C | random states equal where they should differ, or vice versa | `same_random_numbers`, `random_numbers_differ` |
| B gradient | a multiple of one worker's gradient | `gradient_scaled`, with the factor's name |
| B | another gradient, with unequal shards | `unequal_shards` |
| B | nearly the gradient, with every element representable in half precision | `reduced_in_less_precision` |
| B | another gradient | `gradient_differs` |
| B | a multiple of one worker's gradient in a later step only | `gradient_scaled`, `clipping_differs` |
| B | equal starts, gradients that differ by rounding | `nondeterministic_within_rounding`, no fault |

Pure. Cannot tell: faults that begin after the first step and turn the gradients of all ranks alike without scaling them; wrong reports by
the script.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from fireassay.frames.record_data import RecordData
from fireassay.frames.training.parallelism import Claim, why_not
from fireassay.verdict.evidence.fault_evidence import (
    Diagnosis,
    Evidence,
    clipped_before_reduction,
    denominators,
    ledger,
    look,
    other_beginning,
    random_states,
    unsynchronised,
)
from fireassay.verdict.evidence.gradient_faults import later_gradient, other_gradient, rounding, scaled

# each test, in table order, with the property of the parallelism that it assumes
TESTS: Final[tuple[tuple[Callable[[Evidence, str], Diagnosis | None], Claim], ...]] = (
    (ledger, "samples"),
    (denominators, "gradients"),
    (other_beginning, "replicas"),
    (unsynchronised, "replicas"),
    (clipped_before_reduction, "gradients"),
    (random_states, "random numbers"),
    (scaled, "gradients"),
    (other_gradient, "gradients"),
    (later_gradient, "gradients"),
    (rounding, "gradients"),
)


def diagnose(measured: RecordData) -> Mapping[str, Diagnosis | None]:
    """configuration -> its first fault, or None."""
    return measured.once("diagnosis", _diagnosed)


def _diagnosed(measured: RecordData) -> Mapping[str, Diagnosis | None]:
    evidence = look(measured)
    return {name: next(_faults(evidence, name), None) for name in measured.configurations}


def _faults(evidence: Evidence, name: str) -> Iterator[Diagnosis]:
    for test, claim in TESTS:
        if why_not(evidence.measured, name, claim):  # the assumption fails under this parallelism
            continue
        diagnosis = test(evidence, name)
        if diagnosis is not None:
            yield diagnosis
