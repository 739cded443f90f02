"""What did `sglang.bench_serving` measure?  From the lines of its --output-file; with --output-details, requests too.

One object per run and line, whose requests are in the parallel lists of vLLM's client, from which it descends: input_lens, output_lens,
ttfts, itls, errors and generated_texts.  A latency of 0 is one that was not measured (an answer that was not streamed).
(python/sglang/bench_serving.py of sgl-project/sglang, versions 0.4 and 0.5.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Final

from fireassay.importers.support import base
from fireassay.importers.support.documents import Place, Spool, documents
from fireassay.importers.vllm import COLUMNS, arrivals_of, reported_of, rows

TASKS: Final = {"sglang-oai-chat": "chat", "vllm-chat": "chat", "sglang-oai": "completions", "vllm": "completions"}
ENDS: Final = (("mean", ""), ("median", "e2e_p50"), ("p95", "e2e_p95"), ("p99", "e2e_p99"))


def recognises(_: str, beginning: str) -> bool:
    """True if it begins with the keys of sglang's totals."""
    return all(f'"{key}"' in beginning for key in ("backend", "random_range_ratio", "total_output_tokens_retokenized"))


def read(path: Path, stack: ExitStack) -> Sequence[base.Load]:
    """The runs in a file."""
    spooled = [(column,) for column in COLUMNS]
    return [_load(path.name, base.mapping(run, place), place) for place, run in documents(path, spooled, stack)]


def _load(file: str, run: Mapping[str, Any], place: Place) -> base.Load:
    kind, load, arrivals, client = arrivals_of(run, place)
    backend = base.text(run, "backend", place) or ""
    detailed = isinstance(run.get("input_lens"), Spool) and isinstance(run.get("ttfts"), Spool)
    stated = {"serving.load", "serving.arrivals.process", "serving.arrivals.cv"}
    serving: dict[str, Any] = {"arrivals": arrivals, **({"client": client} if client else {})}
    if backend in TASKS:
        serving["task"] = TASKS[backend]
        stated.add("serving.task")
    if engine := "sglang" if backend.startswith("sglang") else "vllm" if backend.startswith("vllm") else "":
        stated.add("engine.backend")
    return base.Load(
        file=file,
        kind=kind,
        load=load,
        serving=serving,
        backend=engine or "openai",
        stated=frozenset(stated),
        rows=partial(rows, run, place) if detailed else None,
        duration_s=base.number(run, "duration", place),
        reported=(*reported_of(run), *_ends(run)),
        missing=_missing(detailed),
        doubts=tuple(_doubts(run)),
    )


def _ends(run: Mapping[str, Any]) -> Iterator[base.Reported]:
    for statistic, near in ENDS:
        yield from base.reported(run, f"{statistic}_e2e_latency_ms", f"{statistic} end to end", "ms", near)


def _missing(detailed: bool) -> tuple[str, ...]:
    if not detailed:
        return ("the requests: it holds totals only; run sglang.bench_serving with --output-details to include them",)
    return ("when each request was sent, so that no rate over a measured window can be computed",)


def _doubts(run: Mapping[str, Any]) -> Iterator[str]:
    if run.get("mean_ttft_ms") == 0.0 and run.get("completed"):
        yield "it reports a TTFT of 0, which is none: answers were not streamed, or arrived whole"


FOREIGN = base.Foreign(
    name="sglang",
    title="sglang.bench_serving",
    files="the lines of --output-file, with the requests if --output-details was given",
    clock="sent",
    meanings={
        "first_token": "the first message with text",
        "end": "the last message with text",
        "tokens": "the lengths that were asked for, or the server's count; which of them is not said",
        "connection": "kept alive or not is not said",
        "stamps": "monotonic, after the line was read",
        "left_out": "failed requests, of the totals",
    },
    missing=(
        "the environment: machine, accelerator, driver, and version and flags of the engine",
        "the model and its tokenizer",
        "when each request was due: no latency includes waiting in the client for --max-concurrency",
        "the sampling parameters, and whether answers were forced to their length",
    ),
    recognises=recognises,
    read=read,
)
