"""Is there a filter where libseccomp is, and none elsewhere?"""

from __future__ import annotations

import ctypes

import pytest

from fireassay.quality.sandbox import seccomp


@pytest.fixture(autouse=True)
def _forget() -> None:
    seccomp.program.cache_clear()


def test_the_filter_is_a_program_of_the_kernel() -> None:
    try:
        ctypes.CDLL("libseccomp.so.2")
    except OSError:
        pytest.skip("libseccomp is not installed")
    program = seccomp.program()
    assert len(program) % 8 == 0  # struct sock_filter
    assert len(program) // 8 > 60
    assert int.from_bytes(program[-4:], "little") in (
        0,
        0x7FFF0000,
    )  # the last instruction returns: killed for another architecture, or allowed


def test_without_the_library_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: str) -> None:
        raise OSError("no such library")

    monkeypatch.setattr("ctypes.CDLL", missing)
    assert seccomp.program() == b""
    seccomp.program.cache_clear()
