"""Does a training on several workers still compute what one worker computes?  Four layers, each passed, failed or not run.

    A ledger      every sample used once per epoch, every one with the same weight; exact
    B gradient    the first gradient against one worker's from the same samples; float64 decides, float32 nearly, less is advice; of a few
                  later gradients only the factor
    C hashes      parameters, optimizer and random states of the ranks, from step 0 on; exact
    D trajectory  non-finite losses; the last losses against the base's: advice, since equal curves hide wrong gradients
                  (docs/definitions.md)

A layer that was not run says what it would need.  Faults are named by `fireassay.verdict.evidence.gradient_faults`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.format import count, given, show
from fireassay.frames.record_data import RecordData
from fireassay.frames.training.correctness.first_gradients import Compared, compared, worst
from fireassay.frames.training.parallel_evidence import hashes
from fireassay.frames.training.parallelism import Claim, why_not
from fireassay.metrics.metric import Results
from fireassay.metrics.training.correctness import SAMPLE_WEIGHT_ERROR, SAMPLES_DUPLICATED, SAMPLES_LOST
from fireassay.stats.groups.gradient_difference import tolerance
from fireassay.verdict.evidence.fault_evidence import averaged_later
from fireassay.verdict.evidence.gradient_faults import diagnose, is_scaled, legitimate
from fireassay.verdict.judging import Evidence, Layers
from fireassay.verdict.types import Finding, LayerResult, LayerState

TITLES: Final[Mapping[str, str]] = {
    "ledger": "A, samples and weights",
    "gradient": "B, gradient of one step",
    "hashes": "C, replicas",
    "trajectory": "D, losses",
}
OF_LEDGER: Final = (
    "samples_lost",
    "samples_duplicated",
    "samples_duplicated_by_padding",
    "shard_read_twice",
    "unequal_shards",
    "same_samples_on_every_rank",
    "contents_differ_by_rank",
)
OF_HASHES: Final = (
    "replica_seed_mismatch",
    "gradients_not_synchronised",
    "parameter_not_reduced",
    "replicas_differ_after_restart",
    "learning_rate_differs_by_rank",
    "optimizer_settings_differ_by_rank",
    "optimizer_states_differ",
    "parameters_changed_on_one_rank",
    "clipped_on_some_ranks",
    "updated_less_on_some_ranks",
    "unwrapped_parameters_differ",
    "mode_differs_by_rank",
    "batch_statistics_drift",
    "same_random_numbers",
    "random_numbers_differ",
)
# what each layer assumes about the parallelism
CLAIMS: Final[Mapping[str, Claim]] = {"ledger": "samples", "gradient": "gradients", "hashes": "replicas", "trajectory": "loss"}
OF_GRADIENT: Final = (
    "gradient_scaled",
    "clipped_before_reduction",
    "cleared_on_some_ranks",
    "clipping_differs",
    "another_model",
)  # in later steps too
OF_TRAJECTORY: Final = ("loss_not_finite",)
Said = tuple[LayerState, str]


def layers(evidence: Evidence) -> Layers:
    """configuration of several workers -> its four layers."""
    data = evidence.data
    several = [name for name, level in zip(data.configurations, data.levels, strict=True) if level > 1]
    return {name: _four(data, evidence.results, evidence.findings, name) for name in several}


def _four(measured: RecordData, results: Results, findings: Sequence[Finding], name: str) -> tuple[LayerResult, ...]:
    relevant = [finding for finding in findings if finding.configuration == name]
    judged: dict[str, Said] = {
        "ledger": _ledger(measured, results, relevant, name),
        "gradient": _gradient(measured, relevant, name),
        "hashes": _hashes(measured, results, relevant, name),
        "trajectory": _trajectory(results, relevant, name),
    }
    for layer, claim in CLAIMS.items():
        if judged[layer][0] != "fail" and (why := why_not(measured, name, claim)):
            judged[layer] = ("not run", why)
    return tuple(
        LayerResult(layer=layer, title=TITLES[layer], state=state, sentence=sentence) for layer, (state, sentence) in judged.items()
    )


def _failed(findings: Sequence[Finding], rules: Sequence[str]) -> Said | None:
    wrong = [f for f in findings if f.rule in rules and f.severity in ("fail", "warning")]
    if not wrong:
        return None
    state: LayerState = "fail" if any(f.severity == "fail" for f in wrong) else "advice"
    return state, "; ".join(f"{f.rule}: {f.evidence}" for f in wrong)


def _value(results: Results, metric: str, name: str) -> Value:
    missing = Absent(reason="not_measured", detail="it was not computed")
    return results.get(metric, {}).get(name, missing)


def _ledger(measured: RecordData, results: Results, findings: Sequence[Finding], name: str) -> Said:
    if (wrong := _failed(findings, OF_LEDGER)) is not None:
        return wrong
    diagnosis = diagnose(measured)[name]  # a fault of the weights may also be one of the gradient layer
    if diagnosis is not None and diagnosis.layer == "ledger" and diagnosis.severity == "fail":
        return "fail", f"{diagnosis.fault}: {diagnosis.evidence}"
    lost, twice, weight = (
        _value(results, metric, name) for metric in (SAMPLES_LOST.name, SAMPLES_DUPLICATED.name, SAMPLE_WEIGHT_ERROR.name)
    )
    if isinstance(twice, Absent):
        return "not run", twice.detail
    weighting = "every sample has the same weight" if isinstance(weight, Estimate) else "the divisors of the losses were not reported"
    if not isinstance(lost, Estimate):
        uses = f"no sample used twice; {lost.detail}"
    elif "fill no batch" in lost.method:
        uses = "every sample used once per epoch except those that fill no batch, as with one worker"
    else:
        uses = "every sample used once per epoch"
    return "pass", f"{uses}; {weighting}"


def _gradient(measured: RecordData, findings: Sequence[Finding], name: str) -> Said:
    first = _first_gradient(measured, name)
    named = diagnose(measured)[name]
    later = _failed(findings, OF_GRADIENT) if named is not None and named.layer == "gradient" else None
    return first if later is None or first[0] == "fail" else later


def _first_gradient(measured: RecordData, name: str) -> Said:
    worst_step = worst(measured, name)
    if isinstance(worst_step, Absent):
        return "not run", worst_step.detail
    hashed = hashes(measured)
    if any(pair.first.apart() and averaged_later(hashed, pair.first) for pair in _of(measured, name)):
        return "not run", "the optimizer averages the ranks' gradients itself; report them with probe.gradients"
    return _judged(measured, worst_step, name)


def _of(measured: RecordData, name: str) -> list[Compared]:
    return [pair for pair in compared(measured) if pair.first.configuration == name]


def _judged(measured: RecordData, pair: Compared, name: str) -> Said:
    difference, known = pair.difference, tolerance(pair.precision)
    assert difference is not None
    numbers = (
        f"error {difference.error:.1e} ({difference.worst}, of {count(len(difference.errors), 'parameters')}), k = {given(difference.scale, digits=6)}, "
        f"1 - cos = {difference.turn:.1e}, in {pair.precision}"
    )
    if difference.error <= known.error:
        if math.isinf(known.certain):
            return "advice", f"{numbers}: within the resolution of {pair.precision}, which hides real faults"
        return "pass", f"{numbers}: rounding"
    diagnosis = diagnose(measured)[name]
    if diagnosis is not None and diagnosis.fault == "reduced_in_less_precision":
        return "advice", diagnosis.evidence
    scaled = is_scaled(pair)
    if not scaled and (why := legitimate(measured, name)):
        return "not run", f"{why}, so its gradient is not one worker's; {numbers}"
    if not scaled and pair.by == "items":  # batches drawn by each rank itself, as nanoGPT's, need not be one worker's
        return "advice", f"{numbers}: whether the samples were the same is unknown"
    if scaled or difference.error > known.certain:
        return "fail", numbers
    return "advice", f"{numbers}: more than {known.error:.0e}, less than what no rounding does; float64 would decide"


def _hashes(measured: RecordData, results: Results, findings: Sequence[Finding], name: str) -> Said:
    if (wrong := _failed(findings, OF_HASHES)) is not None:
        return wrong
    agree = _value(results, "replicas_agree", name)
    if isinstance(agree, Absent):
        return "not run", agree.detail
    if agree.value < 1.0:
        return "fail", f"parameters equal at {show(agree).text} of the hashed steps"
    more = [
        f"{words} {_states(measured, name, column)}"
        for column, words in (("optimizer_hash", "optimizer states"), ("random_hash", "random states"))
        if _states(measured, name, column)
    ]
    return "pass", "; ".join([f"parameters equal at all hashed steps ({agree.method})", *more])


def _states(measured: RecordData, name: str, column: str) -> str:
    states = hashes(measured, what=column).filter(pl.col("configuration") == name)
    if states.height == 0:
        return ""
    equal = int(states["agree"].sum())
    return "equal" if equal == states.height else "different" if equal == 0 else f"equal at {equal} of {states.height} steps"


def _trajectory(results: Results, findings: Sequence[Finding], name: str) -> Said:
    if (wrong := _failed(findings, OF_TRAJECTORY)) is not None:
        return wrong
    value = _value(results, "final_loss_difference", name)
    if isinstance(value, Absent):
        return "not run", value.detail
    return "advice", f"last losses differ by {show(value).full} from the base's; equal losses prove nothing"
