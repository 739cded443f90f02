"""Does `assay_time` fail a test on a decided regression, and on nothing else?"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from fireassay.pytest_plugin import _checked, _folder
from tests.importers.timings.made import FILES, changed, imported
from tests.limits import PROCESS_S

pytest_plugins = "pytester"
PLUGIN = ("-p", "no:assay", "-p", "fireassay.pytest_plugin", "-p", "no:cacheprovider")  # installed or not, once
QUICK = ("--assay-launches", "3", "--assay-round", "0.001")
TEST = """
def test_dumps(assay_time):
    result = assay_time("json:dumps", [1, 2])
    assert result.record.sealed
"""
STATES = {"regression": "failed", "inconclusive": "passed", "pass": "passed", "improvement": "passed", "not_comparable": "passed"}
OF_EACH_STATE = "".join(
    f"""
def test_{state}(assay_time):
    assert assay_time("json:dumps", [1, 2]).record.sealed
"""
    for state in STATES
)
DECIDED = """
import re
import fireassay.pytest_plugin as plugin

def decided(record, against, root, _):
    return (re.search("test_([a-z_]+)-", root.name)[1], "the sentence of the check") if against else ("", "")

plugin._checked = decided
"""


@pytest.fixture(autouse=True)
def _no_other_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """They take half of the time of a small run."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


@pytest.mark.slow
def test_without_a_base_the_test_passes_and_its_record_is_kept(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TEST)
    run = pytester.runpytest_subprocess(*PLUGIN, *QUICK, "--assay-base", "main")
    run.assert_outcomes(passed=1)
    run.stdout.fnmatch_lines(["*assay timings*", "*::test_dumps: *; no base: this test has no earlier record named 'main'"])
    (record,) = (pytester.path / ".assay").glob("*/run-*")
    assert json.loads((record / "manifest.json").read_text())["state"] == "complete"


@pytest.mark.slow
def test_only_a_regression_fails(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(OF_EACH_STATE)
    pytester.makeconftest(DECIDED)
    pytester.runpytest_subprocess(*PLUGIN, *QUICK, "--assay-name", "main").assert_outcomes(passed=len(STATES))
    run = pytester.runpytest_subprocess(*PLUGIN, *QUICK, "--assay-base", "main", "-v")
    run.assert_outcomes(**Counter(STATES.values()))
    run.stdout.fnmatch_lines_random([f"*::test_{state} {outcome.upper()}*" for state, outcome in STATES.items()])
    run.stdout.fnmatch_lines_random([f"*::test_{state}: *; the sentence of the check" for state in STATES])
    assert len({line for line in run.outlines if line.startswith("base:   ")}) == 1  # in CI pytest's summary has each failure once more


@pytest.mark.slow
def test_the_decision_is_that_of_a_check(tmp_path: Path) -> None:
    """Five times as slow is beyond the 15 % between sessions; the same times are no regression."""

    def slower(document: dict[str, object]) -> None:
        for benchmark in document["benchmarks"]:  # type: ignore[attr-defined]
            benchmark["stats"]["data"] = [5 * value for value in benchmark["stats"]["data"]]
            benchmark["stats"] |= {key: 5 * benchmark["stats"][key] for key in ("min", "max", "mean", "median", "stddev", "iqr")}

    names = [f"pytest_benchmark_{number}.json" for number in (1, 2, 3)]
    later = [changed(tmp_path / name, name, slower) for name in names]
    again = [changed(tmp_path / f"again_{name}", name, lambda d: d.update(datetime="2026-12-01T00:00:00+00:00")) for name in names]
    before, slow, same = (imported(tmp_path / "r", *files)[0].path for files in ([FILES / n for n in names], later, again))
    assert _checked(slow, before, tmp_path, None)[0] == "regression"
    assert _checked(same, before, tmp_path, None)[0] == "inconclusive"


@pytest.mark.slow
def test_under_xdist_every_test_has_its_line_and_says_what_ran_beside_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TEST + TEST.replace("test_dumps", "test_again"))
    run = pytester.runpytest_subprocess(*PLUGIN, *QUICK, "-p", "xdist.plugin", "-n", "2")
    run.assert_outcomes(passed=2)
    run.stdout.fnmatch_lines_random(["*::test_dumps: *; 2 workers of pytest-xdist ran meanwhile", "*::test_again: *; 2 workers of *"])
    assert len(list((pytester.path / ".assay").glob("*/run-*"))) == 2


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--assay-launches", "1"), "allowed: 3 or more"),
        (("--assay-margin", "5"), "allowed: a share above 0 and below 1"),
        (("--assay-margin", "nan"), "allowed: a share above 0 and below 1"),
        (("--assay-round", "0"), "allowed: seconds above 0"),
    ],
)
def test_wrong_options_are_refused(pytester: pytest.Pytester, flags: tuple[str, ...], message: str) -> None:
    run = pytester.runpytest_subprocess(*PLUGIN, *flags)
    assert run.ret == pytest.ExitCode.USAGE_ERROR
    assert message in run.stderr.str()


def test_loading_it_imports_nothing_else_of_fireassay() -> None:
    code = (
        "import json, sys, pytest; import fireassay.pytest_plugin; print(json.dumps([m for m in sys.modules if m.startswith('fireassay')]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=PROCESS_S)
    assert json.loads(done.stdout) == ["fireassay", "fireassay.pytest_plugin"]


def test_the_folders_of_tests_are_apart_and_plain() -> None:
    names = [_folder(node, call) for node in ("a.py::test[../x]", "a.py::test[..-x]", "é" * 300) for call in (1, 2)]
    assert len(set(names)) == 6
    assert all("/" not in name and len(name) < 120 and not name.startswith(".") for name in names)
