"""What must an importer of a timing tool's files declare, and what can such a file contain?

One module holds one `TIMER`; its stem is the tool's name.  A file holds benchmarks, a benchmark the processes that timed it, and a process
its trials.  A process is a launch: how many rounds it made does not matter, since they share its memory layout, its caches and its moment.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from statistics import fmean, median
from typing import Any, Final

from fireassay.errors import SpecError
from fireassay.importers.support.base import MAX_INTEGER, MAX_S, clean, inner, is_number, listed, mapping
from fireassay.importers.support.documents import Place, Words, guarded, loads, opened

MAX_SIZE: Final = 256 << 20  # characters
MAX_LABEL: Final = 120
MAX_NAME: Final = 100_000  # of a name that is digested
DIGEST: Final = 8  # hexadecimal digits
TOTAL_CALLS: Final = 1_000_000
AGREE: Final = 1e-6  # relative; the tools print all digits of their numbers


@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
    """A timed loop of calls."""

    seconds: float  # of one call
    calls: int = 1
    warm_up: bool = False
    exit_code: int | None = None
    cpu_s: float | None = None  # user and kernel, of one call
    rss_bytes: int | None = None


def total(seconds: float) -> Trial:
    """A statistic in place of trials: over so many calls that whole nanoseconds do not round it."""
    return Trial(seconds=seconds, calls=TOTAL_CALLS)


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A number that the tool reports of a benchmark."""

    name: str  # mean, median, min, max, stddev, ...
    value: float
    unit: str = "s"


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """A timed piece of code."""

    name: str
    processes: tuple[tuple[Trial, ...], ...]
    figures: tuple[Figure, ...] = ()
    totals: str = ""  # the statistic that stands for the trials of a file that holds none: "median"
    settings: Mapping[str, Any] = field(default_factory=dict)  # kept with the numbers: options, parameters

    @property
    def seconds(self) -> list[float]:
        """Seconds of a call, of every counted trial."""
        return [trial.seconds for process in self.processes for trial in process if not trial.warm_up]


@dataclass(frozen=True, kw_only=True)
class Timings:
    """The content of one file."""

    benchmarks: tuple[Benchmark, ...]
    version: str = ""
    begin_utc: str = ""  # ISO 8601
    conditions: Mapping[str, str | int | float | bool] = field(default_factory=dict)  # of machine and interpreter
    missing: tuple[str, ...] = ()  # sentences: what this file lacks
    doubts: tuple[str, ...] = ()  # sentences: why it should not be trusted
    kept: Mapping[str, Any] = field(default_factory=dict)


Row = tuple[Mapping[str, Any], Place]


@dataclass(frozen=True, kw_only=True)
class Timer:
    """A tool whose files can be imported."""

    name: str
    title: str
    files: str  # the files that are read, for help and errors
    runs: str  # what it times: function or command
    meanings: Mapping[str, str]  # definitions: launch, trial, time, waits
    marks: tuple[tuple[str, ...], ...] = ()  # keys: the beginning of its files has one of each
    read: Callable[[Mapping[str, Any], Place], Timings] | None = None  # of a JSON document; raises SpecError
    reads: Callable[[Path], Timings] | None = None  # of a file of any other form; raises SpecError
    signs: Callable[[str], bool] | None = None  # whether such a file is the tool's, from its beginning
    missing: tuple[str, ...] = ()  # sentences: what its files never contain
    trials: str = "trials"  # what the tool calls them
    saved_by: str = ""  # its option, without which a file has statistics only

    def recognises(self, beginning: str) -> bool:
        """True if a file begins like those of the tool."""
        if self.signs is not None:
            return self.signs(beginning)
        return bool(self.marks) and all(any(f'"{key}"' in beginning for key in keys) for keys in self.marks)

    def content(self, path: Path) -> Timings:
        """What a file holds. Raises SpecError."""
        if self.reads is not None:
            return self.reads(path)
        assert self.read is not None, "declared"
        return self.read(*document(path))

    def absent(self, timings: Timings) -> Iterator[str]:
        """What a file lacks, as sentences."""
        yield from self.missing
        yield from timings.missing
        if totals := [benchmark.totals for benchmark in timings.benchmarks if benchmark.totals]:
            statistic = " or ".join(sorted(set(totals)))
            option = f" ({self.saved_by})" if self.saved_by else ""
            yield f"the {self.trials} of {len(totals)} of {len(timings.benchmarks)} benchmarks: their {statistic} stands for them{option}"


# ---- reading -----------------------------------------------------------------------------------------------------------


def document(path: Path) -> Row:
    """The JSON object of a file, which may be gzipped. Raises SpecError: no JSON, too large, or no object."""
    place = Place(path.name)
    with opened(path) as file:
        text = guarded(lambda: file.read(MAX_SIZE + 1), place)
    if len(text) > MAX_SIZE:
        raise place.wrong(Words(f"more than {MAX_SIZE:,} characters"), "at most that many", "Time fewer rounds, or save statistics only.")
    return mapping(loads(text, place), place), place


def rows_of(source: Mapping[str, Any], key: str, place: Place, missing: str = "") -> list[Row]:
    """The objects of a list, each with its place. Raises SpecError: an element is no object; with `missing`, there are none."""
    rows = [(mapping(row, where), where) for index, row in enumerate(listed(source, key, place)) for where in [place.at(key).at(index)]]
    if missing and not rows:
        raise place.at(key).wrong(Words("nothing"), "at least one benchmark", missing)
    return rows


def trials_of(row: Mapping[str, Any], key: str, place: Place, calls: int = 1) -> tuple[tuple[Trial, ...], str]:
    """The trials of a list of seconds, or the median that stands for them with its name."""
    if seconds := times_of(row, key, place):
        return tuple(Trial(seconds=value, calls=calls) for value in seconds), ""
    return (total(time_of(row.get("median"), place.at("median"))),), "median"


def time_of(value: object, place: Place, unit_s: float = 1.0) -> float:
    """A duration in seconds. Raises SpecError: no number, negative, or more than three years."""
    if not is_number(value) or not 0.0 <= value * unit_s <= MAX_S:
        raise _no_time(value, place)
    return float(value * unit_s)


def _no_time(value: object, place: Place) -> SpecError:
    return place.wrong(value, "a number of seconds, at least 0")


def times_of(row: Mapping[str, Any], key: str, place: Place) -> list[float]:
    """The durations of a list, in seconds."""
    values = listed(row, key, place)
    for index, value in enumerate(values):
        if not is_number(value) or not 0.0 <= value <= MAX_S:
            raise _no_time(value, place.at(key).at(index))
    return [float(value) for value in values]


def calls_of(value: object, place: Place) -> int:
    """A number of calls, 1 if it is not given. Raises SpecError."""
    if value is None:
        return 1
    if not is_number(value) or value != int(value) or not 1 <= value <= MAX_INTEGER:
        raise place.wrong(value, "a whole number of at least 1")
    return int(value)


def label(value: object, place: Place) -> str:
    """A benchmark's name: redacted, on one line; of a longer one the beginning and a digest. Raises SpecError: no text.

    The digest keeps two names with one beginning apart, whatever their order in other files: each file is a launch of the same benchmarks.
    """
    if not isinstance(value, str) or not value.strip():
        raise place.wrong(value, "the name of a benchmark")
    words = " ".join(clean(value, MAX_NAME).split())
    printed = "".join(letter if letter.isprintable() else "?" for letter in words)
    if len(printed) <= MAX_LABEL:
        return printed
    digest = sha256(words.encode()).hexdigest()[:DIGEST]
    return f"{printed[: MAX_LABEL - DIGEST - 1]}~{digest}"


def stated(source: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, str | int | float | bool]:
    """Conditions from the values at these keys ("a.b" is nested): condition -> key; without those that are not there."""
    found: dict[str, str | int | float | bool] = {}
    for name, key in names.items():
        *path, last = key.split(".")
        value = inner(source, *path).get(last)
        if isinstance(value, str) and value:
            found[name] = clean(value, MAX_LABEL)
        elif isinstance(value, bool) or is_number(value):
            found[name] = value
    return found


def figures(source: Mapping[str, Any], names: Sequence[str], unit_s: float = 1.0) -> tuple[Figure, ...]:
    """The tool's own numbers at these keys, as far as they are finite."""
    return tuple(Figure(name=name, value=float(value) * unit_s) for name in names if is_number(value := source.get(name)))


# ---- judging the file ----------------------------------------------------------------------------------------------------


def contradictions(benchmark: Benchmark) -> Iterator[str]:
    """The tool's own numbers that do not follow from its trials."""
    seconds = benchmark.seconds
    if benchmark.totals or not seconds:
        return
    ours = {"mean": fmean(seconds), "median": median(seconds), "min": min(seconds), "max": max(seconds)}
    for figure in benchmark.figures:
        if figure.name in ours and not math.isclose(figure.value, ours[figure.name], rel_tol=AGREE, abs_tol=1e-12):
            yield (
                f"{benchmark.name}: it reports a {figure.name} of {figure.value:.6g} s, and that of its {len(seconds):,} trials is "
                f"{ours[figure.name]:.6g} s"
            )
