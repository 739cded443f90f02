"""How do results of other load generators become sealed records?

A file (or a folder of one tool's files) -> the tool's reader -> loads -> one record per set of equal settings: each of its loads and
scenarios is a configuration, and a repeated load is a further launch.  Rows are streamed.
Nothing is invented: missing values are null in the tables, and their conditions are listed as `unsaid` in the manifest.  Without wall-clock
times, `scheduled_ns` holds the requests' numbers, and the manifest says times = none.  An invalid file leaves no record behind.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from difflib import SequenceMatcher
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from fireassay import catalog
from fireassay.clock import Clock
from fireassay.errors import RecordError, SpecError, refuse
from fireassay.importers import mllog, nccl_tests, osu
from fireassay.importers.support.base import UNSAID, Foreign, Imported, Load, RequestRow, first, new_record, record_name
from fireassay.importers.support.documents import Place, Words, head, open_end, opened, refuse_links
from fireassay.importers.support.printed import printed
from fireassay.record import files
from fireassay.record.batch_writer import BatchWriter
from fireassay.record.declared import REQUESTS
from fireassay.record.folder import RecordFolder, check_written, launch_row, table_row, write_event, write_launch
from fireassay.record.mllog import EVENT, kept
from fireassay.record.streams import to_batch
from fireassay.record.writer import ROWS_PER_BATCH
from fireassay.spec.experiment import Experiment
from fireassay.spec.plan import Configuration, PlannedLaunch, configurations, plan
from fireassay.units import NS_PER_S

PACKAGE: Final = "importers"
OTHER_PACKAGES: Final = ("importers.harnesses", "importers.timings", "importers.profiles")
OTHERS: Final = (nccl_tests, osu, mllog)  # tools whose results are no loads: NAME, TITLE, recognises, import_runs
NOWHERE: Final = "http://unsaid.invalid"  # RFC 2606: never resolves
# Conditions of a load that a foreign file may leave unknown; those in `Load.stated` are removed.
# fmt: off
OPEN: Final = (
    "serving.task", "serving.model", "serving.tokenizer", "serving.scenarios", "serving.load", "serving.arrivals.process",
    "serving.arrivals.cv", "serving.arrivals.requests", "serving.arrivals.duration_s", "serving.arrivals.warm_up_s",
    "serving.arrivals.cold", "serving.arrivals.drain_s", "serving.prompts", "serving.stream", "serving.temperature",
    "serving.ignore_eos", "serving.client", "engine.backend", "engine.model", "engine.command", "engine.router", "engine.environment",
    "engine.options", "engine.replicas", "engine.balance", "engine.headers", "engine.restart",
)
# fmt: on


def import_results(
    path: Path, root: Path, *, clock: Clock, tool: str = "", name: str = "", on_progress: Callable[[int, int], None] | None = None
) -> tuple[Imported, ...]:
    """Import a file or folder of another load generator as sealed records below `root`.

    Args:
        path: the file, or a folder of files.
        root: parent of the records.
        clock: for the records' dates.
        tool: the tool that wrote the file; "": recognised from it.
        name: of the records; "": from the tool and the file.
        on_progress: called with the files read and the records written so far, and all of them.

    Raises:
        SpecError: no known tool writes such a file, or the file is invalid; with field and line. Nothing is left behind.
        EnvironmentLacks: no such tool.
        RecordError: a record cannot be written.
    """
    refuse_links(path)
    for other in OTHERS:
        if runs := _runs_of(other, path, tool):
            return tuple(other.import_runs(runs, root, clock=clock, name=name))
    foreign, chosen = _chosen(path, tool)
    refuse_links(path, (file for one in chosen for file in foreign.beside(one)))
    with ExitStack() as stack:
        loads: list[Load] = []
        for number, file in enumerate(chosen, start=1):
            loads += foreign.read(file, stack)
            if on_progress is not None:
                on_progress(number, 2 * len(chosen))  # records are at most as many, and are counted below
        if not loads:
            raise Place(path.name).wrong(Words("no results"), f"at least one run of {foreign.title}")
        groups = _groups(loads)
        digests = _digests(foreign, chosen)
        imported = []
        for index, group in enumerate(groups):
            experiment = _experiment(group, _name(name, foreign, path, index, len(groups)))
            record = stack.enter_context(new_record(root, experiment, clock))
            unended = [sentence for file in chosen if file.name in {load.file for load in group} for sentence in open_end(file)]
            imported.append(_record(foreign, group, digests, record, unended))
            if on_progress is not None:
                on_progress(len(chosen) * (len(groups) + index + 1), 2 * len(chosen) * len(groups))
        return tuple(imported)


# ---- identifying the tool --------------------------------------------------------------------------------------------


def _runs_of(other: ModuleType, path: Path, tool: str) -> list[Path]:
    """The files of a tool whose results are no loads: all in a folder, or the single one."""
    if tool not in ("", other.NAME):
        return []
    if not path.is_dir():
        opened(path).close()
        return [path] if tool or other.recognises(path.name, head(path)) else []
    return [file for file in _files_in(path) if other.recognises(file.name, head(file))]


def _chosen(path: Path, tool: str) -> tuple[Foreign, Sequence[Path]]:
    """The tool, and the files to read."""
    tools: Mapping[str, Foreign] = catalog.load_all(PACKAGE)
    known = {tool: catalog.load(PACKAGE, tool)} if tool else tools
    if not path.is_dir():
        opened(path).close()
        candidates = [reader for reader in known.values() if reader.recognises(path.name, head(path))]
        if tool:
            candidates = list(known.values())  # trust the user's choice; the reader reports errors
        return _the_one(candidates, tools, path), [path]
    heads = {file: head(file) for file in _files_in(path)}
    matches = {reader.name: [file for file in heads if reader.recognises(file.name, heads[file])] for reader in known.values()}
    foreign = _the_one([known[name] for name, files_of_tool in matches.items() if files_of_tool], tools, path)
    return foreign, foreign.chosen(matches[foreign.name])


def _files_in(folder: Path) -> list[Path]:
    return sorted(file for file in folder.iterdir() if file.is_file() and not file.name.startswith("."))


def _the_one(matching: Sequence[Foreign], tools: Mapping[str, Foreign], path: Path) -> Foreign:
    if len(matching) == 1:
        return matching[0]
    if matching:
        found = f"results of {' and of '.join(candidate.title for candidate in matching)}"
        fix = f"Name the tool: --from {' or --from '.join(candidate.name for candidate in matching)}."
        raise refuse(str(path), found, "results of one tool", fix, source="the imported file")
    if refusal := printed(path):
        raise refuse(str(path), *refusal, source="the imported file")
    empty = path.is_file() and path.stat().st_size == 0
    found = "an empty file" if empty else "no results of a known load generator, harness, timing tool or profiler"
    near = _nearest(path, [*tools.values(), *(reader for package in OTHER_PACKAGES for reader in catalog.load_all(package).values())])
    fix = "All tools are listed by `assay import --help-all`; --from NAME says which one wrote the file."
    raise refuse(str(path), found, f"for example {' or '.join(near)}", fix, source="the imported file")


def _nearest(path: Path, tools: Sequence[Any], most: int = 3) -> list[str]:
    """The tools that the file names, then those whose files have the most similar names."""
    beginning, name = head(path).lower(), path.name.lower()

    def likeness(tool: Any) -> tuple[bool, float]:
        words = re.findall(r"[\w.*-]{4,}", f"{tool.name} {tool.files}".lower())
        return tool.title.lower() in beginning, max(SequenceMatcher(None, name, word).ratio() for word in words)

    return [f"{tool.title} ({tool.files})" for tool in sorted(tools, key=likeness, reverse=True)[:most]]


def _digests(foreign: Foreign, chosen: Sequence[Path]) -> dict[str, str]:
    """Name -> SHA-256 of every file used."""
    beside = [file for path in chosen for file in foreign.beside(path) if file.is_file()]
    return {file.name: files.digest(file) for file in dict.fromkeys((*chosen, *beside))}


def _name(given: str, foreign: Foreign, path: Path, index: int, of: int) -> str:
    return record_name(given or f"{foreign.name}-{path.stem if path.is_file() else path.name}", foreign.name, index, of)


# ---- grouping loads --------------------------------------------------------------------------------------------------


def _groups(loads: Sequence[Load]) -> list[list[Load]]:
    """Loads grouped by equal settings, in file order."""
    groups: dict[str, list[Load]] = {}
    for load in loads:
        settings = {
            "serving": load.serving,
            "kind": load.kind,
            "backend": load.backend,
            "url": load.url,
            "conditions": load.conditions,
            "times": load.times,
            "clock": load.clock,
            "version": load.version,
            "stated": sorted(load.stated),
            "rows": load.rows is not None,
        }
        groups.setdefault(json.dumps(settings, sort_keys=True, default=str), []).append(load)
    return list(groups.values())


def _experiment(group: Sequence[Load], name: str) -> Experiment:
    """The experiment as far as the file gives it; missing keys have defaults, which the manifest calls unsaid."""
    first_load = group[0]
    durations = [load.duration_s for load in group if load.duration_s]
    arrivals = {"warm_up_s": 0.0, "cold": 0, **first_load.serving.get("arrivals", {})}
    if durations:
        arrivals.setdefault("duration_s", min(durations))
    prompts = {"source": UNSAID, "cache": "as_is", **first_load.serving.get("prompts", {})}
    loads = sorted({load.load for load in group if load.load is not None})
    target = {"name": "server", "backend": first_load.backend or "openai", **({"urls": [first_load.url]} if first_load.url else {})}
    serving = {
        **first_load.serving,
        "arrivals": arrivals,
        "prompts": prompts,
        "targets": [target],
        "scenarios": list(dict.fromkeys(load.scenario for load in group)),
        **({"concurrency": [int(load) for load in loads]} if first_load.kind == "concurrency" else {}),
        **({"rate": loads} if first_load.kind == "rate" else {}),
    }
    repetitions = max(_times_each(group).values())
    try:
        return Experiment.model_validate(
            {
                "name": name,
                "workload": {"runner": "serving", "script": "" if first_load.url else NOWHERE, "work": "requests"},
                "serving": serving,
                "launches": {"per_configuration": repetitions},
                "conditions": dict(first_load.conditions),
            }
        )
    except SpecError as error:
        raise SpecError(error.problems, f"the load in {first_load.file}") from None


def _times_each(group: Sequence[Load]) -> dict[tuple[str, float | None], int]:
    counts: dict[tuple[str, float | None], int] = {}
    for load in group:
        counts[load.scenario, load.load] = counts.get((load.scenario, load.load), 0) + 1
    return counts


# ---- the record ------------------------------------------------------------------------------------------------------


def _record(foreign: Foreign, group: Sequence[Load], digests: Mapping[str, str], record: RecordFolder, unended: Sequence[str]) -> Imported:
    planned = {(item.configuration, item.block): item for item in plan(record.experiment)}
    names = {(item.scenario, item.load): item for item in configurations(record.experiment)}
    blocks: dict[str, int] = {}
    reported: list[dict[str, Any]] = []
    doubts: list[str] = []
    requests = failed = 0
    for number, load in enumerate(group):
        configuration = names[load.scenario, load.load]
        block = blocks.get(configuration.name, 0)
        blocks[configuration.name] = block + 1
        seen = _launch(record, number, load, planned[configuration.name, block])
        requests, failed = requests + seen.rows, failed + seen.failed
        doubts += _doubts(seen, load)
        reported += _reported(load, number, configuration)
    manifest = _manifest(foreign, group, digests, reported, doubts)
    manifest["missing"] += dict.fromkeys(unended)
    record.note(foreign=manifest)
    record.finish("complete")
    return Imported(
        path=record.path,
        tool=foreign.name,
        title=foreign.title,
        configurations=tuple(blocks),
        launches=len(group),
        requests=requests,
        failed=failed,
        has_requests=group[0].rows is not None,
        missing=tuple(manifest["missing"]),
        doubts=tuple(manifest["doubts"]),
    )


def _manifest(
    foreign: Foreign, group: Sequence[Load], digests: Mapping[str, str], reported: list[dict[str, Any]], doubts: list[str]
) -> dict[str, Any]:
    """The manifest's `foreign`: the record's origin, the meaning of its numbers and the unknowns."""
    first_load = group[0]
    main = first_load.file if first_load.file in digests else next(iter(digests))
    return {
        "tool": foreign.name,
        "title": foreign.title,
        "version": first_load.version or None,
        "file": main,
        "sha256": digests[main],
        "files": dict(digests),
        "clock": first_load.clock or foreign.clock,
        "times": first_load.times,
        "requests": first_load.rows is not None,
        "begin_utc": first(load.begin_utc for load in group) or None,
        "meanings": dict(foreign.meanings),
        "unsaid": [name for name in OPEN if name not in first_load.stated],
        "missing": list(dict.fromkeys((*foreign.missing, *(sentence for load in group for sentence in load.missing)))),
        "doubts": list(dict.fromkeys((*(sentence for load in group for sentence in load.doubts), *doubts))),
        "reported": reported,
    }


def _reported(load: Load, launch: int, configuration: Configuration) -> list[dict[str, Any]]:
    # a latency of 0 is one that the tool did not measure
    numbers = (value for value in load.reported if not math.isnan(value.value))
    measured = (value for value in numbers if value.value != 0.0 or value.unit not in ("ms", "s", "ns"))
    return [{"launch": launch, "configuration": configuration.name, **asdict(value)} for value in measured]


# ---- one launch ------------------------------------------------------------------------------------------------------


@dataclass
class _Seen:
    """Running totals of the rows written for a launch."""

    rows: int = 0
    failed: int = 0
    tokenless: int = 0  # answered, and without a first token
    started: int = 0  # answered, with one
    burst: list[float] = field(default_factory=list)  # tokens/s of answers that came faster than any engine writes them
    begin_ns: int | None = None
    end_ns: int | None = None

    def take(self, row: RequestRow, due_ns: int, sent_ns: int) -> None:
        self.rows += 1
        self.failed += row.status != "ok"
        if row.status == "ok":
            self.tokenless += row.first_ns is None
            self.started += row.first_ns is not None
            if (rate := _tokens_per_second(row)) is not None and rate > MAX_TOKENS_PER_S:
                self.burst.append(rate)
        end = sent_ns + max(row.done_ns or 0, row.last_ns or 0)
        self.begin_ns = due_ns if self.begin_ns is None else min(self.begin_ns, due_ns)
        self.end_ns = end if self.end_ns is None else max(self.end_ns, end)


def _tokens_per_second(row: RequestRow) -> float | None:
    """Output tokens after the first, over the time that they took; infinite if they took none."""
    if row.first_ns is None or row.last_ns is None or (row.tokens_out or 0) < 2:
        return None
    return ((row.tokens_out or 0) - 1) * NS_PER_S / (row.last_ns - row.first_ns) if row.last_ns > row.first_ns else math.inf


def _doubts(seen: _Seen, load: Load) -> Iterator[str]:
    """What the requests and the tool's own totals cannot mean."""
    answered = seen.tokenless + seen.started
    if seen.started and seen.tokenless:
        yield f"{seen.tokenless:,} of {answered:,} answered requests have no first token: they count as answered, and have no TTFT"
    if seen.burst:
        rate = sorted(seen.burst)[len(seen.burst) // 2]
        speed = f"{rate:,.0f} tokens/s" if math.isfinite(rate) else "no time between first and last token"
        yield (
            f"{len(seen.burst):,} of {answered:,} answers came in one piece ({speed}): a proxy or the server held their tokens back, so that "
            "their TTFT is the whole latency, and their time per token says nothing of the engine"
        )
    if unread := [value.name for value in load.reported if math.isnan(value.value)]:
        names = f"{', '.join(unread[:3])}{', ...' if len(unread) > 3 else ''}"
        yield f"{len(unread)} of its {len(load.reported)} totals are no finite numbers and are left out: {names}"
    if load.rows is None and not load.reported:
        yield "it holds none of the totals that are read"
    for value in load.reported:
        if value.unit in ("ms", "s", "ns") and value.value < 0.0:
            yield f"it reports {value.name} of {value.value:.3g} {value.unit}, and no latency is below 0"


MAX_TOKENS_PER_S: Final = 20_000.0  # of one answer; the fastest engines write some 3,000


def _launch(record: RecordFolder, number: int, load: Load, planned: PlannedLaunch) -> _Seen:
    """Write the rows of one load and of its launch."""
    writer, seen = record.writer(number), _Seen()
    requests: list[tuple[Any, ...]] = []
    counts: list[tuple[Any, ...]] = []
    for index, row in enumerate(load.rows() if load.rows is not None else ()):
        sent_ns = index if row.sent_ns is None else row.sent_ns
        due_ns = sent_ns - row.due_before_ns
        seen.take(row, due_ns, sent_ns)
        requests.append(_request(number, index, row, due_ns, sent_ns))
        if row.counted_in is not None or row.counted_out is not None:
            counts.append((number, index, row.counted_in, row.counted_out, []))
        if len(requests) == ROWS_PER_BATCH:
            _write(writer, record.path, load.file, requests, counts)
    _write(writer, record.path, load.file, requests, counts)
    begin_ns, end_ns = _span(load, seen)
    for entry in load.entries:
        write_event(writer, number, EVENT, begin_ns, kept(entry))
    if load.times == "whole" and seen.rows:
        write_event(writer, number, "load_begin", begin_ns, {})
        write_event(writer, number, "load_end", end_ns, {})
    outcome = launch_row(planned, launch=number, begin_ns=begin_ns, end_ns=end_ns, begin_utc=load.begin_utc)
    write_launch(writer, outcome, record.path)
    return seen


def _span(load: Load, seen: _Seen) -> tuple[int, int]:
    """Begin and end of the launch, from its requests, else from the duration in the file."""
    if load.times != "none" and seen.begin_ns is not None and seen.end_ns is not None:
        return seen.begin_ns, seen.end_ns
    return 0, round((load.duration_s or 0.0) * NS_PER_S)


def _write(writer: BatchWriter, path: Path, file: str, requests: list[tuple[Any, ...]], counts: list[tuple[Any, ...]]) -> None:
    """Write rows to disk immediately, to bound memory."""
    for table, rows in (("requests", requests), ("token_counts", counts)):
        if not rows:
            continue
        batch = to_batch(table, rows)
        if batch is None:
            raise RecordError(
                f"{file}: a request near number {rows[0][1]} has a value that a record cannot store. Remove that request from the file."
            )
        writer.append_batch(table, batch)
        rows.clear()
    writer.flush()
    check_written(writer, path)


COPIED: Final = (
    *("phase", "session", "turn", "status", "http_status", "error", "finish_reason", "text", "reasoning"),
    *("tokens_in", "tokens_out", "tokens_reasoning", "tokens_cached"),
)
TIMES: Final = {"first_token_ns": "first_ns", "first_visible_ns": "visible_ns", "last_token_ns": "last_ns", "done_ns": "done_ns"}


def _request(launch: int, index: int, row: RequestRow, due_ns: int, sent_ns: int) -> tuple[Any, ...]:
    after_ns = {name: getattr(row, attribute) for name, attribute in TIMES.items()}
    return table_row(
        REQUESTS,
        launch=launch,
        request=index,
        client=0,
        kind="normal",
        transport="foreign",
        scheduled_ns=due_ns,
        sent_ns=sent_ns,
        **{name: getattr(row, name) for name in COPIED},
        **{name: None if ns is None else sent_ns + ns for name, ns in after_ns.items()},
        chunk_ns=list(row.chunks_ns),
        chunk_kind=[CONTENT] * len(row.chunks_ns),
        **{name: [] for name in ("chunk_chars", "logprobs", "chunk_uncertainty_ns")},
    )


CONTENT: Final = 1  # the chunk kind assumed for foreign chunks; see the tool's meaning of `first_token`
