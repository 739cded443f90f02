"""What the reference server makes where no text is asked for, and when it is due."""

from __future__ import annotations

import base64
import json
import struct
import time
import wave
import zlib
from http.client import HTTPConnection
from io import BytesIO
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.instruments.raw_client import served
from tests.limits import PROCESS_S

IMAGES = "/v1/images/generations"


def posted(url: str, path: str, body: object) -> tuple[int, bytes, float]:
    """Status, body and seconds of an answer."""
    connection = HTTPConnection(urlsplit(url).netloc, timeout=PROCESS_S)
    begin = time.monotonic()
    connection.request("POST", path, json.dumps(body), {"content-type": "application/json"})
    response = connection.getresponse()
    content = response.read()
    connection.close()
    return response.status, content, time.monotonic() - begin


def test_speech_is_a_wav_of_a_tenth_of_a_second_for_ten_characters() -> None:
    with served(first_s=0.02, next_s=0.01) as server:
        status, content, seconds = posted(server.url, "/v1/audio/speech", {"model": "m", "input": "x" * 40, "voice": "alloy"})
    assert (status, len(content)) == (200, 44 + 4 * 4800)
    assert seconds >= 0.05  # the fourth piece is due at 20 + 3 x 10 ms
    with wave.open(BytesIO(content)) as audio:
        assert (audio.getframerate(), audio.getnchannels(), audio.getsampwidth()) == (24_000, 1, 2)


def test_images_vectors_and_ranks_are_as_many_as_asked_for() -> None:
    with served(first_s=0.0, next_s=0.0) as server:

        def answered(path: str, **body: Any) -> Any:
            return json.loads(posted(server.url, path, {"model": "m", **body})[1])

        images = answered("/v1/images/generations", prompt="a cat", n=3)["data"]
        assert [base64.b64decode(image["b64_json"])[:4] for image in images] == [b"\x89PNG"] * 3
        vectors = answered("/v1/embeddings", input=["a b", "c"])
        assert ([entry["index"] for entry in vectors["data"]], vectors["usage"]["prompt_tokens"]) == ([0, 1], 3)
        assert "usage" not in answered("/v1/embeddings", messages=[{"role": "user", "content": []}])
        ranks = answered("/v1/rerank", query="q", documents=["a", "b"])
        assert [entry["index"] for entry in ranks["results"]] == [0, 1]


def test_an_image_is_the_shape_that_the_prompt_names_in_its_size() -> None:
    """A red square on white, half as wide as the shorter side: 24 pixels."""
    with served(first_s=0.0, next_s=0.0) as server:
        body = {"model": "m", "prompt": "a red square", "size": "64x48", "n": 2, "response_format": "b64_json"}
        first, second = (base64.b64decode(one["b64_json"]) for one in json.loads(posted(server.url, IMAGES, body)[1])["data"])
    for image in (first, second):
        width, height, rows = pixels(image)
        assert (width, height) == (64, 48)
        red = [(x, y) for y, row in enumerate(rows) for x, pixel in enumerate(row) if pixel == (220, 30, 30)]
        assert len(red) == 24 * 24
        assert {pixel for row in rows for pixel in row} == {(220, 30, 30), (255, 255, 255)}
    assert first != second


def pixels(png: bytes) -> tuple[int, int, list[list[tuple[int, ...]]]]:
    """Width, height and rows of an RGB image without filters."""
    width, height = struct.unpack(">II", png[16:24])
    begin = png.index(b"IDAT")
    (length,) = struct.unpack(">I", png[begin - 4 : begin])
    data = zlib.decompress(png[begin + 4 : begin + 4 + length])
    lines = [data[1 + y * (3 * width + 1) :][: 3 * width] for y in range(height)]
    return width, height, [[tuple(line[at : at + 3]) for at in range(0, len(line), 3)] for line in lines]


def test_the_last_of_n_images_is_due_a_gap_for_each_after_the_first() -> None:
    with served(first_s=0.02, next_s=0.02) as server:
        _, _, seconds = posted(server.url, IMAGES, {"prompt": "a cat", "n": 4})
    assert seconds >= 0.08


def test_previews_come_before_the_image_they_show() -> None:
    with served(first_s=0.01, next_s=0.02) as server:
        status, content, seconds = posted(server.url, IMAGES, {"prompt": "a cat", "stream": True, "partial_images": 2})
    kinds = [json.loads(line[6:])["type"].partition(".")[2] for line in content.decode().splitlines() if line.startswith("data: ")]
    assert (status, kinds) == (200, ["partial_image", "partial_image", "completed"])
    assert seconds >= 0.05


def test_images_are_as_large_as_set_and_links_if_asked_for() -> None:
    with served(first_s=0.0, image_kib=100) as server:
        large = json.loads(posted(server.url, IMAGES, {"prompt": "a cat"})[1])["data"][0]["b64_json"]
        link = json.loads(posted(server.url, IMAGES, {"prompt": "a cat", "response_format": "url"})[1])["data"]
    assert (len(base64.b64decode(large)), link) == (100 * 1024, [{"url": "https://images.invalid/0.png"}])


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/images/generations", {"prompt": ""}),
        ("/v1/images/generations", {"prompt": "a", "n": 0}),
        ("/v1/images/generations", []),
        ("/v1/images/generations", {"prompt": "a", "size": "large"}),
        ("/v1/images/generations", {"prompt": "a", "size": "0x4"}),
        ("/v1/images/generations", {"prompt": "a", "partial_images": 4}),
        ("/v1/audio/speech", {"input": 3}),
        ("/v1/audio/speech", {"input": "a", "response_format": "mp3"}),
        ("/v1/embeddings", {"input": []}),
        ("/v1/rerank", {"documents": "a"}),
    ],
)
def test_a_wrong_request_is_a_400(path: str, body: object) -> None:
    with served() as server:
        status, content, _ = posted(server.url, path, body)
    assert status == 400
    assert json.loads(content)["error"]["message"]
