"""What is an experiment?

Everything a user can request, with units and defaults.  The models are frozen and never rewritten at run time: what is read here
is what the record stores.  TOML files, Python objects and command-line flags all become the same `Experiment`, and errors
raise one `SpecError` that lists every problem: single values are checked here, contradictions between keys in
`fireassay.spec.rules.experiment`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BeforeValidator, Field, ModelWrapValidatorHandler, ValidationError, ValidationInfo, model_validator

from fireassay.errors import Problem, SpecError
from fireassay.spec.explain import explain
from fireassay.spec.model import (
    NAME_PATTERN,
    Fraction,
    Model,
    Positive,
    WorkerCounts,
    devices,
    flag,
    label,
    listed,
    loss,
    number_or_none,
    seconds,
    with_unit,
)
from fireassay.spec.rules.evaluation import uncomputable
from fireassay.spec.rules.experiment import contradictions, missing_around
from fireassay.spec.rules.partial import as_far_as_known, broken
from fireassay.spec.sections.carbon import Carbon, of_flag
from fireassay.spec.sections.collectives import Collectives
from fireassay.spec.sections.costs import Flops
from fireassay.spec.sections.data import Data
from fireassay.spec.sections.energy import Energy
from fireassay.spec.sections.evaluation import Evaluation
from fireassay.spec.sections.faults import AnyFault, of_kind
from fireassay.spec.sections.prices import Prices, of_file
from fireassay.spec.sections.program import Program
from fireassay.spec.sections.serving import Serving
from fireassay.spec.sections.steps import Steps
from fireassay.spec.sections.target import Target
from fireassay.spec.sections.trade_off import LatencyCap, ThroughputFloor, cap_of_text, floor_of_text
from fireassay.spec.sections.tune import Tune
from fireassay.spec.sections.workload import ROUNDS, Launcher, Limits, Measure, Noise, Profile, Timing, Workload

QUICK_STEPS = 500  # of a quick launch at most
QUICK_S = 10.0  # of a quick launch, from its first step


def _none_word(value: object) -> object:
    """TOML has no null; the word "none" switches off a default."""
    return None if value == "none" else value


class Factor(Model):
    """The one thing that the experiment varies."""

    name: Literal["workers"] = Field(
        "workers", description="What is varied: the number of workers. A serving experiment varies its load, in [serving]."
    )
    levels: Annotated[
        WorkerCounts,
        flag("--workers", "1,2,4", "worker counts to run", run=10, profile=10),
        flag("--workers", "2", "train with this many workers: the words after -- are a script of `assay run`", gate=10),
        flag("--workers", "2,4", "worker counts to run, one process each ({default})", default=(2,), comm=10),
    ] = Field(min_length=1, description="The worker counts to run, each once, for example [1, 2, 4].")


class Scaling(Model):
    """How the work scales with the number of workers."""

    mode: Annotated[
        Literal["auto", "strong", "weak"],
        flag("--scaling", "MODE", "auto (by the recorded work), strong (total work fixed) or weak (work per worker fixed)", run=150),
    ] = Field(
        "auto",
        description="strong: the total work is fixed. weak: the work per worker is fixed. Checked against the recorded work. "
        "auto: whichever the recorded items per step are closer to; strong if none were counted.",
    )
    base: Annotated[int | None, flag("--base", "N", "the worker count that speedups are relative to (the smallest)", run=160)] = Field(
        None, ge=1, description="The level that speedups are relative to. Default: the smallest level."
    )
    time: Annotated[Literal["auto", "step", "wall"], flag("--time", "WHICH", "which time is compared: auto, step or wall", run=170)] = (
        Field(
            "auto",
            description="Which time the speedup compares: steady-state time per unit of work (step) or the whole launch "
            "(wall). auto: step where the script marks its steps, else wall.",
        )
    )


class Launches(Model):
    """Number and order of the launches of each configuration."""

    per_configuration: Annotated[
        int,
        flag("--launches", "N", "launches of each worker count, instead of until it is decided", run=20),
        flag("--launches", "N", "launches of each worker count ({default})", comm=140),
        flag("--launches", "N", "launches of each load ({default}; 5 if flags say how long one is)", default=9, load=360),
        flag("--launches", "N", "rounds of each command ({default})", default=ROUNDS, time=10),
        flag("--repetitions", "N", "answers to each item ({default}); more for sampled answers", default=1, evaluate=70),
    ] = Field(5, ge=1, le=100_000, description="Independent launches per configuration; each round holds every configuration once.")
    seed: Annotated[
        int,
        flag("--seed", "N", "fixes the order, the seeds and the fault times", run=30, profile=20),
        flag("--seed", "N", "fixes the order of launches and sizes", comm=150),
        flag("--seed", "N", "fixes the order, the arrivals and the texts", load=370),
        flag("--seed", "N", "fixes the resampling of items", score=130),
        flag("--seed", "N", "fixes the order of items and the resampling", evaluate=290),
    ] = Field(20260101, ge=0, lt=2**63, description="Fixes the launch order, the launch seeds and the fault times.")
    confidence: Annotated[
        float,
        flag("--confidence", "C", "confidence of every interval ({default:g})", run=40, comm=160, load=380),
        flag("--confidence", "C", "confidence of the interval ({default:g})", time=60),
        flag("--confidence", "C", "confidence of every interval ({default:g})", score=120, evaluate=280),
    ] = Field(0.95, gt=0.5, lt=1.0, description="Confidence of every interval.")
    quick: Annotated[bool, flag("--quick", "", "one short launch: raw numbers, no verdict", run=15, load=355)] = Field(
        False,
        description="One short launch per configuration: raw numbers without an interval; nothing is judged. A training is ended after "
        f"{QUICK_STEPS} steps, or after the step that ends {QUICK_S:g} seconds after its first began; other launches, budget and precision wait.",
    )
    precision: Annotated[
        Fraction | None,
        flag("--precision", "P", "add launches until intervals reach this fraction to either side (0.02)", run=50),
        flag("--precision", "P", "add launches until intervals are this narrow", load=390),
        flag("--precision", "P", "add rounds until the interval is this narrow (0.02: 2 %%)", time=50),
    ] = Field(
        None,
        description="Instead of a fixed number of launches: run whole rounds until the interval of every primary number reaches at "
        "most this fraction of its value to either side (0.02 is 2 %). per_configuration is then the number of launches "
        "before the first interim analysis.",
    )
    budget_s: Annotated[
        Positive | None,
        flag("--budget", "TIME", "add launches until the answer is decided, for at most this time, such as 10m", read=with_unit, run=45),
    ] = Field(
        None,
        description="Trainings and programs: instead of a fixed number of launches, run whole rounds until every worker count is decided (gain and "
        "gates), or until this many seconds are spent. per_configuration is then the number of launches before the first look. "
        "`assay run -- SCRIPT` without a number of launches sets it to 600. With precision: only a limit of the time.",
    )
    at_most: Annotated[
        int, flag("--at-most", "N", "with --precision or --budget: most launches of each worker count ({default})", run=60)
    ] = Field(
        60,
        ge=1,
        le=1000,
        description="With precision or budget_s: the maximum number of launches per configuration, even if something is still undecided.",
    )

    @property
    def adaptive(self) -> bool:
        """True if looks between the launches decide how many there are."""
        return not self.quick and (self.precision is not None or self.budget_s is not None)

    @property
    def until_decided(self) -> bool:
        """True if launches end with the answer, and not with narrow intervals."""
        return not self.quick and self.budget_s is not None and self.precision is None


class Comparison(Model):
    """Rules for comparing this experiment's record with another, fixed before anything runs."""

    primary: str = Field(
        "auto",
        min_length=1,
        description="The one metric that decides, by name. auto: throughput if items were counted, else step_time, "
        "trial_time or wall_time.",
    )
    equivalence: Fraction = Field(0.03, description="Differences shown to be smaller than this fraction count as equivalent.")
    smallest_effect: float = Field(
        0.01, ge=0.0, lt=1.0, description="Differences up to this fraction are not worth acting on, however certain."
    )


class Quality(Model):
    """The criterion for a preserved result, fixed before anything runs."""

    metric: Annotated[
        str,
        flag("--quality-metric", "NAME", "the score that decides whether quality was preserved", run=180),
        flag("--quality-metric", "NAME", "judge answers: exact_match, contains, f1, rouge_l ...", load=210),
    ] = Field("accuracy", min_length=1, description="The deciding per-example score, by the name that the script gives it.")
    direction: Annotated[Literal["higher", "lower"], flag("--quality-direction", "DIR", "higher or lower is better", run=190)] = Field(
        "higher", description="Whether a higher or a lower score is better."
    )
    margin: Annotated[
        Positive,
        flag("--margin", "M", "largest loss of mean score that still counts as preserved ({default:g})", read=loss, run=200),
        flag("--margin", "M", "largest loss of it that still counts as preserved ({default:g})", read=loss, load=220),
        flag(
            "--margin",
            "M",
            "with two files or more: largest loss of the first score that still counts as held: 0.02 or 2 %%",
            read=loss,
            score=100,
        ),
        flag(
            "--margin",
            "M",
            "with two targets or more: largest loss of the first score that still counts as held: 0.02 or 2 %%",
            read=loss,
            evaluate=60,
        ),
    ] = Field(
        0.01,
        description="The largest loss of mean score that still counts as preserved, in the score's unit (0.01 of accuracy is one point).",
    )
    chance: Annotated[float | None, flag("--chance", "Q", "mean score of guessing; a reference must be above it", run=210)] = Field(
        None,
        description="The mean score of guessing: 0.25 if one of four answers is right. A reference not above it by at least the "
        "margin makes the record INVALID. Default: 0 for scores of 0 to 1, else unknown.",
    )
    cluster: Annotated[str, flag("--cluster-field", "NAME", "field that identifies what prompts share (a passage, a user)", load=230)] = (
        Field(
            "",
            description="The cluster of an example, whose members may be lost together: a passage, a user, a problem. A load reads it "
            "from this field of prompts.source; a script passes it to probe.examples(cluster=...). Default: clusters from "
            "the script count; other examples are assumed to be independent.",
        )
    )
    max_flip_rate: Annotated[
        Fraction | None,
        flag(
            "--max-flip-rate",
            "P",
            "with --margin: largest share of items that may score otherwise, better ones included",
            score=105,
            evaluate=63,
        ),
    ] = Field(
        None,
        description="Evaluations: the largest share of items that may score otherwise than at the reference, better ones included: an "
        "equal mean hides items that changed. Decided by one-sided bounds. Default: no limit.",
    )
    largest_change: Positive | None = Field(
        None,
        description="The most by which the score of one example can change. Default: 1 for scores of 0 to 1, else estimated from the "
        "observed scores.",
    )


class Gates(Model):
    """Acceptance limits. An absent gate is not applied."""

    efficiency: Annotated[
        float | None,
        BeforeValidator(_none_word),
        flag("--efficiency", "E", 'smallest admissible efficiency ({default:.2f}), or "none"', read=number_or_none, run=220),
    ] = Field(0.70, gt=0.0, le=1.5, description='Smallest admissible parallel efficiency, a fraction. "none": no gate.')
    deadline_s: Annotated[
        Positive | None, flag("--deadline", "T", "longest admissible wall time, as 90s or 10m", read=seconds, run=230)
    ] = Field(None, description="Longest admissible wall time of one run, seconds.")
    budget_usd: Annotated[Positive | None, flag("--budget-usd", "USD", "highest admissible cost of one run; needs --price", run=240)] = (
        Field(None, description="Highest admissible cost of one run, US dollars. Needs prices.")
    )
    latency_cap: Annotated[
        LatencyCap | None, flag("--latency-cap", "CAP", "the most throughput under a latency, as e2e p99 500ms", read=cap_of_text, load=162)
    ] = Field(None, description="Loads: the largest throughput among those that keep this latency.")
    throughput_floor: Annotated[
        ThroughputFloor | None,
        flag("--throughput-floor", "RATE", 'the least latency at a throughput, as "100 req/s"', read=floor_of_text, load=164),
    ] = Field(None, description="Loads: the lowest latency among those that reach this throughput.")
    required_workers: Annotated[int | None, flag("--required-workers", "N", "this worker count must be admissible", run=260)] = Field(
        None, ge=1, description="This worker count must be admissible, else the verdict is FAIL. For continuous integration."
    )


Dimension = Literal["correctness", "performance", "cost", "reliability"]
EVERY_DIMENSION: tuple[Dimension, ...] = get_args(Dimension)


class Verdict(Model):
    """The question to be answered. Findings that make numbers inadmissible, or a result wrong, count in any case."""

    only: Annotated[
        tuple[Dimension, ...],
        BeforeValidator(listed),
        flag("--only", "WHAT", "judge only these dimensions: correctness, performance, cost, reliability", run=250),
    ] = Field(
        (),
        description="Training: the dimensions to judge. Others are neither required for a recommendation nor listed as not measured. "
        "Default: all four.",
    )

    @property
    def wanted(self) -> tuple[Dimension, ...]:
        """The requested dimensions, in their usual order."""
        return tuple(dimension for dimension in EVERY_DIMENSION if not self.only or dimension in self.only)

    @property
    def words(self) -> str:
        """The requested dimensions if not all, such as "performance and cost"; else ""."""
        return " and ".join(self.wanted) if len(self.wanted) < len(EVERY_DIMENSION) else ""


def _broken_rules(experiment: Experiment, folder: Path | None) -> Iterator[Problem]:
    yield from contradictions(experiment)
    if folder is not None:
        yield from missing_around(experiment, folder)
        yield from broken((uncomputable,), experiment)


class Experiment(Model):
    """One experiment: what to run and what to report. Raises SpecError: if it is invalid; lists every problem at once."""

    name: Annotated[
        str,
        flag("--name", "NAME", "names the record (the script's name)", run=80, profile=30),
        flag("--name", "NAME", "names the record ({default})", default="comm", comm=250),
        flag("--name", "NAME", "names the record (the model or the host)", load=400),
        flag("--name", "NAME", "names the record (the command's name)", time=110),
        flag("--name", "NAME", "names the record (the first file's name)", score=140),
        flag("--name", "NAME", "names the record (the task's name)", evaluate=300),
    ] = Field(min_length=1, max_length=80, pattern=NAME_PATTERN, description="Names the record: letters, digits, dot, dash, underscore.")
    workload: Workload
    factor: Factor = Field(
        Factor(levels=(1,)),
        description="The one thing that the experiment varies. Required except for serving, whose loads are in [serving].",
    )
    serving: Serving | None = Field(None, description='A load on serving engines, for workload.runner = "serving".')
    evaluation: Evaluation | None = Field(None, description="Items that are asked, and scores of the answers.")
    measure: Measure = Measure()
    collectives: Collectives | None = Field(None, description='Collectives to time, for workload.runner = "collectives".')
    program: Program | None = Field(None, description='What a program leaves, for workload.runner = "program".')
    tune: Tune | None = Field(None, description="Knobs for `assay tune`; other verbs reject it.")
    scaling: Scaling = Scaling()
    launches: Launches = Launches()
    conditions: Annotated[
        dict[str, str | int | float | bool],
        flag(
            "--server-engine",
            "NAME",
            "the engine behind the address, or a=NAME,b=NAME: a condition",
            entry="server_engine",
            read=label,
            load=22,
        ),
        flag("--server-version", "V", "its version, as in v0.9.2", entry="server_version", read=label, load=23),
        flag("--server-gpu-type", "NAME", "the GPUs that it runs on, as in H100", entry="server_gpu_type", read=label, load=24),
        flag("--server-gpu-count", "N", "how many of them", entry="server_gpu_count", read=devices, load=26),
    ] = Field(
        default_factory=dict,
        description="Whatever else identifies the workload, by name: model, dataset, precision, global_batch ... "
        "Records whose conditions differ are not compared, unless the difference is under study.",
    )
    data: Data | None = Field(None, description="The data that the workload reads: files, version, split. Conditions of the record.")
    noise: Noise = Noise()
    comparison: Comparison = Comparison()
    timing: Timing = Timing()
    quality: Quality | None = Field(None, description="Omit it if the script scores no examples; quality is then shown as not measured.")
    target: Target | None = Field(None, description="A score whose time, samples, cost and energy are reported, for trainings.")
    gates: Gates = Gates()
    verdict: Verdict = Verdict()
    prices: Annotated[
        Prices | None, flag("--prices", "FILE", "prices of workers, storage, egress, tokens", read=of_file, run=265, load=405, evaluate=245)
    ] = Field(None, description="Without it, cost is shown as not measured.")
    energy: Energy = Energy()
    carbon: Annotated[
        Carbon | None,
        flag("--carbon", "G|FILE", "g CO2 per kWh of the grid, or a CSV by hour", read=of_flag, run=312, load=445, evaluate=275),
    ] = Field(None, description="Without it, CO2 is shown as not measured.")
    flops: Flops = Flops()
    profile: Profile | None = Field(None, description="Profiled launches, in addition to the timed ones and never timed.")
    faults: Annotated[
        tuple[AnyFault, ...],
        BeforeValidator(listed),
        flag("--fault", "KIND", "add fault launches of this kind (kill); may be repeated", read=of_kind, many=True, run=320),
    ] = Field((), description="Fault launches, in addition to the timed ones.")
    launcher: Launcher = Launcher()
    limits: Limits = Limits()

    @model_validator(mode="wrap")
    @classmethod
    def _explained(cls, data: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo) -> Self:
        """Check the rules between keys too, also if single values are wrong; the context is the folder of files that must exist."""
        wrong: ValidationError | None = None
        problems: tuple[Problem, ...] = ()
        try:
            experiment = handler(data)
            if not any(_broken_rules(experiment, info.context)):
                return experiment
        except ValidationError as error:
            wrong, problems = error, explain(cls, error)
        places = tuple(problem.where for problem in problems)
        written = _broken_rules(as_far_as_known(cls, data, wrong), info.context) if isinstance(data, Mapping | cls) else ()
        raise SpecError((*problems, *(problem for problem in written if not problem.where.startswith(places))))

    @property
    def blocks(self) -> int:
        """Planned blocks: a fixed number, or of adaptive launches the maximum."""
        launches = self.launches
        if launches.quick and self.serving is None:
            return 1
        most = launches.per_configuration
        return max(most, launches.at_most) if launches.adaptive else most

    @property
    def every_step(self) -> int | None:
        """Steps after which a training's launch ends; None: it runs to completion."""
        asked = self.workload.every_step
        return min(asked or QUICK_STEPS, QUICK_STEPS) if self.launches.quick and self.workload.runner == "training" else asked

    @property
    def secret_variables(self) -> tuple[str, ...]:
        """The environment variables declared to hold secrets, whatever their names."""
        targets = self.serving.targets if self.serving is not None else ()
        judge = self.evaluation.judge if self.evaluation is not None else None
        of_judge = (judge.api_key_env,) if judge is not None and judge.api_key_env else ()
        return (*(name for target in targets for name in target.secret_variables), *of_judge)

    @property
    def collectives_requested(self) -> Collectives:
        """The collectives to time; defaults if the section is missing."""
        return self.collectives or Collectives()

    @property
    def steps(self) -> Steps | None:
        """The numbers of steps to compare; None: none are."""
        evaluation = self.evaluation
        if evaluation is None or evaluation.steps.levels or evaluation.best_of is None:
            return evaluation.steps if evaluation is not None and evaluation.steps.levels else None
        return evaluation.best_of.steps

    @property
    def left_by_program(self) -> Program:
        """What a program leaves; nothing if the section is missing."""
        return self.program or Program()

    @property
    def unasked(self) -> tuple[str, ...]:
        """The dimensions that were not requested: those without their input (no price, no fault), and energy by default."""
        asked = {
            "cost": self.prices is not None or self.gates.budget_usd is not None or self.carbon is not None,
            "reliability": bool(self.faults),
            "energy": "cost" in self.verdict.wanted and "energy" in self.model_fields_set and self.energy.source != "none",
        }
        named = set(self.verdict.only)
        without_input = [name for name, given in asked.items() if not given and name not in named]
        excluded = [name for name in EVERY_DIMENSION if name not in self.verdict.wanted]
        return tuple(dict.fromkeys((*excluded, *without_input)))

    @property
    def base_level(self) -> int:
        """The base level of speedups."""
        return self.scaling.base if self.scaling.base is not None else min(self.factor.levels)
