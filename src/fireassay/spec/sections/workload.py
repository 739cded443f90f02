"""What is run, what is measured in addition, how are calls timed, and how are a few steps profiled?

The sections [workload], [measure], [timing] and [profile].

Where do the workers run, when does waiting end, and which disturbances of the machine are too large?

The sections [launcher], [limits] and [noise].
"""

from __future__ import annotations

import importlib.machinery
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator

from fireassay.spec.hosts_file import launcher_of, of_clients
from fireassay.spec.model import NAME_PATTERN, Model, PositiveSeconds, Share, Words, flag, in_this_folder, listed, seconds, variable

MODULE: Final = "-m "  # before the name of a module, as Python takes it


def file_of(script: str, folder: Path, modules: Sequence[str] | None = None) -> Path:
    """The file of a script: its path, or that of the module that `python -m` would start in the folder, whether it exists or not.

    Nothing is imported: a parent package's code would run. `modules`: the folders of another Python's modules.
    """
    if not script.startswith(MODULE):
        return folder / Path(script).expanduser()
    top, *rest = script.removeprefix(MODULE).strip().split(".")
    installed = importlib.machinery.PathFinder.find_spec(top, modules)
    found = [Path(installed.origin).with_suffix("")] if installed and installed.origin and not installed.submodule_search_locations else []
    roots = [folder / top, *map(Path, (installed.submodule_search_locations if installed else None) or found)]
    bases = [root.joinpath(*rest) for root in roots]
    files = [file for base in bases for file in (base.parent / f"{base.name}.py", base / "__main__.py")]
    return next((file for file in files if file.is_file()), files[0])


class Workload(Model):
    """The workload to run."""

    runner: Annotated[str, flag("--runner", "NAME", "which runner drives the script ({default})", run=90)] = Field(
        "training", description="The runner: the name of a file in fireassay/runners."
    )
    script: str = Field(
        "",
        description="The script to launch, relative to the experiment's file or to the working directory, or -m MODULE; the command, function or "
        "record of other runners; for serving the server's URL, or nothing if serving.targets names the engines.",
    )
    arguments: Words = Field((), description="The script's arguments. {workers}, {seed} and {launch} are replaced for every launch.")
    work: Annotated[str, flag("--work", "UNIT", "name of one unit of useful work ({default})", run=100)] = Field(
        "items", min_length=1, description="Name of one unit of useful work: samples, tokens, images ..."
    )
    environment: Annotated[
        dict[str, str],
        flag("--env", "NAME=TEXT", "a variable set for the script; may be repeated", read=variable, many=True, run=120, profile=40),
    ] = Field(
        default_factory=dict,
        description="Variables set for the script. {workers}, {seed} and {launch} are replaced in their values, as in arguments. "
        "Values that look secret are redacted in the record.",
    )
    fresh_folder: Annotated[bool, flag("--fresh-folder", "", "run each launch in a fresh copy of the working folder", run=140)] = Field(
        False,
        description="Whether each launch runs in a fresh copy of the working folder (that of the experiment's file, or the current one), so "
        "that none finds what another one left. Restarts within a launch share its copy. Links are kept; .git, virtual environments and "
        "records are left out.",
    )
    keep_folders: bool = Field(False, description="Whether the copies of fresh_folder are kept after their launches, next to the record.")
    parallelism: Annotated[
        Literal["auto", "data", "sharded", "tensor", "pipeline", "local_sgd", "mixed", "none"],
        flag("--parallelism", "HOW", "auto (as observed), data, sharded, tensor, pipeline, local_sgd, mixed or none", run=110),
    ] = Field(
        "auto",
        description="How the training is spread over the workers. auto: as the hooks observe it (DistributedDataParallel, FSDP, "
        "DTensor, stages, communication of the steps). none: every worker trains alone. Properties of data parallelism "
        "(equal replicas, one gradient, every sample once) are judged for data and sharded only.",
    )
    attach: bool = Field(
        True,
        description="Whether hooks in torch detect the steps of a PyTorch script that marks none itself. A script that marks its own "
        "steps is hooked only for the communication of its ranks.",
    )
    steps: Annotated[
        int | None, flag("--steps", "N", "end each launch after N steps beyond the warm-up, of a job that runs for days", run=130)
    ] = Field(
        None,
        ge=1,
        le=1_000_000_000,
        description="Training: end each launch after this many steps beyond warm_up_steps, as a complete launch, instead of running the job to its "
        "end. Results of a whole job (final quality, samples of the last epoch) are then not judged.",
    )
    warm_up_steps: int = Field(
        20,
        ge=0,
        le=1_000_000_000,
        description="With workload.steps: steps before those. They are recorded too; warm-up steps are recognised by their times.",
    )
    calibrate_communication: int = Field(
        0,
        ge=0,
        le=100,
        description="Launches of each configuration of two or more workers, made after the timed ones and never timed, in which "
        "steps with and without synchronisation alternate (DistributedDataParallel) and the collectives run alone. They "
        "show what communication adds to a step; three or more give it an interval.",
    )

    @property
    def module(self) -> str:
        """The module of a script "-m MODULE"; "" if it is a file."""
        return self.script.removeprefix(MODULE).strip() if self.script.startswith(MODULE) else ""

    @property
    def every_step(self) -> int | None:
        """Steps after which a launch ends, including warm-up; None: it runs to completion."""
        return None if self.steps is None else self.warm_up_steps + self.steps


class Measure(Model):
    """Measurements in addition to the training, in separate launches that are never timed."""

    communication: bool = Field(
        False,
        description="Whether each configuration of two or more workers gets one launch in which all_reduce is timed from 1 KiB to 16 MiB, as "
        "`assay comm` does: latency and bandwidth of the links, for the communication wall.",
    )


ROUNDS = 10  # default number of launches


class Timing(Model):
    """How the runners command and function time calls. Other runners ignore it."""

    round_s: Annotated[float, flag("--round", "S", "minimum duration of a round in seconds ({default:g})", time=20, gate=20)] = Field(
        0.5,
        gt=0.0,
        le=3600.0,
        description="Minimum duration of the counted calls of a launch, seconds. The first launch derives the number of trials from "
        "it; all later launches keep that number.",
    )
    trials: Annotated[int | None, flag("--trials", "N", "starts in each round (as many as fit into --round)", time=30, gate=30)] = Field(
        None, ge=1, le=100_000, description="Counted trials in each launch. Default: as many as fit into round_s."
    )
    warm_up: Annotated[
        int, flag("--warm-up", "N", "warm-up starts before the counted ones of each round ({default})", time=40, gate=40)
    ] = Field(1, ge=0, le=10_000, description="Warm-up trials before the counted ones in each launch. Recorded, never counted.")
    ignore_failure: Annotated[bool, flag("--ignore-failure", "", "accept exit codes other than 0", time=90, gate=90)] = Field(
        False, description="Whether a command may end with an exit code other than 0. Otherwise the first such exit ends the run."
    )
    device: str = Field(
        "auto",
        description="Which device's queue a trial of a function waits for: auto (every device that torch has initialised), cpu (none), "
        "or one of cuda, cuda:N, xpu, xpu:N, mps. A command's process ends only when its own queues have.",
    )
    benchmarks: Annotated[tuple[Annotated[str, Field(min_length=1, max_length=200)], ...], BeforeValidator(listed)] = Field(
        (), description="Names of the benchmarks that another program timed, each a configuration; written by assay import."
    )
    keep_output: Annotated[bool, flag("--show-output", "", "keep what the commands print in the record, and show its end", time=100)] = (
        Field(False, description="Whether what a command prints goes into the log of its launch. Otherwise it is discarded.")
    )


MAX_STEPS = 3  # profiled: a longer trace takes gigabytes


class Profile(Model):
    """One profiled launch per worker count: some steps are skipped, some warm up the profiler, and at most three are kept."""

    levels: Annotated[tuple[Annotated[int, Field(ge=1, le=100_000)], ...], BeforeValidator(listed)] = Field(
        (), description="Worker counts that get a profiled launch. Default: every level."
    )
    wait: Annotated[int, flag("--wait", "N", "steps before profiling ({default})", profile=130)] = Field(
        5, ge=0, le=1_000_000, description="Steps before profiling."
    )
    warm_up: Annotated[int, flag("--warm-up", "N", "profiler warm-up steps after those ({default})", profile=140)] = Field(
        2, ge=0, le=100, description="Steps after those in which the profiler runs but nothing is kept: its first events are slow."
    )
    active: Annotated[int, flag("--active", "N", "profiled steps that are kept, at most 3 ({default})", profile=150)] = Field(
        3, ge=1, le=MAX_STEPS, description="Profiled steps that are kept, at most three: traces are large."
    )
    memory: Annotated[bool, flag("--no-memory", "", "do not trace allocations: smaller traces", profile=160)] = Field(
        True, description="Whether allocations are traced too."
    )
    tool: Annotated[Literal["torch", "nsys"], flag("--tool", "NAME", "torch (torch.profiler) or nsys (Nsight Systems)", profile=170)] = (
        Field(
            "torch",
            description="torch: torch.profiler, whose traces Perfetto and TensorBoard read. nsys: NVIDIA Nsight Systems, if installed.",
        )
    )
    only: bool = Field(False, description="No timed launches: `assay profile`.")

    @property
    def steps(self) -> int:
        """Steps a script needs for a complete profile."""
        return self.wait + self.warm_up + self.active


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
    switch: str = Field(
        "", max_length=80, description="Switch or rack that it is cabled to: links of one switch are judged apart from others."
    )


class Slurm(Model):
    """What is asked of Slurm for the allocation that all launches share."""

    partition: str = Field("", description="The partition. Empty: the cluster's default.")
    account: str = Field("", description="The account that is charged. Empty: the user's default.")
    constraint: str = Field("", description="Required features of the nodes, as salloc's --constraint.")
    gres: str = Field("", description='Generic resources of each node, as "gpu:8".')
    time_limit: str = Field("", description='Longest time of the allocation, as "2:00:00". Empty: the partition\'s default.')
    exclusive: bool = Field(True, description="Whole nodes, so that other jobs do not share them.")
    options: Words = Field((), description='Further words of salloc, as ["--reservation=maintenance"].')


class Mpi(Model):
    """How mpirun is started."""

    hostfile: str = Field(
        "",
        description="The hosts and their slots, one per line, as mpirun's --hostfile; relative to the experiment's file. Empty: those of the batch "
        "system's job, else this machine.",
    )
    options: Words = Field((), description='Further words of mpirun, as ["--mca", "btl_tcp_if_include", "eth0"].')

    @field_validator("hostfile")
    @classmethod
    def _absolute(cls, hostfile: str, info: ValidationInfo) -> str:
        return os.path.abspath(info.context / Path(hostfile).expanduser()) if hostfile and isinstance(info.context, Path) else hostfile


class Ray(Model):
    """What is asked of Ray: one bundle of resources per node, in a placement group that all launches share."""

    address: str = Field(
        "", description='Address of the cluster, as "10.0.0.1:6379". Empty: RAY_ADDRESS, else the cluster of this machine.'
    )
    resources: dict[str, float] = Field(
        default_factory=dict,
        description='Further resources of each node, as { "accelerator_type:H100" = 0.001 }; replaces CPU and GPU if named.',
    )
    wait_s: float = Field(
        0.0,
        ge=0.0,
        description="Seconds to wait for nodes that the cluster does not have yet (an autoscaler starts them). Busy nodes are always awaited.",
    )


class Kubernetes(Model):
    """What is asked of Kubernetes: one pod per node, in a Job that all launches share."""

    image: str = Field(
        "", description="Image of the pods. Fireassay and its Python come from the shared folder or are in it, at the same paths."
    )
    namespace: str = Field("", description="Namespace of the Job. Empty: the context's, or that of the pod that runs assay.")
    context: str = Field("", description="Context of the kubeconfig. Empty: the current one; inside a pod its service account.")
    claim: str = Field(
        "", description="PersistentVolumeClaim of the shared folder (ReadWriteMany). Empty: `pod` mounts one, or the image has all."
    )
    mount: str = Field("", description="Where the claim is mounted, on this machine and in the pods.")
    resources: dict[str, str] = Field(
        default_factory=dict,
        description='Requests and limits of each pod, as { "nvidia.com/gpu" = "8", memory = "200Gi" }. Without cpu, one per thread is requested.',
    )
    node_selector: dict[str, str] = Field(default_factory=dict, description="Labels of the nodes.")
    tolerations: Words = Field(
        (), description='Tolerated taints as kubectl writes them: ["nvidia.com/gpu:NoSchedule", "pool=lab:NoExecute"].'
    )
    service_account: str = Field("", description="Service account of the pods. Empty: the namespace's default.")
    labels: dict[str, str] = Field(
        default_factory=dict, description='Labels of the Job and its pods, as { "kueue.x-k8s.io/queue-name" = "lab" }.'
    )
    share_nodes: bool = Field(False, description="Whether two pods may run on one node.")
    pod: dict[str, Any] = Field(
        default_factory=dict,
        description="Further fields of the PodSpec, merged in: hostNetwork, priorityClassName, volumes, containers[0].",
    )
    wait_s: float | None = Field(None, gt=0.0, description="Longest wait for the nodes in seconds. Unset: no limit.")


class Launcher(Model):
    """Where the workers run."""

    kind: Annotated[
        str,
        flag(
            "--launcher",
            "NAME",
            "where the workers run, or a file with [launcher] ({default})",
            read=launcher_of,
            run=330,
            profile=50,
            comm=165,
        ),
        flag(
            "--launcher", "NAME", "engine that lends hosts to the client processes, or a file with [launcher]", read=launcher_of, load=334
        ),
    ] = Field("local", description="The launcher: the name of a file in fireassay/launchers.")
    python: Annotated[
        str, flag("--python", "FILE", "Python that runs the script, of another environment", read=in_this_folder, run=335, profile=55)
    ] = Field(
        "",
        description="Python that runs the script: a path, relative to the experiment's file, or a name on the PATH; absolute in a record. "
        "Empty: assay's own. Its environment needs torch and the script's libraries, and no Fireassay; Python 3.11 or newer.",
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
        "that has imported torch; one such process per round. Saves seconds per launch; times and costs of whole runs then exclude the "
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
    hosts: Annotated[
        tuple[Host, ...],
        BeforeValidator(listed),
        flag("--client-hosts", "FILE", "hosts of the client processes, as for `assay fleet`", read=of_clients, load=335),
    ] = Field((), description='For kind "nodes": the machines, each with its command prefix; of a load those of its client processes.')
    workers_per_node: Annotated[int | None, flag("--workers-per-node", "N", "workers of each node of a cluster", run=405)] = Field(
        None,
        ge=1,
        le=4096,
        description="For a cluster: workers (of a load: client processes) of each node. Unset: one per GPU of a node, or one where there is none; with "
        "mpi the slots of a node; with nodes an equal share of all hosts. A level takes as many of the first nodes as it fills.",
    )
    resume_on_preemption: Annotated[
        int | None, flag("--resume-on-preemption", "N", "ask a cluster for nodes again up to N times if it takes them away", run=406)
    ] = Field(
        None,
        ge=0,
        le=10_000,
        description="For a cluster that takes the nodes away (preemption, time limit, a failed node): ask again and make the launches that are left, "
        "at most so often. A job that somebody cancelled stops the run. Unset: 0.",
    )
    slurm: Slurm | None = Field(None, description='For kind "slurm": what is asked for.')
    mpi: Mpi | None = Field(None, description='For kind "mpi": the hosts.')
    ray: Ray | None = Field(None, description='For kind "ray": what is asked for.')
    kubernetes: Kubernetes | None = Field(None, description='For kind "kubernetes": what is asked for.')

    @field_validator("python")
    @classmethod
    def _absolute(cls, python: str, info: ValidationInfo) -> str:
        """The file of a new experiment's Python: another folder or PATH does not change it."""
        if not python or not isinstance(info.context, Path):
            return python
        found = info.context / Path(python).expanduser() if os.sep in python else shutil.which(python)
        return os.path.abspath(found) if found else python


class Limits(Model):
    """When to stop waiting."""

    launch_timeout_s: Annotated[
        PositiveSeconds,
        flag("--timeout", "T", "time after which a launch is ended ({default:g}s)", read=seconds, run=410, profile=120, comm=240),
        flag("--timeout", "T", "time after which a round is ended ({default:g}s)", read=seconds, time=70, gate=70),
    ] = Field(
        3600.0,
        description="Seconds after which a launch is ended and recorded as timeout; in an evaluation seconds without any answer, since "
        "the number of its items decides how long a pass takes.",
    )
    experiment_timeout_s: Annotated[
        PositiveSeconds | None, flag("--total-timeout", "T", "time after which no further launch starts", read=seconds, run=420)
    ] = Field(None, description="Seconds after which no further launch is started.")
    keep_going: Annotated[bool, flag("--keep-going", "", "go on where every answer is the same refusal", load=345, evaluate=215)] = Field(
        False, description="Whether to go on where the first ten answers are the same refusal (4xx), or nothing accepts connections."
    )
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
        "no speed probe.",
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
        description="A speed probe above the experiment's median by more than this many robust standard deviations "
        "(1.4826 MAD), and by more than 5 %, marks its launch as disturbed.",
    )
