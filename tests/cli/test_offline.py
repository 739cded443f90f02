"""Does everything about quality work without a network: scores, the sandbox, a task's layout, judging and comparing?

In a network namespace of its own, where not even the loopback is up: whatever connects fails.  A hook refuses every internet socket of
this process besides, so that an attempt whose failure is swallowed fails too.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.limits import PROCESS_S
from tests.sandbox.available import tier

PROGRAM = """
import json, socket, sys
from pathlib import Path

try:
    socket.create_connection(("127.0.0.1", 9), timeout=1)
    sys.exit("there is a network")
except OSError as error:
    assert error.errno == 101, error  # the network is unreachable: with a loopback it would be "refused"

opened = []

def refuse(event, arguments):
    if event == "socket.getaddrinfo" or (event == "socket.__new__" and arguments[1] in (socket.AF_INET, socket.AF_INET6)):
        opened.append(event)
        raise OSError("a socket was opened")

sys.addaudithook(refuse)

from fireassay.cli import main
from fireassay.sandbox.assemble import program
from fireassay.sandbox.check import check_program
from fireassay.sandbox.limits import Limits
from fireassay.sandbox.probing import probe
from fireassay.tasks import gsm8k, humaneval

codes = {}
for metric, margin in (("f1", "0.5"), ("rouge_l", "0.5"), ("bleu", "90")):
    codes[metric] = main(["score", "before.jsonl", "after.jsonl", "--metric", metric, "--margin", margin, "--id", "id", "--quiet"])
sides = []
for name in ("before", "after"):
    root = f"records-{name}"
    codes[name] = main(["score", f"{name}.jsonl", "--metric", "f1", "--id", "id", "--quiet", "--root", root])
    sides.append(str(next(Path(root).iterdir())))
codes["compare"] = main(["compare", *sides, "--margin", "0.5"])
codes["report"] = main(["report", sides[0], "--full"])
codes["verify"] = main(["verify", sides[0]])
(sums,) = gsm8k.FORMAT.read(Path("gsm8k.jsonl"), {**gsm8k.FORMAT.options, "shots": 0})
(programs,) = humaneval.FORMAT.read(Path("humaneval.jsonl"), dict(humaneval.FORMAT.options))
verdicts = [check_program(program(item, item.references[0]), Limits(), probe()).outcome for item in programs.items]
Path("said.json").write_text(json.dumps({"codes": codes, "items": len(sums.items), "verdicts": verdicts, "opened": opened}))
"""


@cache
def unshare() -> list[str] | None:
    """The command that enters a network namespace without any network; None if the kernel refuses."""
    tool = shutil.which("unshare")
    for flags in (["-n"], ["-r", "-n"]):
        if tool and subprocess.run([tool, *flags, "true"], capture_output=True, check=False).returncode == 0:
            return [tool, *flags]
    return None


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, every in (("before", 5), ("after", 4)):
        texts = [f"{'a dog' if index % every == 0 else 'the cat'} is on the mat of house {index}" for index in range(40)]
        rows = [{"id": index, "answer": text, "reference": f"the cat is on the mat of house {index}"} for index, text in enumerate(texts)]
        (tmp_path / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (tmp_path / "gsm8k.jsonl").write_text(json.dumps({"question": "1 + 1?", "answer": "It is two. #### 2"}) + "\n")
    task = {
        "task_id": "T/0",
        "prompt": "def one():\n",
        "canonical_solution": "    return 1\n",
        "test": "def check(candidate):\n    assert candidate() == 1\n",
        "entry_point": "one",
    }
    (tmp_path / "humaneval.jsonl").write_text(json.dumps(task) + "\n")
    (tmp_path / "home").mkdir()
    return tmp_path


@pytest.mark.slow
def test_scores_sandbox_layouts_and_verdicts_need_no_network(folder: Path) -> None:
    for library in ("rouge_score", "sacrebleu"):
        pytest.importorskip(library)
    tier("unshare")
    if (command := unshare()) is None:
        pytest.skip("this kernel refuses a network namespace")
    empty = str(folder / "home")  # no cache of models or corpora to fall back on
    source = str(Path(__file__).parents[2] / "src")
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": source, "HOME": empty, "HF_HOME": empty, "NLTK_DATA": empty}
    done = subprocess.run(
        [*command, sys.executable, "-c", PROGRAM],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PROCESS_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    said = json.loads((folder / "said.json").read_text())
    assert said["opened"] == []
    assert said["items"] == 1
    assert said["verdicts"] == ["passed"]
    assert set(said["codes"].values()) == {0}, said
