"""What does docs/reference say?  Every page there is written by this program, from the source that it describes.

python tools/reference.py             write the pages
python tools/reference.py --check     exit with 1 and name the pages that are not up to date
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import ModuleType

import fireassay
from fireassay import catalog, cli
from fireassay.exit_codes import EXIT_CODES
from fireassay.instruments.machine import meter
from fireassay.metrics.metric import Metric
from fireassay.record import environment, tables
from fireassay.reports.documents import check as check_document
from fireassay.reports.documents import comparison as comparison_document
from fireassay.reports.documents import record as record_document
from fireassay.spec import load
from fireassay.spec.experiment import Experiment
from fireassay.spec.keys import keys as every_key
from fireassay.stats.intervals import means
from fireassay.verdict.audits.audit import Audit
from fireassay.verdict.claims.claim import ClaimAudit
from fireassay.verdict.comparison import comparability
from fireassay.verdict.conditions import catalogue
from fireassay.verdict.gates.gate import Gate

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reference"
DIMENSIONS = {
    "correctness": "did distribution preserve the result?",
    "performance": "did the machines buy speed?",
    "cost": "was it worth it?",
    "reliability": "does it survive?",
}
Rows = Iterable[Iterable[object]]


def table(head: tuple[str, ...], rows: Rows) -> str:
    """A Markdown table; a bar inside a cell is escaped."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)


def page(title: str, source: str, *parts: str) -> str:
    """A page with its title, where it comes from, and its parts."""
    origin = f"This page is generated from `{source}` by `make docs`; a test fails if it is out of date."
    return "\n\n".join([f"# {title}", origin, *parts]) + "\n"


def text_block(text: str) -> str:
    """Output as it is shown in a terminal."""
    return f"```text\n{text.rstrip()}\n```"


def module_words(package: str, name: str) -> str:
    """The docstring of a plug-in's file."""
    return docstring(catalog.module(package, name))


def gate_words(gate: Gate) -> str:
    """A gate's question and what its function says; of a file with one gate, what the file says."""
    of_file = docstring(gate.check.__module__)
    alone = hasattr(importlib.import_module(gate.check.__module__), "GATE")
    return of_file if alone else blocks([gate.question, inspect.cleandoc(gate.check.__doc__ or "")])


def docstring(module: str) -> str:
    """What a module says of itself."""
    return blocks(inspect.cleandoc(importlib.import_module(module).__doc__ or "").split("\n\n"))


def audit_words(audit: Audit | ClaimAudit) -> str:
    """An audit's question, and what its function says below its first line."""
    check = audit.claim if isinstance(audit, ClaimAudit) else audit.examine
    return blocks([audit.question, *inspect.cleandoc(check.__doc__ or "").split("\n\n")[1:]])


def blocks(paragraphs: Sequence[str]) -> str:
    """Paragraphs as Markdown; formulas are set as text blocks."""
    return "\n\n".join(text_block(part) if part.startswith("    ") else part for part in paragraphs)


def command_line() -> str:
    """The verbs with their help."""
    verbs = [f"## assay {name}\n\n{text_block(verb_help(name))}" for name in catalog.names("cli.verbs")]
    return page("Command line", "src/fireassay/cli", text_block(cli.help_text()), text_block(cli.whole_help()), *verbs)


def verb_help(name: str) -> str:
    """What `assay VERB --help` prints when nobody looks at it through a window."""
    return str(cli.parser(catalog.load("cli.verbs", name)).format_help())


def exit_codes() -> str:
    """The exit codes."""
    rows = ((code, meaning) for code, meaning in EXIT_CODES.items())
    return page("Exit codes", "src/fireassay/exit_codes.py", table(("code", "meaning"), rows))


def experiment() -> str:
    """The keys of an experiment's file."""
    sections = table(("section", "keys", "meaning"), ((f"`{s}`", k, d) for s, k, d in load.section_table()))
    keys = table(("key", "type", "default", "meaning"), ((f"`{k}`", t, d, m) for k, t, d, m in load.key_table()))
    flags = table(("key", "flags"), ((f"`{key.path}`", words) for key in every_key(Experiment).values() if (words := load.flag_words(key))))
    editor = "`assay schema` prints the same as a JSON Schema, which editors use to complete and check the file."
    return page("Experiment", "src/fireassay/spec", editor, "## Sections", sections, "## Keys", keys, "## Flags", flags)


def claim() -> str:
    """The keys of a claim's file."""
    from fireassay.spec.claim import Claim

    rows = ((f"`{s}`", k, d) for s, k, d in load.section_table(Claim))
    sections = table(("section", "keys", "meaning"), rows)
    keys = table(("key", "type", "default", "meaning"), ((f"`{k}`", t, d, m) for k, t, d, m in load.key_table(Claim)))
    editor = "A key that is left out was not said. `assay schema --claim` prints the same as a JSON Schema."
    return page("Claim", "src/fireassay/spec/claim.py", editor, "## Sections", sections, "## Keys", keys)


def metrics() -> str:
    """Every metric by dimension: an overview, then what each declares, then what each family says of all of its metrics."""
    every = catalog.load_all("metrics")
    kinds = (
        "[Definitions](../definitions.md) has worked examples, sources, and where tools disagree about a word.\n\n"
        "The kind of a metric says which mean over configurations has a meaning; repeated launches are another matter."
    )
    parts = [kinds, table(("kind", "mean over configurations"), means.MEANS.items())]
    for dimension, question in DIMENSIONS.items():
        members = {name: metric for name, metric in every.items() if metric.dimension == dimension}
        rows = ((f"[`{n}`](#{n})", m.title, m.unit, m.kind, m.better, m.formula) for n, m in members.items())
        parts += [f"## {dimension}: {question}", table(("name", "title", "unit", "kind", "better", "formula"), rows)]
        parts += [f"### {name}\n\n{metric_words(metric)}" for name, metric in members.items()]
    families = {family: catalog.module("metrics", name) for name, metric in every.items() if (family := family_of(metric))}
    parts += ["## Families", *(f"### {family}\n\n{docstring(module)}" for family, module in families.items())]
    return page("Metrics", "src/fireassay/metrics", *parts)


def metric_words(metric: Metric) -> str:
    """Question, formula and caveat of a metric, and its family; of a metric that asks none, what its file says."""
    if not metric.question:
        return module_words("metrics", metric.name)
    family = family_of(metric)
    anchor = family.replace(".", "")
    needs = f"Needs {', '.join(sorted(metric.needs)).replace('_', ' ')}." if metric.needs else ""
    formula = f"{metric.name} = {metric.formula}."
    return "\n\n".join(filter(None, (metric.question, formula, metric.caveat, needs, f"Family: [{family}](#{anchor}).")))


def family_of(metric: Metric) -> str:
    """The family of one of our own metrics, "serving.latency"; empty where it has a file for itself."""
    module = catalog.module("metrics", metric.name)
    name = module.removeprefix("fireassay.").removeprefix("metrics.")
    return name if hasattr(importlib.import_module(module), catalog.FAMILIES["metrics"]) else ""


def verdict() -> str:
    """The audits and the gates, in the words of their files."""
    every = catalog.load_all("verdict.claims.audits") | catalog.load_all("verdict.audits")
    audits = [f"### {name}\n\n{audit_words(audit)}" for name, audit in sorted(every.items())]
    gates = [f"### {name}\n\n{gate_words(gate)}" for name, gate in sorted(catalog.load_all("verdict.gates").items())]
    return page(
        "Verdict",
        "src/fireassay/verdict",
        "## audits",
        "An audit asks whether the record is admissible. Where one fails, the verdict is INVALID.",
        *audits,
        "## gates",
        "A gate asks whether an admissible number is good enough: PASS, FAIL or INCONCLUSIVE.",
        *gates,
    )


def plug_ins() -> str:
    """Runners, launchers, faults, formats and pages, in the words of their files."""
    parts = []
    for package in ("runners", "launchers", "faults", "reports.writers", "reports.pages"):
        parts += [f"## {package}"]
        parts += [f"### {name}\n\n{module_words(package, name)}" for name in catalog.names(package)]
    return page("Runners, launchers, faults, formats and pages", "src/fireassay", *parts)


def api() -> str:
    """The names that `import fireassay` offers, in the words of their docstrings."""
    words = "How to use them: [Use Fireassay from Python](../how-to/use-from-python.md). All errors are those of `fireassay.errors`."
    public = [name for name in sorted(fireassay.__all__, key=str.lower) if fireassay._HOMES.get(name, "").startswith("api.")]
    objects = {name: getattr(fireassay, name) for name in public}
    functions = [name for name in public if not inspect.isclass(objects[name])]
    parts = ["## Functions", *(_entry(f"fireassay.{name}", objects[name]) for name in functions), "## Objects"]
    for name in (name for name in public if name not in functions):
        parts += [f"### {name}\n\n{text_block(inspect.getdoc(objects[name]) or '')}", *_members(name, objects[name])]
    verbs = catalog.load_all("cli.verbs").values()
    rows = [(f"`assay {verb.name}`", f"`{verb.call}`" if verb.call else "only of the command line") for verb in verbs]
    parts += [
        "## What a verb does, as a call",
        "Each returns values; nothing below the command line prints or exits.",
        table(("verb", "call"), rows),
    ]
    for module in (fireassay.callbacks, fireassay.testing):
        parts += [f"## fireassay.{_tail(module)}", text_block(inspect.getdoc(module) or "")]
        own = {
            key: value
            for key, value in vars(module).items()
            if not key.startswith("_") and getattr(value, "__module__", "") == module.__name__
        }
        parts += [
            _entry(f"fireassay.{_tail(module)}.{key}", value)
            for key, value in own.items()
            if inspect.isfunction(value) and key in module.__all__
        ]
        classes = [(f"`{key}`", (inspect.getdoc(value) or "").split("\n")[0]) for key, value in own.items() if inspect.isclass(value)]
        parts += [table(("exception", "meaning"), classes)] if classes else []
    return page("Python", "src/fireassay/api", words, *parts)


def _tail(module: ModuleType) -> str:
    return module.__name__.rpartition(".")[2]


def _entry(name: str, function: Callable[..., object]) -> str:
    """A function with its signature and docstring."""
    return f"### {name}\n\n{text_block(f'{name}{_signature(function)}')}\n\n{text_block(inspect.getdoc(function) or '')}"


def _signature(function: Callable[..., object]) -> str:
    parameters = [re.sub(r"(?<=: )'([^']*)'", r"\1", str(parameter)) for parameter in inspect.signature(function).parameters.values()]
    line, returned = ", ".join(parameters), function.__annotations__["return"]
    return (
        f"({line}) -> {returned}" if len(line) < 80 else "\n    ".join(["(", *(f"{part}," for part in parameters)]) + f"\n) -> {returned}"
    )


def _members(name: str, kind: type) -> list[str]:
    """Properties in a table, then the methods."""
    members = {key: value for key, value in vars(kind).items() if not key.startswith("_")}
    rows = [(f"`{key}`", (inspect.getdoc(value) or "").split("\n")[0]) for key, value in members.items() if not inspect.isfunction(value)]
    rows = [row for row in rows if row[1]]
    methods = [_entry(f"{name}.{key}", value) for key, value in members.items() if inspect.isfunction(value)]
    return [*([table(("property", "meaning"), rows)] if rows else []), *methods]


PAGES: dict[str, Callable[[], str]] = {
    "api.md": api,
    "check.md": check_document.reference,
    "claim.md": claim,
    "command-line.md": command_line,
    "comparison.md": comparison_document.reference,
    "conditions.md": lambda: catalogue.reference(comparability.ALIASES),
    "environment.md": environment.reference,
    "exit-codes.md": exit_codes,
    "experiment.md": experiment,
    "json.md": record_document.reference,
    "metrics.md": metrics,
    "plug-ins.md": plug_ins,
    "record.md": lambda: tables.reference(),
    "telemetry.md": meter.reference,
    "verdict.md": verdict,
}


def stale(folder: Path) -> list[str]:
    """The pages in the folder that differ from what the source says, and those that nothing generates."""
    existing = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.md")}
    wanted = {name: make() for name, make in PAGES.items()}
    return sorted(name for name in existing.keys() | wanted.keys() if existing.get(name) != wanted.get(name))


def main() -> int:
    """Write or check the pages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a page is not up to date")
    os.environ["COLUMNS"] = "100"  # a help text must not depend on the window of whoever writes the page
    if parser.parse_args().check:
        pages = stale(FOLDER)
        print("\n".join(f"docs/reference/{name} is not up to date: run `make docs`" for name in pages), file=sys.stderr)
        return 1 if pages else 0
    for name, make in PAGES.items():
        (FOLDER / name).write_text(make(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
