"""How is a record handed in for artifact evaluation?  As an RO-Crate 1.1: a folder that says what each of its files is.

ro-crate-metadata.json (JSON-LD), the report as Markdown and as JSON, the experiment, and the tables of the `parquet` bundle with their data
dictionary.  The status begins the crate's name; the record's digest, its status and what its numbers are worth are properties of it.  With
`anonymous=yes` no host, user, path or address is left in any file: see `anonymous`.
(RO-Crate Metadata Specification 1.1, https://w3id.org/ro/crate/1.1.)
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from fireassay.errors import refuse
from fireassay.printable import json_text
from fireassay.record.files import Content, pieces
from fireassay.reports.documents.json_object import encode
from fireassay.reports.exports import parquet
from fireassay.reports.exports.anonymous import Names, texts_of
from fireassay.reports.exports.bundle import PACKAGE, Table
from fireassay.reports.exports.export import Export, Exported, Subject
from fireassay.reports.pages.record import page
from fireassay.reports.writers import markdown
from fireassay.spec.load import to_toml

METADATA: Final = "ro-crate-metadata.json"
FORMS: Final = {".json": "application/json", ".md": "text/markdown", ".toml": "text/plain", ".parquet": "application/vnd.apache.parquet"}
ABOUT: Final = {
    "report.md": "the report: every number with its interval",
    "report.json": "the report as JSON of the shape assay-report/1",
    "experiment.toml": "the experiment that was asked for",
    PACKAGE: "the data dictionary of the tables: meaning and unit of every column",
    "values.parquet": "every metric at every configuration, with its interval and status",
}


def files(subject: Subject) -> Exported:
    """The crate. Raises SpecError: a wrong value of an option."""
    asked = subject.options.get("anonymous", "no")
    if asked not in ("yes", "no"):
        raise refuse("--option anonymous", repr(asked), "yes or no", source="the command line")
    names = Names(subject) if asked == "yes" else None
    if names:
        names.learn((*texts_of(subject), *to_toml(subject.measured.experiment).split("\n")))
    made = {**_texts(subject, names), **_tables(subject, names)}
    return Exported(files={METADATA: _json(_metadata(subject, names, tuple(made))), **made}, notes=_notes(names))


def _notes(names: Names | None) -> tuple[str, ...]:
    return ("names that stand only in prose are not recognised: look at the files before you publish them.",) if names else ()


def _texts(subject: Subject, names: Names | None) -> dict[str, Content]:
    experiment = to_toml(subject.measured.experiment)
    if names:  # Markdown escapes letters of names, so that they are not found: the report is there as JSON
        return {"experiment.toml": "\n".join(map(names.text, experiment.split("\n"))), "report.json": encode(names.value(subject.document))}
    report = markdown.write(replace(page(subject.view), full=True))
    return {"report.md": report, "experiment.toml": experiment, "report.json": encode(subject.document)}


def _tables(subject: Subject, names: Names | None) -> dict[str, Content]:
    if names is None:
        return dict(parquet.files(subject).files)

    def change(table: Table) -> Table:
        return replace(table, frames=lambda: map(names.frame, table.frames()))

    made = dict(parquet.files(subject, change).files)
    package = json.loads(b"".join(pieces(made[PACKAGE])))
    hidden = {name: names.value(package[name]) for name in ("title", "description") if name in package}
    own = {name: names.value(value) for name, value in package["fireassay"].items()}
    return {**made, PACKAGE: _json({**package, **hidden, "fireassay": own})}


def _metadata(subject: Subject, names: Names | None, files: tuple[str, ...]) -> dict[str, Any]:
    head = {name: names.text(text) if names else text for name, text in vars(subject.head).items()}
    known = {
        "#digest": ("record digest (SHA-256)", head["digest"]),
        "#record": ("record", head["record"]),
        "#kind": ("kind", head["kind"]),
        "#status": ("status", head["status"]),
        "#standing": ("standing", head["standing"] or "ok"),
        "#reason": ("reason", head["standing_reason"] or "none"),
    }
    created = head["created_utc"] or "1970-01-01T00:00:00+00:00"
    root = {
        "@id": "./",
        "@type": "Dataset",
        "name": f"{head['status']}: {head['name']}",
        "description": head["sentence"],
        "datePublished": created,
        "license": subject.options.get("license", "No licence is stated."),
        "hasPart": [{"@id": name} for name in files],
        "additionalProperty": [{"@id": name} for name in known],
        "mentions": [{"@id": "#measurement"}],
    }
    run = {
        "@id": "#measurement",
        "@type": "CreateAction",
        "name": f"measurement of {head['name']}",
        "startTime": created,
        "instrument": {"@id": "#fireassay"},
        "result": [{"@id": name} for name in files],
    }
    tool = {"@id": "#fireassay", "@type": "SoftwareApplication", "name": "Fireassay", "version": head["assay_version"] or "unknown"}
    return {
        "@context": "https://w3id.org/ro/crate/1.1/context",
        "@graph": [
            {"@id": METADATA, "@type": "CreativeWork", "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"}, "about": {"@id": "./"}},
            root,
            *_parts(files),
            *({"@id": key, "@type": "PropertyValue", "name": name, "value": value} for key, (name, value) in known.items()),
            run,
            tool,
        ],
    }


def _parts(files: tuple[str, ...]) -> Iterator[dict[str, str]]:
    for name in files:
        about = ABOUT.get(name, "raw table; its columns are described in datapackage.json")
        yield {"@id": name, "@type": "File", "name": name, "description": about, "encodingFormat": FORMS[name[name.rindex(".") :]]}


def _json(document: Mapping[str, Any]) -> str:
    return json_text(json.dumps(document, indent=2, ensure_ascii=False)) + "\n"


EXPORT = Export(
    name="ro_crate",
    title="RO-Crate",
    summary="an RO-Crate 1.1 for artifact evaluation, also anonymous",
    options={"anonymous": "yes: no hosts, users, paths and addresses", "license": "the licence under which it is published, an address"},
    files=files,
)
