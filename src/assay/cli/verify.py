"""`assay verify`: is a sealed record still, byte for byte, what was sealed?"""

from __future__ import annotations

import argparse

from assay.cli.base import Verb, add_root


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "record", nargs="?", default="latest", help="a record folder, the beginning of its name, or latest (default)"
    )
    add_root(parser)


def _run(arguments: argparse.Namespace) -> int:
    from assay.printable import printable
    from assay.record.reader import resolve
    from assay.record.verify import verify

    path = resolve(arguments.record, arguments.root)
    problems = verify(path)
    if not problems:
        print(f"{path}: intact")
        return 0
    print(f"{path}: {len(problems)} problem{'s' if len(problems) > 1 else ''}")
    print(printable("\n".join(f"  {problem}" for problem in problems)))  # files are named by whoever made the record
    return 6


VERB = Verb(
    name="verify",
    group="records",
    summary="check every byte of a sealed record against its seal",
    description="""Check every byte of a sealed record against its seal, and name each file that was changed, removed or added.
The folder reports/ is derived and is not checked.

    assay verify                      # the latest record below ./records
    assay verify digits-20260101      # the one whose name begins so
    assay verify /data/records/digits-20260101T120000Z-a1b2c3

Exit code 0: intact. 6: damaged, or not sealed.""",
    add_arguments=_add_arguments,
    run=_run,
)
