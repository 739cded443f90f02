"""What does JSON hold of images?  Their files' names, digests and sizes; never their content."""

from __future__ import annotations

from fireassay.reports.documents.json_object import JsonObject, key


class Image(JsonObject):  # of `ItemImage`
    """The image that answers an item."""

    name: str = key("its path as the file of answers has it; of a data URL its type and length")
    sha256: str | None = key("SHA-256 of its file; null: there was no file to read", lambda image: image.sha256 or None)
    format: str | None = key("`PNG`, `JPEG`, `WEBP`, `GIF` or `BMP`; null: not decoded", lambda image: image.format or None)
    bytes: int = key("bytes of its file", lambda image: image.file_bytes)
    width: int | None = key("pixels, upright; null: not decoded", lambda image: image.width or None)
    height: int | None = key("likewise", lambda image: image.height or None)
    missing: str = key("why there is no image; empty if there is one")


class AnswerImage(JsonObject):
    """An image as an answer."""

    configuration: str = key("key of the configuration", lambda item: item[0])
    task: str = key("the item's task", lambda item: item[1]["task"])
    item: str = key("its id", lambda item: item[1]["item"])
    launch: int = key("number of the launch", lambda item: item[1]["launch"])
    repetition: int = key("from 0, of several answers to an item", lambda item: item[1]["repetition"])
    outcome: str = key("`ok`, or how the item ended", lambda item: item[1]["outcome"])
    score: float | None = key("by the metric that decides the task; null: none", lambda item: item[1]["score"])
    image: Image = key("the image", lambda item: item[2])
