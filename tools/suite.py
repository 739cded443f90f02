"""Which tests fail, and which of them only beside others?  Runs the suite or a tier on some workers, then what failed once more, alone.

    python tools/suite.py [test | test-all] [what pytest takes]

`test` and `test-all` are what `make` calls so: together every test once, but for properties, of which the one draws a few examples and the
other all. Without either every test runs once, with all examples: less than both tiers, since tests are collected, and records that several
of them read are made, once. A test that passes the second time is flaky: it is named in the last lines, and the run stays green. The very
last line counts every test once. A run that did not end by itself (a broken module, an internal error, Ctrl-C) is red at once, as is one
with more failures than `MAX_SHOWN`: they are no accident. It cannot tell a flaky test from one that needs another to run before it.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree

BESIDE = ("--dist", "worksteal")  # whoever is done takes over from the others
SLOWEST = ("--durations", "25", "--durations-min", "5")  # which of them make the suite long
WORKERS = 3  # for two processors, since many tests wait
WORKERS_BESIDE = 6  # where other programs compute: the machine is shared by processes, so more of them get more of it
ALONE = ("-p", "no:xdist", "--last-failed", "--last-failed-no-failures", "none", "-qq")  # -qq: without a second closing line
TIERS = {"test": ("-m", "not deep"), "test-all": ("-m", "deep")}
MAX_SHOWN = 50
OK, FAILED = 0, 1  # pytest's exit codes; all others mean that some tests did not run
RANK = ("passed", "skipped", "failed")


def outcomes(report: Path) -> dict[str, str]:
    """Each test's outcome in a JUnit report; a test whose fixture failed at the end is in it twice."""
    found: dict[str, str] = {}
    for case in ElementTree.parse(report).iter("testcase") if report.exists() else ():
        kinds = {child.tag for child in case}
        outcome = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
        name = f"{case.get('file') or case.get('classname')}::{case.get('name')}"
        found[name] = max(outcome, found.get(name, "passed"), key=RANK.index)
    return found


def workers(s: float = 0.5) -> int:
    """How many run at the same time. Computes for so many seconds to see whether other programs do too."""
    begin, used = time.perf_counter(), time.process_time()
    while time.perf_counter() < begin + s:
        pass
    return WORKERS if time.process_time() - used > 0.7 * s else WORKERS_BESIDE


def pytest(scratch: Path, name: str, *words: str) -> tuple[int, dict[str, str]]:
    """Run pytest with a cache of its own; its exit code and every test's outcome."""
    report = scratch / f"{name}.xml"
    own = ("-o", f"cache_dir={scratch / 'cache'}", "-o", "junit_family=xunit1", f"--junit-xml={report}")
    code = subprocess.run([sys.executable, "-m", "pytest", *own, *words], check=False).returncode
    return code, outcomes(report)


def twice(scratch: Path, words: list[str]) -> tuple[int, dict[str, str], list[str]]:
    """The exit code of both runs together, every test's outcome, and the flaky ones."""
    code, first = pytest(scratch, "beside", "-n", str(workers()), *BESIDE, *SLOWEST, *words)
    failed = [name for name, outcome in first.items() if outcome == "failed"]
    if code != FAILED or not 0 < len(failed) <= MAX_SHOWN:
        return code, first, []
    print(f"\nonce more, alone: {len(failed)} that failed", flush=True)
    again, second = pytest(scratch, "alone", *ALONE, *words)
    flaky = [name for name in failed if second.get(name) == "passed"]
    if again == OK and len(flaky) == len(failed):
        code = OK
    return code, {**first, **dict.fromkeys(flaky, "passed")}, flaky


def selected(words: list[str]) -> list[str]:
    """The arguments of pytest."""
    tier = TIERS.get(words[0], ()) if words else ()
    return [*tier, *words[1:]] if tier else words


def main(words: list[str]) -> int:
    with TemporaryDirectory(prefix="suite-") as scratch:
        code, outcome, flaky = twice(Path(scratch), selected(words))
    if code not in (OK, FAILED):
        print(f"\npytest ended with {code}: not every test ran")
    if flaky:
        print(f"\nflaky, failed beside others and passed alone: {len(flaky)}", *flaky, sep="\n  ")
    count = Counter(outcome.values())
    print(f"\n{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped", flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
