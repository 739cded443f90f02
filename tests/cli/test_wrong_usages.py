"""What is said to forty wrong usages: what is wrong, what was found, what to do, in no line over 80 columns, and the right exit code."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

from fireassay.cli import main
from tests.cli.verbs.test_gate import git
from tests.records.make import HERE

NOWHERE = "http://localhost:1 --model m"
FILES = {
    "train.py": "print(1)\n",
    "a.jsonl": '{"id": 1, "answer": "4", "reference": "4"}\n{"id": 2, "answer": "5", "reference": "4"}\n',
    "b.jsonl": '{"id": 1, "answer": "4", "reference": "4"}\n{"id": 2, "answer": "4", "reference": "4"}\n',
    "broken.jsonl": '{"id": 1, "answ\n',
    "table.csv": "workers,seconds\n1,100\n2,60\n",
    "bad.toml": 'nme = "x"\n[launches]\nper_configration = 5\n',
    "claim.toml": '[claim]\ntext = "x"\nsorce = "y"\n',
}

# what is typed, the exit code, what was found, what to do
USAGES = [
    ("rnu -- train.py", 2, "no verb 'rnu'", "Did you mean `assay run`?"),
    ("--quiet list", 2, "no option '--quiet'", "Options of a verb follow it."),
    ("run", 2, "no experiment file, and no script", "assay run --workers 1,2,4 -- train.py"),
    ("run -- train.py", 2, "--workers: found nothing", "Add --workers 1,2,4."),
    ("run --workers 1,2 -- trian.py", 2, '"trian.py", which does not exist', "Did you mean train.py?"),
    ("run bda.toml", 2, "bda.toml: found no such file", "Did you mean bad.toml?"),
    ("run bad.toml", 2, "nme", "Did you mean per_configuration?"),
    ("run train.py", 2, "found a script", "Put -- before the script: assay run --workers 1,2,4 -- train.py"),
    ("run --worker 1,2 -- train.py", 2, "--worker", "Did you mean --workers?"),
    ("run --workers 1,two -- train.py", 2, "found 1,two", "whole numbers with commas"),
    ("run --workers 0,1 -- train.py", 2, "found 0", "a whole number from 1"),
    ("run --workers 2,2 -- train.py", 2, "2 occurs more than once", "write it once"),
    ("run --workers 1,2 --margin x% --quality-metric f1 -- train.py", 2, "found x%", "0.02 or 2%"),
    ("run --workers 1,2 --launches 0 -- train.py", 2, "--launches: found 0", "a whole number from 1 to"),
    ("run --workers 1,2 --time -- train.py", 2, "--time: expected one argument", "Write --time WHICH: which time is compared"),
    ("load", 2, "required: URL", "`assay load URL"),
    ("load localhost:8000 --model m", 2, "found localhost:8000", "Write http://localhost:8000"),
    (f"load {NOWHERE} --concurrency 1 --rate 2", 2, "--rate: found rate and concurrency", "Make two experiments."),
    (f"load {NOWHERE} --slo ttf=0.2", 2, "found ttf=0.2", "NAME one of ttft"),
    (f"load {NOWHERE} --slo ttft=0.2parsec", 2, "found ttft=0.2parsec", "a time such as"),
    (f"load {NOWHERE} --duration 10x", 2, "found 10x", "a time such as 120s"),
    (f"load {NOWHERE} --trace nothing.csv", 2, "'nothing.csv', which does not exist", "relative to"),
    ("load http://localhost:1 --modle m --check", 2, "--modle m", "Did you mean --model?"),
    (f"load {NOWHERE} --check", 7, "connection refused", "Start the server"),
    ("run train.py --epochs 3", 2, "--epochs 3", "stand after --, as in: assay run -- train.py --epochs 3."),
    ("run --workers 1, 2 -- train.py", 2, "a number by itself", "A list has no spaces"),
    ("score", 2, "required: [NAME=]FILE", "`assay score answers.jsonl"),
    ("score c.jsonl", 2, "c.jsonl: found no such file", "Did you mean"),
    ("score a.jsonl --metric exact_mtach", 2, "exact_mtach", "Did you mean exact_match?"),
    ("score a.jsonl --extract last_numbr", 2, "last_numbr", "Did you mean last_number?"),
    ("score a.jsonl --reference god", 2, "no field 'god'", 'the row has "id", "answer", "reference"'),
    ("score a.jsonl b.jsonl --margin 2", 2, "found 2", "A loss of two points is 0.02."),
    ("score broken.jsonl", 2, "line 1, column 11", "Look for a missing quote"),
    ("compare", 2, "found one record", "--at workers=1 --at workers=2"),
    ("compare good godo", 6, "'godo'", "Did you mean good?"),
    ("compare good good", 2, "the same record", "another record"),
    ("compare good worse --varying cod", 2, "'cod'", "Did you mean --varying code?"),
    ("compare good --at workers=1 --at workers=7", 2, "'workers=7'", "Did you mean --at workers=2?"),
    ("audit claim.toml", 2, "sorce", "Did you mean source?"),
    ("audit tabel.csv", 2, "tabel.csv: found no such file", "Did you mean table.csv?"),
    ("audit good --deadline 5", 2, "'good' is none", "give a table's file"),
    ("audit table.csv --use Foo", 2, "found Foo", "Write a heading as it stands in the table"),
    ("report goood", 6, "'goood'", "Did you mean good?"),
    ("report train.py", 6, "train.py is a file", "`assay list` shows the records"),
    ("report good --page recrod", 2, "'recrod'", "Did you mean record?"),
    ("report good --format htlm", 2, "'htlm'", "Did you mean html?"),
    ("report good --jsno", 2, "--jsno", "Did you mean --json?"),
    ("report --root nowhere", 6, "there is no record in nowhere", "`assay run` creates one"),
    ("list nowhere", 6, "nowhere does not exist", "Give the folder that holds the records."),
    ("list --kind trainig", 2, "'trainig'", "Did you mean training?"),
    ("list --verdict passed", 2, "'passed'", "Did you mean pass?"),
    ("list records extra", 2, "unrecognized arguments: extra", "Leave it out"),
]

# of a gate, in a repository whose branch main holds work.py
GATES = [
    ("gate", 2, "required: BASE", "`assay gate origin/main -- python work.py`"),
    ("gate main", 2, "found no command", "assay gate origin/main -- python work.py"),
    ("gate mian -- python work.py", 2, "'mian'", "Did you mean main?"),
    ("gate origin/main -- python work.py", 2, "'origin/main'", "Did you mean main?"),
    ("gate main --margin 5 -- python work.py", 2, "5 is not a share", "for example 0.05 or 5%"),
    ("gate main --margin=-5% -- python work.py", 2, "-5% is not a share", "for example 0.05 or 5%"),
    ("gate main --margin 0 -- python work.py", 2, "0 is not a share", "for example 0.05 or 5%"),
    ("gate main --quiet -- pithon work.py", 2, "'pithon', which is not on the PATH", "--shell"),
    ("gate main --quiet -- ./wrok.sh", 2, "'./wrok.sh', which does not exist", "Did you mean ./work.sh?"),
    ("gate main -- wrok.py", 2, '"wrok.py", which does not exist', "Did you mean work.py?"),
    ("gate main --pairs 2 -- python work.py", 2, "--pairs: found 2", "3 to 1000: fewer cannot decide"),
    ("gate main --budget soon -- python work.py", 2, "--budget: found soon", "a time such as"),
    ("gate main --primary speed -- python work.py", 2, "--primary: found speed", "trial_time, trial_cpu_time"),
    ("gate main --accept perhaps -- python work.py", 2, "--accept: found perhaps", "states: pass"),
    ("gate main --merge -- python work.py", 2, "--merge", "Did you mean --merge-base?"),
    (
        "gate main python work.py",
        2,
        "unrecognized arguments: work.py",
        "A command follows --, as in: assay gate origin/main -- python work.py.",
    ),
    ("report latest --html page.html", 2, "unrecognized arguments: page.html", "To write to that file: --output page.html."),
    ("gate main gate.toml", 2, "gate.toml: found no such file", "a TOML file"),
]


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """main holds a script."""
    made = tmp_path_factory.mktemp("repository")
    (made / "work.py").write_text("print(1)\n")
    (made / "work.sh").write_text("true\n")
    for words in (("init", "-q", "-b", "main"), ("add", "."), ("commit", "-q", "-m", "base")):
        git(made, *words)
    return made


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files, and two records."""
    made = tmp_path_factory.mktemp("usages")
    for name, text in FILES.items():
        (made / name).write_text(text)
    shutil.copytree(HERE / "good", made / "records" / "good")
    shutil.copytree(HERE / "worse_accuracy", made / "records" / "worse")
    return made


@pytest.mark.parametrize(("typed", "code", "found", "remedy"), USAGES, ids=[usage[0] for usage in USAGES])
def test_a_wrong_usage_is_told_what_is_wrong_what_was_found_and_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path, typed: str, code: int, found: str, remedy: str
) -> None:
    is_told(monkeypatch, capsys, folder, typed, code, found, remedy)


@pytest.mark.parametrize(("typed", "code", "found", "remedy"), GATES, ids=[usage[0] for usage in GATES])
def test_so_is_a_wrong_gate_and_its_tree_is_gone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], repository: Path, typed: str, code: int, found: str, remedy: str
) -> None:
    is_told(monkeypatch, capsys, repository, typed, code, found, remedy)
    assert git(repository, "worktree", "list").count("\n") == 0


def test_a_gate_outside_of_a_repository_is_told_what_needs_none(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    is_told(monkeypatch, capsys, folder, "gate main -- python work.py", 2, "not a git repository", "assay time --")


def is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path, typed: str, code: int, found: str, remedy: str
) -> None:
    """Fails unless the command ends with the code, and only standard error says what was found and what to do."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "80")
    try:
        ended = main(shlex.split(typed))
    except SystemExit as end:
        ended = int(end.code or 0)
    printed = capsys.readouterr()
    said = " ".join(printed.err.replace("| ", " ").split())
    assert (ended, printed.out) == (code, "")
    assert "error: " in said
    assert found in said
    assert remedy in said
    assert [line for line in printed.err.splitlines() if len(line) > 80 and " " in line.strip()] == []
