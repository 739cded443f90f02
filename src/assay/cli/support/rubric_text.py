"""How is the judgement of a table from elsewhere shown in a terminal?

With a fixed number of decimals, because a table without launches has no interval that could say how many digits mean something; the
decimals are those of the reference tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.printable import columns

if TYPE_CHECKING:
    from assay.verdict.rubric.types import Fit, Gustafson, Row, Rubric, Scaling

EFFECTIVE = ("$/effective item", "$/effective step")  # of what is paid, the part that sped the work up


def plain(result: Rubric) -> str:
    """The whole answer as lines of text."""
    headings, rows = _table(result)
    return "\n".join([*columns((headings, *rows), right=len(headings)), "", *_sentences(result)])


def print_rich(result: Rubric) -> None:
    """The same on a terminal, in its width."""
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
    steps_only = all(row.usd_per_step == row.usd for row in result.rows)
    of_steps = any(row.usd_per_step is not None for row in result.rows)
    columns: list[tuple[str, list[str | None]]] = [
        (result.worker_word, [str(row.workers) for row in result.rows]),
        ("seconds", [_or_none(row.seconds, ".10g") for row in result.rows]),
        (f"{result.rate}/s", [_or_none(row.per_second, ".10g") if result.rate else None for row in result.rows]),
        ("S", [f"{row.speedup:.2f}" for row in result.rows]),
        ("E", [f"{row.efficiency:.3f}" for row in result.rows]),
        ("E %", [f"{100 * row.efficiency:.0f}" for row in result.rows]),
        ("Karp-Flatt", [_or_none(row.karp_flatt, ".4f") for row in result.rows]),
        ("serial", [_or_none(row.serial_share, ".4f") for row in result.rows]),
        ("quality %" if result.percent else "quality", [_quality(result, row.quality) for row in result.rows]),
        ("$", [None if steps_only else _dollars(row.usd) for row in result.rows]),
        ("$/item", [_or_none(row.usd_per_item, ".3e") for row in result.rows]),
        ("items/$", [_or_none(row.items_per_usd, ".0f") for row in result.rows]),
        ("$/step", [_or_none(row.usd_per_step, ".4f") for row in result.rows]),
        (EFFECTIVE[of_steps], [_or_none(row.usd_per_effective_work, ".4f" if of_steps else ".3e") for row in result.rows]),
        ("J", [_or_none(row.joules, ".4g") for row in result.rows]),
        ("J/item", [_or_none(row.joules_per_item, ".4g") for row in result.rows]),
        ("", ["refused" if row.refused else None for row in result.rows]),
    ]
    shown = [(heading, cells) for heading, cells in columns if any(cell is not None for cell in cells)]
    rows = zip(*([cell or "" for cell in cells] for _, cells in shown), strict=True)
    return [heading for heading, _ in shown], [list(row) for row in rows]


def _narrowed(headings: list[str], rows: list[list[str]], width: int) -> tuple[list[str], list[list[str]]]:
    """Without the columns that can be worked out from the others, as many as must go in a narrow window."""
    for spare in (*EFFECTIVE, "Karp-Flatt", "E %", "items/$"):
        widths = [max(map(len, column)) + 3 for column in zip(headings, *rows, strict=True)]
        if sum(widths) + 2 > width and spare in headings:
            place = headings.index(spare)
            headings = headings[:place] + headings[place + 1 :]
            rows = [row[:place] + row[place + 1 :] for row in rows]
    return headings, rows


def _quality(result: Rubric, value: float | None) -> str | None:
    """A quality in the unit in which it was given."""
    decimals, factor = _quality_decimals(result), 100.0 if result.percent else 1.0
    return None if value is None else f"{factor * value:.{max(1, decimals - 2) if result.percent else decimals}f}"


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
    lines += _gustafson_lines(result, result.gustafson) if result.gustafson else []
    lines += _scaling_lines(result.scaling) if result.scaling else []
    lines += [result.predicted.sentence] if result.predicted else []
    if result.largest_drift is not None:
        held = "held" if result.quality_held else f"not held in {_refused(result)}"
        drift, tolerance = (_quality(result, result.largest_drift), result.limits.tolerance * (100.0 if result.percent else 1.0))
        unit = " points" if result.percent else ""
        lines.append(f"quality: {held} (largest drift {drift}{unit}, tolerance {tolerance:g}{unit})")
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


def _gustafson_lines(result: Rubric, fit: Gustafson) -> list[str]:
    relative = "" if result.base_workers == 1 else f", relative to {result.base_workers} {result.worker_word}"
    return [
        f"Gustafson serial share: s = {fit.serial_share:.4f} of the time on p workers{relative}",
        f"scaled speedup at p = {fit.at_workers}: measured {fit.measured_there:.2f}, model {fit.expected_there:.2f}",
    ]


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
        return f"Verdict: stay at {counted}: no larger row qualifies ({wanted}); from single timings, without intervals."
    speedup = f"{row.speedup:.2f} times as fast as {result.base_workers}" + (" (superlinear)" if row.workers in result.superlinear else "")
    efficiency = f"efficiency {row.efficiency:.2f} (at least {result.limits.efficiency:.2f})"
    return f"Verdict: {counted}: {speedup}, {efficiency}, {held}{_cost(row)}; from single timings, without intervals."


def _cost(row: Row) -> str:
    if row.usd is None and row.usd_per_item is not None:
        return f", ${row.usd_per_item:.3e} an item"
    if row.usd_per_step is not None and row.usd_per_step == row.usd:
        return f", ${row.usd_per_step:.4f} a step"
    return f", ${_dollars(row.usd)} a run" if row.usd is not None else ""
