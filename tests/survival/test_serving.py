"""Whatever is killed under a load, and whenever: each request that was due has one row, and nothing is left running."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.survival import loads


@pytest.mark.survival
@pytest.mark.slow
@pytest.mark.parametrize(
    ("victim", "kind", "clients"),
    [
        ("client", "closed", 2),
        ("client", "open sessions", 1),
        ("coordinator", "closed", 1),
        ("coordinator", "open", 2),
        ("server", "closed", 1),
        ("ctrl-c", "sessions", 2),
        ("guard", "open", 1),
        ("everything", "closed", 2),
        ("everything", "open", 1),
    ],
)
def test_a_load_loses_nothing_silently_at_a_kill(tmp_path: Path, victim: str, kind: str, clients: int) -> None:
    seen = loads.once(tmp_path, victim, kind, clients, random.Random(f"{victim} {kind}"))
    assert seen.problems == []
    assert seen.requests > 0
