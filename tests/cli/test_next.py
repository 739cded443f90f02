"""What a record advises next can be done as it stands: every command is parsed, and run dry where its verb can, against the record."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import socket
from pathlib import Path

import pytest

from fireassay import catalog, cli
from fireassay.cli import main
from fireassay.cli.support.judged import judge_and_show, judged
from fireassay.cli.support.verb import Parser, Verb, add_common
from fireassay.record.lookup import resolve
from fireassay.reports.page import Next
from fireassay.reports.pages import doctor
from fireassay.reports.pages import gate as gate_page
from fireassay.reports.pages.record import page
from fireassay.verdict import fitness as verdict_fitness
from fireassay.verdict.checking.types import RowState
from tests.cli.verbs.test_check import stored
from tests.importers.samples import vllm, write
from tests.records.make import HERE
from tests.reports.pages.test_gate import gate, row
from tests.serving_made import seal
from tests.statuses import BEGIN, PAGE, RECORDS, answered, table
from tests.tiers import some
from tests.verdict.sides import made

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("judged_once")]

STORED = sorted(path.parent for path in (Path(__file__).parents[1] / "records").glob("*/SEAL"))
PLACEHOLDER = re.compile(r"\b(RECORD|NAME|URL|BASELINE|FIRST|SECOND|THIS|FILE|--html)\b")
DRY = ("run", "load", "comm")


def at(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Work in a folder that holds the script of records made by hand."""
    monkeypatch.chdir(folder)
    (folder / "train.py").write_text("")


def steps(record: Path) -> tuple[Next, ...]:
    """The advice of a record on disk."""
    answer = page(judged(record)[0]).answer
    assert answer is not None
    return answer.next


def can_be_run(step: Next, capsys: pytest.CaptureFixture[str]) -> None:
    """Fails if its command is refused."""
    assert not PLACEHOLDER.search(f"{step.reason} {step.command}"), step
    if not step.command:
        return
    assay, name, *words = shlex.split(step.command)
    if assay == "scontrol":  # Slurm's, which cannot be tried here
        assert (name, [word.partition("=")[0] for word in words]) == ("update", ["nodename", "state", "reason"])
        return
    assert assay == "assay"
    verb: Verb = catalog.load("cli.verbs", name)
    parser = Parser(prog=f"assay {name}", description=verb.description, verb=verb)
    verb.add_arguments(parser)
    add_common(parser)
    arguments = parser.parse_args(words)  # exits if refused
    if name in DRY:
        code = main([name, *words, "--dry-run"])
        assert code == 0, (step, capsys.readouterr().err)
    elif name == "score":
        assert main([name, *words, "--quiet"]) in (0, 1, 4), (step, capsys.readouterr().err)
    else:
        assert resolve(arguments.record if name == "resume" else arguments.experiment, arguments.root).is_dir()


@pytest.mark.parametrize("key", some(RECORDS, 3), ids=lambda key: " ".join(key))
def test_the_advice_of_every_status_can_be_followed(
    key: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    at(monkeypatch, tmp_path)
    for step in steps(seal(RECORDS[key](tmp_path / "made"), Path("records"))):
        can_be_run(step, capsys)


@pytest.mark.parametrize("stored", some(STORED, 2), ids=lambda path: path.name)
@pytest.mark.parametrize("root", ["records", "elsewhere"])
def test_the_advice_of_a_stored_record_can_be_followed_wherever_it_lies(
    stored: Path, root: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    at(monkeypatch, tmp_path)
    record = shutil.copytree(stored, Path(root) / stored.name)
    for step in steps(record):
        can_be_run(step, capsys)


ANSWERS = {"a.jsonl": (30, 40, "{}"), "b.jsonl": (20, 40, "{}"), "c.jsonl": (30, 40, "It is {}.")}
SCORED = [
    ("a.jsonl b.jsonl --id id --reference gold", ["--margin", "--cluster"]),
    ("a.jsonl x=b.jsonl --id id --reference gold --margin 0.01 --metric exact_match,f1", ["--cluster"]),
    ("a.jsonl --reference gold --cluster passage", []),
    ("c.jsonl --reference gold --extract whole", ["--extract"]),
]


@pytest.mark.parametrize(("typed", "flags"), SCORED, ids=[typed for typed, _ in SCORED])
def test_what_a_score_advises_is_a_whole_command_that_scores_the_same_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], typed: str, flags: list[str]
) -> None:
    """It is run, and then advises something else."""
    monkeypatch.chdir(tmp_path)
    for name, (right, items, text) in ANSWERS.items():
        said = [4 if number < right else 5 for number in range(items)]
        rows = [{"id": number, "passage": number // 4, "gold": "4", "answer": text.format(each)} for number, each in enumerate(said)]
        Path(name).write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    main(["score", *shlex.split(typed), "--quiet"])
    commands = advised(capsys.readouterr().out)
    added = [next(flag for flag in ("--extract", "--margin", "--cluster") if flag in command[-2:]) for command in commands]
    assert added == flags
    for command in commands:
        assert not PLACEHOLDER.search(" ".join(command))
        assert main([*command[1:], "--quiet"]) in (0, 1, 4)
        assert command not in advised(capsys.readouterr().out)
    Path("a.jsonl").unlink()
    Path("c.jsonl").unlink()
    assert [step.command for step in steps(resolve("latest", Path("records")))] in ([], [""])


def advised(screen: str) -> list[list[str]]:
    """The commands under `next`."""
    return [shlex.split(line) for line in screen.replace("\\\n", " ").splitlines() if line.startswith("  assay ")]


def whole(step: Next) -> list[str]:
    """The words of its command, which its verb takes; none of a sentence. Nothing of it is left to be filled in."""
    assert not PLACEHOLDER.search(f"{step.reason} {step.command}"), step
    if not step.command:
        return []
    assay, name, *words = shlex.split(step.command)
    assert assay == "assay"
    cli.parser(catalog.load("cli.verbs", name)).parse_args(words)  # exits if refused
    return [name, *words]


COMPARED = [
    ("compare good worse", 3),
    ("compare before after --primary step_time --varying code", 3),
    ("compare before after --varying arguments", 4),
    ("compare before after --varying arguments --varying code --history records", 4),
    ("compare good --at workers=1 --at workers=2 --primary step_time", 0),
    ("compare good --at workers=1 --at workers=2 --primary cost", 4),
    ("check after --against before --margin 3% --primary wall_time", 3),
    ("check after --against before --varying arguments --varying code --accept pass --root records", 4),
    ("check worse --against good --at workers=2", 1),
    ("check worse --against good --varying script --primary step_time", 1),
]


@pytest.mark.parametrize(("typed", "code"), COMPARED, ids=[typed for typed, _ in COMPARED])
def test_what_a_comparison_advises_changes_something(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], typed: str, code: int
) -> None:
    """A command that reads records is run: it is not refused, keeps what was asked, and does not end where this one did."""
    at(monkeypatch, tmp_path)
    for name in ("good", "before", "after"):
        shutil.copytree(HERE / name, Path("records") / name)
    shutil.copytree(HERE / "worse_accuracy", Path("records") / "worse")
    given = shlex.split(typed)
    assert main(given) == code
    for command in advised(capsys.readouterr().out):
        words = whole(Next(reason="", command=shlex.join(command)))
        assert [word for word in given if word.startswith("--primary") and word not in words] == []
        if "--confirm" not in words and words[0] in ("compare", "check"):
            assert main(words) not in (2, 3)
            assert command not in advised(capsys.readouterr().out)


def test_codes_that_cannot_be_measured_again_from_here_are_said_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The script of records made by hand is not that of this folder."""
    at(monkeypatch, tmp_path)
    base, new = (stored(made(10.0 + day / 20, day=day), Path("records")) for day in (1, 2))
    for typed in (["check", new.name, "--against", base.name], ["compare", base.name, new.name, "--varying", "code"]):
        assert main(typed) == 4
        said = " ".join(capsys.readouterr().out.split())
        assert "in turn, with assay check; not possible from here: " in said
        assert "--confirm" not in said


PAIRS = {"regression": 1.08, "inconclusive": 1.02, "pass": 1.001, "improvement": 0.9}


@pytest.mark.parametrize("state", PAIRS)
@pytest.mark.parametrize("metric", ["trial_time", "trial_cpu_time"])
def test_what_a_gate_advises_is_taken_by_its_verb(state: RowState, metric: str) -> None:
    rows = (
        row(PAIRS[state], state, spread=20.0, metric=metric, primary=True, decides=True, launches_needed=30),
        row(1.08, "listed", metric="trial_cpu_time"),
    )
    compare = "assay compare a b --varying code --full"
    answer = gate_page.page(gate(*rows, compare=compare)).answer
    assert answer is not None
    words = [whole(step) for step in answer.next]
    assert (state in ("pass", "improvement")) == (not words)


@pytest.mark.parametrize("fitness", ["fit", "noisy", "unfit", "unknown"])
def test_what_an_examination_advises_is_taken_by_its_verb(fitness: str) -> None:
    """With every remedy that its checks have."""
    remedies = [*SENTENCES, verdict_fitness.more_time(10, 60.0), verdict_fitness.CLIENT_TIME]
    assert len(remedies) > 2
    for again in ("assay doctor", "assay doctor client"):
        for remedy in remedies:
            checks = [{"name": "steal", "fitness": fitness, "evidence": "some", "mend": "" if fitness == "fit" else remedy}]
            answer = doctor.page("a machine", "this machine", fitness, checks, again).answer
            assert answer is not None
            assert [bool(whole(step)) for step in answer.next] == ([] if fitness == "fit" else [True])


SENTENCES = (verdict_fitness.QUIET, verdict_fitness.WRONG)
CLAIM = '[claim]\ntext = "twice as fast"\nsource = "a page"\n[[number]]\nmetric = "speedup"\nvalue = 2.0\n'
SCREENS = [
    "simulate --workers 1,2 --step-time 1.0 --launches 3 --steps 5",
    "audit claim.toml",
    "audit good",
    "audit worse",
    "audit table.csv",
    "rubric table.csv --deadline 5",
    "rubric table.csv --predict 1000",
    "import answers.json",
]


@pytest.mark.parametrize("typed", SCREENS)
def test_no_screen_of_another_verb_leaves_a_word_to_be_filled_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], typed: str
) -> None:
    at(monkeypatch, tmp_path)
    shutil.copytree(HERE / "good", Path("records") / "good")
    shutil.copytree(HERE / "worse_accuracy", Path("records") / "worse")
    Path("claim.toml").write_text(CLAIM)
    Path("table.csv").write_text("workers,seconds\n1,100\n2,60\n4,40\n")
    write(Path("answers.json"), vllm(failed={1}))
    assert main(shlex.split(typed)) != 2
    screen = capsys.readouterr().out
    for command in advised(screen):
        whole(Next(reason="", command=shlex.join(command)))
    after = re.split(r"^next +", screen, flags=re.MULTILINE)[1:]
    assert [text for text in after if PLACEHOLDER.search(re.split(r"\n(?! )", text)[0])] == []


def test_without_its_script_no_record_is_said_to_be_repeatable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at(monkeypatch, tmp_path)
    record = seal(RECORDS["training", "INCONCLUSIVE"](tmp_path), Path("records"))
    assert steps(record)[0].command.startswith("assay run ")
    (tmp_path / "train.py").unlink()
    (step,) = steps(record)
    assert not step.command
    assert step.reason.endswith("not possible from here: train.py is no longer there")


def test_an_engine_that_has_ended_is_said_to_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    record = seal(RECORDS["load", "MEASURED"](tmp_path), Path("records"))
    with socket.create_server(("127.0.0.1", 0)) as engine:
        url = f"http://127.0.0.1:{engine.getsockname()[1]}"
        at_port(record, url)
        assert "once the engine" not in steps(record)[0].reason
    (step,) = steps(record)
    assert step.command.startswith("assay load ")
    assert step.reason.endswith(f", once the engine runs again (nothing answers at {url} now)")


def at_port(record: Path, url: str) -> None:
    """Move the engine of a record."""
    file = record / "experiment.toml"
    file.write_text(re.sub(r"http://[\w.:]+", url, file.read_text()))


def test_what_holds_what_fails_and_what_is_open_do_not_advise_the_same() -> None:
    rows = [line.strip("| ").split(" | ") for line in PAGE.read_text().partition(BEGIN)[2].splitlines()]
    advised = {(row[0], "good" if row[2] == "0" else row[2].replace("9", "1"), row[-1]) for row in rows[2:] if len(row) == 5}
    said = [(kind, advice) for kind, _, advice in advised if advice != "nothing"]
    assert len(said) > 10
    assert len(set(said)) == len(said)


@pytest.mark.deep
def test_the_table_of_statuses_is_what_records_say(tmp_path: Path) -> None:
    assert table(tmp_path) in PAGE.read_text(), "python -m tests.statuses writes it anew"


@pytest.mark.parametrize("key", some(RECORDS, 2), ids=lambda key: " ".join(key))
def test_every_record_of_the_table_has_its_status(key: tuple[str, str], tmp_path: Path) -> None:
    assert answered(RECORDS[key](tmp_path))[0] == key[1].partition(",")[0]


def test_a_format_for_a_file_leaves_the_screen_its_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    at(monkeypatch, tmp_path)
    record = seal(RECORDS["timing", "MEASURED"](tmp_path), Path("records"))
    verb: Verb = catalog.load("cli.verbs", "run")
    parser = Parser(prog="assay run", description=verb.description, verb=verb)
    verb.add_arguments(parser)
    add_common(parser)
    assert judge_and_show(record, parser.parse_args(["--html", "true"])) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("MEASURED  ")
    assert "report.html" in lines
    assert (tmp_path / "report.html").is_file()
