"""What does the judge say of a record, for tests that mostly look at one thing?  Only what a test reads is judged, and once per equal record.

Equal are the experiment, the rows and what the manifest says; left out is what only names the record. Nobody changes a judgement: it is
frozen. A test that replaces a part of the judge must call `fireassay.verdict.judge` itself.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import cached_property
from hashlib import sha256
from typing import Any

from fireassay import catalog
from fireassay.frames.record_data import RecordData
from fireassay.metrics.results import LazyResults
from fireassay.verdict.judge import Judgement, check, conclude, examine, judge
from fireassay.verdict.judging import Evidence, Judging, Layers
from fireassay.verdict.types import Finding, GateResult, Verdict
from tests.handmade import Handmade

NAMES = {"id", "created_utc", "name", "origin"}
_KNOWN: dict[bytes, Asked] = {}
_READ: dict[bytes, Judgement] = {}


class Asked:
    """A judgement that is made as far as it is read: a metric that neither the test nor the verdict reads is not computed."""

    def __init__(self, measured: RecordData) -> None:
        self.measured = measured
        self.results = LazyResults(measured)
        self.metrics = self.results.metrics
        self.verdict = AskedVerdict(self)

    @cached_property
    def whole(self) -> Judgement:
        """What `judge` says."""
        return Judgement(results=self.results, verdict=self.verdict.concluded, metrics=self.metrics)

    @cached_property
    def lazy(self) -> Judgement:
        """The same, whose verdict is drawn when it is read."""
        return Judgement(results=self.results, verdict=self.verdict, metrics=self.metrics)  # type: ignore[arg-type]


class AskedVerdict:
    """A verdict whose findings, gates and layers can be read without the rest."""

    def __init__(self, judgement: Asked) -> None:
        self._judgement = judgement

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        return examine(self._judgement.measured)

    @cached_property
    def gates(self) -> tuple[GateResult, ...]:
        return check(self._judgement.measured)

    @cached_property
    def layers(self) -> Layers:
        judging: Judging = catalog.part("kinds", self._judgement.measured.kind.name, "judging", "JUDGING")
        return judging.layers(self._evidence)

    @cached_property
    def concluded(self) -> Verdict:
        """The verdict as a whole, drawn as `judge` draws it."""
        return conclude(self._evidence)

    @cached_property
    def _evidence(self) -> Evidence:
        asked = self._judgement
        return Evidence(data=asked.measured, results=asked.results, findings=self.findings, gates=self.gates)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.concluded, name)


def ask(made: Handmade, measured: RecordData) -> Asked:
    """The judgement of `measured`, which is what `made` holds, as far as it is read."""
    manifest = {name: value for name, value in measured.manifest.items() if name not in NAMES}
    whole = repr((made.experiment, made.rows, manifest, measured.state, measured.sealed))
    key = sha256(whole.encode()).digest()
    if key not in _KNOWN:
        _KNOWN[key] = Asked(measured)
    return _KNOWN[key]


def judge_once(made: Handmade, measured: RecordData) -> Judgement:
    """The same as a judgement, for a side of a comparison: that reads a status at most, and a history not even that."""
    return ask(made, measured).lazy


def verdict_of(judgement: Judgement) -> Verdict:
    """The whole verdict of a judgement, to be replaced in part."""
    return judgement.verdict.concluded if isinstance(judgement.verdict, AskedVerdict) else judgement.verdict


def concluded(measured: RecordData) -> Judgement:
    """What `judge` says: it computes every metric first, this what is read; `test_judge` holds both to be equal."""
    return Asked(measured).whole


def judge_read(measured: RecordData, on_progress: Callable[[int, int], None] | None = None) -> Judgement:
    """Instead of `judge` where tests give equal records to a verb: each is judged for real when it is met first."""
    manifest = {name: value for name, value in measured.manifest.items() if name not in NAMES}
    key = sha256(repr((measured.experiment, manifest, measured.state, measured.sealed, measured.profiles)).encode())
    for name, frame in measured.tables.items():
        content = io.BytesIO()
        frame.write_ipc(content)
        key.update(name.encode() + content.getvalue())
    if key.digest() not in _READ:
        _READ[key.digest()] = judge(measured, on_progress)
    return _READ[key.digest()]
