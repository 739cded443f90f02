"""How probable does an engine find an answer to a question about an image, as its log probabilities say?

A chat completion with the image as a data URL (a PNG of the upright pixels, so that the engine sees what a local model sees), one token at
temperature 1, and its 20 most probable tokens: log probabilities of the raw softmax, whichever token is drawn.
Cannot tell: which weights answer, and how the engine scales an image.
"""

from __future__ import annotations

import base64
import http.client
import json
import math
import os
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from typing import Any, Final
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from fireassay.errors import WorkloadError, refuse
from fireassay.instruments.engines.deadline import within
from fireassay.printable import one_line
from fireassay.quality.scoring.pictures import Picture
from fireassay.units import MIB

TOP: Final = 20  # the most that OpenAI lists
AT_ONCE: Final = 8  # requests
TRIES: Final = 3
PATIENCE_S: Final = 120.0
MAX_REPLY: Final = 4 * MIB
PATH: Final = "/chat/completions"
PASSING: Final = (408, 429, 500, 502, 503, 504)  # statuses worth another try


class _Passing(Exception):
    """A failure that another try may not have."""


class EngineAnswerer:
    """An engine with an OpenAI-compatible API.

    Raises:
        SpecError: the address is none, or the variable with the key is not set.
    """

    def __init__(self, address: str, served: str, key: str = "", *, wait: Callable[[float], None] = time.sleep) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
            raise _wrong("model", repr(address.rpartition("@")[2]), "http://HOST:PORT or https://HOST, without a password")
        if not served:
            raise _wrong("served", "nothing", "the model's name at the engine", 'vqascore.served = "NAME"')
        if key and not os.environ.get(key):
            raise _wrong("api_key_env", key, "a variable of the environment that holds the API key", f"Set {key}.")
        self._parts, self._served, self._key, self._wait = parts, served, key, wait
        base = parts.path.rstrip("/")
        self._path = (base if base.endswith("/v1") else f"{base}/v1") + PATH

    @property
    def signature(self) -> str:
        """The model's name at the engine, and how it is asked; its weights are not known."""
        return f"in:engine|served:{self._served}|top:{TOP}|temperature:1|image:png|weights:unknown"

    def check(self, answer: str) -> None:
        """Which tokens the answer is to the engine shows its first reply."""

    def answered(self, pictures: Sequence[Picture], questions: Sequence[str], answer: str) -> NDArray[np.float64]:
        """The probability of the answer's token, and by how much it may be off, shape [pairs, 2].

        Raises:
            WorkloadError: the engine did not answer, or lists no log probabilities.
        """
        urls = {picture.sha256: _data_url(picture) for picture in pictures}
        pool = ThreadPoolExecutor(AT_ONCE)
        try:
            pairs = [(urls[picture.sha256], question) for picture, question in zip(pictures, questions, strict=True)]
            found = list(pool.map(lambda pair: probability(self._listed(*pair), answer), pairs))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
        return np.array(found, dtype=np.float64).reshape(-1, 2)

    def _listed(self, url: str, question: str) -> Mapping[str, float]:
        """The most probable first tokens -> their log probabilities."""
        content = [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": question}]
        body = {
            "model": self._served,
            "messages": [{"role": "user", "content": content}],
            "max_tokens": 1,
            "temperature": 1.0,
            "logprobs": True,
            "top_logprobs": TOP,
        }
        for tried in range(1, TRIES + 1):
            try:
                return listed(self._post(json.dumps(body).encode()))
            except (_Passing, OSError, http.client.HTTPException) as error:
                if tried == TRIES:
                    raise WorkloadError(
                        f"the engine at {self._parts.netloc} did not answer {TRIES} times: {one_line(str(error))}"
                    ) from None
                self._wait(float(tried))
        raise AssertionError

    def _post(self, body: bytes) -> bytes:
        made = http.client.HTTPSConnection if self._parts.scheme == "https" else http.client.HTTPConnection
        words: dict[str, Any] = {"context": ssl.create_default_context()} if self._parts.scheme == "https" else {}
        connection = made(self._parts.hostname or "", self._parts.port, timeout=PATIENCE_S, **words)
        headers = {"content-type": "application/json", **({"authorization": f"Bearer {os.environ[self._key]}"} if self._key else {})}
        try:
            connection.connect()
            with within(connection.sock, PATIENCE_S, "no complete answer"):
                connection.request("POST", self._path, body=body, headers=headers)
                reply = connection.getresponse()
                content = reply.read(MAX_REPLY)
        finally:
            connection.close()
        if reply.status in PASSING:
            raise _Passing(f"status {reply.status}")
        if reply.status != 200:
            said = one_line(content[:300].decode("utf-8", "replace"))
            raise WorkloadError(f"the engine at {self._parts.netloc} refused a question about an image: status {reply.status}: {said}")
        return content


def listed(reply: bytes) -> dict[str, float]:
    """The first token's alternatives in a chat completion: token -> log probability, the larger one of equal texts.

    Raises:
        WorkloadError: it lists none, or no log probabilities.
    """
    try:
        tops = json.loads(reply)["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
        pairs = [(str(one["token"]), float(one["logprob"])) for one in tops]
    except (ValueError, LookupError, TypeError, RecursionError):
        pairs = []
    if not pairs or not all(logprob <= 1e-6 for _, logprob in pairs):  # NaN neither
        raise WorkloadError(
            "the engine's answer has no top_logprobs: a vision-language model scores only where its engine lists log probabilities "
            "(vLLM: --max-logprobs 20)"
        )
    found: dict[str, float] = {}
    for token, logprob in pairs:
        found[token] = max(logprob, found.get(token, -math.inf))
    return found


def probability(tokens: Mapping[str, float], answer: str) -> tuple[float, float]:
    """The probability of a token, and by how much it may be off: half of its bound if it is not listed."""
    if answer in tokens:
        return min(1.0, math.exp(tokens[answer])), 0.0
    shares = [math.exp(logprob) for logprob in tokens.values()]
    bound = min(min(shares), max(0.0, 1.0 - math.fsum(shares)))
    return bound / 2.0, bound / 2.0


def _data_url(picture: Picture) -> str:
    into = BytesIO()
    picture.pixels.save(into, format="PNG")
    return f"data:image/png;base64,{base64.b64encode(into.getvalue()).decode()}"


def _wrong(option: str, found: str, allowed: str, fix: str = "") -> Exception:
    return refuse(f"evaluation.options.vqascore.{option}", found, allowed, fix, source="the options of scores")
