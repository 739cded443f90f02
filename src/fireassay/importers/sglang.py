"""What did `sglang.bench_serving` measure?  From the lines of its --output-file; with --output-details, requests too.

One object per run and line, whose requests are in the parallel lists of vLLM's client, from which it descends: input_lens, output_lens,
ttfts, itls, errors and generated_texts.  A latency of 0 is one that was not measured (an answer that was not streamed).
(python/sglang/bench_serving.py of sgl-project/sglang, versions 0.2.15 to 0.5.23; later benchmark/serving.py.)
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
    return all(f'"{key}"' in beginning for key in ("backend", "dataset_name", "random_range_ratio"))


def read(path: Path, stack: ExitStack) -> Sequence[base.Load]:
    """The runs in a file."""
    spooled = [(column,) for column in COLUMNS]
    return [_load(path.name, base.mapping(run, place), place) for place, run in documents(path, spooled, stack)]


def _load(file: str, run: Mapping[str, Any], place: Place) -> base.Load:
    traced = run.get("request_rate") == "trace"  # --use-trace-timestamps
    replayed: tuple[Any, float | None, dict[str, Any], dict[str, Any]] = ("", None, {"process": "trace", "trace": file}, {})
    kind, load, arrivals, client = replayed if traced else arrivals_of(run, place)
    backend = base.text(run, "backend", place) or ""
    detailed = isinstance(run.get("input_lens"), Spool) and isinstance(run.get("ttfts"), Spool)
    server = base.inner(run, "server_info")  # since 0.5.6; of it only the names are taken: it may hold keys
    names = {key: base.text(server, f"{key}_path", place) or "" for key in ("model", "tokenizer")}
    stated = {"serving.arrivals.process"} if traced else {"serving.load", "serving.arrivals.process", "serving.arrivals.cv"}
    stated |= {"serving.model", "engine.model", "serving.tokenizer"} if all(names.values()) else set()
    serving: dict[str, Any] = {"arrivals": arrivals, **names, **({"client": client} if client else {})}
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
        missing=_missing(detailed, named=all(names.values())),
        doubts=tuple(_doubts(run)),
    )


def _ends(run: Mapping[str, Any]) -> Iterator[base.Reported]:
    for statistic, near in ENDS:
        yield from base.reported(run, f"{statistic}_e2e_latency_ms", f"{statistic} end to end", "ms", near)


def _missing(detailed: bool, *, named: bool) -> tuple[str, ...]:
    unnamed = () if named else ("the model and its tokenizer",)
    if not detailed:
        return (*unnamed, "the requests: it holds totals only; run sglang.bench_serving with --output-details to include them")
    return (*unnamed, "when each request was sent, so that no rate over a measured window can be computed")


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
        "when each request was due: no latency includes waiting in the client for --max-concurrency",
        "the sampling parameters, and whether answers were forced to their length",
    ),
    recognises=recognises,
    read=read,
)
