"""Does a program pass its tests?  Judged by the sandbox (`fireassay.quality.sandbox`), never by a text, so only tasks of code have it.

Over several programs of one problem it is the share that passes, the unbiased estimate of pass@1 (Chen et al., arXiv:2107.03374).
"""

from __future__ import annotations

from typing import NoReturn

from fireassay.errors import refuse
from fireassay.quality.scoring.text_metric import Options, TextMetric


def prepare(_: Options) -> NoReturn:
    """Refuse: a text has no tests."""
    allowed = "a score of texts; programs are judged by their tests"
    fix = "Use a task of code, as in: assay evaluate --task humaneval --data problems.jsonl"
    raise refuse("evaluation.metrics", '"pass_at_1" for a text', allowed, fix, source="the scores")


METRIC = TextMetric(
    name="pass_at_1",
    title="pass@1",
    better="higher",
    scale=(0.0, 1.0),
    prepare=prepare,
    reads="programs",
    source="Chen et al., arXiv:2107.03374",
    caveat="It says nothing about inputs that the tests do not try.",
)
