"""Which model judges the answers, by which rubric, and which labels of people is it held against?

The table [evaluation.judge].  All of it but where replies are cached, how many requests are in flight and how long one may take is a condition
of the record.
"""

from __future__ import annotations

import re
from typing import Annotated, Final

from pydantic import BeforeValidator, Field

from fireassay.spec.model import Model, PositiveSeconds, Unreadable, flag, listed

JUDGED: Final = "judged"  # the score that a judge gives
PRICE: Final = re.compile(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*,\s*(\d{1,9}(?:\.\d{1,9})?)\s*")


def price_of(text: str) -> list[float]:
    """ "0.15,0.6" as two prices."""
    found = PRICE.fullmatch(text)
    if found is None:
        raise Unreadable("IN,OUT, US dollars for a million tokens, as in 0.15,0.6")
    return [float(found[1]), float(found[2])]


class Judge(Model):
    """A model that judges answers."""

    url: Annotated[str, flag("--judge", "URL", "a model at this address judges the answers", score=71, evaluate=123)] = Field(
        min_length=1, description="Address of the model that judges, as http://localhost:8000."
    )
    model: Annotated[str, flag("--judge-model", "NAME", "the judge's name in requests", score=72, evaluate=124)] = Field(
        min_length=1, description="The name of that model in requests."
    )
    rubric: Annotated[
        str, flag("--rubric", "FILE", "what it judges by: a text, or TOML with form, criteria, scale", score=73, evaluate=125)
    ] = Field(
        min_length=1,
        description="Relative to the experiment's file. TOML with form (scale or pairs), criteria, scale, good and reference; any other "
        "file is the criteria of ratings from 1 to 5.",
    )
    gold: Annotated[
        str, flag("--gold", "FILE", "labels of people for some items: item, side, rating or first, second, choice", score=74, evaluate=126)
    ] = Field(
        "", description="Labels of people for a random sample of the items, as assay rate keeps them. A margin is decided only with them."
    )
    cache: Annotated[
        str, flag("--judge-cache", "DIR", "keep replies there for other records, so that nothing is asked twice", score=75, evaluate=127)
    ] = Field(
        "", description="A folder of replies that records share: what one has asked no other asks again. Default: each record has its own."
    )
    api_key_env: Annotated[str, flag("--judge-key-env", "VAR", "variable that holds the judge's API key", score=76, evaluate=128)] = Field(
        "", description="The environment variable that holds the API key, which itself is never stored."
    )
    price: Annotated[
        tuple[float, ...],
        BeforeValidator(listed),
        flag("--judge-price", "IN,OUT", "US dollars for a million tokens in, and out", read=price_of, score=77, evaluate=129),
    ] = Field(
        (), max_length=2, description="US dollars for a million tokens of what is sent, and of replies. Default: the cost is unknown."
    )
    backend: str = Field("openai", description="The dialect it speaks: the name of a file in fireassay/traffic/backends.")
    options: dict[str, str | int | float | bool] = Field(
        default_factory=dict, description='Options of its dialect, as max_tokens_key = "max_completion_tokens" or omit = "temperature".'
    )
    temperature: float = Field(0.0, ge=0.0, le=10.0, description="Sampling temperature of its replies.")
    seed: int = Field(0, ge=0, lt=2**63, description="The seed that is sent with every request.")
    max_tokens: int = Field(512, ge=1, le=1_000_000, description="Longest reply. One that is cut there is no judgement.")
    json_schema: bool = Field(
        True, description="Whether the form of a reply is sent as response_format. If the model refuses it, it is asked for in words alone."
    )
    concurrency: int = Field(8, ge=1, le=1000, description="Requests in flight.")
    timeout_s: PositiveSeconds = Field(120.0, description="Seconds that a reply may take.")
    retries: int = Field(
        3, ge=0, le=20, description="How often a request is sent again that the server could not answer (429, 5xx, no connection)."
    )
