"""What will this experiment do, before it does?  Notes, and the dry run.

A dry run says the question and its price first, then what it can show, then the order of the launches.
"""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fireassay import catalog
from fireassay.cli.support.output import JSON
from fireassay.cli.support.settings import USED
from fireassay.clock import SystemClock
from fireassay.errors import refuse
from fireassay.estimates.format import count, duration, given, limit_text, percent
from fireassay.estimates.price_words import price_words
from fireassay.printable import json_text, say
from fireassay.runners.experiment.progress import planned_seconds
from fireassay.runners.load.client_start import client_start_s
from fireassay.spec.experiment import Experiment
from fireassay.spec.kind import kind_of
from fireassay.spec.plan import PLAN_COLUMNS, configurations, plan, plan_table, targets_of
from fireassay.spec.rules.experiment import notes
from fireassay.spec.sections.serving import Serving
from fireassay.traffic.arrivals.make import expected_shortfall
from fireassay.units import SECONDS, USD

if TYPE_CHECKING:
    from fireassay.api.experiment_run import Foreseen

COLUMNS: Final = 80
AROUND_S: Final = 0.3  # of a launch: its files, the lead before its first request, its rows
OWN_STARTS: Final = 4  # starts of a client that the request sent first, the start of assay, the verdict and the report take
MAX_ROWS: Final = 12  # launches listed without --full


def show_notes(experiment: Experiment) -> None:
    """Print notes on valid but possibly unintended settings to stderr, unless all should be quiet."""
    if USED.get().quiet or experiment.launches.quick:
        return
    messages = list(notes(experiment, SystemClock().utc().date()))
    if (serving := experiment.serving) is not None:
        messages += dict.fromkeys(expected_shortfall(serving.arrivals, load) for load in serving.rate or (None,))
    for message in messages:
        if message:
            say(f"note: {message}", file=sys.stderr)


def all_seconds(experiment: Experiment) -> float:
    """How long all launches will take, as far as the experiment says it; 0 if it does not."""
    return (planned_seconds(experiment) or 0.0) * len(plan(experiment))


def refuse_detect(arguments: argparse.Namespace) -> None:
    """Refuse `--detect` of a run: it answers before one."""
    if arguments.detect is not None:
        fix = "Add --dry-run; then run with the --launches that it prints."
        raise refuse("--detect", f"{arguments.detect:g}", "with --dry-run", fix, source="the command line")


def show_dry_run(experiment: Experiment, arguments: argparse.Namespace, folder: Path = Path(), changes: str = "") -> int:
    """Print the plan in the requested form; returns the exit code. `changes`: how the number of launches may yet change.

    Raises:
        SpecError: a file that a load will read, relative to `folder`, is missing or wrong.
    """
    if experiment.serving is not None:
        from fireassay.runners.serving import as_replayed, check_files

        check_files(experiment, folder)
        experiment = as_replayed(experiment, folder)
    from fireassay.api.experiment_run import foreseen  # deferred, as it loads Polars and the judge: most callers run the experiment instead

    expected = foreseen(experiment, arguments.root, arguments.detect)
    if arguments.form == JSON:
        print(json_text(as_json(experiment, expected)))
    else:
        say(text(experiment, expected, arguments.root, full=arguments.full, changes=changes))
    return 0


def as_json(experiment: Experiment, expected: Foreseen) -> str:
    """The plan in order, the expected seconds (null where unknown) and the detectable differences, for other programs."""
    launches, shows = ([asdict(item) for item in items] for items in (plan(experiment), expected.differences))
    return json.dumps(
        {"launches": launches, "expected_s": expected.seconds, "able_to_show": shows},
        indent=2,
        default=lambda value: value.model_dump(mode="json"),  # a fault as requested
    )


def text(experiment: Experiment, expected: Foreseen, root: Path, *, full: bool = False, changes: str = "") -> str:
    """The whole dry run as plain text."""
    facts = tuple(_facts(experiment, changes))
    width = max(len(name) for name, _ in facts)
    return "\n".join(
        [
            _headline(experiment, expected.seconds, root),
            "",
            *(line for name, words in facts for line in _wrapped(words, f"  {name:<{width}}  ")),
            "",
            "Detectable differences:",
            "",
            *(line for item in expected.differences for line in _wrapped(f"{item.subject}: {item.sentence}", "  ")),
            "",
            *_order(experiment, full=full),
            *by_hand(experiment),
        ]
    )


def by_hand(experiment: Experiment) -> Iterator[str]:
    """The job in which the launcher's engine would run the whole experiment."""
    submit = catalog.load("launchers", experiment.launcher.kind).by_hand
    if submit is not None:
        words = [word for word in sys.argv[1:] if word != "--dry-run"]
        yield from ("", "To submit by hand:", "", *submit(experiment, words).splitlines())


def _headline(experiment: Experiment, expected_s: float | None, root: Path) -> str:
    """ "54 launches; expected time: about 13 min"."""
    launches, seconds = len(plan(experiment)), planned_seconds(experiment)
    most = "at most " if experiment.launches.adaptive else ""
    budget_s = experiment.launches.budget_s
    if budget_s is not None and experiment.launches.until_decided:
        first_s = (expected_s or 0.0) * experiment.launches.per_configuration / experiment.blocks  # made whatever they take
        estimate = f"until it is decided, at most about {duration(max(first_s, min(expected_s or budget_s, budget_s)))}"
        estimate += "" if expected_s else f", or as long as {experiment.launches.per_configuration} rounds take"
    elif expected_s is not None:
        own_s = OWN_STARTS * client_start_s() if experiment.serving else 0.0
        estimate = f"{most}about {duration(expected_s + own_s)}, as in an earlier record"
    elif seconds is not None:
        whole = sum(load_seconds(experiment)) if experiment.serving else seconds * launches
        estimate = f"{most}about {duration(whole)}"
    else:
        estimate = f"unknown: no complete record in {root} ran this workload at all these levels"
    return f"{most}{count(launches, 'launches')}; expected time: {estimate}"


def load_seconds(experiment: Experiment) -> tuple[float, float]:
    """Seconds of load, and of everything around it: the start of each client, probes, the start of assay and the verdict.

    A client's start is measured, as it depends on how busy the machine is.  The time of an answer is unknown before one was sent.
    """
    launches, start_s = len(plan(experiment)), client_start_s()
    around_s = launches * (start_s + 2.0 * experiment.noise.sentinel_s + AROUND_S)
    return launches * (planned_seconds(experiment) or 0.0), around_s + OWN_STARTS * start_s


def _wrapped(text: str, head: str) -> list[str]:
    """The text after its head, in lines of 80 columns."""
    return textwrap.wrap(text, COLUMNS, initial_indent=head, subsequent_indent=" " * len(head), break_on_hyphens=False) or [head.rstrip()]


def _facts(experiment: Experiment, changes: str) -> Iterator[tuple[str, str]]:
    """What is measured, how often, and against which limits."""
    serving = experiment.serving
    if serving is not None:
        yield from _load(experiment, serving)
    else:
        collectives = ", ".join(experiment.collectives_requested.operations)
        yield ("script", experiment.workload.script) if experiment.workload.script else ("collectives", collectives)
        yield "workers", ", ".join(map(str, sorted(experiment.factor.levels)))
    yield "launches", f"{_launches(experiment)}{f'; {changes}' if changes else ''}"
    if serving is not None:
        yield "objectives", _objectives(serving)
        if sought := ", ".join(_sought(experiment)):
            yield "sought", sought
    elif kind_of(experiment).name == "training":
        if experiment.target is not None:
            yield "target", ", then ".join(map(str, experiment.target.goals))
        yield "quality", _quality(experiment)
        yield "gates", ", ".join(_gates(experiment)) or "none"
    if kind_of(experiment).name in ("training", "serving"):
        yield "price", _price(experiment, "replica" if serving is not None else "worker")


def _load(experiment: Experiment, serving: Serving) -> Iterator[tuple[str, str]]:
    targets = targets_of(serving)
    names = [target.name for target in targets]
    yield (
        "engines" if len(names) > 1 else "engine",
        ", ".join(names) if len(names) > 1 else (targets[0].urls or (experiment.workload.script,))[0],
    )
    word = "concurrency" if serving.concurrency else "rate" if serving.rate else ""
    levels = ", ".join(given(load) for load in sorted(set(serving.concurrency or serving.rate)))
    loaded_s, around_s = load_seconds(experiment)
    yield "time", f"{duration(loaded_s)} of load, {duration(around_s)} of starts, probes and verdict; and two answers in each launch"
    yield "loads", f"{word} {levels}" if word else serving.arrivals.process
    if len(serving.scenarios) > 1:
        yield "scenarios", ", ".join(serving.scenarios)


def _launches(experiment: Experiment) -> str:
    """ "9 of each of 6 configurations, in blocks of random order; 1 fault"."""
    roles = Counter(launch.role for launch in plan(experiment))
    roles.pop("timed", None)
    most = "at most " if experiment.launches.precision is not None else ""
    several = len(configurations(experiment))
    if experiment.launches.until_decided:
        most = f"{experiment.launches.per_configuration} to "
    each = f" of each of {several} configurations, in rounds of random order" if several > 1 else ""
    return "; ".join([f"{most}{experiment.blocks}{each}", *(f"{number} {role}" for role, number in roles.items())])


def _objectives(serving: Serving) -> str:
    limits = serving.objectives.limits
    if not limits:
        return "none: --slo ttft=0.5 says what a good request is"
    words = " and ".join(f"{name} ≤ {limit_text(limit, SECONDS)}" for name, limit in limits.items())
    return f"{words}, for {percent(serving.objectives.attainment, 6)} of the requests (--attainment)"


def _sought(experiment: Experiment) -> Iterator[str]:
    cap, floor = experiment.gates.latency_cap, experiment.gates.throughput_floor
    if cap is not None:
        yield f"most throughput with p{cap.percentile} {cap.metric} ≤ {limit_text(cap.limit_s, SECONDS)}"
    if floor is not None:
        yield f"least p{floor.percentile} {floor.metric} at {given(floor.at_least)} {floor.of}/s or more"


def _quality(experiment: Experiment) -> str:
    quality = experiment.quality
    return "none: --quality-metric and --margin" if quality is None else f"{quality.metric}, margin {given(quality.margin)}"


def _gates(experiment: Experiment) -> Iterator[str]:
    gates = experiment.gates
    limits = (
        ("efficiency at least", gates.efficiency, given),
        ("deadline", gates.deadline_s, lambda limit: limit_text(limit, SECONDS)),
        ("budget", gates.budget_usd, lambda limit: limit_text(limit, USD)),
        ("required workers", gates.required_workers, str),
    )
    return (f"{name} {words(limit)}" for name, limit, words in limits if limit is not None)


def _price(experiment: Experiment, what: str) -> str:
    prices = experiment.prices
    return f"none: --price, in dollars per {what}-hour" if prices is None else price_words(prices, what)


def _order(experiment: Experiment, *, full: bool) -> Iterator[str]:
    """The launches in order, with their seeds; without --full the first."""
    rows = plan_table(experiment)
    shown = rows if full or len(rows) <= MAX_ROWS else rows[: min(MAX_ROWS, len(configurations(experiment)))]
    table = [PLAN_COLUMNS, *shown]
    widths = [max(len(row[index]) for row in table) for index in range(len(PLAN_COLUMNS))]
    yield "Order of the launches:"
    yield ""
    yield from ("  ".join(["", *(cell.ljust(width) for cell, width in zip(row, widths, strict=True))]).rstrip() for row in table)
    if len(shown) < len(rows):
        yield f"  and {len(rows) - len(shown)} more: --full lists all"
