"""Was an equal record judged before?  Judging is pure and takes a quarter of a second, and hundreds of tests begin with the same record.

Equal are the experiment, the rows and what the manifest says; left out is what only names the record. Nobody changes a judgement: it is
frozen. A test that replaces a part of the judge must call `fireassay.verdict.judge` itself.
"""

from __future__ import annotations

from hashlib import sha256

from fireassay.frames.record_data import RecordData
from fireassay.verdict.judge import Judgement, judge
from tests.handmade import Handmade

NAMES = {"id", "created_utc", "name"}
_KNOWN: dict[bytes, Judgement] = {}


def judge_once(made: Handmade, measured: RecordData) -> Judgement:
    """The judgement of `measured`, which is what `made` holds."""
    manifest = {name: value for name, value in measured.manifest.items() if name not in NAMES}
    whole = repr((made.experiment, made.rows, manifest, measured.state, measured.sealed))
    key = sha256(whole.encode()).digest()
    if key not in _KNOWN:
        _KNOWN[key] = judge(measured)
    return _KNOWN[key]
