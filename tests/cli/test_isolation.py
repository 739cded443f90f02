"""Does any verb run a module of the folder that it is called in, or of the record that it is shown?

Every module that Python could look for, of the standard library and of every installed package, lies as a trap in the current
folder, beside the record and in it.  A trap that is imported, by whichever process, leaves a file.  The workload is no verb's own code:
its script, in another folder, must still find what lies beside it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from fireassay import catalog
from fireassay.instruments.reference_server.server import serving
from fireassay.instruments.reference_server.settings import Settings
from tests.limits import PROCESS_S
from tests.records.make import HERE
from tests.tiers import some

ASSAY = Path(sys.executable).with_name("assay")
# Looked for by Python itself and by libraries, whether they are installed or not.
OPTIONAL = {"sitecustomize", "usercustomize", "apport_python_hook", "s3fs", "gcsfs", "pynvml", "ujson", "brotli", "zstandard", "evil"}
BUILT_IN = set(sys.builtin_module_names) | {"fireassay", "__future__", "__main__"}
NAMES = sorted((set(sys.stdlib_module_names) | set(packages_distributions()) | OPTIONAL) - BUILT_IN)
TRAP = "import os, sys\nopen(os.path.join({where!r}, {name!r}), 'w').close()\nos.write(2, b'TRAP {name}\\n')\nraise ImportError({name!r})\n"
CSV = "workers,seconds\n1,10.0\n2,5.4\n4,3.1\n"
RECORD = "good-20260101T000000Z-abcdef"
OTHER = "worse_accuracy-20260102T000000Z-abcdee"


@pytest.fixture(scope="module")
def trapped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with traps and records; `sprung` tells which were imported."""
    folder = tmp_path_factory.mktemp("hostile")
    sprung = folder / "sprung"
    sprung.mkdir()
    records = folder / "records"
    for name in (RECORD, OTHER):
        shutil.copytree(HERE / name.partition("-")[0], records / name)
    for place in (folder, records, records / RECORD / "reports"):
        place.mkdir(exist_ok=True)
        for name in NAMES:
            if name.isidentifier():
                (place / f"{name}.py").write_text(TRAP.format(where=str(sprung), name=name))
    info = folder / "evil-1.0.dist-info"  # a plug-in is no more welcome than a module
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n")
    groups = "".join(f"[fireassay.{package}]\nevil = evil:IT\n" for package in catalog.PLUG_INS)
    (info / "entry_points.txt").write_text(groups + "[fsspec.specs]\nevil = evil:IT\n[polars.plugins]\nevil = evil:IT\n")
    repository_with_commands(folder, f"sh -c 'touch {sprung}/git; cat'")
    (folder / "table.csv").write_text(CSV)
    (folder / "claim.toml").write_text('source = "a test"\ntext = "8 times faster"\n')
    return folder


def repository_with_commands(folder: Path, command: str) -> None:
    """A repository that has a commit, a file that looks changed, and a configuration that names commands for `git status`."""

    def git(*words: str) -> None:
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=folder, check=True)

    git("init", "-q")
    (folder / ".gitattributes").write_text("tracked filter=evil\n")
    (folder / "tracked").write_text("a")
    git("add", "tracked", ".gitattributes")
    git("commit", "-q", "-m", "x")
    (folder / "tracked").write_text("b")
    with (folder / ".git" / "config").open("a") as config:
        config.write(f'[core]\n\tfsmonitor = "{command}"\n[filter "evil"]\n\tclean = "{command}"\n\tsmudge = "{command}"\n')


def run(folder: Path, *words: str, start: tuple[str, ...] = (str(ASSAY),), **variables: str) -> subprocess.CompletedProcess[str]:
    """One command in the folder; which traps were sprung is the test's business."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run(
        [*start, *words], cwd=folder, env={**environment, **variables}, capture_output=True, text=True, timeout=PROCESS_S, check=False
    )


def expect_untouched(folder: Path, done: subprocess.CompletedProcess[str], codes: tuple[int, ...]) -> None:
    """No trap was sprung, and the verb did its work."""
    sprung = sorted(path.name for path in (folder / "sprung").iterdir())
    for name in sprung:
        (folder / "sprung" / name).unlink()
    assert sprung == [], done.stderr[-2000:]
    assert "TRAP" not in done.stderr
    assert done.returncode in codes, done.stderr[-2000:]


VERDICTS = (0, 1, 3, 4)
READING = {
    "help": ("--help",),
    "report in every form": ("report", RECORD, "--html", "--terminal", "--excel", "--latex", "--markdown", "--json"),
    "list": ("list",),
    "list store": ("list", "--store", "records"),
    "verify": ("verify", RECORD),
    "audit": ("audit", RECORD),
    "audit claim": ("audit", "--claim", "claim.toml"),
    "compare": ("compare", RECORD, OTHER, "--html", "--force"),
    "check": ("check", RECORD, "--history", "records", "--show", "--confirm", "never"),
    "rubric": ("rubric", "table.csv"),
    "schema": ("schema",),
    "simulate": ("simulate", "--help"),
    "profile": ("profile", RECORD),
    "resume": ("resume", RECORD),
    "import": ("import", "table.csv"),
    "doctor": ("doctor", "--help"),
}


@pytest.mark.parametrize("case", some(READING, 2))
def test_no_verb_that_reads_runs_code_of_the_current_folder(trapped: Path, case: str) -> None:
    codes = {"resume": (0, 1, 2, 4, 6), "import": (2,), "audit claim": (0, 1, 2, 3, 4), "profile": (0, 2, 5, 6)}
    expect_untouched(trapped, run(trapped, *READING[case]), codes.get(case, (*VERDICTS, 5)))


@pytest.mark.deep
def test_python_dash_m_loads_nothing_later_from_the_current_folder(trapped: Path, tmp_path: Path) -> None:
    """What `-m` itself imports before assay begins is out of reach, so those traps are not laid."""
    folder = tmp_path / "here"
    folder.mkdir()
    before = run(tmp_path, "-c", "import runpy, sys; print(*{name.partition('.')[0] for name in sys.modules})", start=(sys.executable,))
    for trap in trapped.glob("*.py"):
        if trap.stem not in before.stdout.split():
            shutil.copy(trap, folder)
    shutil.copytree(trapped / "evil-1.0.dist-info", folder / "evil-1.0.dist-info")
    done = run(folder, "report", str(trapped / "records" / RECORD), "--html", start=(sys.executable, "-m", "fireassay"))
    expect_untouched(trapped, done, VERDICTS)


@pytest.mark.deep
def test_the_clients_of_a_load_run_no_code_of_the_current_folder(trapped: Path) -> None:
    with serving(Settings(first_s=0.001, next_s=0.0005)) as server:
        words = [
            "load",
            server.url,
            "--model",
            "m",
            "--scenario",
            "D(8,4)",
            "--concurrency",
            "1",
            "--warm-up",
            "0s",
            "--duration",
            "1s",
            "--launches",
            "1",
            "--root",
            "loads",
        ]
        expect_untouched(trapped, run(trapped, *words), VERDICTS)


@pytest.mark.deep
def test_a_command_is_timed_without_running_code_of_the_current_folder(trapped: Path) -> None:
    done = run(trapped, "time", "--launches", "2", "--round", "0.05", "--root", "times", "--", "true")
    expect_untouched(trapped, done, VERDICTS)


@pytest.mark.deep
@pytest.mark.torch
def test_the_workers_of_comm_run_no_code_of_the_current_folder(trapped: Path) -> None:
    done = run(trapped, "comm", "--workers", "2", "--ops", "all_reduce", "--sizes", "1K", "--launches", "1", "--root", "comms")
    expect_untouched(trapped, done, VERDICTS)


@pytest.mark.deep
def test_a_script_still_finds_the_modules_beside_it(trapped: Path, tmp_path: Path) -> None:
    """The workload is run as it was: with its folder first, its current folder, and the environment that it was given."""
    (tmp_path / "json.py").write_text("MINE = 'the script\\'s own json'\n")
    (tmp_path / "train.py").write_text(
        "import json, os, sys\nprint('SEEN', json.MINE, os.path.samefile(sys.path[0], '.'), sys.flags.safe_path, os.environ['PYTHONPATH'])\n"
    )
    (tmp_path / "plain.toml").write_text(
        'name = "own"\n[workload]\nscript = "train.py"\nattach = false\n[factor]\nlevels = [1]\n[launches]\nper_configuration = 1\n'
        '[launcher]\nkind = "plain"\n'
    )
    done = run(trapped, "run", str(tmp_path / "plain.toml"), "--root", str(tmp_path / "records"), PYTHONPATH="/nowhere")
    logs = [log.read_text() for log in (tmp_path / "records").glob("*/logs/*.log")]
    assert any("SEEN the script's own json True False /nowhere" in log for log in logs), (logs, done.stderr[-2000:])
    expect_untouched(trapped, done, (0, 1, 3, 4, 5))
