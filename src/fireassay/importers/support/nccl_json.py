"""What does the JSON of nccl-tests (`-J FILE`) contain?"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from fireassay.importers.support import nccl_runs
from fireassay.importers.support.documents import Place, Words
from fireassay.importers.support.nccl_runs import PLACES, Line, Run, kind_of, line_of, number_of, program_of, runs_of, whole
from fireassay.record.secrets.redact import redact_arguments, redact_environment

KEPT: Final = ("version", "start_time", "end_time", "out_of_bounds", "average_bus_bandwidth", "errors")
RANKS: Final = {0: "rank 0", 1: "mean of ranks", 2: "fastest", 3: "slowest"}


def runs_in_json(text: str, path: Path, place: Place) -> tuple[Run, ...]:
    try:
        document = json.loads(text)
    except ValueError as error:
        fix = "A run that ended early leaves it unfinished."
        raise place.wrong(Words(f"not JSON ({error})"), "a file that nccl-tests writes with -J", fix) from None
    config, results = document.get("config"), document.get("results")
    if not isinstance(config, dict) or not isinstance(results, list) or not results:
        raise place.wrong(Words("no results"), "a run with at least one size")
    for number, item in enumerate(results):
        if not isinstance(item, dict):
            raise place.at("results").at(number).wrong(item, "an object with size, type and times")
    arguments = [str(item) for item in _list(document.get("args"))]
    devices = [item for item in _list(config.get("devices")) if isinstance(item, dict)]
    group = [item for item in devices if item.get("group") == devices[0].get("group")]
    ranks_per_process = max(1, whole(config.get("nthreads", 1))) * max(1, whole(config.get("ngpus", 1)))
    rows = [
        (kind_of(item.get("type"), item.get("redop"), item.get("root")), line)
        for number, item in enumerate(results)
        for line in _lines_of(item, place.at("results").at(number))
    ]
    average = _option(arguments, "-a", "--average")
    kept = {
        **{name: document.get(name) for name in KEPT},
        "config": config,
        "results": results,
        "args": redact_arguments(arguments),
        "env": _variables(document.get("env")),
    }
    return runs_of(
        path,
        place,
        rows,
        program=program_of(" ".join(arguments[:1]) or path.name, path, place),
        ranks=max(1, len(group)) * ranks_per_process,
        seconds=_duration(document.get("start_time"), document.get("end_time")),
        aggregation=RANKS.get(whole(average) if average is not None else 1, "not said"),
        version=str(document.get("nccl_version") or ""),
        kept=kept,
    )


def _lines_of(result: Mapping[str, Any], place: Place) -> Iterator[Line]:
    size = number_of(result.get("size"))
    if not size:
        return  # sizes below one element per rank send nothing
    for key in PLACES:
        part = result.get(key)
        if part is None:
            continue
        if not isinstance(part, dict):
            raise place.at(key).wrong(part, "an object with time, alg_bw and bus_bw")
        if "cpu_time" in part:
            raise nccl_runs.processor_times(place.at(key))
        values = (part.get(name) for name in ("time", "alg_bw", "bus_bw", "nwrong"))
        yield line_of(int(size), *values, in_place=key == "in_place", place=place.at(key).at("time"))


def _option(arguments: Sequence[str], *names: str) -> str | None:
    for index, word in enumerate(arguments[:-1]):
        if word in names:
            return arguments[index + 1]
    return next((word.partition("=")[2] for word in arguments if word.partition("=")[0] in names and "=" in word), None)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _duration(begin: Any, end: Any) -> float | None:
    try:
        form = "%Y-%m-%d %H:%M:%S"
        return (datetime.strptime(str(end), form) - datetime.strptime(str(begin), form)).total_seconds()
    except ValueError:
        return None


def _variables(pairs: Any) -> dict[str, str]:
    """NCCL's variables only; others may hold secrets."""
    variables = dict(str(pair).partition("=")[::2] for pair in _list(pairs))
    return redact_environment({name: value for name, value in variables.items() if name.startswith(("NCCL_", "CUDA_VISIBLE"))})
