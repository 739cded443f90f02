"""What the action, the component and the Jenkinsfile do, step by step, with a recorded `assay` and with the real one."""

from __future__ import annotations

import argparse
import json
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from fireassay import catalog, cli
from fireassay.api.ci.history import load
from tests.api.ci.forge import TOKEN, Fake, serving
from tests.cli.verbs.test_gate import git
from tests.examples.ci_steps import EXPRESSION, REPOSITORY, Job, action, component

ACTIONS = ("", ".github/actions/comment")
WORKFLOWS = ("github-gate.yml", "github-comment.yml", "github-history.yml")
HOSTILE = 'python work.py --say "it\'s $(touch planted) `touch planted`; touch planted"'
WORK = "import time\nwhile time.process_time() < {seconds}:\n    pass\n"  # planted: no other program changes its processor time


def workflow(name: str) -> dict[Any, Any]:
    found: dict[Any, Any] = yaml.safe_load((REPOSITORY / "examples" / "ci" / name).read_text())
    return found


# ---- what the files say ----------------------------------------------------------------------------------------------


def test_no_input_is_code_in_a_step() -> None:
    """GitHub: an expression inside of `run` is pasted before the shell reads it."""
    steps = [step for path in ACTIONS for step in action(path)["runs"]["steps"]]
    assert [step["name"] for step in steps if EXPRESSION.search(step["run"])] == []
    _, jobs = yaml.safe_load_all((REPOSITORY / "templates" / "gate.yml").read_text())
    assert [line for job in jobs.values() for line in job["script"] if "$[[" in line] == []


def test_every_action_is_pinned_by_a_commit_and_says_its_version() -> None:
    """A tag can be moved to other code. What this repository gives has no version before it is released."""
    files = [*(REPOSITORY / ".github").rglob("*.yml"), *(REPOSITORY / "examples" / "ci").glob("*.yml"), REPOSITORY / "action.yml"]
    used = re.findall(r"uses: (.+)", "\n".join(file.read_text() for file in files))
    assert len(used) > 20
    pinned = r"OWNER/fireassay[\w./-]*@0{40}|[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+"
    assert [one for one in used if not re.fullmatch(pinned, one)] == []


def test_only_the_comment_may_write_a_request_and_only_the_history_the_repository() -> None:
    gate, comment, history = map(workflow, WORKFLOWS)
    assert gate["permissions"] == {"contents": "read"}
    assert (comment["permissions"], history["permissions"]) == ({}, {"contents": "write"})
    assert comment["jobs"]["comment"]["permissions"] == {"actions": "read", "pull-requests": "write"}
    assert gate[True] == {"pull_request": None}  # `on`; never pull_request_target, whose job of a fork has secrets
    assert comment[True]["workflow_run"]["workflows"] == [gate["name"]]
    assert not any("checkout" in step.get("uses", "") for step in comment["jobs"]["comment"]["steps"])


def test_the_inputs_that_the_workflows_give_are_declared() -> None:
    for name in WORKFLOWS:
        (job,) = workflow(name)["jobs"].values()
        for step in job["steps"]:
            if "fireassay" in step.get("uses", ""):
                path = step["uses"].partition("@")[0].removeprefix("OWNER/fireassay").strip("/")
                declared = action(path)["inputs"]
                assert set(step["with"]) <= set(declared)
                assert [key for key, one in declared.items() if one.get("required") and key not in step["with"]] == []


# ---- with a recorded assay -------------------------------------------------------------------------------------------


@pytest.fixture
def change(tmp_path: Path) -> Path:
    """A shallow clone of a topic of one commit on main, as a CI job checks it out."""
    origin, clone = tmp_path / "origin", tmp_path / "change"
    git(tmp_path, "init", "-q", "-b", "main", str(origin))
    git(origin, "config", "uploadpack.allowAnySHA1InWant", "true")  # as GitLab and GitHub have it
    for branch, seconds in (("main", 0.16), ("equal", 0.16), ("slower", 0.4), ("faster", 0.05)):
        git(origin, "checkout", "-q", "-B", branch, *(() if branch == "main" else ("main",)))
        (origin / "work.py").write_text(WORK.format(seconds=seconds))
        git(origin, "add", "work.py")
        git(origin, "commit", "-q", "--allow-empty", "-m", branch)
    git(tmp_path, "clone", "-q", "--depth=1", "--branch=slower", f"file://{origin}", str(clone))
    return clone


def recorded(folder: Path, monkeypatch: pytest.MonkeyPatch, code: int = 0) -> Path:
    """An `assay` that writes down its words, and a comment."""
    tools = folder.parent / "tools"
    tools.mkdir()
    words = tools / "words"
    script = f"#!/bin/bash\nprintf '%s\\0' \"$@\" > {words}\nmkdir -p out\necho '### FAIL' > out/comment.md\nexit {code}\n"
    for name, text in (("assay", script), ("python", f'#!/bin/sh\necho "$@" > {tools}/python-words\n')):
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    monkeypatch.setattr("tests.examples.ci_steps.PYTHON", f"{tools}:/usr/bin:/bin")
    return words


def parsed(words: Path) -> argparse.Namespace:
    """The flags that the recorded command gives; it exits if one does not exist."""
    verb, *given = words.read_text().split("\0")[:-1]
    return cli.parser(catalog.load("cli.verbs", verb)).parse_args(given)


INPUTS = {"command": HOSTILE, "folder": "out", "history": "branch:kept", "flags": "--pairs 3 --primary trial_cpu_time", "margin": "7%"}


@pytest.mark.parametrize("code", [0, 1, 4, 5])
def test_the_action_gives_assay_its_inputs_as_words_and_fails_as_it_does(code: int, change: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = recorded(change, monkeypatch, code)
    job = Job(change, GITHUB_BASE_REF="main", GITHUB_SHA="")
    assert job.run("", INPUTS, without=()) == code, job.said
    given = parsed(words)
    assert (given.base, given.margin, given.history, given.pairs) == ("origin/main", 0.07, "branch:kept", 3)
    assert (given.shell, given.after_dashes) == (True, (HOSTILE,))
    assert job.outputs["steps.gate.outputs.exit-code"] == str(code)
    assert job.summary == "### FAIL\n"
    assert not (change / "planted").exists()
    assert git(change, "rev-parse", "origin/main") == git(change.parent / "origin", "rev-parse", "main")
    assert (words.parent / "python-words").read_text().split() == ["-m", "pip", "install", "--quiet", str(REPOSITORY)]


def test_of_a_push_the_commit_before_is_the_base_and_an_experiment_is_a_file(change: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = recorded(change, monkeypatch)
    head = git(change, "rev-parse", "HEAD")
    job = Job(change, GITHUB_BASE_REF="", GITHUB_SHA=head)
    assert job.run("", {"experiment": "gate.toml", "folder": "out"}) == 0, job.said
    given = parsed(words)
    assert (given.base, given.experiment, given.history) == (f"{head}^", "gate.toml", None)
    assert git(change, "rev-parse", f"{head}^") == git(change.parent / "origin", "rev-parse", "main")


def test_a_whole_clone_stays_whole(change: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(change, "fetch", "-q", "--unshallow")
    recorded(change, monkeypatch)
    assert Job(change, GITHUB_BASE_REF="main", GITHUB_SHA="").run("", {**INPUTS}) == 0
    assert git(change, "rev-parse", "--is-shallow-repository") == "false"


@pytest.mark.parametrize("code", [0, 1])
def test_the_component_gives_assay_the_same_words(code: int, change: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = recorded(change, monkeypatch, code)
    base = git(change.parent / "origin", "rev-parse", "main")
    of_branch = {"CI_COMMIT_BRANCH": "main", "CI_DEFAULT_BRANCH": "main", "CI_COMMIT_BEFORE_SHA": base}
    for variables, history in ((of_branch, "branch:kept"), ({"CI_MERGE_REQUEST_DIFF_BASE_SHA": base, "CI_DEFAULT_BRANCH": "main"}, None)):
        done = component("assay-gate", change, {**INPUTS, "package": "x.whl"}, **variables)
        assert done.returncode == code, done
        given = parsed(words)
        assert (given.base, given.margin, given.history) == (base, 0.07, history)
        assert (given.shell, given.after_dashes) == (True, (HOSTILE,))
    assert not (change / "planted").exists()
    component("assay-gate", change, {"experiment": "gate.toml", "folder": "out", "package": "x.whl"}, CI_MERGE_REQUEST_DIFF_BASE_SHA=base)
    assert (parsed(words).base, parsed(words).experiment) == (base, "gate.toml")


def test_the_lines_of_the_jenkinsfile_run(change: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (REPOSITORY / "examples" / "ci" / "Jenkinsfile").read_text()
    install, fetch, gate = ("".join(found).replace("\\\n", " ") for found in re.findall(r"sh '''(.*?)'''|sh '(.*?)'", text, re.DOTALL))
    words = recorded(change, monkeypatch)
    subprocess.run(["sh", "-n", "-c", install], check=True)
    subprocess.run(["sh", "-ec", fetch], cwd=change, check=True)
    (change / ".assay" / "bin").mkdir(parents=True)
    (change / ".assay" / "bin" / "assay").symlink_to(words.parent / "assay")
    subprocess.run(["sh", "-ec", gate], cwd=change, check=True)
    assert (given := parsed(words)).after_dashes == ("python3", "work.py")
    assert git(change, "rev-parse", given.base) == git(change.parent / "origin", "rev-parse", "main")
    assert str(given.junit) in shlex.split(text.replace("'", " ").replace(",", " "))


# ---- with the real one -----------------------------------------------------------------------------------------------

MEASURED = {"command": "python3 work.py", "margin": "50%", "flags": "--primary trial_cpu_time --pairs 3 --quiet", "history": "branch:kept"}


BRANCHES = {"slower": "FAIL", "equal": "PASS", "faster": "IMPROVEMENT"}


def check_out(change: Path, branch: str) -> None:
    git(change, "fetch", "-q", "--depth=1", "origin", branch)
    git(change, "checkout", "-q", "FETCH_HEAD")


@pytest.mark.deep
@pytest.mark.slow
def test_a_slower_commit_fails_an_equal_and_a_faster_one_pass_and_all_are_kept_and_commented(change: Path) -> None:
    (change.parent / "event.json").write_text(json.dumps({"pull_request": {"number": 7}}))
    variables = {
        "GITHUB_EVENT_PATH": str(change.parent / "event.json"),
        "GITHUB_REPOSITORY": "o/n",
        "GITHUB_TOKEN": TOKEN,
        "GITHUB_SHA": "",
    }
    said = {}
    with serving(Fake()) as fake:
        for branch in BRANCHES:
            check_out(change, branch)
            job = Job(change, GITHUB_BASE_REF="main", GITHUB_API_URL=fake.address, **variables)
            code = job.run("", {**MEASURED, "folder": branch})
            assert job.run(".github/actions/comment", {"file": f"{branch}/comment.md"}) == 0, job.said
            said[branch] = (code, fake.comments[0]["body"].splitlines())
            assert TOKEN not in job.said
    assert [code for code, _ in said.values()] == [1, 0, 0]
    assert [lines[1].split()[2].rstrip(",") for _, lines in said.values()] == list(BRANCHES.values())
    assert len(fake.comments) == 1
    assert all(len(lines) <= 25 for _, lines in said.values())
    kept = load("branch:kept", change)
    assert [one.verdict.partition(",")[0] for one in kept] == list(BRANCHES.values())
    for one, branch in zip(kept, said, strict=True):
        suite = ElementTree.parse(change / branch / "gate.xml").getroot()
        (digest,) = (each.get("value") for each in suite.iter("property") if each.get("name") == "digest")
        assert one.digest == digest
        assert one.digest[:12] in "\n".join(said[branch][1])
        assert one.commit == git(change.parent / "origin", "rev-parse", branch)
        assert one.verdict.partition(",")[0] in (change / branch / "badge.svg").read_text()
        assert None not in (one.value, one.low, one.high)
    assert git(change.parent / "origin", "show", "kept:badge.svg") == (change / "faster" / "badge.svg").read_text().strip()


@pytest.mark.deep
@pytest.mark.slow
def test_of_the_component_a_slower_commit_fails_and_an_equal_and_a_faster_one_pass(change: Path) -> None:
    base = git(change.parent / "origin", "rev-parse", "main")
    with serving(Fake(gitlab=True)) as fake:
        job = {"CI_API_V4_URL": fake.address, "CI_PROJECT_ID": "1", "CI_MERGE_REQUEST_IID": "2", "GITLAB_TOKEN": TOKEN}
        for branch, verdict in BRANCHES.items():
            check_out(change, branch)
            done = component("assay-gate", change, {**MEASURED, "package": "x.whl"}, CI_MERGE_REQUEST_DIFF_BASE_SHA=base)
            assert done.returncode == (verdict == "FAIL"), done
            assert component("assay-comment", change, {"package": "x.whl"}, **job).returncode == 0
            assert verdict in fake.comments[0]["body"]
    assert len(fake.comments) == 1
