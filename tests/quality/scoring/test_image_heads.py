"""Are the lines that stand for images written and read alike?"""

from __future__ import annotations

from fireassay.quality.scoring.image_heads import ImageHead, described

JPEG = ImageHead("jpeg", 1024, 768, 200_000, "ab" * 32)
PNG = ImageHead("png", 1, 2, 3, "0" * 64)


def test_lines_are_read_as_they_were_written() -> None:
    assert described(f"{JPEG}\nlink\n{PNG}") == [JPEG, PNG]
    assert described(None) == described("") == described("a png of 1x2") == []


def test_a_file_is_named_by_its_digest() -> None:
    assert (JPEG.file, PNG.file, JPEG.size) == (f"{'ab' * 32}.jpg", f"{'0' * 64}.png", "1024x768")
