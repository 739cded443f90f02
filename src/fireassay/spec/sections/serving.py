"""What does a serving experiment specify?

The section [serving]: engines, traffic and loads.  The configurations are every load at every scenario on every engine
(`fireassay.spec.plan.configurations`).  A load is a concurrency or a rate; the arrivals of a launch, and everything it sends, are
fixed before it starts and depend only on the experiment and the launch's seed.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from fireassay.spec.model import NAME_PATTERN, Model, Positive, PositiveSeconds, Seconds, Share, Words, flag, header, listed, seconds, slo
from fireassay.spec.sections.genai_bench import own_backend, own_task

KEY_VARIABLES = {"baseten": "BASETEN_API_KEY", "cohere": "CO_API_KEY", "together": "TOGETHER_API_KEY"}  # the services' own
ENVIRONMENT_VARIABLE = re.compile(r"\{env:([A-Za-z_][A-Za-z0-9_]*)\}")  # in a header
Concurrency = Annotated[int, Field(ge=1, le=1_000_000)]
Rate = Annotated[float, Field(gt=0.0, le=1e7)]
Processes = Literal[
    "closed", "constant", "poisson", "gamma", "stages", "trace", "users", "single_stream", "multi_stream", "server", "offline"
]


class Target(Model):
    """An engine: one or more identical replicas that answer the same requests."""

    name: str = Field(
        "server", min_length=1, max_length=40, pattern=NAME_PATTERN, description="Name of the engine in configurations and reports."
    )
    backend: Annotated[str, flag("--backend", "NAME", "which dialect the server speaks ({default})", load=20, evaluate=150)] = Field(
        "openai", description="The dialect it speaks: the name of a file in fireassay/traffic/backends."
    )
    urls: Words = Field(
        (), description="Where it listens, one URL per replica. Default: assay starts `command`, or uses workload.script as the URL."
    )
    command: Words = Field(
        (), description="Command by which assay starts one replica. {port}, {replica}, {model} and {folder} are replaced."
    )
    replicas: int = Field(1, ge=1, le=10_000, description="Number of replicas of `command` to start.")
    router: Words = Field(
        (),
        description="Command of a reverse proxy that assay starts in front of the replicas. {port} is its port, {ports} theirs, "
        "comma-separated. Default: the client distributes the requests itself.",
    )
    ready: str = Field("/health", description="The path that answers 200 once a replica can serve.")
    ready_timeout_s: PositiveSeconds = Field(300.0, description="Seconds that a started replica may take until it is ready.")
    restart: Literal["block", "launch", "experiment"] = Field(
        "block",
        description="When replicas that assay started are restarted. block: before every round, so that rounds are independent. "
        "Fault launches always get fresh replicas.",
    )
    environment: dict[str, str] = Field(
        default_factory=dict, description="Variables set for `command`. Values that look secret are redacted in the record."
    )
    balance: Literal["round_robin", "least_in_flight", "session"] = Field(
        "round_robin",
        description="How the client distributes requests over the replicas. session: all turns of a conversation go to one replica.",
    )
    model: str = Field("", description="The model's name in requests. Default: serving.model.")
    api_key_env: Annotated[str, flag("--api-key-env", "VAR", "variable that holds the API key", load=300, evaluate=220)] = Field(
        "",
        description="The environment variable that holds the API key, which itself is never stored. Default: none; of a service with a "
        "backend of its own CO_API_KEY, TOGETHER_API_KEY or BASETEN_API_KEY.",
    )
    headers: Annotated[
        dict[str, str],
        flag("--header", "H", 'a further header, as "NAME: TEXT"; may be repeated', read=header, many=True, load=310, evaluate=230),
    ] = Field(
        default_factory=dict, description="Additional headers of every request. {env:NAME} is replaced by that variable and never stored."
    )
    options: dict[str, str | int | float | bool] = Field(
        default_factory=dict, description="Options of this engine: region, deployment, api_version, a body key as body.KEY ..."
    )
    metrics: Annotated[
        Words, flag("--metrics", "URL", "a Prometheus endpoint to scrape during the load; may be repeated", many=True, load=320)
    ] = Field((), description="Prometheus endpoints to scrape during the load, for example http://127.0.0.1:8000/metrics.")

    @classmethod
    def own_names(cls, value: Any) -> Any:
        """The table with our name of its backend."""
        return own_backend(value)

    @property
    def key_variable(self) -> str:
        """The environment variable that holds the API key; "" without a key."""
        return self.api_key_env or KEY_VARIABLES.get(self.backend, "")

    @property
    def secret_variables(self) -> tuple[str, ...]:
        """The environment variables in its headers, the API key's first."""
        named = [self.key_variable] if self.key_variable else []
        return (*named, *(name for value in self.headers.values() for name in ENVIRONMENT_VARIABLE.findall(value)))


class Objectives(Model):
    """Objectives that a good request meets. An absent objective is not required."""

    ttft_s: Positive | None = Field(None, description="Longest admissible time to the first token, seconds.")
    ttft_visible_s: Positive | None = Field(None, description="Longest admissible time to the first text that is not reasoning, seconds.")
    tpot_s: Positive | None = Field(None, description="Longest admissible time per output token after the first, seconds.")
    itl_s: Positive | None = Field(None, description="Longest admissible gap between two tokens, seconds.")
    e2e_s: Positive | None = Field(None, description="Longest admissible time to the last token, seconds.")
    attainment: Annotated[Share, flag("--attainment", "P", "share of requests that must meet them ({default:g})", load=160)] = Field(
        0.99, description="Share of the requests due that must meet every objective, for a load to be admissible."
    )

    @property
    def limits(self) -> dict[str, float]:
        """The objectives by name, seconds."""
        named = {"TTFT": self.ttft_s, "visible TTFT": self.ttft_visible_s, "TPOT": self.tpot_s, "gap": self.itl_s, "end to end": self.e2e_s}
        return {name: limit for name, limit in named.items() if limit is not None}

    @property
    def any(self) -> bool:
        """True if there is any objective."""
        return bool(self.limits)


class Stage(Model):
    """A stage of the load with its own rate."""

    duration_s: PositiveSeconds = Field(description="Duration, seconds.")
    rate: float = Field(ge=0.0, le=1e7, description="Requests per second at its start. If serving.rate is given: a multiple of it.")
    rate_to: float | None = Field(
        None, ge=0.0, le=1e7, description="Requests per second at its end; the rate changes linearly. Default: it is constant."
    )


class Arrivals(Model):
    """When requests are due."""

    process: Annotated[Processes, flag("--arrival", "HOW", "closed, constant, poisson, gamma, users, trace, server ...", load=70)] = Field(
        "closed",
        description="closed: a fixed number in flight (serving.concurrency). constant, poisson, gamma: open, at serving.rate. "
        "stages: poisson at the rates of arrivals.stages. trace: as in a file. users: user sessions with think times. "
        "single_stream, multi_stream, server, offline: the scenarios of MLPerf.",
    )
    duration_s: Annotated[
        PositiveSeconds,
        flag("--duration", "T", "measured part of each load, as 120s or 2m ({default:g}s)", default=10.0, read=seconds, load=90),
    ] = Field(30.0, description="Time during which requests become due in a launch, seconds.")
    requests: Annotated[int | None, flag("--requests", "N", "end a load after this many requests", load=110)] = Field(
        None, ge=1, le=5_000_000, description="End a launch after this many requests, if that is sooner."
    )
    warm_up_s: Annotated[
        Seconds, flag("--warm-up", "T", "warm-up load before it, never counted ({default:g}s)", read=seconds, load=100)
    ] = Field(2.0, description="Warm-up load before the measured part, in addition to duration_s, seconds. Recorded, never counted.")
    cold: Annotated[int, flag("--cold", "N", "first requests, reported separately as cold ({default})", load=120)] = Field(
        1, ge=0, le=1000, description="Requests sent one by one to each replica before the load and reported separately as cold."
    )
    cv: Annotated[float, flag("--cv", "CV", "for gamma: variation of the gaps ({default:g})", load=80)] = Field(
        1.0, gt=0.0, le=100.0, description="For gamma: coefficient of variation of the gaps. 1 is poisson, above 1 bursts."
    )
    stages: Annotated[tuple[Stage, ...], BeforeValidator(listed)] = Field(
        (), description="For stages: the stages in order; their durations add up to duration_s. The warm-up uses their initial rate."
    )
    trace: Annotated[str, flag("--trace", "FILE", "replay arrivals: Mooncake, BurstGPT, Azure, own JSONL", load=130)] = Field(
        "", description="For trace: the file, relative to the experiment's."
    )
    trace_format: Literal["auto", "mooncake", "burstgpt", "azure", "jsonl"] = Field(
        "auto", description="For trace: the format of the file."
    )
    speed: Annotated[float, flag("--speed", "X", "speed-up of the replay ({default:g})", load=140)] = Field(
        1.0, gt=0.0, le=1e6, description="For trace: factor by which the replay is faster than the recording."
    )
    samples_per_query: int = Field(8, ge=1, le=10_000, description="For multi_stream: requests sent together.")
    drain_s: Seconds = Field(60.0, description="Seconds to wait for requests in flight after the last one was due.")


class Prompts(Model):
    """The prompts to send."""

    source: Annotated[str, flag("--prompts", "FILE", "texts to send: text, JSONL, CSV, ShareGPT", load=180)] = Field(
        "synthetic", min_length=1, description="synthetic, or a file (text, JSONL, CSV, ShareGPT), relative to the experiment's."
    )
    format: Literal["auto", "text", "jsonl", "csv", "sharegpt"] = Field("auto", description="The file's format.")
    field: Annotated[str, flag("--prompt-field", "NAME", "field of the text in JSONL or CSV ({default})", load=190)] = Field(
        "prompt", min_length=1, description="For JSONL and CSV: the field with the text."
    )
    answer_field: Annotated[str, flag("--answer-field", "NAME", "field of the reference answer, for quality", load=200)] = Field(
        "", description="For JSONL and CSV: the field with the reference answer; scored as exact match."
    )
    answer_tokens: int | None = Field(
        None, ge=1, le=10_000_000, description="For the scenario dataset: requested output tokens. Default: left to the engine."
    )
    image_field: str = Field("", description="For JSONL and CSV: the field with the path of an image.")
    documents: int = Field(1, ge=1, le=2000, description="For embeddings and rerank: documents per request.")
    prefix_tokens: Annotated[int, flag("--prefix-tokens", "N", "tokens of the prefix that prompts share ({default})", load=240)] = Field(
        0, ge=0, le=10_000_000, description="Tokens of the prefix that prompts share."
    )
    prefixes: int = Field(1, ge=1, le=1_000_000, description="Number of different shared prefixes.")
    cache: Annotated[Literal["bust", "as_is"], flag("--cache", "HOW", "bust (each prompt begins differently) or as_is", load=250)] = Field(
        "bust",
        description="bust: each prompt begins differently (after a shared prefix), so that caches filled by earlier launches do not help. "
        "as_is: texts are sent as they are.",
    )
    turns: Annotated[int, flag("--turns", "N", "requests per conversation ({default})", load=260)] = Field(
        1, ge=1, le=10_000, description="Requests per conversation; each includes the previous ones."
    )
    again: str = Field(
        "",
        description="For the scenario dataset: the user's message of every later turn. Default: the file's own turns, from the first again.",
    )
    think_s: Annotated[Seconds, flag("--think", "T", "mean think time between turns ({default:g})", read=seconds, load=270)] = Field(
        0.0, description="Mean think time between two turns, seconds; exponential."
    )
    tool_steps: int = Field(0, ge=0, le=10_000, description="Tool calls per turn: each adds a request after the tool time.")
    tool_s: Seconds = Field(0.0, description="Mean time inside a tool or a retrieval, seconds; exponential.")
    tool_tokens: int = Field(64, ge=1, le=10_000_000, description="Tokens that a tool or a retrieval adds to the context.")


class Client(Model):
    """The load generator itself."""

    processes: Annotated[int, flag("--processes", "N", "client processes ({default})", load=330)] = Field(
        1, ge=1, le=1024, description="Client processes, on launcher.hosts in turn. The requests sent do not depend on it."
    )
    connections: int | None = Field(
        None, ge=1, le=1_000_000, description="Maximum number of connections to one replica. Default: one per request in flight."
    )
    timeout_s: Annotated[
        PositiveSeconds, flag("--request-timeout", "T", "timeout of one request ({default:g}s)", read=seconds, load=340, evaluate=210)
    ] = Field(600.0, description="Timeout of one request, from its sending; it then counts as failed.")
    first_byte_timeout_s: PositiveSeconds | None = Field(
        None, description="Timeout until the first response byte; the request then counts as failed."
    )
    first_pause_s: PositiveSeconds = Field(
        0.25,
        description="Pause of a stream after 429 or 503 without Retry-After, seconds; doubled after each one in a row. Only requests "
        "that follow an answer wait; an open loop sends what is due.",
    )
    most_pause_s: PositiveSeconds = Field(60.0, description="Maximum pause, whatever Retry-After says, seconds.")
    dead_after_s: PositiveSeconds | None = Field(
        10.0,
        description="Seconds without any answer and with every request refused after which a load ends early. Not while a fault is "
        "injected.",
    )
    response_mib: float = Field(
        64.0, gt=0.0, le=65536.0, description="Maximum size of an answer, MiB; beyond it the request counts as failed."
    )
    keep_text: bool = Field(True, description="Whether the answers' text is kept. It is needed for quality and for identity checks.")
    keep_images: str = Field(
        "", description="text_to_image: the folder in which images are kept as files, by their digests. An evaluation of images sets it."
    )
    transport: Literal["auto", "compiled", "lean", "library"] = Field(
        "auto",
        description="compiled: assay's own HTTP/1.1 in a thread below the interpreter. lean: the same in Python. library: httpx, for "
        "proxies and HTTP/2. auto: compiled if it is built and TLS is not used, else lean, else library.",
    )
    proxy: str = Field("", description="URL of an HTTP proxy; needs the library transport.")
    http2: bool = Field(False, description="Whether to use HTTP/2; needs the library transport.")
    verify_tls: Annotated[bool, flag("--no-verify-tls", "", "do not verify certificates", load=460)] = Field(
        True, description="Whether certificates are verified."
    )
    most_lag: Share = Field(
        0.01,
        description="Open loop: maximum p99 of the send lag, as a share of the median latency. Beyond it the client was measured, "
        "not the server: INVALID.",
    )
    free_lag_s: Seconds = Field(
        0.001, description="A p99 of the send lag that is always allowed, however short the latencies are, seconds."
    )
    least_achieved: Share = Field(
        0.98,
        description="Minimum share of the offered rate that must have been sent (closed loop: of the concurrency that must have been "
        "in flight); else INVALID.",
    )
    most_uncertainty: Share = Field(
        0.02,
        description="Maximum p99 of the timing uncertainty of a latency, as a share of its median. Beyond it the token times are "
        "unknown: INVALID.",
    )
    free_uncertainty_s: Seconds = Field(
        0.001, description="A p99 of that uncertainty that is always allowed, however short the latencies are, seconds."
    )


class Correctness(Model):
    """Checks of the answers, on requests that are timed like all others."""

    canaries: Annotated[float, flag("--canaries", "P", "share of requests with a nonce, to find cross-talk", load=280)] = Field(
        0.0, ge=0.0, le=0.5, description="Share of requests that carry a unique nonce, to find misrouted responses."
    )
    identity: Annotated[int, flag("--identity", "N", "prompts sent to every replica, to compare answers", load=290)] = Field(
        0, ge=0, le=10_000, description="Prompts sent to every replica, to check whether their answers agree."
    )
    reruns: int = Field(2, ge=1, le=1000, description="Number of times that each of these prompts is sent to each replica.")
    needle: bool = Field(
        False, description="Whether these prompts are sent alone, before the load, and again under load, in batches of other sizes."
    )
    grade: Literal["bitwise", "token_identical", "near_tie", "distribution_close", "none"] = Field(
        "none", description="The weakest sufficient agreement; below it the verdict is FAIL. none: agreement is only reported."
    )


class Serving(Model):
    """A load on serving engines. Only for workload.runner = "serving"."""

    @classmethod
    def own_names(cls, value: Any) -> Any:
        """The table with our name of its task."""
        return own_task(value)

    task: Annotated[
        str, flag("--task", "NAME", "chat, completions, embeddings, rerank, image_chat, text_to_speech ... ({default})", load=30)
    ] = Field("chat", description="The task: its name, as declared in fireassay/traffic/tasks, or genai-bench's: text-to-image ...")
    model: Annotated[str, flag("--model", "NAME", "the name in requests, or a=NAME,b=NAME", load=10, evaluate=40)] = Field(
        "", description="The model's name in requests."
    )
    tokenizer: Annotated[str, flag("--tokenizer", "PATH", "the model's own tokenizer.json, for exact lengths", load=170, evaluate=200)] = (
        Field("", description="A folder or file with the model's own tokenizer.json, for exact lengths. Default: lengths are words.")
    )
    targets: Annotated[tuple[Target, ...], BeforeValidator(listed)] = Field(
        (), description="The engines to measure. Default: one at the URL of workload.script."
    )
    scenarios: Annotated[Words, flag("--scenario", "S", 'lengths, as "D(100,100)"; may be repeated', many=True, load=40)] = Field(
        ("D(100,100)",),
        min_length=1,
        description="Lengths in genai-bench's grammar: N(480,240)/(300,150), U(50,100)/(200,300), D(100,100), E(1024), R(1024,100), "
        "I(512,512), A(100), dataset; and log-normal lengths by mean and deviation: L(50,20), L(50,20)/(300,150).",
    )
    concurrency: Annotated[
        tuple[Concurrency, ...],
        BeforeValidator(listed),
        flag("--concurrency", "1,8,16", "loads: requests in flight", load=50, evaluate=130),
    ] = Field((), description="Loads of a closed loop: requests in flight.")
    rate: Annotated[tuple[Rate, ...], BeforeValidator(listed), flag("--rate", "5,10,20", "loads: requests per second", load=60)] = Field(
        (), description="Loads of an open loop: requests per second."
    )
    search: Annotated[bool, flag("--search", "", "search for the highest rate that meets the objectives", load=470)] = Field(
        False, description="Whether each round searches, between the given rates, for the highest rate that meets the objectives."
    )
    stream: Annotated[bool, flag("--no-stream", "", "request whole answers; there is then no TTFT", load=450, evaluate=240)] = Field(
        True, description="Whether answers are streamed. Without streaming there is no time to first token."
    )
    temperature: Annotated[float, flag("--temperature", "T", "sampling temperature ({default:g})", load=350, evaluate=140)] = Field(
        0.0, ge=0.0, le=10.0, description="Sampling temperature of every request."
    )
    ignore_eos: bool = Field(True, description="Whether answers are extended to the requested length, if the engine supports it.")
    arrivals: Arrivals = Arrivals()
    prompts: Prompts = Prompts()
    objectives: Annotated[Objectives, flag("--slo", "SLO", "objectives of a good request, as ttft=0.2,tpot=50ms", read=slo, load=150)] = (
        Objectives()
    )
    client: Client = Client()
    correctness: Correctness = Correctness()
