"""What did `vllm bench serve` measure?  From its --save-result JSON; with --save-detailed, requests too.

One object per run, several in sequence with --append-result.  Requests are in parallel lists: input_lens, output_lens, ttfts, itls
(gaps between chunks), errors and generated_texts; newer versions add start_times.  A request's latency is not saved; it is the sum
of its ttft and gaps, as vLLM computes it.  A request failed if it has an error, or neither a first token nor output.
(vllm/benchmarks/serve.py at commits 009e6d4 and eb0d11e, lib/endpoint_request_func.py at 02cfb53.)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

from fireassay.importers.support import base
from fireassay.importers.support.documents import Place, Spool, Words, documents
from fireassay.units import NS_PER_S

TITLE: Final = "vLLM bench serve"
COLUMNS: Final = ("input_lens", "output_lens", "ttfts", "itls", "errors", "generated_texts", "start_times")
LATEST_S: Final = 1e11  # bound on times in seconds since any epoch
TASKS: Final = {  # vLLM backend -> task; unknown for others
    "vllm": "completions",
    "openai": "completions",
    "openai-chat": "chat",
    "openai-embeddings": "embeddings",
    "openai-embeddings-chat": "embeddings",
    "vllm-rerank": "rerank",
}
BACKENDS: Final = {"vllm": "vllm", "sglang": "sglang", "tgi": "tgi", "tensorrt-llm": "trtllm", "llama.cpp": "llamacpp"}
OURS: Final = {  # vLLM statistic -> assay's metric, equal (True) or close
    "mean_ttft": ("ttft_vllm", True),
    "mean_tpot": ("tpot_vllm", True),
    "mean_itl": ("itl_vllm", True),
    **{
        f"{p}_{metric}": (f"{ours}_{q}", False)
        for metric, ours in (("ttft", "ttft"), ("tpot", "tpot"), ("itl", "itl"), ("e2el", "e2e"))
        for p, q in (("median", "p50"), ("p50", "p50"), ("p95", "p95"), ("p99", "p99"))
    },
}
STATISTIC: Final = re.compile(r"(mean|median|std|p[\d.]+)_(ttft|tpot|itl|e2el)_ms")
WORDS: Final = {"ttft": "TTFT", "tpot": "TPOT", "itl": "ITL", "e2el": "end to end"}


def recognises(_: str, beginning: str) -> bool:
    """True if it begins with vLLM's setting keys."""
    return all(f'"{key}"' in beginning for key in ("model_id", "num_prompts", "request_rate")) and '"tokenizer_id"' in beginning


def read(path: Path, stack: ExitStack) -> Sequence[base.Load]:
    """The runs in a file."""
    spooled = [(column,) for column in COLUMNS]
    return [_load(path.name, base.mapping(run, place), place) for place, run in documents(path, spooled, stack)]


def _load(file: str, run: Mapping[str, Any], place: Place) -> base.Load:
    kind, load, arrivals, client = arrivals_of(run, place)
    detailed = isinstance(run.get("input_lens"), Spool) and isinstance(run.get("ttfts", run.get("errors")), Spool)
    timed = detailed and isinstance(run.get("start_times"), Spool)
    backend = base.text(run, "backend", place) or base.text(run, "endpoint_type", place) or ""
    model, tokenizer = base.text(run, "model_id", place) or "", base.text(run, "tokenizer_id", place) or ""
    serving: dict[str, Any] = {"arrivals": arrivals, "model": model, "tokenizer": tokenizer}
    if client:
        serving["client"] = client
    stated = {"serving.model", "engine.model", "serving.tokenizer", "serving.load", "serving.arrivals.process", "serving.arrivals.cv"}
    if prompts := base.whole(run, "num_prompts", place):
        arrivals["requests"] = prompts
        stated.add("serving.arrivals.requests")
    if backend in BACKENDS or backend.startswith("openai"):
        stated.add("engine.backend")
    if backend in TASKS:
        serving["task"] = TASKS[backend]
        stated.add("serving.task")
    return base.Load(
        file=file,
        kind=kind,
        load=load,
        serving=serving,
        backend=BACKENDS.get(backend, "openai"),
        stated=frozenset(stated),
        rows=partial(rows, run, place) if detailed else None,
        times="whole" if timed else "none",
        duration_s=base.number(run, "duration", place),
        reported=tuple(reported_of(run)),
        missing=_missing(run, detailed=detailed, timed=timed),
        doubts=_doubts(run, place, detailed),
    )


# ---- settings --------------------------------------------------------------------------------------------------------


def arrivals_of(run: Mapping[str, Any], place: Place) -> tuple[Any, float | None, dict[str, Any], dict[str, Any]]:
    """(kind, load, keys of [serving.arrivals], keys of [serving.client]) of a run."""
    cap = base.whole(run, "max_concurrency", place)
    if cap == 0:
        raise place.at("max_concurrency").wrong(0, "at least 1, or null")
    if run.get("ramp_up_strategy") is not None:
        return "", None, _ramp(run, place), {"connections": cap} if cap else {}
    if run.get("request_rate") == "inf":  # older versions write Infinity, which json.loads returns as a float
        return _at_once(run, place, cap)
    rate = run.get("request_rate")
    if isinstance(rate, float) and rate == float("inf"):
        return _at_once(run, place, cap)
    rate = base.number(run, "request_rate", place, most=1e7)
    if not rate:
        raise place.at("request_rate").wrong(run.get("request_rate"), 'a rate above 0, or "inf"')
    burstiness = base.number(run, "burstiness", place, least=1e-4, most=1e6) or 1.0
    process = {"process": "poisson"} if burstiness == 1.0 else {"process": "gamma", "cv": round(burstiness**-0.5, 9)}
    return "rate", rate, process, {"connections": cap} if cap else {}


def _at_once(run: Mapping[str, Any], place: Place, cap: int | None) -> tuple[Any, float | None, dict[str, Any], dict[str, Any]]:
    if cap:
        return "concurrency", float(cap), {"process": "closed"}, {}
    requests = base.whole(run, "num_prompts", place) or base.whole(run, "completed", place)
    if not requests:
        raise place.at("num_prompts").wrong(run.get("num_prompts"), "a whole number of at least 1")
    return "", None, {"process": "offline", "requests": requests}, {}


def _ramp(run: Mapping[str, Any], place: Place) -> dict[str, Any]:
    strategy = run["ramp_up_strategy"]
    if strategy != "linear":
        raise place.at("ramp_up_strategy").wrong(strategy, '"linear": other ramps have no counterpart among serving.arrivals.stages')
    begin, end = base.number(run, "ramp_up_start_rps", place, most=1e7), base.number(run, "ramp_up_end_rps", place, most=1e7)
    duration = base.number(run, "duration", place)
    if begin is None or end is None or not duration:
        raise place.at("ramp_up_start_rps").wrong(Words("a ramp without its begin, end or duration"), "all three")
    return {"process": "stages", "duration_s": duration, "stages": [{"duration_s": duration, "rate": begin, "rate_to": end}]}


# ---- the requests ----------------------------------------------------------------------------------------------------


def rows(run: Mapping[str, Any], place: Place) -> Iterator[base.RequestRow]:
    """The requests, from parallel lists."""
    columns = {name: run[name] for name in COLUMNS if isinstance(run.get(name), Spool)}
    base.lengths_agree({name: len(column) for name, column in columns.items()}, place)
    iterators = {name: iter(column) for name, column in columns.items()}
    for index in range(len(run["input_lens"])):
        cells = {name: next(column) for name, column in iterators.items()}
        line = next(iter(cells.values()))[0]
        yield _row({name: value for name, (_, value) in cells.items()}, _Cells(place.file, line, index))


class _Cells(Place):
    """A request's place: its keys are columns, indexed by its number."""

    __slots__ = ("index",)

    def __init__(self, file: str, line: int, index: int) -> None:
        super().__init__(file, line)
        object.__setattr__(self, "index", index)

    def at(self, key: str | int) -> Place:
        """ "ttfts[3]"."""
        return Place(self.file, self.line, f"{key}[{self.index}]")  # type: ignore[attr-defined]


def _row(cells: Mapping[str, Any], place: Place) -> base.RequestRow:
    error = base.text(cells, "errors", place)
    ttft, gaps = base.nanoseconds(cells, "ttfts", place), _gaps(cells, place)
    tokens_out = base.whole(cells, "output_lens", place)
    timeless = "ttfts" not in cells  # as for embeddings and scores
    failed = error is not None or (not timeless and not ttft and not gaps and not tokens_out)
    start = base.number(cells, "start_times", place, most=LATEST_S)
    known = not failed and bool(ttft)
    chunks = tuple(accumulate((ttft or 0, *gaps))) if known else ()
    last = chunks[-1] if chunks else None
    return base.RequestRow(
        status=base.failure(error) if failed else "ok",
        error=error,
        sent_ns=None if start is None else round(start * NS_PER_S),
        first_ns=ttft if known else None,
        last_ns=last,
        done_ns=last,
        chunks_ns=chunks,
        tokens_in=base.whole(cells, "input_lens", place),
        tokens_out=None if failed else tokens_out,
        text=None if failed else base.answer(cells, "generated_texts", place),
    )


def _gaps(cells: Mapping[str, Any], place: Place) -> list[int]:
    gaps_ns = []
    inner = place.at("itls")
    for index, gap in enumerate(base.listed(cells, "itls", place)):
        gap_ns = base.nanoseconds({str(index): gap}, str(index), inner)
        if gap_ns is None:
            raise inner.at(index).wrong(gap, "a number of seconds")
        gaps_ns.append(gap_ns)
    return gaps_ns


# ---- reported and missing values -------------------------------------------------------------------------------------


def reported_of(run: Mapping[str, Any]) -> Iterator[base.Reported]:
    yield from base.reported(run, "completed", "answered requests", "count")
    yield from base.reported(run, "failed", "failed requests", "count")
    yield from base.reported(run, "request_throughput", "requests per second, ramp and end included", "1/s", "request_throughput")
    yield from base.reported(run, "output_throughput", "output tokens per second, ramp and end included", "1/s", "output_throughput")
    yield from base.reported(run, "request_goodput", "goodput", "1/s", "goodput")
    yield from base.reported(run, "max_output_tokens_per_s", "most chunks in a second (called output tokens)", "1/s")
    for key in run:
        if match := STATISTIC.fullmatch(key):
            ours, same = OURS.get(f"{match[1]}_{match[2]}", ("", False))
            yield from base.reported(run, key, f"{match[1]} {WORDS[match[2]]}", "ms", ours, same)


def _missing(run: Mapping[str, Any], *, detailed: bool, timed: bool) -> tuple[str, ...]:
    missing = []
    if not detailed:
        missing.append("the requests: it holds totals only; run vllm bench serve with --save-detailed to include them")
    elif not timed:
        missing.append("when each request was sent (start_times), so that no rate over a measured window can be computed")
    if run.get("num_warmups") is None:
        missing.append("whether the engine was warmed up (--num-warmups)")
    return tuple(missing)


def _doubts(run: Mapping[str, Any], place: Place, detailed: bool) -> tuple[str, ...]:
    """Contradictions between lists and totals."""
    completed, failed = base.whole(run, "completed", place), base.whole(run, "failed", place)
    if not detailed or completed is None or failed is None:
        return ()
    requests = len(run["input_lens"])
    if completed + failed == requests:
        return ()
    return (f"it reports {completed:,} answered and {failed:,} failed requests, but lists {requests:,}",)


FOREIGN = base.Foreign(
    name="vllm",
    title=TITLE,
    files="the JSON of --save-result or --append-result, with the requests if --save-detailed was given",
    clock="sent",
    meanings={
        "first_token": "the first message with choices, text in it or not: an empty role chunk counts",
        "end": "the last message with choices",
        "tokens": "the server's usage, else the tokenizer, else 1; which of them is not said",
        "connection": "kept alive; a new one is set up inside of the latency",
        "stamps": "monotonic, after the event loop has handed the chunk on",
        "left_out": "nothing: failed requests are listed, without times",
    },
    missing=(
        "the environment: machine, accelerator, driver, and version and flags of the engine",
        "when each request was due: no latency includes waiting in the client for --max-concurrency",
        "the data set, and the requested lengths",
        "the sampling parameters, and whether answers were forced to their length",
        "its own version",
    ),
    recognises=recognises,
    read=read,
)
