"""`assay schema`: which keys may an experiment file or a claim file hold?"""

from __future__ import annotations

import argparse
import json

from fireassay.cli.support.verb import Verb

DESCRIPTION = """\
Print the JSON Schema of an experiment file (TOML), so that an editor completes and checks its keys.

  assay schema > experiment.schema.json

Then, as the first line of the experiment file (VS Code with Even Better TOML, or any editor with Taplo):

  #:schema ./experiment.schema.json

--keys prints the same as a readable table. --claim prints either for a claim file, which `assay audit` reads; --document VERB for the
JSON that `assay VERB --json` prints:

  assay schema --document report > report.schema.json"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--keys", action="store_true", help="print the keys as a Markdown table instead")
    subject = parser.add_mutually_exclusive_group()
    subject.add_argument("--claim", action="store_true", help="for a claim file instead of an experiment file")
    subject.add_argument("--document", metavar="VERB", help="for the JSON output of a verb: report, compare, check, ...")


def _run(arguments: argparse.Namespace) -> int:
    from fireassay.reports.documents import document
    from fireassay.reports.documents.json_object import key_tables
    from fireassay.spec.claim import Claim, claim_schema
    from fireassay.spec.experiment import Experiment
    from fireassay.spec.load import json_schema, key_table

    if arguments.document is not None:
        declared = document(arguments.document)
        schema, keys = declared.json_schema(), "\n".join(key_tables(declared.fields())).lstrip()
    else:
        schema = claim_schema() if arguments.claim else json_schema()
        keys = _markdown(("key", "type", "default", "meaning"), key_table(Claim if arguments.claim else Experiment))
    print(keys if arguments.keys else json.dumps(schema, indent=2, ensure_ascii=False))
    return 0


def _markdown(headings: tuple[str, ...], rows: tuple[tuple[str, ...], ...]) -> str:
    # An unescaped bar would end the cell.
    cells = [[f"`{row[0]}`", *row[1:]] for row in rows]
    lines = [" | ".join(cell.replace("|", "\\|") for cell in row) for row in cells]
    rule = " | ".join("---" for _ in headings)
    return "\n".join(f"| {line} |" for line in (" | ".join(headings), rule, *lines))


VERB = Verb(
    name="schema",
    group="instrument",
    call="fireassay.spec.load.json_schema",
    summary="print the JSON Schema of an experiment file",
    description=DESCRIPTION,
    add_arguments=_add_arguments,
    run=_run,
)
