"""What did somebody claim, and under which conditions?

A claim file holds published numbers and what was said about how they were obtained; a missing key means not stated.
`assay audit claim.toml` finds the pitfalls that leaves open (`fireassay.verdict.claims.claim`).  Cannot tell: whether the statements
are true.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, ModelWrapValidatorHandler, ValidationError, model_validator

from fireassay.errors import Problem, SpecError, refuse_any
from fireassay.spec.explain import explain
from fireassay.spec.load import DIALECT, toml_only, with_lines
from fireassay.spec.model import Fraction, Model, Positive, Words, listed
from fireassay.spec.sections.prices import iso_date
from fireassay.spec.toml_file import parse

Fact = str | int | float | bool
Count = Annotated[int, Field(ge=1, le=10**12)]  # more is a typo
MAX_NUMBERS = 500  # every pair is compared
Statistic = Literal["mean", "median", "best", "min", "max", "p50", "p90", "p95", "p99", "p999", "ratio", "single"]


class Said(Model):
    """The claim itself: its wording and source."""

    text: str = Field(min_length=1, description="The claim in one sentence, as it was made or as you understand it.")
    source: str = Field(min_length=1, description="Author and source: a paper, a page, a slide.")
    as_of: Annotated[date | None, BeforeValidator(iso_date)] = Field(None, alias="date", description="Date of publication.")
    varying: Words = Field(
        ("workers",), description="Conditions under study: those meant to differ between the two sides. All others must be equal."
    )
    exclusive: bool | None = Field(None, description="Whether the machines and the network were otherwise idle during the measurement.")


class Baseline(Model):
    """The baseline that a number is relative to."""

    workers: Count | None = Field(None, description="The baseline's number of workers.")
    kind: Literal["best_serial", "one_worker", "one_node", "other_system", "unknown"] | None = Field(
        None,
        description="best_serial: the fastest known program for one worker. one_worker, one_node: the distributed program on "
        "one of them. other_system: another program on as many workers.",
    )
    value: float | None = Field(None, description="The baseline's time or rate, from which the ratio is formed.")
    unit: str | None = Field(None, min_length=1, description="The unit of the baseline's value.")
    global_batch: Positive | None = Field(None, description="Items per step of the baseline, over all workers.")


class Interval(Model):
    """The published uncertainty of a number."""

    low: float | None = Field(None, description="Lower end. Omit it if only an upper bound was given.")
    high: float | None = Field(None, description="Upper end. Omit it if only a lower bound was given.")
    kind: Literal["confidence", "standard_deviation", "standard_error", "range", "unknown"] = Field(
        "unknown", description="Meaning of the two ends."
    )
    confidence: Fraction | None = Field(None, description="For kind = confidence: the confidence level, for example 0.95.")


class Summary(Model):
    """A number that summarises several workloads, and how it was formed."""

    of: Literal["times", "rates", "ratios", "percentages"] = Field(description="The summarised quantity.")
    mean: Literal["arithmetic", "geometric", "harmonic", "total"] = Field(
        description="The kind of summary. total: the sum of all work over the sum of all time."
    )
    workloads: Count | None = Field(None, description="Number of workloads.")


class Number(Model):
    """A published number, with what its source states about it."""

    metric: str = Field(min_length=1, description="The quantity: speedup, throughput, latency, accuracy, cost ...")
    value: float = Field(description="The number.")
    unit: str | None = Field(None, min_length=1, description='Its unit: s, tokens/s, USD ...; "ratio" for a ratio.')
    statistic: Statistic | None = Field(
        None,
        description="Statistic over several measurements. best: the most favourable one. ratio: of two medians or means. "
        "single: there was one measurement.",
    )
    of: str | None = Field(None, min_length=1, description="The system or method that it describes, if several are compared.")
    run: str | None = Field(
        None, min_length=1, description="The run that it comes from, under any name. Numbers of one run share the name."
    )
    workers: Count | None = Field(None, description="Number of workers.")
    baseline: Baseline | None = Field(None, description="The baseline of a relative number, for example of a speedup.")
    launches: Count | None = Field(None, description="Independent launches behind the number: fresh processes each time.")
    planned_launches: Count | None = Field(None, description="Total number of launches made, including excluded ones.")
    trials: Count | None = Field(None, description="Repeated steps, requests or calls behind the number, over all launches.")
    interval: Interval | None = Field(None, description="The uncertainty that was published with the number.")
    warm_up_excluded: bool | None = Field(None, description="Whether the first, cold repetitions were excluded.")
    data_loading_timed: bool | None = Field(None, description="Whether the timed region includes data loading.")
    synchronised: bool | None = Field(None, description="Whether the device was synchronised before each clock read.")
    scaling: Literal["strong", "weak"] | None = Field(
        None, description="strong: the total work is fixed. weak: the work per worker is fixed."
    )
    global_batch: Positive | None = Field(None, description="Items per step, over all workers.")
    summary: Summary | None = Field(None, description="Only for a number that summarises several workloads.")
    conditions: dict[str, Fact] = Field(
        default_factory=dict, description="Conditions of this number alone, by name: seed, split, cluster ... Compared between the numbers."
    )

    @property
    def label(self) -> str:
        """How findings name it: "speedup of B at workers=8"."""
        subject = f" of {self.of}" if self.of else ""
        statistic = f" ({self.statistic})" if self.statistic not in (None, "ratio", "single") else ""
        return f"{self.metric}{statistic}{subject}" + (f" at workers={self.workers}" if self.workers else "")


class Sides(Model):
    """Conditions under which the two sides were measured."""

    baseline: dict[str, Fact] = Field(
        default_factory=dict,
        description="Conditions of the baseline by name: threads, precision, batch, compile, hardware, dataset, split, seed ...",
    )
    candidate: dict[str, Fact] = Field(default_factory=dict, description="Conditions of the candidate, by the same names.")


class ClaimedQuality(Model):
    """The published quality of the result."""

    metric: str = Field(min_length=1, description="The score: accuracy, F1, perplexity ...")
    direction: Literal["higher", "lower"] | None = Field(
        None, description="Whether a higher or a lower score is better. Default: lower for perplexity, loss and errors, else higher."
    )
    margin: Positive | None = Field(
        None, description="The largest loss that the claim treats as equal, in the unit of the scores: 0.005, or 0.5 if they are in points."
    )
    baseline: float | None = Field(None, description="The baseline's score.")
    candidate: float | None = Field(None, description="The candidate's score.")
    items: Count | None = Field(None, description="Number of held-out items scored.")
    same_launches: bool | None = Field(None, description="Whether the scores come from the timed launches themselves.")


class Objective(Model):
    """The service objective under which a throughput was reached."""

    objective: str = Field(min_length=1, description='The objective in words: "p99 latency below 300 ms".')
    metric: str | None = Field(None, min_length=1, description="The metric that it limits, named as in [[number]].")
    statistic: Statistic | None = Field(
        None, description="The limited statistic. Default: the one that the objective's words name (p99, mean ...)."
    )
    limit: float | None = Field(
        None,
        description='The largest allowed value (the smallest for a rate, or if the words say "at least"), in `unit`. '
        "Default: taken from the objective's words.",
    )
    unit: str | None = Field(
        None,
        min_length=1,
        description="The unit of the limit. Default: that of the objective's words if they give the same number, else that of the number.",
    )
    met: bool | None = Field(None, description="Whether it was met while the throughput was measured.")


class Predicted(Model):
    """A prediction for more workers than were measured."""

    workers: Count = Field(description="The number of workers that the prediction is for.")
    measured_up_to: Count | None = Field(None, description="The largest number of workers that was measured.")
    points: Count | None = Field(None, description="Number of worker counts measured.")


class Claim(Model):
    """A claim: published numbers with the conditions that were published with them.

    Raises:
        SpecError: if it is invalid; lists every problem at once.
    """

    claim: Said
    number: Annotated[tuple[Number, ...], BeforeValidator(listed)] = Field(min_length=1, description="The published numbers.")
    conditions: Sides = Sides()
    quality: ClaimedQuality | None = Field(None, description="Omit it if no quality was published.")
    slo: Objective | None = Field(None, description="Omit it if no objective was named.")
    prediction: Predicted | None = Field(None, description="Omit it if nothing was predicted.")

    @model_validator(mode="wrap")
    @classmethod
    def _explained(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            claim = handler(data)
        except ValidationError as error:
            # `from None`: hide the library's wording from users.
            raise SpecError(map(_worded, explain(cls, error)), "the claim") from None
        refuse_any(_contradictions(claim), "the claim")
        return claim


def load_claim(path: str | Path) -> Claim:
    """Read a claim from a TOML file.

    Raises:
        SpecError: the file cannot be read, is not TOML, or is no valid claim: all problems at once, with their lines.
    """
    data, text = parse(Path(path), "a claim")
    try:
        return Claim.model_validate(data)
    except SpecError as error:
        raise SpecError(with_lines(error.problems, text), str(path)) from None


def claim_schema() -> dict[str, Any]:
    """JSON Schema of a claim file."""
    return {"$schema": DIALECT, **toml_only(Claim.model_json_schema(by_alias=True))}


def _worded(problem: Problem) -> Problem:
    """The same problem, worded for a claim; splits text that holds a number and its unit."""
    if problem.where == "the experiment":
        return replace(problem, where="the claim")
    quantity = re.fullmatch(r'"\s*(?:USD|[$€])?\s*([-+]?[\d.,]+)\s*([^\d\s",.][^"]*?)\s*"', problem.found)
    if "number" in problem.allowed and (comma := re.fullmatch(r'"(\d+),(\d{1,2}|\d{4,})"', problem.found)):
        return replace(problem, fix=f"Write {comma[1]}.{comma[2]}, with a point.")
    if quantity is None or "number" not in problem.allowed or problem.fix:
        return problem
    unit = f', and unit = "{quantity[2]}"' if re.fullmatch(r"number\[\d+\](\.baseline)?\.value|slo\.limit", problem.where) else ""
    return replace(problem, fix=f"Write {quantity[1]}, without the unit{unit}.")


def _contradictions(claim: Claim) -> Iterator[Problem]:
    if len(claim.number) > MAX_NUMBERS:
        yield Problem("number", f"{len(claim.number)} numbers", f"at most {MAX_NUMBERS}", "Split it into several claims.")
    for index, number in enumerate(claim.number):
        where, planned = f"number[{index}]", number.planned_launches
        yield from _outside_its_interval(f"{where}.interval", number)
        if planned is not None and (number.launches or 0) > planned:
            allowed = f"at least launches = {number.launches}"
            yield Problem(f"{where}.planned_launches", str(planned), allowed, "It includes the excluded launches.")
    prediction = claim.prediction
    if prediction is not None and prediction.measured_up_to is not None and prediction.workers <= prediction.measured_up_to:
        allowed = f"more than measured_up_to = {prediction.measured_up_to}"
        fix = "Omit [prediction] if nothing beyond the measured range is claimed."
        yield Problem("prediction.workers", str(prediction.workers), allowed, fix)


def _outside_its_interval(where: str, number: Number) -> Iterator[Problem]:
    interval = number.interval
    if interval is None:
        return
    if interval.low is None and interval.high is None:
        yield Problem(where, "no end", "low, high or both", "Omit the interval if none was published.")
    low, high = (-math.inf if interval.low is None else interval.low, math.inf if interval.high is None else interval.high)
    if not low <= number.value <= high:
        allowed = f"ends with the value {number.value:g} between them"
        yield Problem(where, f"{low:g} to {high:g}", allowed, "Give the ends in the unit of the value, not the distance from it.")
