"""Is a new metric or report one new file, and is every plug-in named after its file and tested?"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from fireassay import catalog
from fireassay.metrics.metric import LAST, Metric
from fireassay.spec.kind import kinds
from tests.architecture.conftest import Run
from tests.docs.blocks import blocks
from tests.tiers import some

PLUG_INS = [(package, name) for package in catalog.PLUG_INS for name in catalog.names(package)]
METRICS: Mapping[str, Metric] = catalog.load_all("metrics")
JUDGE_AND_RENDER = """
import json
from collections.abc import Mapping
from dataclasses import replace
from fireassay import catalog
from fireassay.metrics.metric import LAST, Metric
from fireassay.reports import build_view
from fireassay.reports.documents import record as document
from fireassay.verdict.judge import judge
from tests.builders import measured
record = measured()
tree = build_view.build(record, judge(record))
written = {"json": document.render(tree)}
for page, writer in (("record", "markdown"), ("sentence", "markdown"), ("record", "outline")):
    made = replace(catalog.load("reports.pages", page).page(tree), full=True)
    written[f"{page} {writer}"] = catalog.load("reports.writers", writer).write(made)
print(json.dumps(written))
"""


def test_plug_ins_are_named_after_their_files() -> None:
    assert [(package, name) for package, name in PLUG_INS if catalog.load(package, name).name != name] == []


def test_plug_ins_open_with_their_questions(repository: Path) -> None:
    def opening(package: str, name: str) -> str:
        path = repository.joinpath("src", *catalog.module(package, name).split("."))
        source = (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text()
        return source.split('"""')[1] if source.startswith('"""') else ""

    assert [(package, name) for package, name in PLUG_INS if "?" not in opening(package, name)] == []


def test_plug_ins_have_test_files(repository: Path) -> None:
    """A metric's is that of its family, a kind's that of its judging."""

    def tested(package: str, name: str) -> bool:
        *folder, module = [*catalog.module(package, name).split(".")[1:], *(["judging"] if package in catalog.FOLDERS else [])]
        return repository.joinpath("tests", *folder, f"test_{module}.py").is_file()

    assert [(package, name) for package, name in PLUG_INS if not tested(package, name)] == []


def test_metrics_ask_their_questions_and_have_their_places() -> None:
    assert [name for name, metric in METRICS.items() if not (metric.question.endswith("?") and 0 < metric.rank < LAST)] == []
    assert [name for name, metric in METRICS.items() if metric.caveat and not metric.caveat.endswith((".", ")"))] == []


def test_no_two_metrics_stand_in_the_same_place() -> None:
    ranks = [metric.rank for metric in METRICS.values() if metric.rank != LAST]
    assert len(set(ranks)) == len(ranks)


def plant(package_copy: Path, page: Path, *packages: str) -> None:
    """The files of a page of the docs, in their order, each into its folder."""
    files = [block for block in blocks(page) if block.file]
    for block, package in zip(files, packages, strict=True):
        assert block.file
        (package_copy / "src" / "fireassay" / package / block.file).write_text(block.text)


def test_a_metric_a_page_and_a_writer_are_each_added_by_one_file(package_copy: Path, python: Run, repository: Path) -> None:
    how_to = repository / "docs" / "how-to"
    plant(package_copy, how_to / "add-a-metric.md", "metrics")
    plant(package_copy, how_to / "add-a-report.md", "reports/pages", "reports/writers")
    (package_copy / "tests").symlink_to(repository / "tests")

    result = python(JUDGE_AND_RENDER, package_copy)
    assert result.returncode == 0, result.stderr
    shown = json.loads(result.stdout)

    rows = [row for row in json.loads(shown["json"])["metrics"] if row["metric"] == "longest_step"]
    assert [row["configuration"] for row in rows] == ["workers=1", "workers=2", "workers=4"]
    # tests/builders.py: a steady step of one worker takes 100 ms, blocks differ by 4 % either way, ripple at most 1 %.
    assert 0.0995 < rows[0]["value"] < 0.1015
    assert "Longest step" in shown["record markdown"]
    assert shown["sentence markdown"].count("\n") == 1
    assert "# " not in shown["sentence markdown"]
    assert shown["record outline"].splitlines()[:2] == ["synthetic", "Four dimensions"]


@pytest.mark.deep
def test_a_family_of_audits_and_a_gate_are_each_added_by_one_file(package_copy: Path, python: Run, repository: Path) -> None:
    for file, text in {"audits/every/omen": AUDIT_FILE, "gates/oddity": GATE_FILE}.items():
        package_copy.joinpath("src", "fireassay", "verdict", f"{file}.py").write_text(text)
    (package_copy / "tests").symlink_to(repository / "tests")

    result = python(JUDGE, package_copy)
    assert result.returncode == 0, result.stderr
    judged, pitfall = result.stdout.splitlines()
    assert {"bad_luck", "unlucky_levels", "oddity"} <= set(judged.split())
    assert pitfall == "fallen into"


@pytest.mark.parametrize(("verb", "flags"), some([("report", ("--sentence", "--outline")), ("compare", ("--outline",))], rows=True))
def test_what_is_planted_is_a_flag_of_the_command_line(
    verb: str, flags: tuple[str, ...], package_copy: Path, python: Run, repository: Path
) -> None:
    plant(package_copy, repository / "docs" / "how-to" / "add-a-report.md", "reports/pages", "reports/writers")
    code = f"import sys\nfrom fireassay.cli import main\nsys.exit(main(['{verb}', '--help-all']))"
    result = python(code, package_copy)
    assert all(flag in result.stdout for flag in flags)
    assert result.returncode == 0


def test_a_judge_needs_no_folder_of_a_kind_that_a_record_does_not_concern() -> None:
    lost = [
        (kind.name, package, name)
        for kind in kinds()
        for package in sorted(catalog.OF_KINDS)
        for name, plug_in in catalog.load_all(package).items()
        if kind.concerns(plug_in.about) and name not in catalog.load_all(package, kind.unconcerned)
    ]
    assert lost == []
    assert "output_throughput" not in catalog.load_all("metrics", next(kind for kind in kinds() if kind.trains).unconcerned)


def test_no_plug_in_is_found_under_two_names() -> None:
    for package in catalog.PLUG_INS:
        found = catalog.load_all(package)
        assert len({plug_in.name for plug_in in found.values()}) == len(found)


FAULT_FILE = '''"""What happens when a worker thinks before every step?"""

from pydantic import Field

from fireassay.errors import Problem
from fireassay.faults.support.base import Fault
from fireassay.spec.sections.faults import Fault as FaultSpec


class Keys(FaultSpec):
    """What may be asked for."""

    thought_s: float = Field(0.5, gt=0.0, le=9.0, description="how long it thinks, seconds.")


def rule(asked):
    if asked.thought_s == 7.0:
        yield Problem(where="thought_s", found="7", allowed="any other number")


FAULT = Fault(name="ponder", keys=Keys, rule=rule, strike=lambda victim, fault: None)
'''
LAUNCHER_FILE = '''"""How are workers started on the moon?"""

from fireassay.launchers.support.base import Launcher

LAUNCHER = Launcher(name="moon", check=lambda experiment: None, start=lambda request: None, describe=lambda request: {})
'''
BACKEND_FILE = '''"""What does an engine say that answers nothing?"""

from fireassay.traffic.parts import Backend

BACKEND = Backend(name="mute", tasks=("chat",), wire=lambda ask, target: None, read=lambda reply, ask: None)
'''
VERB_FILE = '''"""`assay greet`: who is there?"""

from fireassay.cli.support.verb import Verb

VERB = Verb(
    name="greet",
    group="instrument",
    summary="say hello to whoever is there",
    description="Say hello.",
    add_arguments=lambda parser: parser.add_argument("--loudly", action="store_true"),
    run=lambda arguments: print("HELLO" if arguments.loudly else "hello") or 0,
)
'''
AUDIT_FILE = '''"""Does the record's name bring bad luck?"""

from fireassay.verdict.audits.audit import Audit
from fireassay.verdict.types import Finding


def examine(measured, results):
    if measured.manifest["name"] == "synthetic":
        yield Finding("bad_luck", "warning", None, "the name is unlucky", "choose another name")


def count(measured, results):
    yield Finding("unlucky_levels", "note", None, f"{len(measured.configurations)} levels", "add one")


AUDITS = (
    Audit(name="omen", question="Does the name bring bad luck?", examine=examine),
    Audit(name="levels", question="Is the number of levels unlucky?", examine=count),
)
'''
GATE_FILE = '''"""Is the configuration odd?"""

from fireassay.verdict.gates.gate import Gate
from fireassay.verdict.types import GateResult


def check(measured, results):
    return (GateResult(gate="oddity", configuration=measured.base, status="FAIL", sentence="it is even"),)


GATE = Gate(name="oddity", question="Is the configuration odd?", check=check)
'''
SCORE_FILE = '''"""How much shorter is an answer than its reference?"""

from fireassay.quality.scoring.text_metric import by_item
from fireassay.quality.scoring.text_metric import Prepared, TextMetric


def prepare(options):
    return Prepared(signature="metric:brevity|impl:planted@1", statistics=by_item(lambda text, wanted: 1 - len(text) / len(wanted[0])))


METRICS = (TextMetric(name="brevity", title="Brevity", better="higher", scale=(0.0, 1.0), prepare=prepare, source="none"),)
'''
JUDGE = """
from fireassay.verdict.pitfalls import of_record
from fireassay.verdict.judge import judge
from tests.builders import measured
record = measured()
judgement = judge(record)
print(*(finding.rule for finding in judgement.verdict.findings), *(gate.gate for gate in judgement.verdict.gates))
print(*(pitfall.state for pitfall in of_record(record) if pitfall.name == "omen"))
"""
EXPERIMENT = """
name = "planted"
[workload]
script = "train.py"
[factor]
levels = [1]
[launcher]
kind = "moon"
[[faults]]
kind = "ponder"
"""


@pytest.fixture
def planted(package_copy: Path, python: Run) -> Callable[..., tuple[int, str]]:
    """`planted(*words)`: exit code and output of the command line of a copy with one more fault, launcher, backend, verb and score."""
    for file, text in {
        "faults/ponder": FAULT_FILE,
        "launchers/moon": LAUNCHER_FILE,
        "traffic/backends/mute": BACKEND_FILE,
        "cli/verbs/greet": VERB_FILE,
        "quality/scoring/metrics/terse": SCORE_FILE,
    }.items():
        package_copy.joinpath("src", "fireassay", f"{file}.py").write_text(text)
    (package_copy / "train.py").write_text("")

    def run(*words: str, keys: str = "") -> tuple[int, str]:
        (package_copy / "planted.toml").write_text(EXPERIMENT + keys)
        done = python(f"import sys\nfrom fireassay.cli import main\nsys.exit(main({[*words]!r}))", package_copy)
        return done.returncode, done.stdout + (done.stderr if done.returncode else "")

    return run


@pytest.mark.deep
def test_a_fault_and_a_launcher_are_each_added_by_one_file(planted: Callable[..., tuple[int, str]]) -> None:
    code, said = planted("run", "planted.toml", "--dry-run", "--json", keys="thought_s = 2.5")
    assert code == 0, said
    fault = json.loads(said)["launches"][-1]["fault"]
    assert (fault["kind"], fault["training"]["thought_s"]) == ("ponder", 2.5)


def test_the_keys_of_a_planted_fault_are_in_the_schema(planted: Callable[..., tuple[int, str]]) -> None:
    code, said = planted("schema")
    assert code == 0, said
    key = json.loads(said)["$defs"]["Fault"]["properties"]["thought_s"]
    assert key["description"] == "For kind ponder: how long it thinks, seconds."
    assert (key["default"], key["exclusiveMinimum"], key["maximum"]) == (0.5, 0.0, 9.0)


@pytest.mark.parametrize(
    ("keys", "told"),
    some(
        [
            ("thought = 1.0", "11 | thought = 1.0\n     | ^^^^^^^ not a key of [[faults]]. Did you mean thought_s?"),
            ("thought_s = 10.0", "| thought_s = 10.0\n     |             ^^^^ allowed: a number above 0 and at most 9."),
            ("thought_s = 7.0", "^^^ allowed: any other number."),
        ],
        rows=True,
    ),
)
def test_what_is_wrong_with_the_keys_of_a_planted_fault_is_told(planted: Callable[..., tuple[int, str]], keys: str, told: str) -> None:
    code, said = planted("run", "planted.toml", "--dry-run", keys=keys)
    assert code == 2
    assert told in said


@pytest.mark.deep
def test_a_backend_is_added_by_one_file(planted: Callable[..., tuple[int, str]]) -> None:
    code, said = planted("load", "http://127.0.0.1:1", "--backend", "mute", "--toml")
    assert code == 0, said
    assert 'backend = "mute"' in said
    assert planted("load", "http://127.0.0.1:1", "--backend", "mut", "--toml")[1].count("Did you mean mute?") == 1


def test_a_score_is_added_by_one_file(planted: Callable[..., tuple[int, str]], package_copy: Path) -> None:
    items = [{"id": number, "answer": "a" * (number % 3 + 1), "gold": "aaaa"} for number in range(30)]
    (package_copy / "answers.jsonl").write_text("\n".join(map(json.dumps, items)))
    code, said = planted("score", "answers.jsonl", "--id", "id", "--reference", "gold", "--metric", "brevity", "--json", "--quiet")
    assert code == 0, said
    (score,) = [row for row in json.loads(said)["metrics"] if row["metric"] == "brevity"]
    assert score["value"] == pytest.approx(0.5)  # 1 - mean of 1, 2 and 3 letters / 4


def test_a_verb_is_added_by_one_file(planted: Callable[..., tuple[int, str]]) -> None:
    assert "say hello to whoever is there" in planted("help", "--all")[1]
    assert planted("greet", "--loudly") == (0, "HELLO\n")
