"""Where do the workers run, and when is waiting given up?  The sections [launcher] and [limits]."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from assay.spec.model import LONGEST_S, NAME_PATTERN, Model, Words, listed


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
