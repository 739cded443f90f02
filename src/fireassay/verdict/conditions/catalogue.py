"""Under which conditions was a record made?

One catalogue: each field's class, its source and why it matters.

    identity    what was run and what "good" means          must match, else the comparison is refused
    hardware    what it ran on, machine and software        must match within a tolerance, else the comparison is refused
    condition   the state of the machine                    a difference beyond the tolerance is reported, and refuses nothing
    context     when, where and by whom                     recorded only

Raw readings are never hashed or compared digit by digit: sizes are compared by distance (with buckets, a reading near an edge would
split one machine into two), versions by their leading numbers. Hashing raw readings misfires in folo-rs/folo#429 and
pytest-benchmark#255. A field missing on one side is a mismatch if it is identity, else a note. Users add fields by `[conditions]` in
the experiment. Fields are drawn from the MLPerf system description, pyperf's metadata and the NeurIPS checklist.
Cannot tell: what was not recorded, such as a library that the script loads from its own path.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from fireassay import catalog
from fireassay.metrics.metric import LAUNCHED
from fireassay.verdict.conditions import environment, facts
from fireassay.verdict.conditions.condition import Condition, ConditionClass, agree_on_common, overlap, relative
from fireassay.verdict.conditions.declare import BEFORE, SPEC, apart, condition, context, hardware, identity, within

MEMORY: Final = 0.05  # largest relative difference of sizes on one machine: kernels reserve some memory

COMMON: Final[tuple[Condition, ...]] = (
    identity("workload.runner", "each runner times something else"),
    identity(
        "workload.script_sha256", "another program does other work", environment.of("script", "sha256"), f"{BEFORE} script", about=LAUNCHED
    ),
    identity(
        "workload.files.*",
        "another file among the arguments, as in python job.py or --config c.yaml, is another program or other work",
        facts.argument_files,
        f"{BEFORE} script",
        absent="note",
        about=LAUNCHED,
    ),
    identity("workload.script", "another program does other work", facts.script, f"{SPEC}; only where no digest was recorded"),
    identity(
        "workload.arguments",
        "arguments change what the program does; the placeholders {workers}, {seed} and {launch} are compared unfilled",
    ),
    identity("workload.steps", "a part of a job takes less time and begins colder than the whole", facts.ending, about=("training",)),
    identity("workload.work", "rates count this unit of work"),
    identity("workload.environment.*", "the variable changes what the program does", lambda m, _: dict(m.experiment.workload.environment)),
    identity("conditions.*", "the experiment names it as part of the workload's identity", lambda m, _: dict(m.experiment.conditions)),
    identity("factor.name", "configurations of different factors have nothing in common"),
    identity(
        "factor.levels",
        "only configurations that both sides have can be compared",
        facts.levels,
        same=overlap,
        how="at least one in common",
    ),
    identity("scaling.mode", "strong scaling fixes the whole work, weak scaling that of a worker", lambda m, _: m.mode),
    identity("scaling.base", "speedups are relative to this configuration", facts.base),
    identity("scaling.time", "a speedup of steps is not one of whole runs"),
    identity("quality.metric", "quality is judged by this score"),
    identity("quality.direction", "it determines which of two scores is better"),
    identity("quality.max_flip_rate", "it decides which result counts as held"),
    identity("quality.margin", "a result that may lose more quality is easier to make fast"),
    identity("launcher.kind", "the launcher decides what starts the workers, and how"),
    identity("launcher.threads_per_worker", "more threads are more hardware"),
    identity("launcher.pin", "pinning decides which caches and which memory a worker shares"),
    identity("launcher.start", "forked workers have paid for no import"),
    identity("launcher.numa", "memory of another node is slower"),
    identity("launcher.nodes", "communication between nodes is slower than within one"),
    identity("energy.source", "counted and modelled joules are different quantities"),
    identity("warm_up.trials", "first calls are slower", facts.warm_up_trials, "table trials", absent="note"),
    identity(
        "metrics.definitions",
        "a number is only comparable with one of the same definition",
        facts.definitions,
        "signatures of the estimates",
        same=agree_on_common,
        how="exactly, for the metrics that both sides have",
        absent="note",
    ),
    identity(
        "flops.convention",
        "conventions count other operations for the same model",
        facts.tag("flops_per_step", "conv"),
        "signature of flops_per_step",
        absent="note",
        about=("training",),
    ),
    identity(
        "flops.peak",
        "a published, a measured and a given peak are different quantities",
        facts.tag("mfu", "peak"),
        "signature of mfu",
        absent="note",
        about=("training",),
    ),
    identity("data.content", "other data are other work", facts.data("content"), f"{BEFORE} data"),
    identity("data.version", "another version of the data is other work", facts.data("version")),
    identity("data.split", "a score on another split is another score", facts.data("split")),
    identity("dataset.size", "another data set is other work", facts.fingerprint("dataset_size"), "table fingerprints", about=LAUNCHED),
    identity("model.parameters", "another model is other work", facts.fingerprint("parameters"), "table fingerprints", about=LAUNCHED),
    identity(
        "batch.items_per_step.*",
        "a larger global batch is other work, and another training",
        facts.items_per_step,
        "table steps, median",
        same=relative(1e-6),
        absent="skip",
    ),
    identity("evaluation.examples", "quality on other questions is another quality", facts.examples, "table examples, digest of the ids"),
    identity(
        "samples.set",
        "other training samples are other work",
        facts.samples,
        "table samples, digest of the ids of a whole epoch",
        absent="note",
    ),
    hardware("cpu.model", "another processor has another speed"),
    hardware("cpu.usable", "more processors do more work", environment.usable),
    hardware("cpu.smt", "two threads on one core share it"),
    hardware("cpu.numa_nodes", "memory of another node is slower", environment.numa),
    hardware("host.machine", "another instruction set is another program"),
    hardware("memory.total_bytes", "what does not fit is swapped or not cached", **within(MEMORY)),
    hardware("gpu.models", "another accelerator has another speed", environment.devices("name")),
    hardware("gpu.count", "more accelerators do more work", environment.gpu_count),
    hardware("gpu.memory_bytes", "memory decides which batch and which cache fit", environment.devices("memory_bytes"), **within(MEMORY)),
    hardware("gpu.driver", "the driver brings its own compilers and libraries", environment.of("gpu", "nvidia", "driver")),
    hardware(
        "host.kernel",
        "scheduler and network stack change between releases",
        environment.leading(environment.of("host", "kernel"), 2),
        how="major.minor",
    ),
    hardware("host.virtualisation", "a hypervisor costs time and takes some"),
    hardware("host.container", "a container has its own limits and file systems", environment.container),
    hardware("cgroup.cpu_quota", "a quota stops the processes that used it up", environment.quota, **within(0.01)),
    hardware("cgroup.memory_limit", "what does not fit is killed or not cached", environment.memory_limit, **within(MEMORY)),
    hardware(
        "software.python",
        "interpreters differ in speed",
        environment.leading(environment.of("software", "python", "version"), 2),
        how="major.minor",
    ),
    hardware("software.torch.version", "kernels and collectives change between releases"),
    hardware("software.torch.cuda", "kernels and collectives change between releases"),
    hardware(
        "allocation.image_id", "an image brings its own libraries; a tag can move, a digest cannot", environment.image, how="by digest"
    ),
    hardware("software.packages.*", "this package does part of the work", environment.packages),
    condition(
        "workload.variables.*", "it can change a measurement; what must not differ belongs in workload.environment", environment.variables
    ),
    condition("allocation.job_partition", "a partition has its own nodes and neighbours"),
    condition("allocation.qos", "a pod without guaranteed resources shares its processors and is evicted first"),
    condition("host.os", "system libraries change between releases"),
    condition("cpu.governors", "the governor decides the clock"),
    condition("host.aslr", "memory layout varies from launch to launch"),
    condition("noise.load_per_processor", "other programs take processors and caches", environment.load, **apart(0.25)),
    condition("noise.steal_share", "the hypervisor takes processor time", environment.steal, "environment before and after", **apart(0.01)),
    condition(
        "noise.pressure_cpu", "tasks waited for a processor", environment.pressure("cpu"), "environment before and after", **apart(0.05)
    ),
    condition(
        "noise.pressure_memory", "tasks waited for memory", environment.pressure("memory"), "environment before and after", **apart(0.05)
    ),
    condition(
        "noise.pressure_io", "tasks waited for input or output", environment.pressure("io"), "environment before and after", **apart(0.05)
    ),
    condition("noise.sentinel_s", "the machine itself got faster or slower", facts.sentinel, "table telemetry, median", **within(0.05)),
    condition("gpu.power_limit_w", "a lower limit is a lower clock", environment.devices("power_limit_w"), **within(0.02)),
    condition("gpu.sm_clock_max_mhz", "the clock decides the speed", environment.devices("sm_clock_max_mhz"), **within(0.02)),
    condition("gpu.temperature_c", "a hot device lowers its clock", environment.devices("temperature_c"), **within(0.25)),
    condition("doctor.noise_floor", "smaller differences cannot be seen on the machine", environment.floor, **within(0.5)),
    condition(
        "work.steps.*",
        "times and costs of whole runs compare only runs of the same length",
        facts.steps,
        "table steps, median",
        **within(0.01),
    ),
    condition("assay.version", "another version may record differently", environment.manifest("assay_version"), "manifest.json"),
    context("record.name", "a name means nothing", environment.manifest("name"), "manifest.json"),
    context("record.seal", "it identifies the record", lambda m, _: m.seal or None, "SHA-256 of manifest.json"),
    context("record.created_utc", "records are made at different times", environment.manifest("created_utc"), "manifest.json"),
    context("host.name", "machines of one kind have different names", environment.of("host", "name"), BEFORE),
    context("host.uptime_s", "it grows", environment.of("host", "uptime_s"), BEFORE),
    context(
        "workload.git.commit",
        "most commits leave the script as it is; its digest decides",
        environment.of("workload", "git", "commit"),
        BEFORE,
    ),
    context("workload.git.branch", "the script's digest decides", environment.of("workload", "git", "branch"), BEFORE),
    context("workload.git.dirty", "the script's digest decides", environment.of("workload", "git", "dirty"), BEFORE),
    context("software.python_executable", "the version decides", environment.of("software", "python", "executable"), BEFORE),
    context("prices", "prices are inputs; where they differ, costs do too", facts.prices),
    context("grid", "the grid is an input; where it differs, CO2 does too", facts.grid),
    context("launches.seed", "it fixes order and training seeds"),
    context("launches.per_configuration", "the intervals say what it means"),
    context("gates", "a gate judges a record and changes no number", lambda m, _: m.experiment.gates.model_dump()),
)
OWN: Final[tuple[Condition, ...]] = tuple(
    condition for conditions in catalog.parts("kinds", "conditions", "CONDITIONS").values() for condition in conditions
)
CONDITIONS: Final[tuple[Condition, ...]] = (
    *(condition for condition in OWN if not condition.follows),
    *COMMON,
    *(condition for condition in OWN if condition.follows),
)


def known_names() -> tuple[str, ...]:
    """Names of the catalogue; families end in a star."""
    return tuple(condition.name for condition in CONDITIONS)


_HEADINGS: Final[Mapping[ConditionClass, str]] = {
    "identity": "Identity: must be equal; a difference refuses the comparison",
    "hardware": "Hardware and software: must be equal within a tolerance; a difference refuses the comparison",
    "condition": "Conditions: a difference beyond the tolerance is reported, and refuses nothing",
    "context": "Context: recorded only",
}


def reference(aliases: Mapping[str, Iterable[str]]) -> str:
    """The page docs/reference/conditions.md, from CONDITIONS and the aliases of `--varying`."""
    lines = [
        "# Conditions",
        "",
        "<!-- generated from src/fireassay/verdict/conditions/catalogue.py by `make docs`; do not edit -->",
        "",
        "Two records are compared only if they were made under the same conditions, but for what is studied. This is the whole",
        "catalogue. A name that ends in `.*` is a family: every key is a separate field. The decision behind it is",
        "[0013](../decisions/0013-what-refuses-a-comparison.md).",
    ]
    for kind, heading in _HEADINGS.items():
        lines += ["", f"## {heading}", "", "| field | compared | from | matters because |", "|---|---|---|---|"]
        lines += [f"| `{c.name}` | {c.how} | {c.source} | {c.why} |" for c in CONDITIONS if c.kind == kind]
    lines += [
        "",
        "## What `--varying` understands",
        "",
        "A field, the beginning of a family or group (`workload.environment`, `software`), a key of `[conditions]`, or:",
        "",
        "| name | fields |",
        "|---|---|",
        *(f"| `{name}` | {', '.join(f'`{field}`' for field in fields)} |" for name, fields in aliases.items()),
    ]
    return "\n".join(lines) + "\n"
