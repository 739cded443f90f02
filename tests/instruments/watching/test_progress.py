"""Which step does a log name?"""

from __future__ import annotations

import pytest

from fireassay.instruments.watching.progress import step_in


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ("step 120 loss 2.31", 120),
        ("iteration: 7, loss: 0.1", 7),
        ("{'loss': 1.2, 'global_step': 40}", 40),
        ("train:  24%|##3       | 120/500 [00:12<00:38,  9.9it/s]", 120),
        ("Epoch [3/10] batch [77/200]", 77),
        ("2026-01-01 loss 0.3", None),
    ],
)
def test_the_last_step_of_a_line(line: str, step: int | None) -> None:
    assert step_in(["nothing", line]) == step
