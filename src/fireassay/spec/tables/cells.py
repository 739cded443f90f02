"""Which cells does a table of text hold (CSV, TSV, semicolons or Markdown), and which number does a cell hold?

The separator is the one that gives the most known headings, then the most cells.  Lines that begin with # are comments; text
around a Markdown table is ignored, and so are its asterisks, links and notes.  A table with worker counts along the top is
transposed.  Rows are numbered as in a spreadsheet or editor, including the header.

Numbers have thousands separators, decimal commas, percent signs, units and notes.  The table's other cells decide what a comma or a point
is: "1.234,5" or "0,87" imply decimal commas, "12.5" or "1,345.8" decimal points; both in one table are refused.  "1,345" alone is read as
1345 with a note, except in semicolon-separated tables, where the user must decide.  "~", "± 3", "(10.0x)", "*" and footnote asterisks are
dropped.

What does a column of an external table mean, by its heading, and in which unit?

Matching is tolerant: case, spaces, dashes and "number of" are ignored; a unit may be in brackets or at the end.
An unknown heading gives None, and its column is ignored.  Currencies other than US dollars are refused.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from fireassay.errors import refuse

SECONDS: Final = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("ms", "msec", "millisecond", "milliseconds"), 1e-3),
    **dict.fromkeys(("us", "µs", "μs", "usec", "microsecond", "microseconds"), 1e-6),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86400.0),
}
JOULES: Final = {"j": 1.0, "joule": 1.0, "joules": 1.0, "kj": 1e3, "mj": 1e6, "gj": 1e9, "wh": 3600.0, "kwh": 3.6e6, "mwh": 3.6e9}
WATTS: Final = {"w": 1.0, "watt": 1.0, "watts": 1.0, "kw": 1e3, "mw": 1e6}
UNITS: Final = {"seconds": SECONDS, "step_seconds": SECONDS, "joules": JOULES, "watts": WATTS}

_WORKER: Final = (
    r"(?:gpus?|devices?|workers?|nodes?|ranks?|machines?|accelerators?|chips?|cores?|cpus?|gcds?|process(?:es)?|servers?|instances?)"
)
_WORKERS: Final = re.compile(
    r"(?:workers|gpus|nodes|ranks|machines|devices|accelerators|chips|cores|cpus|tpus|gcds|processes|procs|processors|threads|replicas|servers|instances"
    r"|hosts|mpi ranks|mpi processes|world ?size|n|p|np|nproc|(?:gpu|node|worker|rank|device|process|core|cpu|machine) ?(?:count|number)"
    rf"|(?:#(?: ?of)?|n|no\.?|nr\.?|num|numbers? of|total|count of|amount of) ?{_WORKER})(?: used)?"
)
_PREFIX: Final = r"(?:(?:total|avg|average|mean|median|wall|wall ?clock|elapsed|execution|exec|run|running|training|train|job|compute|parallel|end to end) )*"
_TIME: Final = re.compile(
    rf"{_PREFIX}(?:time|run ?time|wall ?time|wall ?clock|duration|makespan|elapsed|seconds|secs|s|t|minutes|hours|ttt|epoch time|time per epoch)"
    r"(?: to (?:train|solution|accuracy|target|convergence|finish))?(?: per epoch)?(?: with .*| using .*)?"
)
_STEP: Final = re.compile(
    r"(?:(?:time|s|secs?|seconds|ms|milliseconds) (?:per|/) (?:step|iter|iteration|it|batch)s?|(?:avg |average |mean |median )?"
    r"(?:step|iteration|iter|batch) (?:time|seconds|s|ms)|(?:s|sec|ms)/(?:step|iter|iteration|it|batch))"
)
_RATE: Final = re.compile(
    rf"(?P<thing>.*?)\s*(?:/|\bper)\s*(?P<time>s|secs?|seconds?|min|minutes?|h|hr|hours?|day)\b\s*(?P<each>(?:/|\bper)\s*{_WORKER})?"
)
_FLOPS: Final = re.compile(r"\b([kmgtpe]|tera|peta|giga)flops?(?:/s)?\b")
_QUALITY: Final = re.compile(
    r"(?:(?:val|valid|validation|test|eval|final|dev|best|model) )?(?:top ?[15](?: acc(?:uracy)?)?|accuracy|acc|quality|score|f1(?: score)?|bleu|rouge"
    r"|map|miou|auc|wer|perplexity|ppl|loss)(?: score)?"
)
_SPEEDUP: Final = re.compile(r"(?:relative )?(?:speed ?ups?|acceleration(?: rate| factor)?)(?: factor)?")
_EFFICIENCY: Final = re.compile(r"(?:parallel |strong |weak )?(?:scaling )?eff(?:iciency|\.)?")
_GLOBAL_BATCH: Final = re.compile(r"(?:global|total|effective|overall) batch(?: size)?|gbs")
_OWN_BATCH: Final = re.compile(rf"batch(?: size)? ?(?:/|per) ?{_WORKER}|(?:local|per {_WORKER}) batch(?: size)?")
_ACCUMULATION: Final = re.compile(r"(?:grad(?:ient)?s? )?accum(?:ulation)?(?: steps)?")
_ENERGY: Final = re.compile(r"(?:total )?energy(?: to solution| consumption| consumed| used)?|joules|kwh|wh")
_POWER: Final = re.compile(r"(?:total |avg |average |mean )?power(?: draw| consumption)?|watts")
_MONEY: Final = re.compile(r"\$|usd|dollars?|price|cost|\brate$")
_OTHER_MONEY: Final = re.compile(r"[€£¥₹]|\b(?:eur|euros?|gbp|cny|rmb|jpy)\b")
_WORK: Final = re.compile(r"(?:n |num |total |training )?(?:work|items|samples|tokens|images|examples|sequences)")
_STEPS: Final = re.compile(r"(?:n |num |total )?(?:steps|iterations|iters)")


@dataclass(frozen=True, kw_only=True)
class Heading:
    """A column's meaning. `factor`: multiplier of its numbers."""

    meaning: str
    factor: float = 1.0
    per_worker: bool = False
    percent: bool = False
    unit_said: bool = True
    word: str = ""  # of a rate: the unit counted; of workers: their name


def heading(name: str) -> Heading | None:
    """The meaning of a heading; None: unknown."""
    text = re.sub(r"\s+", " ", re.sub(r"[\s_-]+", " ", name.lower().replace("µ", "μ"))).strip()
    inside = " ".join(re.findall(r"[\[(]([^\])]*)[\])]", text)).strip()
    base = re.sub(r"\s*[\[(].*?[\])]\s*", " ", text).strip().strip(":,").strip()
    if _WORKERS.fullmatch(base):
        return Heading(meaning="workers", word=base)
    return (
        _money(text)
        or _time(base, inside)
        or _power(base, inside)
        or _batch(base)
        or _derived(base, inside)
        or _amount(base)
        or _rate(base, inside)
    )


def _money(text: str) -> Heading | None:
    if _OTHER_MONEY.search(text):
        return Heading(meaning="other_money")
    if not _MONEY.search(text):
        return None
    per_worker = bool(re.search(rf"(?:/|per|\b)\s*{_WORKER}\b", text))
    flat = re.sub(r"[()\[\]]", " ", text)
    if re.search(r"(?:/|per|\s)\s*(?:h|hr|hour)s?\b", flat) or re.fullmatch(r"\s*(?:price|rate)\s*", flat):
        return Heading(meaning="usd_per_hour", per_worker=per_worker)
    if re.search(r"(?:/|per|\s)\s*(?:s|sec|second)s?\b", flat) and per_worker:
        return Heading(meaning="usd_per_hour", factor=3600.0, per_worker=True)
    whole = re.sub(r"\$|usd|dollars?", " ", flat).strip()
    return Heading(meaning="usd") if re.fullmatch(r"|(?:total |run )?(?:cost|price)(?: of (?:the )?run| per run)?", whole) else None


def _unit(base: str, inside: str, units: dict[str, float]) -> tuple[str, float | None]:
    """The name without its unit, and the unit's factor; None: no unit of this kind."""
    for word in re.split(r"[\s,;]+", inside):
        if word in units:
            return base, units[word]
    head, _, last = base.replace(",", " ").rpartition(" ")
    if last in units and head:
        return head.strip(), units[last]
    return base, units.get(base)


def _time(base: str, inside: str) -> Heading | None:
    for meaning, pattern in (("step_seconds", _STEP), ("seconds", _TIME)):
        name, factor = _unit(base, inside, SECONDS)
        for known in (base, name):
            if pattern.fullmatch(known) or (pattern is _STEP and _STEP.fullmatch(inside) and _TIME.fullmatch(known)):
                unit = re.match(r"(ms|milliseconds|seconds|secs?|s)\b", base) if pattern is _STEP and factor is None else None
                seconds = SECONDS[unit[1]] if unit else factor
                return Heading(
                    meaning=meaning,
                    factor=1.0 if seconds is None else seconds,
                    unit_said=seconds is not None or bool(inside in ("s/it", "s/step")),
                )
    return None


def _power(base: str, inside: str) -> Heading | None:
    each = re.compile(rf"\s*(?:/|per)\s*{_WORKER}\b")
    per_worker = bool(each.search(base) or each.search(inside))
    base, inside = each.sub("", base).strip(), each.sub("", inside).strip()
    for meaning, pattern, units in (("joules", _ENERGY, JOULES), ("watts", _POWER, WATTS)):
        name, factor = _unit(base, inside, units)
        if pattern.fullmatch(name) or pattern.fullmatch(base):
            return Heading(meaning=meaning, factor=factor or 1.0, per_worker=per_worker, unit_said=factor is not None)
    return None


def _batch(base: str) -> Heading | None:
    patterns = (("batch", _GLOBAL_BATCH, False), ("batch", _OWN_BATCH, True), ("accumulation", _ACCUMULATION, False))
    return next(
        (Heading(meaning=meaning, per_worker=per_worker) for meaning, pattern, per_worker in patterns if pattern.fullmatch(base)), None
    )


def _derived(base: str, inside: str) -> Heading | None:
    """The meaning of derived numbers, and of those without a unit except percent."""
    percent = "%" in inside or "%" in base or bool(re.search(r"\b(?:pct|percent)\b", f"{base} {inside}"))
    name = re.sub(r"\s*(?:%|\bpct\b|\bpercent\b|\bin percent\b)\s*", " ", base).strip().removesuffix(" in").removesuffix(",").strip()
    patterns = (("quality", _QUALITY), ("speedup", _SPEEDUP), ("efficiency", _EFFICIENCY))
    return next((Heading(meaning=meaning, percent=percent) for meaning, pattern in patterns if pattern.fullmatch(name)), None)


def _amount(base: str) -> Heading | None:
    patterns = (("work", _WORK), ("steps", _STEPS))
    return next((Heading(meaning=meaning) for meaning, pattern in patterns if pattern.fullmatch(base)), None)


def _rate(base: str, inside: str) -> Heading | None:
    each = bool(re.search(rf"(?:/|\bper)\s*{_WORKER}\b", f"{base} {inside}"))
    for text in (inside, base):
        match = _RATE.fullmatch(text.strip()) or _RATE.search(text)
        if match and (match["thing"].strip() or text is inside):
            word = (
                re.sub(r"^(?:(?:total|avg|average|mean|training|aggregate|achieved|throughput)\b\s*)+", "", match["thing"].strip())
                or "work"
            )
            return Heading(meaning="rate", factor=1.0 / SECONDS[_singular(match["time"])], per_worker=each, word=word)
    flops = _FLOPS.search(f"{base} {inside}")
    if flops:
        return Heading(meaning="rate", per_worker=each, word=f"{flops[1]}flop")
    known = {"qps": "queries", "fps": "frames", "tps": "tokens"}.get(base)
    if known is None and not re.match(r"(?:training |total |aggregate |system )?throughput\b(?! speed)", base):
        return None
    return Heading(meaning="rate", per_worker=each, word=known or "work", unit_said=known is not None)


def _singular(word: str) -> str:
    return word if word in SECONDS else word.rstrip("s")


# ---- headings --------------------------------------------------------------------------------------------------------


SEPARATORS: Final = (",", "\t", ";", "|")
MAX_REMARKS: Final = 100  # comment lines before the header
_RULE: Final = re.compile(r"^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)+\|?\s*$")
_MARKUP: Final = re.compile(r"\*\*|`|<br\s*/?>|<su[bp]>.*?</su[bp]>|</?[bi]>|\[\^\w+\]", re.IGNORECASE)
_LINK: Final = re.compile(r"\[([^\]]*)\]\([^)]*\)")

Cells = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Table:
    """A header and rows of text, each with its number."""

    header: Cells
    rows: tuple[tuple[int, Cells], ...]
    separator: str


def read_table(text: str, source: str) -> Table | None:
    """The table in a text; None without any row. Raises SpecError if it cannot be split into cells."""
    lines = text.splitlines()
    rules = [index for index, line in enumerate(lines) if _RULE.match(line)]
    if rules:
        return _markdown(lines, rules, source)
    numbered, separator = _delimited(text, source)
    if not numbered:
        return None
    (_, header), *rows = numbered
    return _upright(Table(header=header, rows=tuple(rows), separator=separator))


def _markdown(lines: Sequence[str], rules: Sequence[int], source: str) -> Table:
    """The only table of a page: the line above the rule and those with bars below it."""
    if len(rules) > 1:
        where = ", ".join(str(index) for index in rules)
        raise refuse(f"lines {where}", f"{len(rules)} tables", "one table", "Keep one of them in the file.", source=source)
    rule, rows = rules[0], list[tuple[int, Cells]]()
    if rule == 0:
        raise refuse("line 1", "a rule of dashes", "a header above it", source=source)
    for index in range(rule + 1, len(lines)):
        if "|" not in lines[index]:
            break
        rows.append((index + 1, _bars(lines[index])))
    return _upright(Table(header=_bars(lines[rule - 1]), rows=tuple(row for row in rows if any(row[1])), separator="|"))


def _bars(line: str) -> Cells:
    inner = re.sub(r"^\s*\||(?<!\\)\|\s*$", "", line.rstrip())
    return tuple(plain(cell.replace("\\|", "|")) for cell in re.split(r"(?<!\\)\|", inner))


def plain(cell: str) -> str:
    """A cell without its formatting."""
    return _MARKUP.sub("", _LINK.sub(r"\1", cell)).strip()


def _delimited(text: str, source: str) -> tuple[list[tuple[int, Cells]], str]:
    lines = [line for line in text.splitlines() if line.strip()][:MAX_REMARKS]
    first = next(
        (line for line in lines if not line.lstrip().startswith("#") or max(_worth(line, sign) for sign in SEPARATORS) >= (1, 2)), ""
    )
    separator = max(SEPARATORS, key=lambda sign: _worth(first, sign))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    rows: list[tuple[int, Cells]] = []
    try:
        for number, cells in enumerate(reader, start=1):
            if any(cell.strip() for cell in cells) and not _remark(cells, headed=bool(rows)):
                rows.append((number, tuple(cells)))
    except csv.Error as error:
        remedy = f"{str(error).capitalize()}: look for a quotation mark without its other half."
        raise refuse(f"row {len(rows) + 1} or later", "broken CSV", "CSV", remedy, source=source) from None
    return rows, separator


def _remark(cells: Sequence[str], *, headed: bool) -> bool:
    """A line that begins with #, except the heading "# GPUs"."""
    first = cells[0].lstrip()
    return first.startswith("#") and (headed or len(cells) < 2 or heading(first) is None)


def _worth(line: str, separator: str) -> tuple[int, int]:
    """(known headings, cells) of a line split by this separator."""
    try:
        cells = next(csv.reader([line], delimiter=separator), [])
    except csv.Error:
        return 0, 0
    return sum(heading(cell) is not None for cell in cells), len(cells) if len(cells) > 1 else 0


def _upright(table: Table) -> Table:
    """Transpose a table whose header holds the worker counts."""
    first, *counts = table.header
    known = heading(first)
    if known is None or known.meaning != "workers" or len(counts) < 2 or not all(PLAIN.fullmatch(count.strip()) for count in counts):
        return table
    names = (first, *(cells[0] for _, cells in table.rows))
    rows = [
        (index + 2, (count, *(cells[index + 1] if index + 1 < len(cells) else "" for _, cells in table.rows)))
        for index, count in enumerate(counts)
    ]
    return Table(header=names, rows=tuple(rows), separator=table.separator)


PLAIN: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
MISSING: Final = frozenset({"-", "--", "—", "–", "n/a", "na", "n.a.", "none", "null", "oom", "tbd", "fail", "failed", "..."})
_NUMBER: Final = re.compile(r"(?P<sign>[+-]?)(?P<digits>\d[\d.,'’]*|\.\d+)(?P<power>[eE][+-]?\d+)?\s*(?P<rest>.*)", re.DOTALL)
_GROUPS: Final = r"\d{1,3}(?:%s\d{3})+"
_CLOCK: Final = re.compile(r"(\d+):([0-5]\d):([0-5]\d(?:\.\d+)?)")

Mark = Literal["point", "comma"]


@dataclass(frozen=True, kw_only=True)
class Number:
    """A number and the text after it."""

    value: float
    unit: str = ""
    percent: bool = False


@dataclass(frozen=True, kw_only=True)
class Marks:
    """Evidence of a table's decimal mark, with the cells that show it."""

    point: str | None = None
    comma: str | None = None
    doubtful: str | None = None

    @property
    def decimal(self) -> Mark:
        """The decimal mark; a point without evidence."""
        return "comma" if self.comma is not None and self.point is None else "point"


def marks(cells: Iterable[str]) -> Marks:
    """Combine the evidence of all cells."""
    shown: dict[str, str] = {}
    for cell in cells:
        digits = _digits(cell)
        kind = _kind(digits) if digits is not None else None
        if kind is not None:
            shown.setdefault(kind, cell.strip())
    return Marks(**shown)


def _kind(digits: str) -> str | None:
    comma, point = digits.rfind(","), digits.rfind(".")
    if comma >= 0 and point >= 0:
        return "comma" if comma > point else "point"
    if comma >= 0:
        return (
            "doubtful"
            if re.fullmatch(_GROUPS % ",", digits) and not digits.startswith("0")
            else "comma"
            if digits.count(",") == 1
            else "point"
        )
    if point >= 0:
        if digits.count(".") > 1:
            return "comma" if re.fullmatch(_GROUPS % r"\.", digits) else None
        return None if re.fullmatch(_GROUPS % r"\.", digits) and not digits.startswith("0") else "point"
    return None


def _digits(cell: str) -> str | None:
    match = _NUMBER.fullmatch(_bare(cell))
    return match["digits"].rstrip(",.") if match else None


def _bare(cell: str) -> str:
    """A cell without currency, notes, deviations and spaces between digits."""
    text = cell.strip().replace("−", "-").replace("×", "x")
    text = re.sub(r"(?<=\d)[\s\u00a0\u2009\u202f_](?=\d{3}(?!\d))", "", text)
    text = re.sub(r"\s*(?:±|\+/?-)\s*[\d.,]+\s*%?\s*$", "", text)
    text = re.sub(r"(?<=[\w%.])\s*\([^()]*\)\s*$", "", text)
    return re.sub(r"^[~≈$]\s*|^us\$\s*", "", text, flags=re.IGNORECASE).rstrip("*†‡§¹²³ ").strip()


def missing(cell: str) -> bool:
    """True if a cell states that there is no value: "-", "n/a", "OOM"."""
    return cell.strip().lower() in MISSING


def number(cell: str, decimal: Mark = "point") -> Number | None:
    """The number in a cell; None: unreadable."""
    clock = _CLOCK.fullmatch(cell.strip())
    if clock:
        return Number(value=3600.0 * int(clock[1]) + 60.0 * int(clock[2]) + float(clock[3]), unit="s")
    match = _NUMBER.fullmatch(_bare(cell))
    if match is None:
        return None
    digits = match["digits"].rstrip(",") if decimal == "point" else match["digits"].rstrip(".")
    plain = _plain(re.sub(r"['’]", "", digits), decimal)
    if plain is None:
        return None
    rest = match["rest"].strip()
    percent = rest.startswith("%")
    return Number(value=float(f"{match['sign']}{plain}{match['power'] or ''}"), unit=rest.removeprefix("%").strip(), percent=percent)


def _plain(digits: str, decimal: Mark) -> str | None:
    """The digits with a decimal point; None if groups are not of three."""
    mark, other = (".", ",") if decimal == "point" else (",", ".")
    whole, _, rest = digits.partition(mark)
    if other in rest or mark in rest:
        return None
    if other in whole and not re.fullmatch(_GROUPS % re.escape(other), whole):
        return None
    return f"{whole.replace(other, '') or '0'}.{rest or '0'}"
