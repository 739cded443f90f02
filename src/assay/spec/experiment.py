"""What is an experiment?  Everything that a user may ask for, with its unit and its default.

The models are frozen and are never rewritten at run time; what is read here is what the record stores.
TOML files, Python objects and command-line flags all end in the same `Experiment`, and whatever is wrong with one
is told as one `SpecError` that lists every problem: single values are checked here, keys that contradict one
another in `assay.spec.rules.experiment`.
"""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BeforeValidator, ConfigDict, Field, ModelWrapValidatorHandler, ValidationError, model_validator

from assay.errors import SpecError
from assay.spec.explain import explain
from assay.spec.model import NAME_PATTERN, Model, Words, listed
from assay.spec.rules.experiment import AT_MOST, LAUNCHES, contradictions
from assay.spec.sections.collectives import Collectives
from assay.spec.sections.flops import Flops
from assay.spec.sections.profile import Profile
from assay.spec.sections.serving import Serving
from assay.spec.sections.tune import Tune
from assay.spec.sections.workload import Measure, Workload

LONGEST_S = 1e8  # three years; longer waits overflow the operating system's timers


def iso_date(value: object) -> object:
    """A date in quotes means the same as one without."""
    try:
        return date.fromisoformat(value) if isinstance(value, str) and len(value) == len("2026-01-31") else value
    except ValueError:
        return value


def _none_word(value: object) -> object:
    """TOML cannot say "nothing"; the word "none" switches off what has a default."""
    return None if value == "none" else value


WorkerCount = Annotated[int, Field(ge=1, le=100_000)]
WorkerCounts = Annotated[tuple[WorkerCount, ...], BeforeValidator(listed)]


class Factor(Model):
    """The one thing that the experiment varies."""

    name: Literal["workers"] = Field(
        "workers", description="What is varied: the number of workers. A serving experiment varies its load, in [serving]."
    )
    levels: WorkerCounts = Field(min_length=1, description="The worker counts to run, each once, for example [1, 2, 4].")


class Scaling(Model):
    """How the work depends on the number of workers."""

    mode: Literal["auto", "strong", "weak"] = Field(
        "auto",
        description="strong: the total work is fixed. weak: the work per worker is fixed. Checked against the recorded work. "
        "auto: whichever the recorded items per step are nearer to; strong where none were counted.",
    )
    base: int | None = Field(None, ge=1, description="The level that speedups are relative to. Default: the smallest level.")
    time: Literal["auto", "step", "wall"] = Field(
        "auto",
        description="Which time the speedup compares: steady-state time per unit of work (step) or the whole launch "
        "(wall). auto: step where the script marks its steps, else wall.",
    )


class Launches(Model):
    """How often each configuration is started, and in which order."""

    per_configuration: int = Field(
        LAUNCHES, ge=1, le=1000, description="Independent launches per configuration; each block holds every configuration once."
    )
    seed: int = Field(20260101, ge=0, lt=2**63, description="Fixes the launch order, the launch seeds and the fault times.")
    confidence: float = Field(0.95, gt=0.5, lt=1.0, description="Confidence of every interval.")
    precision: float | None = Field(
        None,
        gt=0.0,
        lt=1.0,
        description="Instead of a fixed number of launches: run whole blocks until the interval of every primary number "
        "reaches at most this fraction of its value to either side (0.02 is 2 %). per_configuration is then the "
        "number of launches before the first look.",
    )
    at_most: int = Field(
        AT_MOST,
        ge=1,
        le=1000,
        description="With precision: most launches per configuration, whether the intervals are narrow by then or not.",
    )


class Noise(Model):
    """How disturbances by other programs and by the machine itself are watched."""

    sentinel_s: float = Field(
        0.05,
        ge=0.0,
        le=10.0,
        description="Seconds of fixed work that the coordinator times before and after each launch, to see whether the "
        "machine itself got slower. 0: no sentinel.",
    )
    repeat: int = Field(
        0,
        ge=0,
        le=100,
        description="How often a launch that was disturbed is made again. The disturbed one stays in the record under the "
        "status contaminated. 0: it is flagged and counted all the same.",
    )
    most_foreign: float = Field(0.10, gt=0.0, le=1.0, description="Share of the processors that other programs may use during a launch.")
    most_steal: float = Field(0.01, gt=0.0, le=1.0, description="Share of the processors that the hypervisor may take during a launch.")
    most_throttled: float = Field(0.005, gt=0.0, le=1.0, description="Share of a launch for which a quota may stop its processes.")
    most_pressure: float = Field(
        0.05, gt=0.0, le=1.0, description="Share of a launch in which tasks may wait for input or output or for memory (PSI, some)."
    )
    most_gpu_throttled: float = Field(0.01, gt=0.0, le=1.0, description="Share of a launch in which a GPU may be slowed for heat or power.")
    most_gpu_clock_lost: float = Field(
        0.25, gt=0.0, le=1.0, description="How far a GPU's median clock during a launch may lie below that of the other launches, a share."
    )
    sentinel_deviations: float = Field(
        3.0,
        gt=0.0,
        le=100.0,
        description="A sentinel above the experiment's median by more than this many robust standard deviations "
        "(1.4826 MAD), and by more than 5 %, marks its launch as disturbed.",
    )


class Comparison(Model):
    """What counts as a change when this experiment's record is compared with another. Written down before anything runs."""

    primary: str = Field(
        "auto",
        min_length=1,
        description="The one metric that decides, by name. auto: throughput where items were counted, else step_time, "
        "trial_time or wall_time.",
    )
    equivalence: float = Field(0.03, gt=0.0, lt=1.0, description="Differences shown to be smaller than this fraction count as equivalent.")
    smallest_effect: float = Field(
        0.01, ge=0.0, lt=1.0, description="Differences up to this fraction are not worth acting on, however certain."
    )


class Timing(Model):
    """How the runners command and function time calls. Other runners ignore it."""

    round_s: float = Field(
        0.5,
        gt=0.0,
        le=3600.0,
        description="Seconds of counted calls that one launch should last at least. In the first launch it gives the number "
        "of trials, which all later launches keep.",
    )
    trials: int | None = Field(None, ge=1, le=100_000, description="Counted trials in each launch. Default: as many as round_s takes.")
    warm_up: int = Field(1, ge=0, le=10_000, description="Trials before the counted ones in each launch. They are kept, and never counted.")
    ignore_failure: bool = Field(
        False, description="Whether a command may end with an exit code other than 0. Otherwise the first one ends the run."
    )
    keep_output: bool = Field(
        False, description="Whether what a command prints goes into the log of its launch. Otherwise it goes nowhere, as fast as can be."
    )


class Quality(Model):
    """What it means that the result was preserved. Written down before anything runs."""

    metric: str = Field(
        "accuracy", min_length=1, description="Which reported per-example score decides, by the name that the script gives it."
    )
    direction: Literal["higher", "lower"] = Field("higher", description="Whether a higher or a lower score is better.")
    margin: float = Field(
        0.01,
        gt=0.0,
        description="The largest loss of mean score that still counts as held, in the score's own unit (0.01 of accuracy is one point).",
    )
    chance: float | None = Field(
        None,
        description="The mean score of who guesses: 0.25 where one of four answers is right. A reference that is not above it, or by "
        "less than the margin, makes the record INVALID. Left out: 0 for scores of 0 to 1, else not known.",
    )
    cluster: str = Field(
        "",
        description="What examples share, so that they may be lost together: a passage, a user, a problem. A load takes it from this "
        "field of prompts.source; a script gives it to probe.examples(cluster=...). Left out: clusters count where a script gives them, "
        "and other examples are taken as independent.",
    )
    largest_change: float | None = Field(
        None,
        gt=0.0,
        description="The most by which the score of one example can change. Left out: 1 for scores of 0 to 1, else what the scores "
        "seen suggest.",
    )


class Gates(Model):
    """What is good enough. An absent gate is not applied."""

    efficiency: Annotated[float | None, BeforeValidator(_none_word)] = Field(
        0.70, gt=0.0, le=1.5, description='Smallest admissible parallel efficiency, a fraction. "none": no such gate.'
    )
    deadline_s: float | None = Field(None, gt=0.0, description="Longest admissible wall time of one run, seconds.")
    budget_usd: float | None = Field(None, gt=0.0, description="Highest admissible cost of one run, US dollars. Needs prices.")
    required_workers: int | None = Field(
        None, ge=1, description="This worker count must be admissible, else the verdict is FAIL. For continuous integration."
    )


Dimension = Literal["correctness", "performance", "cost", "reliability"]
EVERY_DIMENSION: tuple[Dimension, ...] = get_args(Dimension)


class Verdict(Model):
    """What is wanted to know. Findings that make numbers inadmissible, or a result wrong, count in any case."""

    only: Annotated[tuple[Dimension, ...], BeforeValidator(listed)] = Field(
        (),
        description="Of a training: the dimensions that are asked about. What was not asked for is neither required for a recommendation nor listed as "
        "not measured. Default: all four.",
    )

    @property
    def wanted(self) -> tuple[Dimension, ...]:
        """The dimensions that are asked about, in their usual order."""
        return tuple(one for one in EVERY_DIMENSION if not self.only or one in self.only)

    @property
    def words(self) -> str:
        """Those that are asked about, where that is not all: "performance and cost"; else ""."""
        return " and ".join(self.wanted) if len(self.wanted) < len(EVERY_DIMENSION) else ""


class Prices(Model):
    """What a worker costs. Prices are inputs, with a date and a source."""

    usd_per_worker_hour: float = Field(ge=0.0, description="US dollars for one worker for one hour.")
    as_of: Annotated[date, BeforeValidator(iso_date)] = Field(description="The date of the price.", alias="date")
    source: str = Field(min_length=1, description="Where the price comes from: a price list, a contract, an assumption.")

    model_config = ConfigDict(populate_by_name=True)


class Energy(Model):
    """Where joules come from."""

    source: Literal["auto", "none", "rapl", "nvml", "modelled"] = Field(
        "auto",
        description="auto: hardware counters where the machine has them, else not measured. "
        "modelled: a labelled estimate from the key below.",
    )
    modelled_watts_per_worker: float | None = Field(
        None, gt=0.0, description="Only for source = modelled: watts charged to one worker. Never mixed with measured joules."
    )
    sample_every_s: float = Field(1.0, gt=0.0, le=3600.0, description="Seconds between two readings of the counters.")


class Fault(Model):
    """What is broken on purpose, in launches of their own that are never timed."""

    kind: str = Field("kill", description="Which fault: the name of a file in assay/faults.")
    levels: WorkerCounts = Field((), description="Worker counts that get one fault launch each. Default: the largest level.")
    after_checkpoints: int | None = Field(
        None,
        ge=0,
        le=1_000_000,
        description="How many checkpoints must have been saved before the fault may strike. Default: 1; a training whose launches before saved "
        "none that was seen is struck in the middle of its steps.",
    )
    within_steps: int = Field(
        10, ge=1, le=1_000_000_000, description="The fault strikes at a random step, at most this many steps after that checkpoint."
    )
    at_step: int | None = Field(
        None,
        ge=0,
        le=1_000_000_000,
        description="Training: strikes after exactly this step instead; 0: before the first. The two keys above then have no meaning.",
    )
    times: int = Field(
        1,
        ge=1,
        le=1000,
        description="Training: how often it strikes: once in each of the first so many incarnations of the workers, in each at the same "
        "place. For faults after which the workers are started again.",
    )
    during: Literal["", "checkpoint"] = Field(
        "", description='Training: "checkpoint" strikes while a checkpoint is being saved, the one after after_checkpoints.'
    )
    rank: int | None = Field(None, ge=0, description="Training: which rank is hit. Default: drawn at random.")
    signal: Literal["KILL", "TERM", "ABRT", "SEGV"] = Field("KILL", description="The signal sent, for kinds that send one.")
    at_s: float = Field(
        10.0, ge=0.0, le=LONGEST_S, description="Serving: seconds after the measured part of the load began at which the fault strikes."
    )
    for_s: float = Field(
        5.0,
        ge=0.0,
        le=LONGEST_S,
        description="Seconds until it is undone, for kinds that can be (a killed replica is then started again; a killed worker by its "
        "engine, at once).",
    )
    load_s: float | None = Field(
        None,
        gt=0.0,
        le=LONGEST_S,
        description="Serving: how long the measured part of its launch lasts, seconds. Default: 20 s beyond the "
        "fault's end, or serving.arrivals.duration_s if that is longer.",
    )
    load: float | None = Field(
        None, gt=0.0, description="Serving: the load, one of serving.concurrency or serving.rate. Default: the one in the middle."
    )
    target: str = Field("", description="Serving: the engine that is hit. Default: every one, in launches of their own.")
    replica: int | None = Field(None, ge=0, description="Serving: which replica is hit, from 0. Default: drawn at random.")
    command: str = Field(
        "",
        description="For kind command: the line for the shell. {replica}, {port}, {pid} and {url} are replaced; in a training {rank} and {pid}.",
    )
    undo: str = Field("", description="For kind command: the line that undoes it, after for_s.")
    interface: str = Field("", description="For kind throttle: the network interface whose sending is held back, for example eth0.")
    rate_mbit: float = Field(
        10.0, gt=0.0, le=1_000_000.0, description="For kind throttle: what is left of its bandwidth, Mbit/s (1e6 bits)."
    )
    share: float = Field(
        0.1,
        gt=0.0,
        le=1.0,
        description="For kind slow: the share of a processor that is left. For reset and delay: of the connections hit.",
    )
    delay_s: float = Field(0.5, ge=0.0, le=LONGEST_S, description="For kind delay: seconds by which everything is held back.")


class Host(Model):
    """A node of a job that assay starts on several machines (launcher.kind = "nodes")."""

    name: str = Field(min_length=1, max_length=80, pattern=NAME_PATTERN, description="What the record calls this host.")
    address: str = Field(min_length=1, description="Address at which the other nodes reach it; the first holds the rendezvous.")
    prefix: Words = Field(
        (), description='Words before every command that is to run there: ["ssh", "a"], ["ip", "netns", "exec", "a"]. None: here.'
    )
    environment: dict[str, str] = Field(
        default_factory=dict, description="Further variables of its workers, for example GLOO_SOCKET_IFNAME."
    )


class Launcher(Model):
    """Where the workers run."""

    kind: str = Field("local", description="Which launcher: the name of a file in assay/launchers.")
    max_restarts: int = Field(
        3, ge=0, le=1000, description="How often the engine may restart the workers in a fault launch. Timed launches: never."
    )
    threads_per_worker: int = Field(1, ge=1, le=4096, description="OMP_NUM_THREADS of every worker.")
    pin: Literal["none", "spread", "compact"] = Field(
        "none",
        description="Which processors a worker may run on. none: as the system likes. spread: each worker has processors "
        "of its own, physical cores and NUMA nodes taken in turn. compact: neighbours first.",
    )
    numa: Literal["none", "local"] = Field(
        "none", description="local: a pinned worker takes memory from the NUMA nodes of its processors first."
    )
    nodes: int = Field(1, ge=1, le=100_000, description="How many nodes take part. Above 1 give the three keys below on every node.")
    node_rank: int = Field(0, ge=0, description="This node's rank.")
    rendezvous_endpoint: str | None = Field(None, description="host:port of the rendezvous for more than one node.")
    rendezvous_id: str | None = Field(None, description="The rendezvous id shared by all nodes of the job.")
    hosts: Annotated[tuple[Host, ...], BeforeValidator(listed)] = Field(
        (), description='For kind "nodes": the machines, each with the words by which a command is started there.'
    )


class Limits(Model):
    """When to stop waiting."""

    launch_timeout_s: float = Field(
        3600.0, gt=0.0, le=LONGEST_S, description="Seconds after which a launch is ended and recorded as timeout."
    )
    experiment_timeout_s: float | None = Field(None, gt=0.0, le=LONGEST_S, description="Seconds after which no further launch is started.")
    grace_s: float = Field(5.0, ge=0.0, le=3600.0, description="Seconds between asking a process to end and killing it.")
    fresh_folder_mib: float = Field(
        1024.0, gt=0.0, le=1_048_576.0, description="How much may be copied for each launch with workload.fresh_folder, MiB."
    )
    log_mib: float = Field(
        16.0, gt=0.0, le=1_048_576.0, description="How much of a launch's output is kept, MiB: the first half and the last half."
    )


class Experiment(Model):
    """One experiment: what will be run and what will be reported.

    Raises:
        SpecError: on anything that makes no sense, with every problem at once.
    """

    name: str = Field(
        min_length=1, max_length=80, pattern=NAME_PATTERN, description="Names the record: letters, digits, dot, dash, underscore."
    )
    workload: Workload
    factor: Factor = Field(
        Factor(levels=(1,)),
        description="The one thing that the experiment varies. Required, but for serving: its loads stand in [serving].",
    )
    serving: Serving | None = Field(None, description='A load on serving engines, for workload.runner = "serving".')
    measure: Measure = Measure()
    collectives: Collectives | None = Field(None, description='Collectives to be timed, for workload.runner = "collectives".')
    tune: Tune | None = Field(None, description="Knobs that `assay tune` tries out; other verbs refuse it.")
    scaling: Scaling = Scaling()
    launches: Launches = Launches()
    conditions: dict[str, str | int | float | bool] = Field(
        default_factory=dict,
        description="Whatever else identifies the workload, by name: model, dataset, precision, global_batch, split ... "
        "Records whose conditions differ are not compared, unless the difference is what is studied.",
    )
    noise: Noise = Noise()
    comparison: Comparison = Comparison()
    timing: Timing = Timing()
    quality: Quality | None = Field(
        None, description="Leave out where the script scores no examples; quality is then shown as not measured."
    )
    gates: Gates = Gates()
    verdict: Verdict = Verdict()
    prices: Prices | None = Field(None, description="Leave out and cost is shown as not measured.")
    energy: Energy = Energy()
    flops: Flops = Flops()
    profile: Profile | None = Field(None, description="Profiled launches, in addition to the timed ones and never timed.")
    faults: Annotated[tuple[Fault, ...], BeforeValidator(listed)] = Field((), description="Fault launches, in addition to the timed ones.")
    launcher: Launcher = Launcher()
    limits: Limits = Limits()

    @model_validator(mode="wrap")
    @classmethod
    def _explained(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            experiment = handler(data)
        except ValidationError as error:
            problems = explain(cls, error)
            wrong = tuple(problem.where for problem in problems)
            more = [problem for problem in contradictions(data) if not problem.where.startswith(wrong)]
            # `from None`: the library's own wording must not reach the user.
            raise SpecError((*problems, *more)) from None
        if problems := contradictions(data):
            raise SpecError(problems)
        return experiment

    @property
    def blocks(self) -> int:
        """Blocks that are planned: a fixed number, or with `launches.precision` as many as there may be."""
        launches = self.launches
        most = launches.per_configuration
        return most if launches.precision is None else max(most, launches.at_most)

    @property
    def secret_variables(self) -> tuple[str, ...]:
        """The environment variables that are said to hold secrets, however they are called."""
        targets = self.serving.targets if self.serving is not None else ()
        return tuple(name for target in targets for name in target.secret_variables)

    @property
    def collectives_requested(self) -> Collectives:
        """Which collectives are to be timed; the defaults where the section is left out."""
        return self.collectives or Collectives()

    @property
    def base_level(self) -> int:
        """The level that speedups are relative to."""
        return self.scaling.base if self.scaling.base is not None else min(self.factor.levels)
