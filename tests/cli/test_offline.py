"""Does everything about quality work without a network: scores, the sandbox, a task's layout, judging, comparing, importing, evaluating?

In a network namespace of its own, where not even the loopback is up: whatever connects fails.  A hook refuses every internet socket of
this process besides, so that an attempt whose failure is swallowed fails too.  Evaluations have the loopback, and no way out.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.importers.harnesses.read_back import LOGS
from tests.limits import PROCESS_S
from tests.quality.sandbox.available import tier

REPOSITORY = Path(__file__).parents[2]

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
from fireassay.quality.sandbox.check import program
from fireassay.quality.sandbox.check import check_program
from fireassay.quality.sandbox.tiers import Limits
from fireassay.quality.sandbox.probing import probe
from fireassay.quality.tasks import gsm8k
from fireassay.quality.tasks.programs import HUMANEVAL

codes = {}
for metric, margin in (("f1", "0.25"), ("rouge_l", "0.25"), ("bleu", "25")):
    codes[metric] = main(["score", "before.jsonl", "after.jsonl", "--metric", metric, "--margin", margin, "--id", "id", "--quiet"])
sides = []
for name in ("before", "after"):
    root = f"records-{name}"
    codes[name] = main(["score", f"{name}.jsonl", "--metric", "f1", "--id", "id", "--quiet", "--root", root])
    sides.append(str(next(Path(root).iterdir())))
codes["compare"] = main(["compare", *sides, "--margin", "0.25"])
codes["report"] = main(["report", sides[0], "--full"])
codes["verify"] = main(["verify", sides[0]])
(sums,) = gsm8k.FORMAT.read(Path("gsm8k.jsonl"), {**gsm8k.FORMAT.options, "shots": 0})
(programs,) = HUMANEVAL.read(Path("humaneval.jsonl"), dict(HUMANEVAL.options))
verdicts = [check_program(program(item, item.references[0]), Limits(), probe()).outcome for item in programs.items]
Path("said.json").write_text(json.dumps({"codes": codes, "items": len(sums.items), "verdicts": verdicts, "opened": opened}))
"""

EVALUATING = """
import fcntl, json, socket, struct, sys
from pathlib import Path

with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as device:  # ip link set lo up
    fcntl.ioctl(device, 0x8914, struct.pack("16sh14x", b"lo", 1))  # SIOCSIFFLAGS, IFF_UP
try:
    socket.create_connection(("192.0.2.1", 80), timeout=1)
    sys.exit("there is a way out")
except OSError as error:
    assert error.errno == 101, error  # the network is unreachable

from fireassay.cli import main
from tests.oracle import oracle

words = ["evaluate", "--task", "jsonl", "--data", "items.jsonl", "--quiet", "--task-option", "max_tokens=4"]
codes = {"import": main(["import", "--from", "lm-eval", sys.argv[1]])}
with oracle(lambda prompt: prompt) as engine:
    codes["over HTTP"] = main([*words, "--target", engine.url, "--model", "m"])
codes["in this process"] = main([*words, "--target", "model"])
Path("said.json").write_text(json.dumps(codes))
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


def isolated(command: list[str], folder: Path, program: str, *words: str) -> Any:
    """What a program says in a namespace without a network."""
    empty = str(folder / "home")  # no cache of models or corpora to fall back on
    paths = os.pathsep.join(map(str, (REPOSITORY / "src", REPOSITORY)))
    done = subprocess.run(
        [*command, sys.executable, "-c", program, *words],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": paths, "HOME": empty, "HF_HOME": empty, "NLTK_DATA": empty},
        capture_output=True,
        text=True,
        timeout=PROCESS_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads((folder / "said.json").read_text())


@pytest.mark.deep
@pytest.mark.slow
def test_scores_sandbox_layouts_and_verdicts_need_no_network(folder: Path) -> None:
    for library in ("rouge_score", "sacrebleu"):
        pytest.importorskip(library)
    tier("unshare")
    if (command := unshare()) is None:
        pytest.skip("this kernel refuses a network namespace")
    said = isolated(command, folder, PROGRAM)
    assert said["opened"] == []
    assert said["items"] == 1
    assert said["verdicts"] == ["passed"]
    assert set(said["codes"].values()) == {0}, said


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.torch
def test_evaluating_over_the_loopback_or_in_process_and_importing_need_no_way_out(tmp_path: Path) -> None:
    for library in ("transformers", "tokenizers"):
        pytest.importorskip(library)
    if (command := unshare()) is None:
        pytest.skip("this kernel refuses a network namespace")
    (tmp_path / "home").mkdir()
    (tmp_path / "items.jsonl").write_text("".join(f'{{"prompt": "{word}", "reference": "{word}"}}\n' for word in ("yes", "no")))
    maker = REPOSITORY / "examples" / "serving" / "make_model.py"
    subprocess.run([sys.executable, str(maker), str(tmp_path / "model"), "--hidden", "32", "--layers", "1"], check=True, timeout=PROCESS_S)
    said = isolated(command, tmp_path, EVALUATING, str(LOGS / "lm_eval" / "tiny"))
    assert said == {"import": 0, "over HTTP": 0, "in this process": 3}  # the tiny model says nothing that could be read as an answer
    assert len(list((tmp_path / "records").iterdir())) == 3
