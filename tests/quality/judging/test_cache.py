"""Is what was asked once known again, and nothing else?"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from fireassay.errors import SpecError
from fireassay.quality.judging.cache import Cache, Reply, key_of

REPLY = Reply(text='{"rating": 4}', finish_reason="stop", tokens_in=10, tokens_out=3, seconds=0.5)
KEY = key_of({"model": "m", "messages": [{"role": "user", "content": "a"}]})


def test_a_reply_is_known_again(tmp_path: Path) -> None:
    Cache(tmp_path / "c").put(KEY, REPLY)
    assert Cache(tmp_path / "c").get(KEY) == REPLY
    assert Cache(tmp_path / "c").get(key_of({"model": "n"})) is None


def test_without_a_folder_nothing_is_kept() -> None:
    cache = Cache(None)
    cache.put(KEY, REPLY)
    assert cache.get(KEY) is None


@pytest.mark.parametrize("change", [{"model": "n"}, {"seed": 1}, {"messages": [{"role": "user", "content": "b"}]}])
def test_whatever_is_asked_otherwise_is_another_file(change: dict[str, object]) -> None:
    asked = {"model": "m", "seed": 0, "messages": [{"role": "user", "content": "a"}]}
    assert key_of({**asked, **change}) != key_of(asked)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"\x80\x04pickle",
        json.dumps(
            {"format": 1, "key": "other", "text": "x", "finish_reason": None, "tokens_in": 1, "tokens_out": 1, "seconds": 1}
        ).encode(),
        json.dumps({"format": 1, "key": KEY, "text": 3, "finish_reason": None, "tokens_in": 1, "tokens_out": 1, "seconds": 1}).encode(),
        json.dumps({"format": 2, "key": KEY, "text": "x", "finish_reason": None, "tokens_in": 1, "tokens_out": 1, "seconds": 1}).encode(),
        b'{"a":' * 100_000,
    ],
)
def test_what_is_no_reply_is_asked_again(content: bytes, tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put(KEY, REPLY)
    (tmp_path / KEY[:2] / f"{KEY}.json").write_bytes(content)
    assert cache.get(KEY) is None


def test_no_part_of_a_file_is_left(tmp_path: Path) -> None:
    Cache(tmp_path).put(KEY, REPLY)
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == [f"{KEY}.json"]


def test_a_file_where_the_folder_should_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "c").write_text("x")
    with pytest.raises(SpecError, match="a folder that can be written"):
        Cache(tmp_path / "c")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(SpecError, match="a folder that can be written"):
        Cache(tmp_path / "c")


@pytest.mark.parametrize(("price", "usd"), [((1.0, 2.0), 16e-6), ((), None)])
def test_a_reply_costs_its_tokens(price: tuple[float, ...], usd: float | None) -> None:
    assert REPLY.usd(price) == (None if usd is None else pytest.approx(usd))
