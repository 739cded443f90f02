"""Where do the workers run, when does waiting end, and which disturbances of the machine are too large?

The sections [launcher], [limits] and [noise].
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from fireassay.spec.model import NAME_PATTERN, Model, PositiveSeconds, Share, Words, flag, listed


class Host(Model):
    """A node of a job that assay starts on several machines (launcher.kind = "nodes")."""

    name: str = Field(min_length=1, max_length=80, pattern=NAME_PATTERN, description="Name of this host in the record.")
    address: str = Field(min_length=1, description="Address at which the other nodes reach it; the first holds the rendezvous.")
    prefix: Words = Field(
        (), description='Command prefix that runs a command there: ["ssh", "a"], ["ip", "netns", "exec", "a"]. None: on this machine.'
    )
    environment: dict[str, str] = Field(
        default_factory=dict, description="Additional environment variables of its workers, for example GLOO_SOCKET_IFNAME."
    )


class Launcher(Model):
    """Where the workers run."""

    kind: Annotated[str, flag("--launcher", "NAME", "where the workers run ({default})", run=330, profile=50, comm=190)] = Field(
        "local", description="The launcher: the name of a file in fireassay/launchers."
    )
    max_restarts: Annotated[int, flag("--max-restarts", "N", "restarts allowed in a fault launch ({default})", run=340)] = Field(
        3, ge=0, le=1000, description="Maximum number of restarts of the workers in a fault launch. Timed launches: none."
    )
    threads_per_worker: Annotated[int, flag("--threads", "N", "threads of every worker ({default})", run=350, profile=60, comm=170)] = (
        Field(1, ge=1, le=4096, description="OMP_NUM_THREADS of every worker.")
    )
    pin: Annotated[
        Literal["none", "spread", "compact"],
        flag("--pin", "HOW", "processors of a worker: none, spread or compact", run=360, profile=70, comm=180),
    ] = Field(
        "none",
        description="CPU affinity of the workers. none: left to the operating system. spread: each worker gets its own processors, "
        "physical cores and NUMA nodes taken in turn. compact: neighbours first.",
    )
    start: Annotated[
        Literal["exec", "fork"], flag("--start", "HOW", "processes of a launch: exec, or fork from one with torch imported", run=365)
    ] = Field(
        "exec",
        description="exec: every process of a launch is started anew, as by its user. fork: torchrun and the workers are forks of a process "
        "that has imported torch; one such process per block. Saves seconds per launch; times and costs of whole runs then exclude the "
        'imports. Needs Linux, kind = "local" on one node, one thread per worker, no pinning, no accelerator.',
    )
    numa: Literal["none", "local"] = Field("none", description="local: a pinned worker prefers memory of its processors' NUMA nodes.")
    nodes: Annotated[int, flag("--nodes", "N", "number of nodes ({default})", run=370, profile=80, comm=200)] = Field(
        1, ge=1, le=100_000, description="Number of nodes. If above 1, set the three keys below on every node."
    )
    node_rank: Annotated[int, flag("--node-rank", "N", "this node's number, from 0", run=380, profile=90, comm=210)] = Field(
        0, ge=0, description="This node's rank."
    )
    rendezvous_endpoint: Annotated[
        str | None, flag("--rendezvous-endpoint", "HOST:PORT", "rendezvous of several nodes, host:port", run=390, profile=100, comm=220)
    ] = Field(None, description="host:port of the rendezvous for more than one node.")
    rendezvous_id: Annotated[
        str | None, flag("--rendezvous-id", "ID", "the job's id, shared by all nodes", run=400, profile=110, comm=230)
    ] = Field(None, description="The rendezvous id shared by all nodes of the job.")
    hosts: Annotated[tuple[Host, ...], BeforeValidator(listed)] = Field(
        (), description='For kind "nodes": the machines, each with its command prefix.'
    )


class Limits(Model):
    """When to stop waiting."""

    launch_timeout_s: Annotated[
        PositiveSeconds,
        flag("--timeout", "S", "seconds after which a launch is ended ({default:g})", run=410, profile=120, comm=240),
        flag("--timeout", "S", "seconds after which a round is ended ({default:g})", time=70),
    ] = Field(
        3600.0,
        description="Seconds after which a launch is ended and recorded as timeout; in an evaluation seconds without any answer, since "
        "the number of its items decides how long a pass takes.",
    )
    experiment_timeout_s: Annotated[
        PositiveSeconds | None, flag("--total-timeout", "S", "seconds after which no further launch starts", run=420)
    ] = Field(None, description="Seconds after which no further launch is started.")
    grace_s: float = Field(5.0, ge=0.0, le=3600.0, description="Seconds between terminating a process and killing it.")
    fresh_folder_mib: float = Field(
        1024.0, gt=0.0, le=1_048_576.0, description="Maximum size of the copy for each launch with workload.fresh_folder, MiB."
    )
    log_mib: float = Field(
        16.0, gt=0.0, le=1_048_576.0, description="Maximum size of a launch's kept output, MiB: half from the beginning, half from the end."
    )


class Noise(Model):
    """Detection of disturbances by other programs and by the machine itself."""

    sentinel_s: float = Field(
        0.05,
        ge=0.0,
        le=10.0,
        description="Seconds of fixed work that the coordinator times before and after each launch, to detect a slower machine. 0: "
        "no sentinel.",
    )
    repeat: Annotated[int, flag("--repeat", "N", "maximum repetitions of a disturbed launch ({default})", run=70)] = Field(
        0,
        ge=0,
        le=100,
        description="Maximum number of repetitions of a disturbed launch. The disturbed one stays in the record with status "
        "contaminated. 0: it is flagged but still counted.",
    )
    most_foreign: Share = Field(0.10, description="Share of the processors that other programs may use during a launch.")
    most_steal: Share = Field(0.01, description="Share of the processors that the hypervisor may take during a launch.")
    most_throttled: Share = Field(0.005, description="Share of a launch for which a quota may stop its processes.")
    most_pressure: Share = Field(
        0.05, description="Share of a launch in which tasks may wait for input or output or for memory (PSI, some)."
    )
    most_gpu_throttled: Share = Field(0.01, description="Share of a launch in which a GPU may be slowed for heat or power.")
    most_gpu_clock_lost: Share = Field(
        0.25, description="Share by which a GPU's median clock during a launch may lie below that of the other launches."
    )
    sentinel_deviations: float = Field(
        3.0,
        gt=0.0,
        le=100.0,
        description="A sentinel above the experiment's median by more than this many robust standard deviations "
        "(1.4826 MAD), and by more than 5 %, marks its launch as disturbed.",
    )
