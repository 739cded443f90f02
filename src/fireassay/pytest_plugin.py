"""How does a test fail on a decided regression only?  The pytest fixture `assay_time`.

    def test_sort(assay_time):
        assay_time("work:sort_many", 1000)

The function is timed in fresh processes (`fireassay.time`), with one sealed record for each test below `--assay-records`.  With `--assay-base` it is checked
against an earlier record as `assay check` does: a regression beyond the margin and beyond chance fails the test; an undecided result, a base that
is missing or not comparable is a note in the summary.  Under pytest-xdist timings wait for each other.
Nothing of Fireassay is imported before a test uses the fixture: pytest loads this module in every environment that has Fireassay.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from fireassay.api.timing import Timed

PROPERTY = "assay_time"
LOCK = "timing.lock"
LONGEST = 80  # characters of a test's folder
DEFAULTS = {"records": ".assay", "launches": 5, "round": 0.2}


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("assay", "timings of Fireassay (fixture assay_time)")
    group.addoption("--assay-records", metavar="DIR", default=DEFAULTS["records"], help="folder of the records (default: %(default)s)")
    group.addoption("--assay-name", metavar="NAME", default="run", help="name of the records made now (default: %(default)s)")
    group.addoption(
        "--assay-base", metavar="NAME", default="", help="check against the latest record of that name, or the latest of all: latest"
    )
    group.addoption("--assay-margin", metavar="SHARE", type=float, help="largest tolerable slowdown (default: 0.03)")
    group.addoption("--assay-launches", metavar="N", type=int, default=DEFAULTS["launches"], help="fresh processes (default: %(default)s)")
    group.addoption(
        "--assay-round", metavar="S", type=float, default=DEFAULTS["round"], help="seconds of calls in each (default: %(default)s)"
    )


def pytest_configure(config: pytest.Config) -> None:
    margin, launches, seconds = (config.getoption(f"--assay-{name}") for name in ("margin", "launches", "round"))
    if margin is not None and not 0.0 < margin < 1.0:
        raise pytest.UsageError(f"--assay-margin: found {margin:g}; allowed: a share above 0 and below 1, for example 0.05")
    if launches < 3:
        raise pytest.UsageError(f"--assay-launches: found {launches}; allowed: 3 or more, since fewer decide nothing")
    if not 0.0 < seconds <= 3600.0:
        raise pytest.UsageError(f"--assay-round: found {seconds:g}; allowed: seconds above 0, at most 3600")


@pytest.fixture
def assay_time(request: pytest.FixtureRequest) -> Callable[..., Timed]:
    """Time a function in fresh processes, as `fireassay.time`; the test fails if it is decidedly slower than its base."""
    calls = 0

    def timed(function: Callable[..., object] | str, *args: Any, **kwargs: Any) -> Timed:
        nonlocal calls
        calls += 1
        return _timed(request.node, calls, function, args, kwargs)

    return timed


def _timed(item: pytest.Item, call: int, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Timed:
    import fireassay

    option = item.config.getoption
    root = item.config.rootpath / option("--assay-records") / _folder(item.nodeid, call)
    name, base = option("--assay-name"), option("--assay-base")
    against = _found(base, root) if base else None
    with _alone(item.config.rootpath / option("--assay-records")):
        result = fireassay.time(
            function, *args, launches=option("--assay-launches"), round_s=option("--assay-round"), root=root, name=name, **kwargs
        )
    state, sentence = _checked(result.record.path, against, root, option("--assay-margin"))
    note = sentence if against is not None else _no_base(base)
    workers = int(getattr(item.config, "workerinput", {}).get("workercount", 1))  # of pytest-xdist
    shared = f"{workers} workers of pytest-xdist ran meanwhile" if workers > 1 else ""
    notes = [str(result.estimate), *filter(None, (note, shared))]
    item.user_properties.append((PROPERTY, f"{item.nodeid}: {'; '.join(notes)}"))
    if state == "regression":
        pytest.fail(f"{sentence}\nbase:   {against}\nrecord: {result.record.path}", pytrace=False)
    return result


def _no_base(base: str) -> str:
    named = "" if base == "latest" else f" named {base!r}"
    return f"no base: this test has no earlier record{named}" if base else ""


def _folder(nodeid: str, call: int) -> str:
    """A folder's name for a test: its readable end, and a digest that keeps equal ends apart."""
    import hashlib

    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", nodeid).strip("-.")[-LONGEST:].strip("-.")
    digest = hashlib.sha256(nodeid.encode("utf-8", "replace")).hexdigest()[:8]
    return f"{plain}-{digest}{f'-{call}' if call > 1 else ''}"


def _found(base: str, root: Path) -> Path | None:
    """The latest record of a name; None if this test has none."""
    from fireassay.api.lookup import find
    from fireassay.errors import AssayError

    try:
        return find(base if base == "latest" else f"latest:{base}", root)
    except AssayError:
        return None


def _checked(record: Path, against: Path | None, root: Path, margin: float | None) -> tuple[str, str]:
    """The state of the check against the base, and its sentence; both empty without one."""
    if against is None:
        return "", ""
    from fireassay.api.sides import side
    from fireassay.errors import AssayError
    from fireassay.verdict.checking.check import check
    from fireassay.verdict.comparison.compare import compare

    try:
        before, now = side(against, "base"), side(record, "now")
        comparison = compare((before, now), varying=("code",))
        found = check(comparison, before, now, margin=margin)
    except AssayError as error:
        return "", f"not checked: {error}"
    return found.state, found.sentence


def _alone(folder: Path) -> Any:
    """A lock on the folder: two timings at once would disturb each other."""
    from contextlib import contextmanager

    @contextmanager
    def held() -> Iterator[None]:
        import fcntl

        folder.mkdir(parents=True, exist_ok=True)
        with (folder / LOCK).open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    return held()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    reports = [report for outcome in ("passed", "failed") for report in terminalreporter.stats.get(outcome, ()) if report.when == "call"]
    lines = [text for report in reports for name, text in report.user_properties if name == PROPERTY]
    if lines:
        terminalreporter.section("assay timings")
        for line in lines:
            terminalreporter.line(line)
