"""`assay rubric`: what do timings or throughputs measured elsewhere show?"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fireassay.cli.support.output import Output, add_formats, emit
from fireassay.cli.support.verb import Verb
from fireassay.errors import Problem, SpecError, refuse, refuse_any

if TYPE_CHECKING:
    from fireassay.spec.sections.prices import Prices
    from fireassay.spec.timings import Stated, Timings
    from fireassay.verdict.claims.rubric_types import Limits, Rubric

DESCRIPTION = """\
Judge a table of timings or throughputs measured elsewhere: speedup, efficiency, the serial fraction
by Amdahl (strong scaling) or Gustafson (weak), the Universal Scalability Law, cost, energy, and
which row to choose. Rows whose quality is worse by more than the tolerance are refused.

  assay rubric timings.csv
  assay rubric -                       a table pasted, or from another program
  assay rubric timings.csv --deadline 600 --budget 1.50 --json
  assay rubric timings.csv --predict 48
  assay rubric table.md --use "Throughput - TF32" --where "Batch size / GPU=32"
  assay rubric table.md --use quality="Task score" --use seconds="Median"

The file is CSV, TSV, semicolon-separated, in columns of white space, or a table of Markdown, LaTeX or in a frame, with a
header and one row per number of workers. Columns, in any order, with the unit in the heading or in each cell; percent signs,
thousands separators and decimal commas are understood:
  workers          or nodes, GPUs, # of GPUs, p
  seconds          or time (min), time to train (h); step_seconds, ms/step: time of one step;
                   or samples/s, tokens/s/GPU, throughput; or a speedup or an efficiency
  price_per_hour   or $/h, rate, for all machines of the row; or $/GPU/h; cost, $/run: of the row;
                   $/step, $/work, work/$
  quality          or any score: accuracy, MMLU (%), pass@1; error rate, loss: lower is better;
                   each of several is judged, and the worst decides
  cost parts       storage cost, egress cost, interruption cost ($ of the row): added to compute
  work, steps      or items; global batch, batch size / GPU
  energy (kWh)     or J/step, power (W), power per GPU: joules from mean power and time
Rows with equal counts are repetitions and are reduced to their medians. Predictions beyond twice the
largest number of workers are refused.
Exit code 1 if no row meets every requirement, or if the prediction is refused."""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("table", metavar="TABLE", type=Path, help="the table: CSV, TSV, white space, Markdown or LaTeX; -: standard input")
    add_table(parser)
    add_formats(parser)


def add_table(parser: argparse.ArgumentParser) -> None:
    """Add the flags on a table and what it has to reach."""
    parser.add_argument(
        "--tolerance", metavar="Q", help="largest loss of quality, in its unit: 0.005, 0.5%%, or by score: MMLU=1%%,loss=0.05 (0.005)"
    )
    parser.add_argument("--efficiency", metavar="E", help="smallest efficiency, a fraction or percent (0.70)")
    parser.add_argument("--deadline", metavar="S", help="longest time, seconds")
    parser.add_argument("--budget", metavar="USD", help="highest cost of a row")
    parser.add_argument("--joules", metavar="J", help="highest energy of a row, if the table has energy or power")
    parser.add_argument("--work", metavar="N", help="units of work per row, if the table has no such column")
    parser.add_argument(
        "--scaling", choices=("strong", "weak"), help="whether the work is fixed or grows with the workers, if the table does not say"
    )
    parser.add_argument(
        "--use",
        metavar="HEADING",
        action="append",
        default=[],
        help="the column to use, if several hold the same quantity; or MEANING=HEADING",
    )
    parser.add_argument(
        "--where", metavar="HEADING=CELL", action="append", default=[], help="the rows to use, if the table holds several series"
    )
    parser.add_argument("--price", metavar="USD", help="price of one worker for one hour, if the table has no prices")
    parser.add_argument("--prices", metavar="FILE", help="prices of workers, storage and egress: a TOML file with a table [prices]")
    parser.add_argument("--carbon", metavar="G", help="g CO2 per kWh of the grid, for a table with energy or power")
    parser.add_argument("--predict", metavar="N", help="predict the speedup with N workers, or say why not")


USUAL = {"judge": ("--efficiency", "--deadline", "--budget", "--prices"), "table": ("--use", "--where"), "beyond": ("--predict",)}
WORKERS = "of at least 1"  # what --predict may be
EFFICIENCY = 0.70
STDIN = "standard input"
MAX_EFFICIENCY = 2.0  # above it, the value is probably in percent


def _run(arguments: argparse.Namespace) -> int:
    return judge_table(arguments.table, arguments)


def judge_table(table: Path, arguments: argparse.Namespace) -> int:
    """Judge a table as its flags say, and show it; returns the exit code."""
    from fireassay.reports.pages.rubric import page
    from fireassay.spec.timings import with_tolerance
    from fireassay.verdict.claims.rubric import rubric

    limits, requested, predict_at = _limits(arguments)
    timings = with_tolerance(_read(table, requested), arguments.tolerance)
    result = rubric(timings, limits, predict_at=predict_at)
    name = STDIN if str(table) == "-" else table.name
    emit(Output(name="rubric", page=lambda: page(result, name), document=lambda: _json(result)), arguments)
    refused = result.predicted is not None and result.predicted.speedup is None
    return 1 if refused or result.recommended is None or result.other_base else 0


def _read(table: Path, requested: Stated) -> Timings:
    """The table. Raises SpecError: it is invalid, or another tool's output, which is then named."""
    from fireassay.importers.support.printed import of_a_tool
    from fireassay.spec.timings import decoded_timings, read_timings
    from fireassay.spec.user_file import MAX_TABLE

    if str(table) == "-":
        return decoded_timings(sys.stdin.buffer.read(MAX_TABLE + 1), STDIN, asked=requested)
    try:
        return read_timings(table, asked=requested)
    except SpecError:
        if (refusal := of_a_tool(table)) is None:
            raise
        raise refuse(str(table), *refusal) from None


def flag_of_a_table(arguments: argparse.Namespace) -> str:
    """The first flag that only tables have; "" if none was given."""
    stated = ("price", "prices", "carbon", "work", "scaling", "use", "where", "predict")
    flags = ("tolerance", "efficiency", "deadline", "budget", "joules", *stated)
    return next((f"--{flag}" for flag in flags if getattr(arguments, flag)), "")


def _limits(arguments: argparse.Namespace) -> tuple[Limits, Stated, float | None]:
    """The flags' numbers. Raises SpecError with every wrong one."""
    from fireassay.spec.sections.carbon import MAX_INTENSITY
    from fireassay.spec.timings import Stated, tolerances
    from fireassay.verdict.claims.rubric_types import Limits

    problems: list[Problem] = []

    def number(flag: str, least: str, *, percent: bool = False, part: str | None = None) -> float | None:
        text = getattr(arguments, flag) if part is None else part
        signed = percent and text is not None and text.strip().endswith("%")
        value = _finite(text.strip().removesuffix("%") if signed else text)
        value = value / 100.0 if signed and value is not None else value
        is_whole = value is not None and value >= 1 and value == int(value)
        below = value is None or value < 0 or (value == 0 and least == "above 0") or (least == WORKERS and not is_whole)
        if text is not None and below:
            kind = "a whole number" if least == WORKERS else "a number"
            problems.append(Problem(f"--{flag}", text or "nothing", f"{kind} {least}"))
        return value

    for part in tolerances(arguments.tolerance or "").values():
        number("tolerance", "of at least 0", percent=True, part=part)  # in the table's unit: see `with_tolerance`
    efficiency = number("efficiency", "above 0", percent=True)
    if efficiency is not None and efficiency > MAX_EFFICIENCY:
        remedy = "" if arguments.efficiency.strip().endswith("%") else f"Write {efficiency:g}%."
        problems.append(Problem("--efficiency", arguments.efficiency, "a fraction (0.70) or percent (70%)", remedy))
    deadline, budget, joules, work = (number(flag, "above 0") for flag in ("deadline", "budget", "joules", "work"))
    predict_at = number("predict", WORKERS)
    grams = number("carbon", "of at least 0")
    if grams is not None and grams > MAX_INTENSITY:
        problems.append(Problem("--carbon", arguments.carbon, f"g/kWh of at most {MAX_INTENSITY:g}"))
    where = [tuple(text.rsplit("=", 1)) for text in arguments.where]
    problems += [Problem("--where", text, "HEADING=CELL") for text in arguments.where if "=" not in text]
    prices = _prices(number("price", "of at least 0"), arguments, problems)
    refuse_any(problems, "the flags")
    requested = Stated(
        prices=prices,
        grams_per_kwh=grams,
        work=work,
        use=tuple(arguments.use),
        where=tuple((pair[0], pair[1]) for pair in where),
        scaling=arguments.scaling or "",
    )
    return (
        Limits(efficiency=EFFICIENCY if efficiency is None else efficiency, deadline_s=deadline, budget_usd=budget, joules=joules),
        requested,
        predict_at,
    )


def _prices(price: float | None, arguments: argparse.Namespace, problems: list[Problem]) -> Prices | None:
    """The prices of --price or --prices; problems are noted."""
    from pydantic import ValidationError

    from fireassay.clock import SystemClock
    from fireassay.spec.explain import explain
    from fireassay.spec.model import PRICE_SOURCE, Unreadable
    from fireassay.spec.sections.prices import MAX_USD, Prices, of_file, prices_add_up
    from fireassay.spec.tables.costs import refuse_of_tables

    if arguments.prices is None:
        if price is None or not 0.0 <= price <= MAX_USD:
            problems += [Problem("--price", arguments.price, f"at most {MAX_USD:g}")] if price is not None and price > MAX_USD else []
            return None
        return Prices(usd_per_worker_hour=price, as_of=SystemClock().utc().date(), source=PRICE_SOURCE)
    if arguments.price is not None:
        problems.append(Problem("--price", "given beside --prices", "one of them"))
        return None
    try:
        prices = Prices.model_validate(of_file(arguments.prices))
    except Unreadable as error:
        problems.append(Problem("--prices", arguments.prices, error.allowed, error.fix))
    except ValidationError as error:
        problems.extend(dataclasses.replace(problem, where=f"{arguments.prices}: {problem.where}") for problem in explain(Prices, error))
    else:
        problems.extend((*prices_add_up(prices), *refuse_of_tables(prices)))
        return prices
    return None


def _finite(text: str | None) -> float | None:
    try:
        value = float(text) if text is not None else math.nan
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _json(result: Rubric) -> str:
    document: dict[str, Any] = dataclasses.asdict(result)
    return json.dumps({**document, "recommended": result.recommended, "intervals": None}, indent=2, ensure_ascii=False)


VERB = Verb(
    name="rubric",
    group="judge",
    call="fireassay.verdict.claims.rubric.rubric",
    summary="judge a table of timings from elsewhere (CSV)",
    description=DESCRIPTION,
    add_arguments=_add_arguments,
    run=_run,
    usual=USUAL,
    exits={0: "a row meets every requirement", 1: "none does, another base, or no prediction"},
)
