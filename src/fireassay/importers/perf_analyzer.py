"""What did Triton's perf_analyzer measure?  From --profile-export-file, with the requests, or from the CSV of -f, totals only.

The export holds an experiment per load, and of every request the time of day it was sent and of each response, in nanoseconds.  Of an OpenAI
endpoint a response is the text of an event: the first token is the first that carries text. The CSV has a line per load, in microseconds.
(src/profile_data_exporter.cc, report_writer.cc and docs/measurements_metrics.md of triton-inference-server/perf_analyzer at commit 263c5f6.)
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Final

from fireassay.errors import SpecError
from fireassay.importers.support import base
from fireassay.importers.support.documents import EVERY, Place, Spool, Words, documents, head, lines, loads
from fireassay.units import NS_PER_S

LEVELS: Final = {"Concurrency": "concurrency", "Request Rate": "request_rate"}
LATEST_NS: Final = 2**62
TASKS: Final = {"v1/chat/completions": "chat", "v1/completions": "completions", "v1/embeddings": "embeddings"}
MAX_LOADS: Final = 10_000
COLUMNS: Final = {  # column of the CSV -> our words, unit, nearest metric
    "Inferences/Second": ("inferences per second", "1/s", ""),
    "Response Throughput": ("responses per second", "1/s", ""),
    "Avg latency": ("mean end to end", "us", ""),
    **{f"p{q} latency": (f"p{q} end to end", "us", f"e2e_p{q}" if q in (50, 95, 99) else "") for q in (25, 50, 75, 90, 95, 99)},
    "Server Queue": ("mean time in the server's queue", "us", ""),
    "Server Compute Infer": ("mean time of inference in the server", "us", ""),
}


def recognises(_: str, beginning: str) -> bool:
    """True if it begins with an export's first experiment, or with the CSV's columns."""
    export = all(f'"{key}"' in beginning for key in ("experiments", "experiment", "mode")) and '"value"' in beginning
    return export or _is_table(beginning)


def _is_table(beginning: str) -> bool:
    return beginning.startswith(tuple(f"{level},Inferences/Second," for level in LEVELS))


def chosen(paths: Sequence[Path]) -> Sequence[Path]:
    """The exports, where there are both."""
    return [path for path in paths if path.suffix != ".csv"] or paths


def read(path: Path, stack: ExitStack) -> Sequence[base.Load]:
    """The loads in a file."""
    if _is_table(head(path)):
        return [_total(path.name, row, place) for place, row in _table(path)]
    found: list[base.Load] = []
    for place, document in documents(path, [("experiments", EVERY, "requests")], stack):
        export = base.mapping(document, place)
        for index, experiment in enumerate(base.listed(export, "experiments", place)):
            found.append(_experiment(path.name, base.mapping(experiment, place), export, place.at("experiments").at(index)))
    return found


# ---- loads -----------------------------------------------------------------------------------------------------------


def _arrivals(mode: str, value: float, file: str, place: Place) -> tuple[Any, float | None, dict[str, Any], frozenset[str]]:
    """(kind, load, keys of [serving.arrivals], known conditions); a rate of 0: of its own intervals."""
    if mode == "concurrency":
        if value < 1 or value != int(value):
            raise place.wrong(value, "requests in flight, at least 1")
        return "concurrency", value, {"process": "closed"}, frozenset({"serving.load", "serving.arrivals.process", "serving.arrivals.cv"})
    if value:
        return "rate", value, {"process": "constant"}, frozenset({"serving.load"})  # constant or Poisson: not said
    return "", None, {"process": "trace", "trace": file}, frozenset()


def _experiment(file: str, experiment: Mapping[str, Any], export: Mapping[str, Any], place: Place) -> base.Load:
    setting, at = base.mapping(experiment.get("experiment"), place.at("experiment")), place.at("experiment")
    mode, value = str(setting.get("mode")), base.number(setting, "value", at, most=1e7)
    if mode not in LEVELS.values() or value is None:
        raise at.at("mode").wrong(setting.get("mode"), f"{' or '.join(LEVELS.values())}, with a value")
    kind, load, arrivals, stated = _arrivals(mode, value, file, at.at("value"))
    requests = experiment.get("requests")
    if not isinstance(requests, Spool) or not len(requests):
        raise place.at("requests").wrong(Words("no requests"), "at least one")
    task = TASKS.get(str(export.get("endpoint", "")).strip("/"))
    return base.Load(
        file=file,
        kind=kind,
        load=load,
        serving={"arrivals": arrivals, **({"task": task} if task else {})},
        stated=stated | ({"serving.task"} if task else set()),
        rows=partial(_rows, file, requests, place),
        times="whole",
        begin_utc=base.time_of_day(_stamp(next(iter(requests))[1], place.at("requests").at(0)) / NS_PER_S),
        missing=() if kind else ("the requested load, so it counts as a trace",),
        version=base.text(export, "version", place, 40) or "",
    )


# ---- the requests ----------------------------------------------------------------------------------------------------


def _rows(file: str, requests: Spool, place: Place) -> Iterator[base.RequestRow]:
    for index, (line, request) in enumerate(requests):
        at = Place(file, line, f"{place.path}.requests[{index}]")
        yield _row(base.mapping(request, at), at)


def _stamp(request: Any, place: Place, key: str = "timestamp") -> int:
    value = base.mapping(request, place).get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < LATEST_NS:
        raise place.at(key).wrong(value, "a time of day in nanoseconds")
    return value


def _row(request: Mapping[str, Any], place: Place) -> base.RequestRow:
    sent = _stamp(request, place)
    at = place.at("response_timestamps")
    times = [
        _stamp({"time": time}, at.at(index), "time") - sent
        for index, time in enumerate(base.listed(request, at.path.rpartition(".")[2], place))
    ]
    if times != sorted(times) or (times and times[0] < 0):
        raise at.wrong(Words("times that run backwards"), "times of responses in their order, after the request's")
    if not times:
        return base.RequestRow(sent_ns=sent, status="error", error="no response")
    events = [_event(output, place) for output in base.listed(request, "response_outputs", place)]
    if error := base.first(str(event.get("error") or "") for event in events):
        words = base.clean(error)
        return base.RequestRow(sent_ns=sent, status=base.failure(words), error=words, done_ns=times[-1])
    with_text = [time for time, event in zip(times, events, strict=False) if _has_text(event)] if any(events) else times
    usage: Mapping[str, Any] = next((base.inner(event, "usage") for event in reversed(events) if event.get("usage")), {})
    return base.RequestRow(
        sent_ns=sent,
        first_ns=with_text[0] if with_text else None,
        last_ns=with_text[-1] if with_text else None,
        done_ns=times[-1],
        chunks_ns=tuple(with_text),
        tokens_in=base.whole(usage, "prompt_tokens", place),
        tokens_out=base.whole(usage, "completion_tokens", place),
    )


def _event(output: Any, place: Place) -> Mapping[str, Any]:
    """The first event of an OpenAI response; empty for tensors, and for the end of a stream."""
    response = base.inner(output).get("response")
    if not isinstance(response, str):
        return {}
    text = response.strip().partition("\n\n")[0].removeprefix("data:").strip()
    try:
        return base.inner(loads(text, place)) if text not in ("", "[DONE]") else {"choices": []}
    except SpecError:  # a part of an event: the transport cut it
        return {"text": text}


def _has_text(event: Mapping[str, Any]) -> bool:
    choices = event.get("choices")
    choice = base.inner(choices[0]) if isinstance(choices, list) and choices else event
    delta = base.inner(choice, "delta") or base.inner(choice, "message")
    return any(delta.get(key) for key in ("content", "reasoning_content", "reasoning", "tool_calls")) or bool(choice.get("text"))


# ---- the CSV ---------------------------------------------------------------------------------------------------------


def _table(path: Path) -> Iterator[tuple[Place, Mapping[str, str]]]:
    rows = list(lines(path))
    if len(rows) > MAX_LOADS:
        raise Place(path.name).wrong(Words(f"{len(rows):,} lines"), f"at most {MAX_LOADS:,}: one for each load")
    names = next(csv.reader([rows[0][1].strip()]))
    for place, line in rows[1:]:
        cells = next(csv.reader([line.strip()]))
        if len(cells) < len(names):
            raise place.wrong(
                Words(f"{len(cells)} columns"), f"{len(names)}, as in its first line", "The file is cut off, or two are joined."
            )
        yield place, dict(zip(names, cells, strict=False))


def _total(file: str, row: Mapping[str, str], place: Place) -> base.Load:
    values = {name: _number(cell) for name, cell in row.items()}
    level = next(name for name in LEVELS if name in row)
    value = values[level]
    if not base.is_number(value) or not 0 <= value <= 1e7:
        raise place.at(level).wrong(row[level], "a number of at least 0")
    kind, load, arrivals, stated = _arrivals(LEVELS[level], value, file, place.at(level))
    if not base.is_number(values.get("Inferences/Second")):
        raise place.at("Inferences/Second").wrong(row.get("Inferences/Second"), "a number")
    return base.Load(
        file=file,
        kind=kind,
        load=load,
        serving={"arrivals": arrivals},
        stated=stated,
        reported=tuple(told for key, (name, unit, ours) in COLUMNS.items() for told in base.reported(values, key, name, unit, ours)),
        missing=("the requests: it holds totals only, as told by the tool; run perf_analyzer with --profile-export-file FILE",),
    )


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


FOREIGN = base.Foreign(
    name="perf_analyzer",
    title="perf_analyzer",
    files="the JSON of --profile-export-file (GenAI-Perf's profile_export.json), or the CSV of -f",
    clock="sent",
    meanings={
        "first_token": "the first response, of an OpenAI endpoint the first with text",
        "end": "the last response, of an OpenAI endpoint the last with text",
        "tokens": "the server's usage, where the responses hold it",
        "connection": "kept alive or not is not said",
        "stamps": "the wall clock, when the client's library hands a response on",
        "left_out": "requests outside of its measured windows may be missing; the CSV has no failed ones",
    },
    missing=(
        "the environment: machine, accelerator, driver, and version and flags of the engine",
        "the model and the batch size",
        "when each request was due",
    ),
    recognises=recognises,
    read=read,
    chosen=chosen,
)
