"""What the reference server makes where no text is asked for, and when it is due."""

from __future__ import annotations

import base64
import json
import time
import wave
from http.client import HTTPConnection
from io import BytesIO
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.instruments.raw_client import served
from tests.limits import PROCESS_S


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


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/images/generations", {"prompt": ""}),
        ("/v1/images/generations", {"prompt": "a", "n": 0}),
        ("/v1/images/generations", []),
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
