"""What made replicas diverge that started equal?

The first of these causes for which the record holds evidence:

    updated_less_on_some_ranks         ranks updated less often than others (a step that was skipped)
    learning_rate_differs_by_rank      ranks used different learning rates, or other optimizer settings, in a sampled step
    (optimizer_settings_differ_by_rank)
    optimizer_states_differ            the optimizer states differed before the parameters did (restored on one rank only)
    parameters_changed_on_one_rank     gradients are equal and only some parameters differ: something other than an update changed them
    gradients_not_synchronised         the gradients are not known to be equal

Gradients equal in the sampled steps are assumed equal in between only with further evidence: differing optimizer states, or trained
parameters that still agree. With three or more ranks the odd one is named; with two, hashes cannot tell which one changed. Pure.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import polars as pl

from fireassay.estimates.format import count, given
from fireassay.frames.record_data import RecordData, effective_steps
from fireassay.frames.training.correctness.first_gradients import First, firsts, laters
from fireassay.frames.training.parallel_evidence import evenly, hashes, uneven
from fireassay.verdict.types import Finding, Severity

MANY: Final = 3  # parameters named in a finding
DIGITS: Final = 8  # hex digits of a parameter's hash
STATELESS: Final = hashlib.blake2b(digest_size=16).hexdigest()  # the hash of an optimizer without any state
SYNCHRONISE: Final = "synchronise gradients in every optimizer step: wrap the model in DDP, and leave no_sync() before the last backward"


Layer = Literal["ledger", "gradient", "hashes"]


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """A named fault of one configuration."""

    fault: str
    evidence: str
    remedy: str
    layer: Layer = "hashes"
    severity: Severity = "fail"

    def finding(self, configuration: str) -> Finding:
        """The diagnosis as a finding of an audit."""
        return Finding(self.fault, self.severity, configuration, self.evidence, self.remedy)


@dataclass(frozen=True, kw_only=True)
class Parting:
    """First divergence of a launch's replicas: finished steps at that check, and at the last check at which they were equal."""

    measured: RecordData
    launch: int
    step: int
    equal: int

    @property
    def words(self) -> str:
        """When, in words."""
        return f"parameter hashes are equal after {count(self.equal, 'steps')} and differ after {self.step} (launch {self.launch})"


def cause(measured: RecordData, launch: int, step: int) -> Diagnosis:
    """Why the replicas of a launch diverged, given the number of finished steps at which the divergence was first recorded."""
    looks = hashes(measured).filter((pl.col("launch") == launch) & (pl.col("step") < step) & pl.col("agree"))
    parting = Parting(measured=measured, launch=launch, step=step, equal=int(looks["step"].max() or 0))  # type: ignore[arg-type]
    for test in (_skipped, _settings, _states_before, _changed, _states_after):
        result = test(parting)
        if result is not None:
            return result
    return Diagnosis(fault="gradients_not_synchronised", evidence=_seen_apart(parting), remedy=SYNCHRONISE)


def settings_apart(measured: RecordData) -> Iterator[tuple[int, int, str, Mapping[int, Any]]]:
    """(launch, step, setting, rank -> value) of optimizer settings that differ between ranks, over timed launches in order; the learning
    rate first.
    """
    rows = effective_steps(evenly(measured, measured.table("fingerprints")).filter(pl.col("what") == "optimizer_settings"))
    timed = measured.timed.filter(pl.col("workers") > 1).select("launch", "workers")
    of_step = rows.join(timed, on="launch").sort("launch", "step", "rank").partition_by("launch", "step", maintain_order=True)
    for prints in of_step:
        if prints["text"].n_unique() > 1 and prints["rank"].n_unique() == prints["workers"][0]:
            groups = {rank: json.loads(text) for rank, text in prints.select("rank", "text").iter_rows()}
            yield int(prints["launch"][0]), int(prints["step"][0]), *_first_difference(groups)


def _first_difference(groups: Mapping[int, Sequence[Mapping[str, Any]]]) -> tuple[str, Mapping[int, Any]]:
    most = max(len(settings) for settings in groups.values())
    for index in range(most):
        of_rank = {rank: settings[index] if index < len(settings) else {} for rank, settings in groups.items()}
        names = sorted({name for settings in of_rank.values() for name in settings}, key=lambda name: (name != "lr", name))
        for name in names:
            values = {rank: settings.get(name) for rank, settings in of_rank.items()}
            if len({json.dumps(value) for value in values.values()}) > 1:
                return ("learning rate" if name == "lr" else name) + (f" of group {index}" if most > 1 else ""), values
    return "number of groups", {rank: len(settings) for rank, settings in groups.items()}


def of_settings(launch: int, step: int, name: str, values: Mapping[int, Any]) -> Diagnosis:
    """The finding for settings that differ between ranks."""
    listed = ", ".join(f"{_number(value)} on {_ranks(ranks)}" for value, ranks in _grouped(values).items())
    rate = name.startswith("learning rate")
    return Diagnosis(
        fault="learning_rate_differs_by_rank" if rate else "optimizer_settings_differ_by_rank",
        evidence=f"the {name} in step {step} of launch {launch} is {listed}",
        remedy="give every rank the same learning rate and schedule, derived from the step and not from the rank, and step the scheduler equally often on all"
        if rate
        else "configure the optimizer alike on every rank",
    )


def _number(text: str) -> str:
    value = json.loads(text)
    return given(value, digits=6) if isinstance(value, int | float) and not isinstance(value, bool) else text


def _grouped(values: Mapping[int, Any]) -> dict[str, list[int]]:
    ranks_by_value: dict[str, list[int]] = {}
    for rank in sorted(values):
        ranks_by_value.setdefault(json.dumps(values[rank]), []).append(rank)
    return ranks_by_value


def _ranks(ranks: Sequence[int]) -> str:
    return f"rank{'s' if len(ranks) > 1 else ''} {', '.join(map(str, ranks))}"


# ---- the causes ------------------------------------------------------------------------------------------------------


def _skipped(parting: Parting) -> Diagnosis | None:
    """Ranks that updated less often than others, though not under torch's Join, after which replicas are equal."""
    if parting.launch not in uneven(parting.measured):
        return None
    steps = parting.measured.stepped.filter(pl.col("launch") == parting.launch)
    least, most = uneven(parting.measured)[parting.launch]
    ranks = steps.filter(pl.col("steps") == least)["rank"].sort().to_list()
    return Diagnosis(
        fault="updated_less_on_some_ranks",
        evidence=f"{_ranks(ranks)} made {least} updates of launch {parting.launch}, where others made {most}; {parting.words}",
        remedy="let all ranks step their optimizers, or none: decide on a skipped step (a loss that is not finite) together, by all_reduce",
    )


def _settings(parting: Parting) -> Diagnosis | None:
    for launch, step, name, values in settings_apart(parting.measured):
        if launch == parting.launch and step < parting.step:
            difference = of_settings(launch, step, name, values)
            return replace(difference, evidence=f"{difference.evidence}; {parting.words}")
    return None


def _states_before(parting: Parting) -> Diagnosis | None:
    """Optimizer states that differ while the parameters are still equal."""
    states = _states(parting).filter((pl.col("step") <= parting.equal) & ~pl.col("agree"))
    return _restored(parting, int(states["step"][0]), "before the parameters do") if states.height else None


def _states_after(parting: Parting) -> Diagnosis | None:
    """Optimizer states that differ at the same check, with gradients known to be equal."""
    states = _states(parting).filter((pl.col("step") == parting.step) & ~pl.col("agree"))
    equal = _equal_steps(parting)
    if not states.height or not equal:
        return None
    return _restored(parting, parting.step, f"while the gradients of {_steps(equal)} are equal")


def _restored(parting: Parting, step: int, when: str) -> Diagnosis:
    texts = _texts(parting, "optimizer_hash", step)
    return Diagnosis(
        fault="optimizer_states_differ",
        evidence=f"the optimizer's state differs between ranks after {count(step, 'steps')} of launch {parting.launch}{_odd(texts)}, {when}; "
        f"{parting.words}",
        remedy="load the optimizer's state on every rank from the same checkpoint, or on none",
    )


def _changed(parting: Parting) -> Diagnosis | None:
    """Equal gradients, and some trained parameters still agree; or all differ, and neither gradients nor states can be the cause."""
    equal = _equal_steps(parting)
    names, of_rank = _of_parameters(parting)
    if not equal or not names:
        return None
    apart = [name for index, name in enumerate(names) if len({texts[index] for texts in of_rank.values()}) > 1]
    if not apart or not (_trained(parting) - set(apart) or _exonerated(parting, equal)):
        return None
    more = f" and {len(apart) - MANY} more" if len(apart) > MANY else ""
    odd = _odd({rank: "".join(texts) for rank, texts in of_rank.items()})
    return Diagnosis(
        fault="parameters_changed_on_one_rank",
        evidence=f"{', '.join(apart[:MANY])}{more} of {count(len(names), 'parameters')} {'is' if len(apart) == 1 else 'are'} not the same on all ranks after "
        f"{count(parting.step, 'steps')} of launch {parting.launch}{odd}; all were after {parting.equal}, and the gradients of {_steps(equal)} are equal: "
        "no update caused it",
        remedy="find code that writes parameters on some ranks only (load_state_dict, averaging, clamping, tying); if there is none, suspect the "
        "memory or the device of the odd rank: a flipped bit looks like this",
    )


def _exonerated(parting: Parting, equal: Sequence[int]) -> bool:
    """True if gradients cannot have differed between the checks: every step was sampled, or the optimizer state, which accumulates them, is
    equal.
    """
    states = _states(parting).filter(pl.col("step") == parting.step)
    if states.filter(~pl.col("agree")).height:
        return False
    every = {*range(parting.equal, parting.step)} <= {*equal}
    return every or states.filter(pl.col("text") != STATELESS).height > 0


# ---- reading the record ----------------------------------------------------------------------------------------------


def _seen_apart(parting: Parting) -> str:
    equal = _equal_steps(parting)
    but = f"; the gradients of {_steps(equal)} are equal, those of the others were not examined" if equal else ""
    return f"parameter hashes are equal at the start and differ after {count(parting.step, 'steps')} (launch {parting.launch}){but}"


def _equal_steps(parting: Parting) -> tuple[int, ...]:
    """Steps with gradients known to be equal on all ranks: those between the two checks, else those after them."""
    known = [entry for entry in (*firsts(parting.measured), *laters(parting.measured)) if entry.launch == parting.launch]
    equal = [entry.step for entry in known if _is_equal(entry)]
    inside = tuple(step for step in equal if parting.equal <= step < parting.step)
    return inside or tuple(step for step in equal if step >= parting.step)


def _is_equal(entry: First) -> bool:
    known = any(gradient.norm is not None for gradient in entry.own.values())
    return known and len(entry.of_rank) == entry.workers and not entry.apart()


def _trained(parting: Parting) -> set[str]:
    """Parameters with a non-zero gradient."""
    known = [entry for entry in (*firsts(parting.measured), *laters(parting.measured)) if entry.launch == parting.launch]
    inside = [entry for entry in known if parting.equal <= entry.step < parting.step] or known
    return {name for entry in inside for name, gradient in entry.own.items() if gradient.norm}


def _states(parting: Parting) -> pl.DataFrame:
    return hashes(parting.measured, what="optimizer_hash").filter(pl.col("launch") == parting.launch)


def _texts(parting: Parting, what: str, step: int | None = None) -> dict[int, str]:
    rows = parting.measured.table("fingerprints").filter(
        (pl.col("launch") == parting.launch) & (pl.col("what") == what) & (pl.col("incarnation") == 0)
    )
    selected = rows if step is None else rows.filter(pl.col("step") == step)
    return dict(selected.sort("rank").select("rank", "text").iter_rows())


def _of_parameters(parting: Parting) -> tuple[list[str], dict[int, list[str]]]:
    """Parameter names, and each rank's hash of each parameter; empty unless known for all ranks."""
    named, of_rank = _texts(parting, "parameter_names"), _texts(parting, "parameter_hashes", parting.step)
    names = next(iter(named.values()), "").splitlines()
    cut = {rank: [text[offset : offset + DIGITS] for offset in range(0, len(text), DIGITS)] for rank, text in of_rank.items()}
    if not names or any(len(parts) != len(names) for parts in cut.values()) or set(named.values()) != {"\n".join(names)}:
        return [], {}
    return names, cut


def _odd(texts: Mapping[int, str]) -> str:
    """The ranks that differ from the majority; empty without a majority."""
    sizes = Counter(texts.values()).most_common()
    if len(sizes) < 2 or sizes[0][1] == sizes[1][1]:
        return ""
    differing = [rank for rank in sorted(texts) if texts[rank] != sizes[0][0]]
    return f" ({_ranks(differing)} unlike the other {sizes[0][1]})"


def _steps(steps: Sequence[int]) -> str:
    some = ", ".join(map(str, steps[:MANY]))
    return f"step {some}" if len(steps) == 1 else f"steps {some}{' and more' if len(steps) > MANY else ''}"
