"""Files that are made to hang their reader, or to fill its memory, end in one sentence: in bounded time, below 1 GB, and never as a defect.

Each attack whose file is large runs in a process of its own, whose largest memory is measured; the others share one by six.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import pytest

from fireassay import cli
from fireassay.spec import user_file
from tests.limits import PROCESS_S

MAX_MIB: Final = 1000
MEASURED: Final = """
import json, os, resource, sys, time
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))  # the machine outlives what is not bounded
from fireassay.cli import main
for folder, config, words in json.load(sys.stdin):
    os.chdir(folder)
    os.environ["FIREASSAY_CONFIG"] = config
    begin = time.process_time()
    code = main(words)
    peak = next(int(line.split()[1]) >> 10 for line in open("/proc/self/status") if line.startswith("VmHWM"))
    print(f"\\nmeasured {code} {peak} {time.process_time() - begin:.1f}")
    print("\\nended", file=sys.stderr, flush=True)
"""
NAMED: Final = 'name = "x"\n'
LEVELS: Final = 200_000
RESULTS: Final = "results_2026-01-01T00-00-00.json"  # lm-eval's name: a file of another one is not read


@dataclass(frozen=True, kw_only=True)
class Attack:
    """A file, the verb that reads it, and a part of the sentence."""

    words: str  # of the command line
    make: Callable[[Path], object]  # writes it into the folder
    sentence: str
    code: int = 2
    config: str = ""
    deep: bool = True


def text(name: str, content: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_text(content)


def pipe(name: str) -> Callable[[Path], object]:
    return lambda folder: os.mkfifo(folder / name)


def zero(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).symlink_to("/dev/zero")


def packed(folder: Path) -> None:
    with gzip.open(folder / "answers.jsonl.gz", "wb") as file:
        for _ in range(600):
            file.write(b'{"answer": "' + b" " * (1 << 20))


def linked(folder: Path) -> None:
    (folder / "outside").mkdir()
    (folder / "outside" / RESULTS).write_text('{"results": {}}')
    (folder / "inside").mkdir()
    (folder / "inside" / RESULTS).symlink_to(folder / "outside" / RESULTS)


def long_answer(folder: Path) -> None:
    words = " ".join(f"w{number % 5000}" for number in range(1_600_000))
    row = {"answer": words, "reference": "w1 w2 w3 and w4"}
    (folder / "answers.jsonl").write_text(
        "\n".join(json.dumps({**row, "id": str(i)} if i == 0 else {**row, "answer": "w1", "id": str(i)}) for i in range(12))
    )


def image(folder: Path) -> None:
    (folder / "image").symlink_to("/dev/zero")
    (folder / "prompts.jsonl").write_text(json.dumps({"prompt": "what is this?", "image": "image"}) + "\n")


def big(name: str, piece: str, head: str = "[", tail: str = "0]") -> Callable[[Path], object]:
    def written(folder: Path) -> object:
        return (folder / name).write_text(head + piece * (48_000_000 // len(piece)) + tail)

    return written


DOTS: Final = ".".join(["a"] * (LEVELS - 1))
QUOTED: Final = ".".join(['"a"'] * (LEVELS - 1))
COLUMNS: Final = ",".join(f"column {number}" for number in range(100_000))
LOAD: Final = "load http://127.0.0.1:PORT --model m --requests 2 --launches 1 --quiet --prompts"
TRACE: Final = "load http://127.0.0.1:PORT --model m --launches 1 --quiet --duration 2s --arrival trace --trace"
ATTACKS: Final = {
    "an experiment that is a pipe": Attack(words="run x.toml", make=pipe("x.toml"), sentence="a pipe, a socket or a device", deep=False),
    "an experiment that never ends": Attack(words="run x.toml", make=zero("x.toml"), sentence="a pipe, a socket or a device"),
    "an experiment of more megabytes than a person writes": Attack(
        words="run x.toml", make=text("x.toml", NAMED + "#" * (5 << 20)), sentence="more than 4 MiB"
    ),
    "a claim that is a pipe": Attack(words="audit x.toml", make=pipe("x.toml"), sentence="a pipe, a socket or a device"),
    "a configuration that is a pipe": Attack(words="list", make=pipe("c"), config="c", sentence="a pipe, a socket or a device"),
    "a configuration that never ends": Attack(
        words="list", make=zero("c"), config="c", sentence="a pipe, a socket or a device", deep=False
    ),
    "a configuration of a hundred thousand levels": Attack(
        words="list", make=text("c", f"a = {'[' * 100_000}{']' * 100_000}"), config="c", sentence="very deep nesting", deep=False
    ),
    "a configuration with a key of 199,999 levels": Attack(
        words="list", make=text("c", f"{DOTS} = 1"), config="c", sentence="more than 64 dots"
    ),
    "an experiment of 200,000 levels": Attack(
        words="run x.toml", make=text("x.toml", f"a = {'[' * LEVELS}{']' * LEVELS}"), sentence="very deep nesting"
    ),
    "an experiment of 200,000 tables in one another": Attack(
        words="run x.toml", make=text("x.toml", "a = " + "{a=" * LEVELS + "1" + "}" * LEVELS), sentence="very deep nesting"
    ),
    "a key of 199,999 levels": Attack(
        words="run x.toml", make=text("x.toml", f"{NAMED}{DOTS} = 1"), sentence="line 2: found a key with more than 64 dots", deep=False
    ),
    "a quoted key of 199,999 levels": Attack(words="run x.toml", make=text("x.toml", f"{QUOTED} = 1"), sentence="more than 64 dots"),
    "a section of 199,999 levels": Attack(words="run x.toml", make=text("x.toml", f"[{DOTS}]"), sentence="more than 64 dots"),
    "an inline table of 199,999 levels": Attack(
        words="run x.toml", make=text("x.toml", f"a = {{ {DOTS} = 1 }}"), sentence="more than 64 dots"
    ),
    "a claim of 200,000 levels": Attack(
        words="audit x.toml", make=text("x.toml", f"a = {'[' * LEVELS}{']' * LEVELS}"), sentence="very deep nesting"
    ),
    "a table of 100,000 columns": Attack(
        words="rubric t.csv", make=text("t.csv", f"{COLUMNS}\n{COLUMNS}\n"), sentence="more than 20,000 characters", deep=False
    ),
    "a table that is a pipe": Attack(words="rubric t.csv", make=pipe("t.csv"), sentence="a pipe, a socket or a device"),
    "a table that never ends": Attack(words="rubric t.csv", make=zero("t.csv"), sentence="a pipe, a socket or a device"),
    "answers that unpack to a thousand times their size": Attack(
        words="score answers.jsonl.gz --metric f1", make=packed, sentence="that unpack to more than"
    ),
    "a table of more rows than anyone timed": Attack(
        words="rubric t.csv", make=big("t.csv", "1,10\n", "workers,seconds\n", ""), sentence="more than 4 MiB"
    ),
    "answers of ten million lines": Attack(
        words="score a.jsonl --metric f1", make=big("a.jsonl", "{}\n", "", ""), sentence="more than 250,000 lines"
    ),
    "prompts of ten million lines": Attack(words=f"{LOAD} p.txt", make=big("p.txt", "a\n", "", ""), sentence="more than 250,000 lines"),
    "a simulation of a hundred million rows": Attack(
        words="simulate --workers 1,2 --step-time 1 --steps 1000000 --launches 100 --quiet",
        make=lambda _: None,
        sentence="too many to judge in a gigabyte of memory",
    ),
    "a load of a hundred million requests": Attack(
        words="load http://127.0.0.1:PORT --model m --requests 100000000 --launches 1 --quiet", make=lambda _: None, sentence="5000000"
    ),
    "a trace that never ends": Attack(words=f"{TRACE} t.jsonl", make=zero("t.jsonl"), sentence="a pipe, a socket or a device"),
    "a trace of one endless line": Attack(words=f"{TRACE} t.jsonl", make=big("t.jsonl", "[],", '{"a": ['), sentence="lines of at most"),
    "a trace of millions of requests": Attack(
        words=f"{TRACE} t.jsonl", make=big("t.jsonl", '{"at_s": 0}\n', "", '{"at_s": 0}'), sentence="more than 1,000,000 requests"
    ),
    "answers that are a pipe": Attack(words="score a.jsonl --metric f1", make=pipe("a.jsonl"), sentence="neither a file nor a folder"),
    "answers of 100,000 columns": Attack(
        words="score a.csv --metric f1", make=text("a.csv", f"{COLUMNS}\n{COLUMNS}\n"), sentence="no field 'reference'"
    ),
    "answers of 100,000 columns and one value": Attack(
        words="score a.csv --metric f1", make=text("a.csv", f"{COLUMNS}\n1\n"), sentence="1 columns"
    ),
    "a line of lists": Attack(words="score a.jsonl --metric f1", make=big("a.jsonl", "[],"), sentence="at most 16,777,216 in a line"),
    "an answer of 200,000 levels": Attack(
        words="score a.jsonl --metric f1", make=text("a.jsonl", "[" * LEVELS + "]" * LEVELS), sentence="nested too deep"
    ),
    "a ROUGE score of an answer of ten megabytes": Attack(
        words="score answers.jsonl --id id --metric rouge_l --metric rouge_lsum --quiet",
        make=long_answer,
        sentence="1 of 12 items has no score (item 0: 9,244,799 characters, at most 100,000 (ROUGE-Lsum))",
        code=3,
    ),
    "a folder of results with a link out of it": Attack(
        words="import inside", make=linked, sentence="a link that leads out of the folder", deep=False
    ),
    "a result of millions of lists": Attack(
        words=f"import {RESULTS} --from lm-eval",
        make=big(RESULTS, "[],", '{"results": ['),
        sentence="more than 1,500,000 lists and objects",
    ),
    "a benchmark of millions of tables": Attack(
        words="import r.json --tool guidellm", make=big("r.json", '{"a":1},', '{"benchmarks": [], "x": ['), sentence="lists and objects"
    ),
    "a result of 200,000 levels": Attack(
        words="import r.json --tool guidellm", make=text("r.json", "[" * LEVELS), sentence="nested too deeply"
    ),
    "a result that is a pipe": Attack(words="import r.json", make=pipe("r.json"), sentence="not a regular file"),
    "prompts that never end": Attack(words=f"{LOAD} p.jsonl", make=zero("p.jsonl"), sentence="a pipe, a socket or a device"),
    "prompts that are a pipe": Attack(words=f"{LOAD} p.jsonl", make=pipe("p.jsonl"), sentence="a pipe, a socket or a device"),
    "prompts of millions of lists": Attack(words=f"{LOAD} p.json", make=big("p.json", "[],"), sentence="lists and objects"),
    "prompts of 200,000 levels": Attack(words=f"{LOAD} p.jsonl", make=text("p.jsonl", "[" * LEVELS + "]" * LEVELS), sentence="not JSON"),
    "a tokenizer that never ends": Attack(
        words="load http://127.0.0.1:PORT --model m --requests 2 --launches 1 --quiet --tokenizer t.json",
        make=zero("t.json"),
        sentence="does not exist",
    ),
    "a task of millions of lists": Attack(
        words="evaluate --task squad --data d.json --target http://127.0.0.1:PORT --model m --quiet",
        make=big("d.json", "[],", '{"data": ['),
        sentence="lists and objects",
    ),
}


MAX_SAID = 4_000  # characters: who reads it looks for what to do, not for a hundred thousand names


class Nothing(BaseHTTPRequestHandler):
    """An engine that answers everything with an empty object."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def engine() -> Iterator[int]:
    """The port of a server, since a load looks for one before it reads its files."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Nothing) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


TOGETHER: Final = [name for name, attack in ATTACKS.items() if not attack.deep]
DEEP: Final = [name for name, attack in ATTACKS.items() if attack.deep]
SMALL: Final = [name for name in DEEP if re.match(r"text|pipe|zero", ATTACKS[name].make.__qualname__)]
GROUPS: Final = [SMALL[begin :: len(SMALL) // 6] for begin in range(len(SMALL) // 6)] + [[name] for name in DEEP if name not in SMALL]
ALONE: Final = [pytest.param(names, id=" and ".join(names), marks=pytest.mark.deep) for names in GROUPS]


@pytest.mark.parametrize("names", [pytest.param(TOGETHER, id="the cheap ones together"), *ALONE])
def test_a_hostile_file_ends_in_a_sentence_and_bounded_memory(names: list[str], tmp_path: Path, engine: int) -> None:
    asked = []
    for name in names:
        attack, folder = ATTACKS[name], tmp_path / name
        folder.mkdir()
        attack.make(folder)
        config = str(folder / attack.config) if attack.config else ""
        asked.append((str(folder), config, attack.words.replace("PORT", str(engine)).split()))
    command = [sys.executable, "-c", MEASURED]
    done = subprocess.run(command, input=json.dumps(asked), cwd=tmp_path, capture_output=True, text=True, timeout=PROCESS_S, check=False)
    measured = re.findall(r"measured (\d+) (\d+) ([\d.]+)\n", done.stdout)
    assert len(measured) == len(names), done.stderr[-2000:]
    shown = re.split(r"\nmeasured .+\n", done.stdout)
    for name, (code, mib, seconds), screen, said in zip(names, measured, shown, done.stderr.split("\nended\n"), strict=False):
        ended_as_it_should(name, int(code), int(mib), seconds, screen + said)


def ended_as_it_should(name: str, code: int, mib: int, seconds: str, said: str) -> None:
    """Fails unless this attack ended with its code and its sentence, and memory stayed below the bound."""
    attack = ATTACKS[name]
    print(f"ATTACK {name}: exit {code}, {mib} MiB, {seconds} s; {said.strip()[:160]}")
    assert "Traceback" not in said, said[-2000:]
    assert code == attack.code or (attack.code == -1 and code in (0, 1, 4)), said
    assert attack.sentence in " ".join(said.split())
    assert len(said) < MAX_SAID
    assert mib < MAX_MIB


def test_a_shell_may_still_put_a_pipe_in_the_place_of_a_file(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.write(write, b"name = 'x'\n")
    os.close(write)
    assert user_file.content(Path(f"/dev/fd/{read}")) == b"name = 'x'\n"
    os.close(read)


def test_a_long_sentence_with_dots_is_no_long_key() -> None:
    plain = 'note = "' + "e.g. this, i.e. that ... " * 100 + '"\nvalues = [' + "0.5, " * 500 + "]\n" + "a" * 100_000
    assert user_file.long_key(plain) == 0
    assert user_file.long_key("x = 1\n" + ".".join("abc" for _ in range(66)) + " = 1") == 2


@pytest.mark.parametrize("where", ["/somewhere/file", None])
def test_a_full_disk_is_no_defect_whichever_file_finds_it_out(where: str | None, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    def full(_: list[str]) -> int:
        raise OSError(28, "No space left on device", where)

    monkeypatch.setattr(cli, "_dispatch", full)
    assert cli.main(["list"]) == 6
    told = capsys.readouterr().err
    assert re.fullmatch(r"error: cannot write /\S+: the disk is full \(\d+ bytes free\)\. Free some space .*\n", told)
