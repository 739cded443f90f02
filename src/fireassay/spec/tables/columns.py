"""Which columns of an external table count?

One per meaning; if several mean the same, the user chooses, except for scores: each is judged.  GPUs take precedence over
nodes.  A speedup or an efficiency counts only if there is neither a time nor a throughput; beside one it is kept, to be held against what the times say.
The user may say what a heading means: `--use quality="My score"`.  Without a column of workers, one whose cells name them is taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from fireassay.errors import Problem
from fireassay.printable import some
from fireassay.spec.explain import did_you_mean
from fireassay.spec.sections.prices import Prices
from fireassay.spec.tables.cells import Table, count_in, either_number, plain, speaks_of_workers
from fireassay.spec.tables.headings import GIVEN, SECONDS, Heading, as_given, heading, looks_like

# One of these is required, best first; the last two are relative to a row that is not shown.
MEASURED: Final = ("seconds", "step_seconds", "rate", "speedup", "efficiency")
# Derived columns of the table; a cost of a step is derived only if there is a cost or a price.
OWN: Final = {**{name: f"own_{name}" for name in ("speedup", "efficiency", "usd", "usd_per_step", "usd_per_item", "items_per_usd")}}
PRICES: Final = ("usd", "usd_per_hour")
PARTS: Final = ("storage_usd", "egress_usd", "lost_usd")  # of a cost, besides compute
ENERGIES: Final = ("joules", "watts")
FILLED: Final = (*PRICES, *PARTS, *ENERGIES, "quality", "work", "steps", "batch", "accumulation")
MIN_COUNTS: Final = 2  # different numbers of workers in a column that is taken for them
MAX_SHOWN: Final = 4  # cells of a column, headings in a sentence
Scaling = Literal["", "strong", "weak"]


@dataclass(frozen=True, kw_only=True)
class Stated:
    """What the user states beside the table."""

    work: float | None = None  # units of useful work of every row
    use: tuple[str, ...] = ()  # headings to use where several mean the same; or MEANING=HEADING
    where: tuple[tuple[str, str], ...] = ()  # heading and cell of the selected rows
    scaling: Scaling = ""
    prices: Prices | None = None  # of all rows, where the table has none
    grams_per_kwh: float | None = None  # CO2 of the grid


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column that counts."""

    place: int
    name: str
    heading: Heading


Columns = dict[str, Column]


def named(name: str, other: str) -> bool:
    """True if a heading or cell matches the user's name for it."""
    return plain(name).casefold() == other.strip().casefold()


def columns_of(table: Table, asked: Stated) -> tuple[Columns, list[Problem], list[str]]:
    """The position of each column that counts, problems, and what was assumed."""
    given, problems = _given(table, asked)
    meant = {column.heading.meaning for column in given}
    every = [*given, *(column for column in _known(table) if column.heading.meaning not in meant)]
    columns: Columns = {}
    same_problems: dict[str, list[Problem]] = {}
    for meaning in dict.fromkeys(column.heading.meaning for column in every):
        same = [column for column in every if column.heading.meaning == meaning]
        same = _finer([column for column in same if any(named(column.name, name) for name in asked.use)] or same)
        if meaning == "quality" and len(same) > 1:
            columns |= _scores(same, every)
            continue
        first, *others = same
        columns[meaning] = first
        same_problems[meaning] = [_same_meaning(first.name, other.name, _SAID.get(meaning, meaning)) for other in others]
    if "other_money" in columns:
        problems.append(Problem("row 1", columns["other_money"].name.strip(), "prices in US dollars", "Convert them, and write USD."))
    problems += _costs(columns, asked)
    assumed = _workers_from_cells(table, columns) if "workers" not in columns else []
    problems += [*_missing(table, columns), *_only_one_of(columns, asked)]
    for meaning in ("speedup", "efficiency"):  # take the best, the rest is held against it
        if any(better in columns for better in MEASURED[: MEASURED.index(meaning)]) and (own := columns.pop(meaning, None)) is not None:
            columns[OWN[meaning]] = own
    _own_costs(columns)
    if columns.get("batch") is not None and columns["batch"].heading.either and "step_seconds" not in columns:
        del columns["batch"]  # it does not move a time or a rate, and is shown as not used
    return columns, [*problems, *(problem for meaning in columns for problem in same_problems.get(meaning, ()))], assumed


def _costs(columns: Columns, asked: Stated) -> Iterator[Problem]:
    """A cost that may or may not include the parts in other columns, and prices given twice."""
    parts = [columns[part].name.strip() for part in PARTS if part in columns]
    whole = columns.get("usd")
    if parts and whole is not None and whole.heading.word not in ("total", "compute"):
        name = whole.name.strip()
        remedy = f'Say which: --use total_cost="{name}" or --use compute_cost="{name}".'
        yield Problem(
            "row 1", f"{name} beside {', '.join(parts)}: of everything, or of compute alone?", "a cost whose meaning is known", remedy
        )
    if asked.prices is None:
        return
    own: list[str] = [meaning for meaning in PRICES if meaning in columns]
    beside = {
        "storage_usd": asked.prices.storage_usd is not None or asked.prices.storage_gb is not None,
        "egress_usd": asked.prices.egress_usd is not None or asked.prices.egress_gb is not None,
    }
    own += [part for part, given in beside.items() if given and part in columns]
    for meaning in own:
        yield Problem(
            "the prices", f"given, beside the column {columns[meaning].name.strip()}", "one of them", "Leave out the flag or the column."
        )


def _own_costs(columns: Columns) -> None:
    """Costs that follow from others, by the names of the table's own numbers."""
    priced = any(meaning in columns for meaning in PRICES)
    counted = "step_seconds" in columns or "steps" in columns
    for meaning in ("usd_per_item", "items_per_usd", *(("usd_per_step",) if priced or not counted else ())):
        if (own := columns.pop(meaning, None)) is not None:
            columns[OWN[meaning]] = own
    if not counted and "joules" in columns and columns["joules"].heading.word == "step":
        del columns["joules"]  # of a step, and no steps are known


def _scores(same: Sequence[Column], every: Sequence[Column]) -> Columns:
    """Several scores, by their headings."""
    taken = {column.heading.meaning for column in every}
    return {f"quality {name}" if (name := column.name.strip()) in taken else name: column for column in same}


def scores(columns: Mapping[str, Column]) -> list[tuple[str, Column]]:
    """The columns that hold a quality: "quality", or the names of several."""
    return [(key, column) for key, column in columns.items() if column.heading.meaning == "quality"]


def _known(table: Table) -> list[Column]:
    known = [(index, name, heading(name), _cells(table, index)) for index, name in enumerate(table.header)]
    return [
        Column(place=index, name=name, heading=_priced(found, cells))
        for index, name, found, cells in known
        if found is not None and (found.meaning != "quality" or any(map(_is_numeric, cells)))
    ]


def _is_numeric(cell: str) -> bool:
    """True if a cell is a number, or one that is none; not so "same", or a check mark."""
    return either_number(cell) is not None or cell.lower() in ("nan", "inf", "-inf")


def _priced(found: Heading, cells: Sequence[str]) -> Heading:
    """A cost whose cells are prices by the hour, "$1.20/hr", is such a price."""
    rates = [cell for cell in cells if re.search(r"/\s*h(?:r|our)?\s*$", cell, flags=re.IGNORECASE)]
    if found.meaning not in PRICES or not rates or len(rates) < len(cells):
        return found
    return heading(f"price ($/{'GPU/' if all(re.search(r'/ *gpu', cell, flags=re.IGNORECASE) for cell in rates) else ''}h)") or found


def _given(table: Table, asked: Stated) -> tuple[list[Column], list[Problem]]:
    """The columns that the user gives a meaning, and the names in --use that fit no column."""
    given, problems = [], []
    for name in asked.use:
        word, _, rest = name.partition("=")
        place = next((index for index, head in enumerate(table.header) if named(head, rest.strip().strip('"'))), None)
        if place is not None and word.strip() in GIVEN and not any(named(head, name) for head in table.header):
            given.append(Column(place=place, name=table.header[place], heading=as_given(word.strip(), table.header[place])))
            continue
        if any(named(head, name) and heading(head) is not None for head in table.header):
            continue
        if any(named(head, name) for head in table.header):
            remedy = f'Say what it means: --use {looks_like(name) or "quality"}="{name}".'
            problems.append(Problem("--use", name, f"a heading whose meaning is known, or one of {', '.join(GIVEN)} and =HEADING", remedy))
        else:
            remedy = 'Write a heading as it stands in the table, or MEANING="HEADING".'
            problems.append(Problem("--use", name, ", ".join(head.strip() for head in table.header), remedy))
    return given, problems


_SAID: Final = {"rate": "the throughput", "seconds": "the time", "step_seconds": "the time", "usd_per_hour": "the price", "usd": "the cost"}
_BIG: Final = ("node", "machine", "server", "instance", "host", "cluster")
_SMALL: Final = ("gpu", "device", "accelerator", "rank", "core", "chip", "tpu", "gcd")


def _finer(columns: Sequence[Column]) -> list[Column]:
    """The GPU column if it is the only one besides nodes, else all."""
    if columns[0].heading.meaning != "workers" or len(columns) < 2:
        return list(columns)
    columns = [column for column in columns if column.heading.word != "n"] or list(columns)  # beside "procs" N is a size
    fine = [column for column in columns if not any(word in column.heading.word for word in _BIG)]
    fine = [column for column in fine if any(word in column.heading.word for word in _SMALL)]
    return fine if len(fine) == 1 else list(columns)


def _cells(table: Table, index: int) -> list[str]:
    return [cells[index].strip() for _, cells in table.rows if index < len(cells) and cells[index].strip()]


def _workers_from_cells(table: Table, columns: Columns) -> list[str]:
    """Take the only column whose cells name workers and their number, and say so."""
    used = {column.place for column in columns.values()}
    found = [
        index
        for index in range(len(table.header))
        if index not in used
        and len({count for cell in _cells(table, index) if speaks_of_workers(cell) and (count := count_in(cell)) is not None}) >= MIN_COUNTS
    ]
    if len(found) != 1:
        return []
    name = table.header[found[0]]
    columns["workers"] = Column(place=found[0], name=name, heading=Heading(meaning="workers", word=plain(name).lower()))
    return [f'"{name.strip()}" is read as the number of workers: {_shown(_cells(table, found[0]))}.']


def _shown(cells: Sequence[str]) -> str:
    return some(dict.fromkeys(cells), MAX_SHOWN)


def _missing(table: Table, columns: Mapping[str, Column]) -> Iterator[Problem]:
    header = [name for name in table.header if name.strip()]
    known = (("workers", ("workers",)), ("seconds", MEASURED))
    for needed, meanings in known:
        if not any(meaning in columns for meaning in meanings):
            timed = [name for index, name in enumerate(table.header) if needed == "seconds" and _holds_times(name, _cells(table, index))]
            remedy = " or ".join(f'--use seconds="{name.strip()}"' for name in timed)
            remedy = f"Say which column is the time of the same work: {remedy}." if timed else _close(header, needed)
            if needed == "seconds" and (price := columns.get("usd_per_hour")) is not None and price.name.strip().lower() == "rate":
                remedy = f'"{price.name.strip()}" is read as a price by the hour. If it is a throughput: --use throughput="{price.name.strip()}".'
            yield Problem("row 1", ", ".join(name.strip() for name in header), f"a column named {' or '.join(_NAMES[needed][:3])}", remedy)


def _close(header: Sequence[str], needed: str) -> str:
    """The heading that is nearly a known one, as a question; a word that means something else is not near."""
    close = [did_you_mean(name.strip().lower(), _NAMES[needed]) for name in header if heading(name) is None and not looks_like(name)]
    near = next((sentence.replace("you mean", "one column mean") for sentence in close if sentence), "")
    if near:
        return f'{near} If so: --use {needed}="HEADING".'
    claim = " Numbers of engines or models are a claim: assay audit CLAIM.toml." if needed == "workers" else ""
    return f'Say which it is: --use {needed}="HEADING".{claim}'


def _holds_times(name: str, cells: Sequence[str]) -> bool:
    """True if each cell is a number with a unit of time, in the cell or in the heading."""
    read = [either_number(cell) for cell in cells]
    in_heading = re.search(r"[\[(]\s*(\w+)\s*[\])]\s*$", name)
    unit = in_heading[1].lower() if in_heading else ""
    return bool(read) and all(value is not None and (value.unit.lower() or unit) in SECONDS for value in read)


_NAMES: Final = {"workers": ("workers", "nodes", "GPUs"), "seconds": ("seconds", "step_seconds", "samples/s")}


def _only_one_of(columns: Columns, asked: Stated) -> Iterator[Problem]:
    """Report several columns of one meaning; drops those that --use does not name."""
    for pair, quantity in ((("seconds", "step_seconds"), "the time"), (PRICES, "the price"), (ENERGIES, "the energy")):
        present = [meaning for meaning in pair if meaning in columns]
        chosen = [m for m in present if any(named(columns[m].name, word) for name in asked.use for word in (name, name.partition("=")[2]))]
        for meaning in present if len(chosen) == 1 else ():
            if meaning not in chosen:
                del columns[meaning]
        if pair is PRICES and len(present) > 1 and not chosen and any(meaning in columns for meaning in ("seconds", "step_seconds")):
            columns[OWN["usd"]] = columns.pop("usd")  # it follows from the price and the time
            continue
        if len(present) > 1 and len(chosen) != 1:
            yield _same_meaning(columns[present[0]].name, columns[present[1]].name, quantity)


def _same_meaning(first: str, second: str, meaning: str) -> Problem:
    both = f"{first.strip()} and {second.strip()}, which both say {meaning}"
    return Problem("row 1", both, "one of them", f'Leave one out. Or say which is meant: --use "{first.strip()}".')


_REMARKS: Final = (
    "status",
    "gate",
    "note",
    "comment",
    "remark",
    "verdict",
    "log",
    "link",
    "date",
    "job",
    "url",
    "observation",
    "result",
    "description",
)


OTHER_BASE: Final = "The base is another"
_SUBJECT: Final = re.compile(
    r"\b(?:systems?|frameworks?|engine|library|implementation|program|language|backend|version|hardware|machine|"
    r"(?:gpu|device|accelerator|chip|cpu)(?: (?:model|type|name))?(?= *$)|(?:node|instance) type)\b",
    re.IGNORECASE,
)
_WORDS: Final = "one|two|three|four|five|six|seven|eight|sixteen|single|dual|quad"
# "8x H100", "A100 (x8)", "eight GPUs" and "cuda:0,1": how many there are, of one kind; not the 2080 of "2080 Ti"; "serial" alone is one
_COUNTED: Final = re.compile(
    r"(?<![\w.])\d+ ?[x×*] ?|(?<=\.)\d+(?=xlarge\b)|[x×*] ?\d+\b|:\d+(?:[,-]\d+)*|"
    rf"\b(?:\d+|{_WORDS})[ -](?=(?:gpu|node|device|core|chip|tpu|worker|rank|machine|server|host|socket)s?\b)|^(?:{_WORDS})\b|^(?:serial|sequential)$"
)


def _kind(cell: str, workers: int | None) -> str:
    """What a cell names, without how many: neither counts, nor the row's number of workers ("a2-highgpu-8g"), nor a plural."""
    text = _COUNTED.sub("", cell.lower())
    text = text if workers is None else re.sub(rf"(?<![\w.]){workers}(?![\d.])", "", text)
    return re.sub(r"[\s()\[\],]+", " ", re.sub(r"(?<=\w)s\b", "", text)).strip(" -")


def other_base(table: Table, columns: Mapping[str, Column], places: Sequence[int], base: int) -> list[str]:
    """The unused columns that name what was measured, where the row at `base` stands alone: a speedup over it is no scaling."""
    used, rows = {column.place for column in columns.values()}, dict(table.rows)
    named = [(index, name.strip()) for index, name in enumerate(table.header) if index not in used and _SUBJECT.search(plain(name))]
    workers = {at: count_in(rows[at][columns["workers"].place]) for at in places} if "workers" in columns else {}
    told = list[str]()
    for index, name in named:
        cells = {at: rows[at][index].strip() if index < len(rows[at]) else "" for at in places}
        if "version" not in name.lower() and any(
            either_number(cell) is not None and not re.search("[a-z]", cell, re.I) for cell in cells.values()
        ):
            continue  # a memory, a time or an index of the device
        kinds = {at: _kind(cell, workers.get(at)) for at, cell in cells.items()}
        if "machine" in name.lower():  # node01, and node01 and node02
            kinds = {at: " ".join(sorted({word.rstrip("0123456789") for word in kind.split()})) for at, kind in kinds.items()}
        others = [cells[at] for at in places if at != base]
        if others and all(kinds.values()) and kinds[base] not in [kinds[at] for at in places if at != base]:
            told.append(f"{OTHER_BASE} {name}: {cells[base]}, not {_shown(others)}. The speedups mix both.")
    return told


def unused(table: Table, columns: Mapping[str, Column], places: Sequence[int]) -> tuple[list[str], list[str]]:
    """(what may weaken the verdict, the rest) of the columns that do not count, over the rows at `places`."""
    used = {column.place for column in columns.values()}
    doubts, rest = list[str](), list[str]()
    for index, name in enumerate(table.header):
        if index in used or not name.strip():
            continue
        cells = [row[index].strip() for at, row in table.rows if at in places and index < len(row) and row[index].strip()]
        why = _why_it_matters(name, cells)
        (doubts if why else rest).append(f"{name.strip()}{why}")
    told = [f"Not used, and it may matter: {'; '.join(doubts)}."] if doubts else []
    return told, [f"Not used: {', '.join(rest)}."] if rest else []


def _why_it_matters(name: str, cells: Sequence[str]) -> str:
    """Why an unused column may weaken the verdict; "": it does not."""
    looks = looks_like(name)
    read = [either_number(cell) for cell in cells]
    numeric = bool(read) and all(value is not None for value in read)
    if looks in ("quality", "cost"):
        hint = (
            f' (looks like {looks}: --use {looks}="{name.strip()}")'
            if numeric
            else f" (looks like {looks}, and not every cell is a number)"
        )
        return hint
    varies = len(set(cells)) > 1
    if varies and (looks == "work" or (not numeric and not any(word in name.lower() for word in _REMARKS))):
        return f" ({_shown(cells)})"
    return ""
