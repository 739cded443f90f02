"""Which side of latency and throughput does a load limit, and which does it seek?

Throughput under a latency cap is for batch work, latency under a throughput floor for interactive work.
"""

from __future__ import annotations

import re
from typing import Any, Final, Literal

from pydantic import Field

from fireassay.spec.model import Model, Positive, Unreadable, seconds

Stem = Literal["ttft", "tpot", "itl", "e2e"]
Percentile = Literal[50, 95, 99]
_NUMBER: Final = r"(?P<number>[0-9]*\.?[0-9]+(?:e[+-]?[0-9]+)?)"
_LATENCY: Final = r"(?P<stem>ttft|tpot|itl|e2e)[ _]*p?(?P<percentile>50|95|99)"
_CAP: Final = re.compile(rf"\s*{_LATENCY}\s*(?:<=|≤|=|:)?\s*(?P<limit>[^\s].*?)\s*")
_FLOOR: Final = re.compile(rf"\s*{_NUMBER}\s*(?P<unit>req|requests|tok|tokens)?(?:/s)?(?:\s*[,:]\s*{_LATENCY})?\s*")


class LatencyCap(Model):
    """The largest admissible latency of a load. The answer is the largest throughput among the loads that keep it."""

    metric: Stem = Field("e2e", description="The latency: ttft, tpot, itl or e2e.")
    percentile: Percentile = Field(99, description="Its percentile: 50, 95 or 99.")
    limit_s: Positive = Field(description="The largest admissible value, seconds.")

    @property
    def name(self) -> str:
        """The metric's name."""
        return f"{self.metric}_p{self.percentile}"


class ThroughputFloor(Model):
    """A throughput that a load must reach. The answer is the lowest latency among the loads that reach it."""

    at_least: Positive = Field(description="The smallest admissible throughput, per second.")
    of: Literal["requests", "tokens"] = Field("requests", description="requests: answers per second. tokens: output tokens per second.")
    metric: Stem = Field("e2e", description="The latency that is sought: ttft, tpot, itl or e2e.")
    percentile: Percentile = Field(99, description="Its percentile: 50, 95 or 99.")

    @property
    def name(self) -> str:
        """The name of the latency's metric."""
        return f"{self.metric}_p{self.percentile}"


def cap_of_text(text: str) -> dict[str, Any]:
    """ "e2e p99 500ms", "ttft_p95=0.2" as a table of gates.latency_cap. Raises Unreadable."""
    found = _CAP.fullmatch(text.lower())
    if found is None:
        raise Unreadable(
            "LATENCY PERCENTILE TIME, LATENCY one of ttft, tpot, itl, e2e and the percentile p50, p95 or p99, as in e2e p99 500ms"
        )
    return {"metric": found["stem"], "percentile": int(found["percentile"]), "limit_s": seconds(found["limit"], 30.0)}


def floor_of_text(text: str) -> dict[str, Any]:
    """ "100 req/s", "5000 tok/s, ttft p95" as a table of gates.throughput_floor. Raises Unreadable."""
    found = _FLOOR.fullmatch(text.lower())
    if found is None:
        raise Unreadable("a rate in req/s or tok/s, and optionally the latency that is sought, as in 100 req/s or 5000 tok/s, ttft p95")
    table: dict[str, Any] = {"at_least": float(found["number"]), "of": "tokens" if (found["unit"] or "").startswith("tok") else "requests"}
    if found["stem"]:
        table |= {"metric": found["stem"], "percentile": int(found["percentile"])}
    return table
