"""`assay rubric`: what do these timings from elsewhere amount to?

Shown with a fixed number of decimals, because a table without launches has no interval that could say how many digits
mean something; the decimals are those of the reference tables.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.cli.base import Verb
from assay.printable import columns

if TYPE_CHECKING:
    from assay.verdict.rubric import Fit, Limits, Row, Rubric, Scaling

DESCRIPTION = """\
Judge a table of timings that was measured elsewhere: speedup, efficiency, Amdahl's serial fraction and ceiling, the
Universal Scalability Law, cost, and which row to choose. Rows whose quality drifted more than the tolerance are refused, whatever their speedup.

  assay rubric timings.csv
  assay rubric timings.csv --deadline 600 --budget 1.50 --json
  assay rubric timings.csv --predict 48

The file has a header and one row for each number of workers. Columns, in any order:
  workers (or nodes, p)          seconds (or time, time_s; step_seconds: time of one step)
  price_per_hour                 of all the row's machines together;
                                 or usd_per_worker_hour, usd_per_node_second
  quality (or accuracy)          work (or items)          steps
A number of workers beyond twice the largest row is not predicted.
Exit code 1 if no row meets everything, or if the prediction is refused."""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("table", metavar="CSV", type=Path, help="the table of timings")
    parser.add_argument("--tolerance", metavar="Q", default="0.005", help="largest drift of quality (0.005)")
    parser.add_argument("--efficiency", metavar="E", default="0.70", help="smallest efficiency, a fraction (0.70)")
    parser.add_argument("--deadline", metavar="S", help="longest time, seconds")
    parser.add_argument("--budget", metavar="USD", help="highest cost of a row")
    parser.add_argument("--work", metavar="N", help="units of work of every row, if the table has no such column")
    parser.add_argument("--predict", metavar="N", help="predict the speedup with N workers, or say why not")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


WORKERS = "of at least 1"  # what --predict may be


def _run(arguments: argparse.Namespace) -> int:
    import sys

    from assay.spec.timings import read_timings
    from assay.verdict.rubric import rubric

    limits, work, wanted = _limits(arguments)
    result = rubric(read_timings(arguments.table, work=work), limits, predict_at=wanted)
    if arguments.json:
        print(_json(result))
    elif sys.stdout.isatty():
        _print_rich(result)
    else:
        print(plain(result))
    refused = result.predicted is not None and result.predicted.speedup is None
    return 1 if refused or result.recommended is None else 0


def _limits(arguments: argparse.Namespace) -> tuple[Limits, float | None, float | None]:
    """The flags' numbers. Raises SpecError with every wrong one."""
    from assay.errors import Problem, SpecError
    from assay.verdict.rubric import Limits

    problems: list[Problem] = []

    def number(flag: str, least: str) -> float | None:
        text = getattr(arguments, flag)
        value = _finite(text)
        whole = value is not None and value >= 1 and value == int(value)
        below = value is None or value < 0 or (value == 0 and least == "above 0") or (least == WORKERS and not whole)
        if text is not None and below:
            kind = "a whole number" if least == WORKERS else "a number"
            problems.append(Problem(where=f"--{flag}", found=text or "nothing", allowed=f"{kind} {least}"))
        return value

    tolerance, efficiency = number("tolerance", "of at least 0"), number("efficiency", "above 0")
    deadline, budget, work = number("deadline", "above 0"), number("budget", "above 0"), number("work", "above 0")
    wanted = number("predict", WORKERS)
    if problems or tolerance is None or efficiency is None:
        raise SpecError(tuple(problems), "the flags")
    return Limits(tolerance=tolerance, efficiency=efficiency, deadline_s=deadline, budget_usd=budget), work, wanted


def _finite(text: str | None) -> float | None:
    import math

    try:
        value = float(text) if text is not None else math.nan
    except ValueError:
        return None
    return value if math.isfinite(value) else None


# ---- as text -----------------------------------------------------------------------------------------------------


def plain(result: Rubric) -> str:
    """The whole answer as lines of text."""
    headings, rows = _table(result)
    return "\n".join([*columns((headings, *rows), right=len(headings)), "", *_sentences(result)])


def _print_rich(result: Rubric) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    headings, rows = _narrowed(*_table(result), console.width)
    table = Table(box=box.SIMPLE_HEAD)
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for cells, row in zip(rows, result.rows, strict=True):
        style = "red" if row.refused else "bold green" if row.workers == result.recommended else ""
        table.add_row(*cells, style=style)
    console.print(table)
    for sentence in _sentences(result):
        console.print(Text(sentence))


def _table(result: Rubric) -> tuple[list[str], list[list[str]]]:
    """Headings and rows of text; columns for which nothing was given are left out."""
    quality = f".{_quality_decimals(result)}f"
    steps_only = all(row.usd_per_step == row.usd for row in result.rows)
    columns: list[tuple[str, list[str | None]]] = [
        (result.worker_word, [str(row.workers) for row in result.rows]),
        ("seconds", [f"{row.seconds:.10g}" for row in result.rows]),
        ("S", [f"{row.speedup:.2f}" for row in result.rows]),
        ("E", [f"{row.efficiency:.3f}" for row in result.rows]),
        ("E %", [f"{100 * row.efficiency:.0f}" for row in result.rows]),
        ("Karp-Flatt", [_or_none(row.karp_flatt, ".4f") for row in result.rows]),
        ("quality", [_or_none(row.quality, quality) for row in result.rows]),
        ("$", [None if steps_only else _dollars(row.usd) for row in result.rows]),
        ("$/item", [_or_none(row.usd_per_item, ".3e") for row in result.rows]),
        ("items/$", [_or_none(row.items_per_usd, ".0f") for row in result.rows]),
        ("$/step", [_or_none(row.usd_per_step, ".4f") for row in result.rows]),
        ("", ["refused" if row.refused else None for row in result.rows]),
    ]
    shown = [(heading, cells) for heading, cells in columns if any(cell is not None for cell in cells)]
    rows = zip(*([cell or "" for cell in cells] for _, cells in shown), strict=True)
    return [heading for heading, _ in shown], [list(row) for row in rows]


def _narrowed(headings: list[str], rows: list[list[str]], width: int) -> tuple[list[str], list[list[str]]]:
    """Without the columns that can be worked out from the others, as many as must go in a narrow window."""
    for spare in ("Karp-Flatt", "E %", "items/$"):
        widths = [max(map(len, column)) + 3 for column in zip(headings, *rows, strict=True)]
        if sum(widths) + 2 > width and spare in headings:
            place = headings.index(spare)
            headings = headings[:place] + headings[place + 1 :]
            rows = [row[:place] + row[place + 1 :] for row in rows]
    return headings, rows


def _quality_decimals(result: Rubric) -> int:
    """Three, or more where the tolerance is finer."""
    import math

    tolerance = result.limits.tolerance
    return max(3, min(9, math.ceil(-math.log10(tolerance)))) if tolerance > 0 else 6


def _or_none(value: float | None, form: str) -> str | None:
    return None if value is None else format(value, form)


def _dollars(usd: float | None) -> str | None:
    return None if usd is None else f"{usd:.2f}" if usd >= 0.1 or usd == 0 else f"{usd:.3g}"


def _sentences(result: Rubric) -> list[str]:
    lines = _fit_lines(result, result.fit) if result.fit else []
    lines += _scaling_lines(result.scaling) if result.scaling else []
    lines += [result.predicted.sentence] if result.predicted else []
    if result.largest_drift is not None:
        held = "held" if result.quality_held else f"not held in {_refused(result)}"
        lines.append(
            f"quality: {held} (largest drift {result.largest_drift:.{_quality_decimals(result)}f}, tolerance {result.limits.tolerance:g})"
        )
    lines += [_pick_line(result, pick.goal, pick.workers, pick.sentence) for pick in result.picks]
    return [*lines, "", *result.notes, "", _verdict(result)]


def _refused(result: Rubric) -> str:
    counts = [str(row.workers) for row in result.rows if row.refused]
    return f"{len(counts)} of {len(result.rows)} rows (p = {', '.join(counts)})"


def _fit_lines(result: Rubric, fit: Fit) -> list[str]:
    base = result.base_workers
    relative = "" if base == 1 else f", relative to {base} {result.worker_word}"
    lines = [f"Amdahl serial fraction: s = {fit.serial_fraction:.4f}{relative}"]
    if fit.ceiling is not None:
        lines.append(f"speedup ceiling 1/s: {fit.ceiling:.1f}")
    if fit.half_efficiency_workers is not None:
        lines.append(f"efficiency expected to fall to 0.50 at: p = {fit.half_efficiency_workers:.1f}")
    expected = f"measured {fit.measured_there:.2f}, model {fit.expected_there:.2f}"
    return [*lines, f"speedup at p = {fit.at_workers}: {expected}"]


def _scaling_lines(scaling: Scaling) -> list[str]:
    usl = next((law for law in scaling.laws if law.law == "usl"), None)
    lines = []
    if usl is not None:
        bound = f" ({', '.join(usl.on_bound)} on its bound)" if usl.on_bound else ""
        gamma, alpha, beta = (usl.parameters[name] for name in ("gamma", "alpha", "beta"))
        lines.append(
            f"Universal Scalability Law: contention alpha = {alpha:.4g}, coherency beta = {beta:.4g}, "
            f"gamma = {gamma:.4g} {scaling.per_second}/s{bound}"
        )
    return [*lines, f"law: {scaling.why}", f"peak: {scaling.peak}", f"largest row held out: {scaling.held_out}"]


def _pick_line(result: Rubric, goal: str, workers: int | None, sentence: str) -> str:
    row = next((row for row in result.rows if row.workers == workers), None)
    if row is None:
        return f"{goal}: none (wanted: {sentence})"
    return f"{goal}: p = {workers} ({sentence}; {_in_short(row)})"


def _in_short(row: Row) -> str:
    return f"S = {row.speedup:.2f}, E = {row.efficiency:.3f}{_cost(row)}"


def _verdict(result: Rubric) -> str:
    """The one sentence that may be quoted."""
    row = next((row for row in result.rows if row.workers == result.recommended), None)
    wanted = result.picks[0].sentence
    if row is None:
        return f"Verdict: no row qualifies ({wanted})."
    held = "quality held" if row.quality is not None else "quality not measured"
    counted = f"{row.workers} {result.worker_word if row.workers != 1 else result.worker_word.rstrip('s')}"
    if row.workers == result.base_workers:
        return (
            f"Verdict: stay at {counted}: no larger row qualifies ({wanted}); from single timings, without intervals."
        )
    speedup = f"{row.speedup:.2f} times as fast as {result.base_workers}"
    efficiency = f"efficiency {row.efficiency:.2f} (at least {result.limits.efficiency:.2f})"
    return f"Verdict: {counted}: {speedup}, {efficiency}, {held}{_cost(row)}; from single timings, without intervals."


def _cost(row: Row) -> str:
    if row.usd_per_step is not None and row.usd_per_step == row.usd:
        return f", ${row.usd_per_step:.4f} a step"
    return f", ${_dollars(row.usd)} a run" if row.usd is not None else ""


def _json(result: Rubric) -> str:
    import dataclasses
    import json

    document: dict[str, Any] = dataclasses.asdict(result)
    return json.dumps({**document, "recommended": result.recommended, "intervals": None}, indent=2, ensure_ascii=False)


VERB = Verb(
    name="rubric",
    group="judge",
    summary="judge a table of timings from elsewhere (CSV)",
    description=DESCRIPTION,
    add_arguments=_add_arguments,
    run=_run,
)
