"""What did InferenceX (formerly InferenceMAX) publish of a load?  From agg_*.json: one result, or the list of a sweep.

Each result is one run of its fork of vLLM's client at one concurrency. Latencies are in seconds, rates per GPU, and "interactivity" is one
over a statistic of the time per token: its p99 is that of the slowest requests.  (utils/process_result.py and collect_results.py of
SemiAnalysisAI/InferenceX at commit 843c625.)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from fireassay.importers.support import base
from fireassay.importers.support.documents import Place, Spool, Words, documents

BACKENDS: Final = ("vllm", "sglang")
# what identifies a result; the rest are numbers
CONDITIONS: Final = re.compile(
    r"hw|image|framework|precision|spec_decoding|disagg|is_multinode|recipe_fingerprint|kv_p2p_transfer|tp|ep|pp|dp_attention|d?cp_size|pcp_size"
    r"|(?:prefill|decode)_(?:hw|tp|ep|pp|dcp_size|pcp_size|dp_attention|num_workers)|num_(?:prefill|decode)_gpu"
)
LATENCY: Final = re.compile(r"(mean|median|p[\d.]+)_(ttft|tpot|itl|e2el|intvty)")
TITLES: Final = {"ttft": "TTFT", "tpot": "TPOT", "itl": "ITL", "e2el": "end to end"}
NEAR: Final = {"ttft": "ttft", "tpot": "tpot", "itl": "itl", "e2el": "e2e"}
QUANTILES: Final = {"median": "p50", "p50": "p50", "p95": "p95", "p99": "p99"}
PER_GPU: Final = {  # key -> what is counted, and per which GPU if several nodes serve
    "tput_per_gpu": ("tokens in and out", "GPU"),
    "output_tput_per_gpu": ("output tokens", "decoding GPU (any GPU if none only decodes)"),
    "input_tput_per_gpu": ("input tokens", "prefilling GPU"),
}
ENERGY: Final = ("joules_per_successful_query", "joules_per_input_token", "joules_per_output_token", "joules_per_total_token")


def recognises(_: str, beginning: str) -> bool:
    """True if it begins with the keys of its results."""
    return all(f'"{key}"' in beginning for key in ("hw", "conc", "precision", "tput_per_gpu"))


def read(path: Path, stack: ExitStack) -> Sequence[base.Load]:
    """The results in a file."""
    return [_load(path.name, base.mapping(result, place), place) for place, result in _results(path, stack)]


def _results(path: Path, stack: ExitStack) -> Iterator[tuple[Place, Any]]:
    for place, document in documents(path, [()], stack):
        if isinstance(document, Spool):
            yield from ((Place(place.file, line, f"[{index}]"), result) for index, (line, result) in enumerate(document))
        else:
            yield place, document


def _load(file: str, result: Mapping[str, Any], place: Place) -> base.Load:
    load = base.whole(result, "conc", place)
    if not load:
        raise place.at("conc").wrong(result.get("conc"), "requests in flight, at least 1")
    if "tput_per_gpu" not in result:
        raise place.at("tput_per_gpu").wrong(Words("nothing"), "tokens per second and GPU, as of a load of fixed lengths")
    lengths = [base.whole(result, key, place) for key in ("isl", "osl")]
    model, framework = base.text(result, "model", place) or "", base.text(result, "framework", place) or ""
    stated = {"serving.load", "serving.arrivals.process", "serving.arrivals.cv", "engine.backend"}
    stated |= {"serving.model", "engine.model"} if model else set()
    return base.Load(
        file=file,
        kind="concurrency",
        load=float(load),
        serving={"arrivals": {"process": "closed"}, "model": model},
        backend=next((name for name in BACKENDS if name in framework), "openai"),
        conditions={**_conditions(result), **{key: value for key, value in zip(("isl", "osl"), lengths, strict=True) if value is not None}},
        stated=frozenset(stated),
        reported=tuple(_reported(result)),
        missing=_missing(result),
    )


def _conditions(result: Mapping[str, Any]) -> dict[str, str | int | float | bool]:
    known = {key: value for key, value in result.items() if CONDITIONS.fullmatch(key)}
    return {key: base.clean(str(value), 200) if isinstance(value, str) else value for key, value in known.items() if _plain(value)}


def _plain(value: object) -> bool:
    return bool(value) if isinstance(value, str) else isinstance(value, bool) or base.is_number(value)


def _reported(result: Mapping[str, Any]) -> Iterator[base.Reported]:
    split = result.get("is_multinode") is True
    for key, (what, gpu) in PER_GPU.items():
        yield from base.reported(result, key, f"{what} per second and {gpu if split else 'GPU'}", "1/s")
    for key in result:
        if match := LATENCY.fullmatch(key):
            statistic, what = match.groups()
            if what == "intvty":
                yield from base.reported(result, key, f"interactivity (1 / {statistic} TPOT)", "1/s")
            else:
                near = f"{NEAR[what]}_{QUANTILES[statistic]}" if statistic in QUANTILES else ""
                yield from base.reported(result, key, f"{statistic} {TITLES[what]}", "s", near)
    for key in ENERGY if result.get("power_valid") == 1 else ():
        yield from base.reported(result, key, key.replace("_", " "), "J")


def _missing(result: Mapping[str, Any]) -> tuple[str, ...]:
    return () if result.get("power_valid") == 1 else ("a valid measurement of power",)


FOREIGN = base.Foreign(
    name="inferencex",
    title="InferenceX",
    files="agg_*.json, of one result or of a sweep",
    clock="sent",
    meanings={
        "first_token": "the first message with choices, text in it or not",
        "end": "the last message with choices",
        "tokens": "the server's usage, else the tokenizer",
        "connection": "a new one for each request, set up inside of the latency",
        "stamps": "monotonic, after the event loop has handed the chunk on",
        "left_out": "failed requests; their number is not said",
    },
    missing=(
        "the requests: it holds totals only, as told by the tool",
        "the number of requests, how many failed, and how long the run lasted",
        "the environment: driver, host, and flags of the engine; the type of GPU is the name of a runner",
        "when each request was due",
        "the sampling parameters; lengths are those asked for, without their spread",
    ),
    recognises=recognises,
    read=read,
)
