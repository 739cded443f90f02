"""A bar shows the progress of what takes long, at a terminal only, and leaves nothing behind."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from fireassay.cli.support import settings
from fireassay.cli.support.bar import bar
from fireassay.cli.support.settings import Settings
from fireassay.record.seal import verify
from fireassay.record.secrets.batches import leaks
from tests.record.making import sealed


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    """Each look at it is half a second later."""

    def __init__(self, step_s: float = 0.5) -> None:
        self.now, self.step = 0.0, step_s

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def shown(stream: io.StringIO, clock: Clock, steps: int = 10) -> str:
    with bar("checking", stream, clock) as advance:
        for done in range(1, steps + 1):
            if advance is not None:
                advance(done, steps)
    return stream.getvalue()


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    settings.USED.set(Settings())  # whatever an earlier command in this process was told


def test_what_takes_long_shows_how_far_it_is_and_the_time_left() -> None:
    text = shown(Terminal(), Clock())
    assert "checking" in text
    assert "50%" in text
    assert "about 2 s left" in text  # 5 steps in 2.5 s: 5 more


def test_what_is_short_shows_nothing() -> None:
    assert shown(Terminal(), Clock(0.01)) == ""


def test_in_a_pipe_nothing_is_drawn() -> None:
    assert shown(io.StringIO(), Clock()) == ""


def test_quiet_draws_nothing() -> None:
    used = settings.USED.set(Settings(quiet=True))
    assert shown(Terminal(), Clock()) == ""
    settings.USED.reset(used)


def test_never_coloured_is_never_coloured() -> None:
    used = settings.USED.set(Settings(color="never"))
    text = shown(Terminal(), Clock())
    settings.USED.reset(used)
    assert "\x1b[3" not in text
    assert "checking" in text


def test_checking_a_record_says_how_many_of_its_bytes_are_done(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    path = sealed(tmp_path)
    assert verify(path, lambda done, total: seen.append((done, total))) == ()
    assert seen == sorted(seen)
    assert seen[-1][0] == seen[-1][1] > 0
    assert len({total for _, total in seen}) == 1


def test_searching_for_secrets_says_how_many_files_are_done(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    assert leaks(sealed(tmp_path), lambda done, total: seen.append((done, total))) == ()
    assert [done for done, _ in seen] == list(range(1, seen[-1][1] + 1))
