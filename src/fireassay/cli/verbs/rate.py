"""`assay rate`: what do people prefer?"""

from __future__ import annotations

import argparse
import secrets
import shlex
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fireassay.cli.support.verb import A_RECORD, Verb, add_root
from fireassay.clock import SystemClock
from fireassay.errors import EnvironmentLacks, Problem, refuse_any
from fireassay.printable import printable, say

if TYPE_CHECKING:
    from fireassay.api.rating.items import RatedItem
    from fireassay.api.rating.sheet import Sheet

RISK: Final = 0.05  # of ever naming a winner wrongly
TOKEN_BYTES: Final = 12


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, metavar="DIR", help="folder with items.jsonl or items.csv; ratings.csv is kept there")
    parser.add_argument("--likert", action="store_true", help="one side at a time, 1 (worst) to 5 (best), instead of pairs")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the order of items and sides; each rater has their own (0)")
    parser.add_argument("--each", type=int, default=1, metavar="N", help="choices that make an item complete, for the stop (1)")
    parser.add_argument("--record", metavar="RECORD", help=f"choose items at random from {A_RECORD}; DIR/items.jsonl is made")
    parser.add_argument("--items", type=int, default=100, metavar="N", help="with --record: how many (100)")
    add_root(parser)
    parser.add_argument("--port", type=int, default=0, metavar="N", help="port on 127.0.0.1 (a free one)")


def _run(arguments: argparse.Namespace) -> int:
    _refuse_what_cannot_be(arguments)
    if arguments.record is not None:
        _choose(arguments)
    from fireassay.api.rating import items, served
    from fireassay.api.rating.sheet import Mode, Sheet

    shown = items.read(arguments.folder)
    mode: Mode = "long" if arguments.likert else "pairs"
    sides = list(items.side_names(shown))
    if mode == "pairs" and len(sides) < 2:
        refuse_any([Problem(str(arguments.folder), f"{len(sides)} side", "two sides or more to compare", "Rate one alone with --likert.")])
    with Sheet(arguments.folder, shown, mode, arguments.seed, SystemClock()) as sheet:
        token = secrets.token_urlsafe(TOKEN_BYTES)
        watch = _Watch(sheet, sides, arguments.each)
        rating = served.Rating(items={item.id: item for item in shown}, sheet=sheet, token=token, kept=watch.look)
        try:
            server = served.server(rating, arguments.port)
        except OSError as error:
            raise EnvironmentLacks(f"port {arguments.port} of {served.LOOPBACK} cannot be used: {error.strerror}") from None
        _greet(sheet, f"http://{served.LOOPBACK}:{server.server_address[1]}/?key={token}", shown)
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        with suppress(KeyboardInterrupt), server:
            server.serve_forever(poll_interval=0.2)
        _close(sheet, arguments.folder, watch)
    return 0


def _choose(arguments: argparse.Namespace) -> None:
    """Write the items of a record that people should label."""
    from fireassay.api.rating import sample
    from fireassay.frames.record_data import from_record
    from fireassay.record.lookup import resolve
    from fireassay.record.reader import open_record

    made = sample.write(
        from_record(open_record(resolve(arguments.record, arguments.root))), arguments.folder, arguments.items, arguments.seed
    )
    if made < arguments.items:
        say(f"the record has {made:,} items that every side answered", file=sys.stderr)


def _greet(sheet: Sheet, address: str, shown: tuple[RatedItem, ...]) -> None:
    from fireassay.estimates.format import count

    if sheet.cut:
        say(f"the last row of {sheet.path} was cut short by a crash before it was accepted: cut off", file=sys.stderr)
    if sheet.foreign:
        say(f"{sheet.foreign:,} rows of {sheet.path} are of no item that is shown now: left as they are", file=sys.stderr)
    kept = f", {sheet.kept:,} kept already" if sheet.kept else ""
    say(f"{count(len(shown), 'items')}, {len(sheet.things):,} to rate for each rater{kept}; Ctrl-C ends")
    say(f"{address}&rater=r1   (each rater has a code of their own)", flush=True)


def _close(sheet: Sheet, folder: Path, watch: _Watch) -> None:
    from fireassay.estimates.format import count

    raters = sum(1 for state in sheet.raters.values() if state.answers)
    say(f"\nkept {count(sheet.kept, 'answers')} of {count(raters, 'raters')} in {printable(str(sheet.path))}{watch.words()}")
    if sheet.kept:
        say(f"next: assay score {shlex.quote(str(folder / sheet.path.name))} --ratings {sheet.mode}")


class _Watch:
    """Says once that a winner may be named: whoever looks after every answer keeps the risk, which is `wins_sequence`'s."""

    def __init__(self, sheet: Sheet, sides: list[str], each: int) -> None:
        self.sheet, self.sides, self.each, self.said = sheet, sides, each, False

    def look(self) -> None:
        """After every answer."""
        if not self.said and (words := self.words()).startswith("; stop"):
            self.said = True
            say(f"{words.removeprefix('; ')}; go on, or end with Ctrl-C", file=sys.stderr, flush=True)

    def words(self) -> str:
        """ "; stop: b wins over a (34 items)", "; go on: ...", or nothing where no two sides are compared."""
        if self.sheet.mode != "pairs" or len(self.sides) != 2:
            return ""
        from fireassay.stats.people.wins_sequence import stop

        a, b = self.sides
        found = stop(self.sheet.shares(b, self.each), RISK)
        if found.verdict == "go on":
            return f"; go on: neither is shown to win over {found.steps:,} complete items"
        winner, loser = (b, a) if found.verdict == "better" else (a, b)
        return f"; stop: {printable(winner)} wins over {printable(loser)} (by item {found.decided_at:,}, risk {RISK:g})"


def _refuse_what_cannot_be(arguments: argparse.Namespace) -> None:
    """Raises SpecError before anything is opened."""
    problems = []
    if arguments.record is None and not arguments.folder.is_dir():
        problems.append(Problem("DIR", str(arguments.folder), "a folder with items.jsonl or items.csv"))
    if not 0 <= arguments.port <= 65_535:
        problems.append(Problem("--port", str(arguments.port), "0 to 65535; 0 takes a free one"))
    if arguments.items < 1:
        problems.append(Problem("--items", str(arguments.items), "1 or more"))
    if arguments.each < 1:
        problems.append(Problem("--each", str(arguments.each), "1 or more"))
    refuse_any(problems, "the command line")


VERB = Verb(
    name="rate",
    group="measure",
    call="fireassay.api.rating.served.server",
    summary="let people choose between sides, or rate them, in a browser",
    description="""Serve a page on this machine on which people compare answers or images: pairs side by side, blinded, in random order.

    assay rate study                   pairs; raters open the printed address with &rater=CODE
    assay rate study --likert          one side at a time, 1 to 5
    assay score study/ratings.csv --ratings pairs --margin 0.1
    assay rate gold --record latest --items 100         labels that a judge is held against

study/items.jsonl has a line for each item: {"item": "7", "prompt": "a red cube", "sides": {"a": "a text", "b": {"image": "b/7.png"}}};
study/items.csv the columns item, prompt and one for each side, where image:b/7.png is an image (PNG, JPEG or WebP in the folder).

Keys: left, right, down for a tie, 1 to 5 for ratings, u takes the last answer back. Each answer is on the disk in ratings.csv before the
next item is shown; a reload or a restart goes on where the rater was. Order of items and sides follows from --seed and the rater's
code. With two sides it says when a winner may be named, with a risk of 5 % however often anybody looks.
Only this machine can reach the page; from elsewhere: ssh -L 8000:127.0.0.1:8000 machine, with --port 8000.""",
    add_arguments=_add_arguments,
    run=_run,
    exits={0: "ended by Ctrl-C", 7: "the port is in use"},
)
