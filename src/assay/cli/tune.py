"""`assay tune`: which setting of these knobs is better than today's, with quality held?"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.base import Verb

if TYPE_CHECKING:
    from assay.cli.tuning import Round, Standing, Tuned


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="an experiment with a table [tune]")
    parser.add_argument(
        "--root",
        type=Path,
        default=Path("records"),
        metavar="DIR",
        help="where the records are made (default: records)",
    )
    parser.add_argument("--dry-run", action="store_true", help="show what would be tried out; run nothing")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    parser.add_argument(
        "--json", action="store_true", help="print the result as JSON on stdout; progress goes to stderr"
    )


def _run(arguments: argparse.Namespace) -> int:
    from assay.cli.live import display
    from assay.cli.tuning import check, tuned
    from assay.spec.load import load

    experiment = load(arguments.file)
    folder = arguments.file.resolve().parent
    tune = check(experiment)
    if arguments.dry_run:
        print(planned(tune))
        return 0
    with display(sys.stderr if arguments.json else sys.stdout, quiet=arguments.quiet) as show:
        found = tuned(experiment, folder, arguments.root, show)
    sys.stdout.write(
        _as_json(found, experiment.workload.work) if arguments.json else _as_text(found, experiment.workload.work)
    )
    return exit_code(found)


def exit_code(found: Tuned) -> int:
    """0 something better is shown, or that nothing is; 1 and 3 to 5 as `assay compare` where the last round does not decide."""
    from assay.cli import compare

    if found.final is None or found.adopted is not None:
        return 0
    return compare.exit_code(found.final)


def planned(tune: object) -> str:
    """What would be tried out."""
    from assay.spec.tune import Tune, choices, left_out

    assert isinstance(tune, Tune)
    arms = choices(tune)
    lines = [
        f"{len(arms)} arms in the first round, {tune.first_blocks} launches of each; the first is held against all others:",
        "",
    ]
    lines += [f"  {one.label}" for one in arms]
    if more := left_out(tune):
        lines.append(f"  {more} more are not tried out (tune.at_most = {tune.at_most})")
    share = f"{tune.keep:.0%} of them go on, with twice as many launches, until one is left"
    return "\n".join([*lines, "", f"{share}; then {tune.final_blocks} launches of it and of today's decide."])


def _as_json(found: Tuned, work: str) -> str:
    import json

    from assay.cli.tuning import document
    from assay.reports.comparisons import json as comparisons
    from assay.reports.comparisons.view import build

    final = None
    if found.final is not None:
        final = comparisons.document(build(found.final, found.sides[0].judgement.metrics, work))
    return json.dumps({**document(found), "final": final}, indent=2, default=str) + "\n"


def _as_text(found: Tuned, work: str) -> str:
    lines = [line for place, one in enumerate(found.rounds, 1) for line in _round(place, one)]
    if found.left_out:
        lines += [f"{found.left_out} combinations were not tried out (tune.at_most).", ""]
    if found.final is not None:
        import os
        import shutil

        from assay.cli.compare import WIDEST
        from assay.reports.comparisons.terminal import render
        from assay.reports.comparisons.view import build

        colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        width = min(shutil.get_terminal_size().columns, WIDEST)
        view = build(found.final, found.sides[0].judgement.metrics, work)
        lines += ["Last round, which alone decides", "", render(view, width=width, colour=colour)]
    sentence = found.sentence.rstrip(".")
    return "\n".join([*lines, sentence[0].upper() + sentence[1:] + "."]) + "\n"


def _round(place: int, found: Round) -> list[str]:
    from assay.printable import printable

    metric = f", by {found.metric}" if found.metric else ""
    head = f"Round {place}: {found.blocks} launch{'es' if found.blocks != 1 else ''} of each{metric}, against today's settings"
    width = max(len(one.label) for one in found.standings)
    return [head, "", *(printable(f"  {one.label.ljust(width)}  {_standing(one)}") for one in found.standings), ""]


def _standing(one: Standing) -> str:
    from assay.metrics.format import given
    from assay.spec.tune import TODAY

    if one.label == TODAY:
        return "1"
    if one.out:
        return f"out: {one.out}"
    gain = "?" if one.gain is None else given(one.gain, 3)
    interval = (
        ""
        if one.low is None or one.high is None or one.high == float("inf")
        else f" [{given(one.low, 3)}, {given(one.high, 3)}]"
    )
    return f"{gain}{interval} times as good, {'goes on' if one.goes_on else 'goes out'}"


VERB = Verb(
    name="tune",
    group="measure",
    summary="try out settings of a workload's knobs against today's, and say which is better",
    description="""Try out settings of a training's knobs (bucket size, loader workers, accumulation, batch ...) against today's.

    assay tune examples/tune.toml              halving over blocks, then a round that decides
    assay tune examples/tune.toml --dry-run    what would be tried out

    [workload]
    arguments = ["--batch", "{batch}", "--loaders", "{loaders}"]
    [tune.knobs]
    batch = [64, 128]        # the first value is today's
    loaders = [0, 2]

An arm goes out if it does other work, loses quality or gives a wrong result, however fast it is. Every arm of every round is a
sealed record of its own. The exit code: 0 decided, else as `assay compare`; Ctrl-C keeps what was measured.""",
    add_arguments=_add_arguments,
    run=_run,
)
