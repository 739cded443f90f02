"""What is wrong with a distributed training?  The first of the known faults whose evidence is in the record.

In this order, because a fault that stands earlier explains what those that stand later would see:

| layer | evidence | name |
|---|---|---|
| A ledger | two ranks read the same samples while others were read by nobody | `shard_read_twice` |
| A | samples that no rank used | `samples_lost` |
| A | samples used twice, as many as padding adds, or not | `samples_duplicated_by_padding`, `samples_duplicated` |
| A | a told denominator that is not items / workers: each rank's own, or the same wrong one on all | `unequal_shards`, `gradient_scaled` |
| C hashes | parameters differ before the first step | `replica_seed_mismatch` |
| B, C | some parameters' gradients differ between the ranks | `parameter_not_reduced` |
| B, C | all of them do, in the first step or in a later one that was looked at | `gradients_not_synchronised` |
| C | parameters part later, by the learning rate or other settings | `learning_rate_differs_by_rank`, `optimizer_settings_differ_by_rank` |
| C | by restored states, or by no update (`assay.verdict.evidence.divergence`) | `optimizer_states_differ`,
`parameters_changed_on_one_rank` |
| B | the norms that torch's clipping found differ between ranks, and the gradients do not | `clipped_before_reduction` |
| C | equal random states where they are to differ, or the other way round | `same_random_numbers`, `random_numbers_differ` |
| B gradient | a multiple of one worker's gradient | `gradient_scaled`, with the factor's name |
| B | another gradient, and shards are unequal | `unequal_shards` |
| B | nearly the gradient, all in numbers of half precision | `reduced_in_less_precision` |
| B | another gradient | `gradient_differs` |
| B | a multiple of one worker's gradient in a later step, as no earlier one was | `gradient_scaled`, `clipping_differs` |
| B | the same start gave gradients that differ by rounding | `nondeterministic_within_rounding`, no fault |

Pure.  Source: house research, quality section 4.  Cannot tell: faults that begin after the first step and turn the gradients of all ranks
alike, without scaling them; what a script tells wrongly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from assay.frames.record_data import Measured
from assay.frames.training.parallelism import Claim, why_not
from assay.verdict.evidence.fault_evidence import Diagnosis, Evidence, look
from assay.verdict.evidence.gradient_faults import later_gradient, other_gradient, rounding, scaled
from assay.verdict.evidence.hash_faults import clipped_before_reduction, other_beginning, random_states, unsynchronised
from assay.verdict.evidence.sample_faults import denominators, ledger

# each test, in the order of the table, and what it takes for granted of the parallelism
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


def diagnose(measured: Measured) -> Mapping[str, Diagnosis | None]:
    """The first fault of every configuration, or None."""
    return measured.once("diagnosis", _diagnosed)


def _diagnosed(measured: Measured) -> Mapping[str, Diagnosis | None]:
    evidence = look(measured)
    return {name: next(_faults(evidence, name), None) for name in measured.configurations}


def _faults(evidence: Evidence, name: str) -> Iterator[Diagnosis]:
    for test, claim in TESTS:
        if why_not(evidence.measured, name, claim):  # another parallelism does not have it
            continue
        diagnosis = test(evidence, name)
        if diagnosis is not None:
            yield diagnosis
