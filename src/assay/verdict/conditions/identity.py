"""Which conditions say what was run and what "good" means?  They must be equal, else a comparison is refused."""

from __future__ import annotations

from typing import Final

from assay.metrics.base import LAUNCHED
from assay.verdict.conditions.condition import Condition, agree_on_common, overlap, within
from assay.verdict.conditions.declare import BEFORE, COLLECTIVES, EVENTS, IMPORT, SPEC, identity
from assay.verdict.conditions.sources import collectives, engines, environment, experiment, facts, imported, loads

IDENTITY: Final[tuple[Condition, ...]] = (
    identity("foreign.tool", imported.meaning("tool"), "every load generator has its own client, window and definitions", IMPORT),
    identity(
        "foreign.clock",
        imported.meaning("clock"),
        "a latency from sending hides what waited in the client; one from when it was due does not",
        IMPORT,
    ),
    identity("foreign.first_token", imported.meaning("first_token"), "an empty role chunk comes before any token is made", IMPORT),
    identity("foreign.end", imported.meaning("end"), "the usage chunk and the end mark come after the last token", IMPORT),
    identity(
        "foreign.tokens", imported.meaning("tokens"), "counts by a server, by a tokenizer and of chunks are different quantities", IMPORT
    ),
    identity("foreign.connection", imported.meaning("connection"), "a new connection takes its time before the request does", IMPORT),
    identity("foreign.stamps", imported.meaning("stamps"), "a time taken after parsing is later, and a wall clock can be set", IMPORT),
    identity("foreign.left_out", imported.meaning("left_out"), "percentiles without the slowest requests are lower", IMPORT),
    identity("foreign.environment", imported.unseen("serving"), "another machine, accelerator or engine is another result", IMPORT),
    identity(
        "collectives.machine", imported.unseen("collectives"), "another machine or network is another result", IMPORT, about=COLLECTIVES
    ),
    identity(
        "collectives.backend",
        collectives.engine("backend"),
        "each backend has its own algorithms and transports",
        EVENTS,
        about=COLLECTIVES,
    ),
    identity(
        "collectives.convention",
        collectives.engine("convention"),
        "busbw is only comparable by one definition",
        EVENTS,
        about=COLLECTIVES,
        absent="note",
    ),
    identity(
        "collectives.interface",
        collectives.engine("interface"),
        "another network is another speed",
        EVENTS,
        about=COLLECTIVES,
        absent="note",
    ),
    identity("collectives.dtype", collectives.asked("dtype"), "sums of other element types take other times", SPEC, about=COLLECTIVES),
    identity("collectives.memory_mib", collectives.asked("memory_mib"), "what fits into a cache is faster", SPEC, about=COLLECTIVES),
    identity(
        "collectives.device", collectives.engine("device"), "another device has another speed", EVENTS, about=COLLECTIVES, absent="note"
    ),
    identity(
        "collectives.nccl", collectives.engine("nccl"), "algorithms change between releases", EVENTS, about=COLLECTIVES, absent="note"
    ),
    identity("workload.runner", experiment.of("workload", "runner"), "each runner times something else", SPEC),
    identity(
        "workload.script_sha256", environment.of("script", "sha256"), "another program does other work", f"{BEFORE} script", about=LAUNCHED
    ),
    identity("workload.script", experiment.script, "another program does other work", f"{SPEC}; only where no digest was recorded"),
    identity(
        "workload.arguments",
        experiment.of("workload", "arguments"),
        "arguments change what the program does; the placeholders {workers}, {seed} and {launch} are compared unfilled",
        SPEC,
    ),
    identity(
        "workload.steps", experiment.ending, "a part of a job takes less time and begins colder than the whole", SPEC, about=("training",)
    ),
    identity("workload.work", experiment.of("workload", "work"), "rates count this unit of work", SPEC),
    identity(
        "workload.environment.*", lambda m, _: dict(m.experiment.workload.environment), "the variable changes what the program does", SPEC
    ),
    identity(
        "conditions.*", lambda m, _: dict(m.experiment.conditions), "the experiment names it as part of the workload's identity", SPEC
    ),
    identity("factor.name", experiment.of("factor", "name"), "configurations of different factors have nothing in common", SPEC),
    identity(
        "factor.levels",
        experiment.levels,
        "only configurations that both sides have can be compared",
        SPEC,
        same=overlap,
        how="at least one in common",
    ),
    identity("scaling.mode", lambda m, _: m.mode, "strong scaling fixes the whole work, weak scaling that of a worker", SPEC),
    identity("scaling.base", experiment.base, "speedups are relative to this configuration", SPEC),
    identity("scaling.time", experiment.of("scaling", "time"), "a speedup of steps is not one of whole runs", SPEC),
    identity("quality.metric", experiment.of("quality", "metric"), "quality is held or lost in this score", SPEC),
    identity("quality.direction", experiment.of("quality", "direction"), "it says which of two scores is the better one", SPEC),
    identity("quality.margin", experiment.of("quality", "margin"), "a result that may lose more quality is easier to make fast", SPEC),
    identity("launcher.kind", experiment.of("launcher", "kind"), "the launcher decides what starts the workers, and how", SPEC),
    identity("launcher.threads_per_worker", experiment.of("launcher", "threads_per_worker"), "more threads are more hardware", SPEC),
    identity("launcher.pin", experiment.of("launcher", "pin"), "pinning decides which caches and which memory a worker shares", SPEC),
    identity("launcher.numa", experiment.of("launcher", "numa"), "memory of another node is slower", SPEC),
    identity("launcher.nodes", experiment.of("launcher", "nodes"), "communication between nodes is slower than within one", SPEC),
    identity("energy.source", experiment.of("energy", "source"), "counted and modelled joules are different quantities", SPEC),
    identity("warm_up.trials", facts.warm_up_trials, "first calls are slower", "table trials", absent="note"),
    identity(
        "metrics.definitions",
        facts.definitions,
        "a number is only comparable with one of the same definition",
        "signatures of the estimates",
        same=agree_on_common,
        how="exactly, for the metrics that both sides have",
        absent="note",
    ),
    identity(
        "flops.convention",
        facts.tag("flops_per_step", "conv"),
        "conventions count other operations for the same model",
        "signature of flops_per_step",
        absent="note",
        about=("training",),
    ),
    identity(
        "flops.peak",
        facts.tag("mfu", "peak"),
        "a published, a measured and a given peak are different quantities",
        "signature of mfu",
        absent="note",
        about=("training",),
    ),
    identity("dataset.size", facts.fingerprint("dataset_size"), "another data set is other work", "table fingerprints", about=LAUNCHED),
    identity("model.parameters", facts.fingerprint("parameters"), "another model is other work", "table fingerprints", about=LAUNCHED),
    identity(
        "batch.items_per_step.*",
        facts.items_per_step,
        "a larger global batch is other work, and another training",
        "table steps, median",
        same=within(1e-6),
        absent="skip",
    ),
    identity("evaluation.examples", facts.examples, "quality on other questions is another quality", "table examples, digest of the ids"),
    identity(
        "samples.set",
        facts.samples,
        "other training samples are other work",
        "table samples, digest of the ids of a whole epoch",
        absent="note",
    ),
    identity("serving.task", loads.of("task"), "each task is other work", SPEC),
    identity("serving.model", loads.of("model"), "another model is other work", SPEC),
    identity(
        "serving.tokenizer",
        loads.of("tokenizer"),
        "it decides how long a prompt of so many tokens is",
        f"{SPEC}; its content where that was recorded",
    ),
    identity("serving.files.*", loads.files, "other content is another load", f"{BEFORE} files, SHA-256", absent="note"),
    identity(
        "serving.scenarios",
        loads.of("scenarios"),
        "lengths decide what a request costs",
        SPEC,
        same=loads.scenarios_fit,
        how="exactly; at least one in common where both sides have several",
    ),
    identity("serving.load", loads.kinds, "so many requests in flight are not so many per second", SPEC),
    identity("serving.arrivals.process", loads.of("arrivals", "process"), "waiting depends on how arrivals scatter", SPEC),
    identity("serving.arrivals.cv", loads.of("arrivals", "cv"), "bursts make queues", SPEC),
    identity("serving.arrivals.stages", loads.stages, "waiting depends on how the rate changes", SPEC),
    identity("serving.arrivals.trace", loads.of("arrivals", "trace"), "another trace is another load", SPEC),
    identity("serving.arrivals.trace_format", loads.of("arrivals", "trace_format"), "it decides how the trace is read", SPEC),
    identity("serving.arrivals.speed", loads.of("arrivals", "speed"), "a trace replayed faster is a higher rate", SPEC),
    identity(
        "serving.arrivals.samples_per_query",
        loads.of("arrivals", "samples_per_query"),
        "requests that come together wait for each other",
        SPEC,
    ),
    identity("serving.arrivals.requests", loads.of("arrivals", "requests"), "a load that ends after so many requests is another one", SPEC),
    identity("serving.prompts.source", loads.of("prompts", "source"), "other prompts are another load", SPEC),
    identity("serving.prompts.*", loads.prompts, "it changes what is sent", SPEC),
    identity("serving.stream", loads.of("stream"), "without a stream there is no first token", SPEC),
    identity("serving.temperature", loads.of("temperature"), "sampling changes the answers and their lengths", SPEC),
    identity("serving.ignore_eos", loads.of("ignore_eos"), "answers that end where they like are shorter", SPEC),
    identity("serving.correctness.*", loads.checks_sent, "requests that are sent for a check are part of the load", SPEC),
    identity("serving.objectives.*", loads.objectives, "goodput and attainment are relative to the objectives", SPEC),
    identity(
        "serving.tokens_from",
        loads.tokens_from,
        "counts by a server and by a tokenizer are different quantities",
        "tables requests and token_counts",
        absent="note",
    ),
    identity("engine.*", engines.of(engines.asked), "another engine, or one that is set otherwise, is what a comparison studies", SPEC),
    identity(
        "engines.*",
        engines.of(engines.version),
        "engines change between releases",
        f"{BEFORE} engines: what the engine says of itself",
        absent="note",
    ),
    identity(
        "serving.schedules",
        loads.schedules,
        "the same settings with the same seed must give the same requests",
        "manifest.json schedules",
        same=agree_on_common,
        how="exactly, where configuration, seed and settings are the same",
        absent="note",
    ),
)
