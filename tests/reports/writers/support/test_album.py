"""A page embeds small copies until it is as large as it may be, and says what it left out and what cannot be shown."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from fireassay.errors import RecordError
from fireassay.reports.page import Shot
from fireassay.reports.writers.support.album import BUDGET, DAMAGED, LIMITED, Album
from tests.record.untrusted.test_jpeg import made

CONTENT = made((40, 20))


def shot(content: bytes = CONTENT, **more: Any) -> Shot:
    return Shot(name="a.png", digest="ab" * 32, copy=lambda: content, **more)


def test_a_copy_is_embedded_with_its_own_size() -> None:
    album = Album()
    embedded = album.embed(shot())
    assert embedded.url == f"data:image/jpeg;base64,{base64.b64encode(CONTENT).decode()}"
    assert (embedded.width, embedded.height, embedded.why) == (40, 20, "")
    assert album.notes() == ["1 image: small copies from the record, 0.0 MiB; nothing is loaded from elsewhere."]


def test_beyond_the_limit_nothing_is_read_and_the_number_is_said() -> None:
    read = []

    def copy() -> bytes:
        read.append(1)
        return CONTENT

    album = Album(budget=2 * len(CONTENT))
    shots = [Shot(name="a.png", copy=copy) for _ in range(9)]
    assert [bool(album.embed(one).url) for one in shots] == [True] * 2 + [False] * 7
    assert album.embed(shots[0]).why == LIMITED
    assert len(read) == 3  # the third did not fit any more
    assert album.notes()[1].startswith("8 images only named: a page holds at most")


def test_what_is_no_small_copy_is_not_embedded_whoever_gives_it() -> None:
    album = Album()
    for hostile in (b"<svg/>", b"\x89PNG\r\n\x1a\n", CONTENT + b"<script>", made((257, 1))):
        embedded = album.embed(shot(hostile))
        assert (embedded.url, embedded.why) == ("", DAMAGED)
    assert album.notes() == ["4 images cannot be shown, the first: it is no JPEG."]


def test_a_copy_that_cannot_be_read_is_said_and_the_others_are_shown() -> None:
    def gone() -> bytes:
        raise RecordError("images/launch=0000.zip cannot be read: it was changed after it was sealed")

    album = Album()
    assert album.embed(Shot(name="a.png", copy=gone)).why == DAMAGED
    assert album.embed(shot()).url
    assert "it was changed after it was sealed" in album.notes()[1]


def test_a_missing_image_says_why() -> None:
    album = Album()
    assert album.embed(shot(missing="'a.png': No such file or directory")).why == "no image: 'a.png': No such file or directory"
    assert album.embed(Shot(name="a.png")).why == "no image"
    assert album.notes() == []


@pytest.mark.parametrize("count", [10_000])
def test_ten_thousand_images_stay_below_the_limit(count: int) -> None:
    large = made((256, 256), quality=95)
    album = Album()
    urls = [album.embed(shot(large)).url for _ in range(count)]
    assert sum(map(len, urls)) < 4 * BUDGET / 3 + 100 * count
    assert sum(map(bool, urls)) == BUDGET // len(large)
