"""How are the prices of an experiment written for people?"""

from __future__ import annotations

from fireassay.estimates.format import given
from fireassay.spec.sections.prices import Prices


def price_words(prices: Prices, worker: str = "worker") -> str:
    """The prices with their date and source: "$2 per worker-hour, storage $0.05 (2026-11-30, price list)"."""
    words = [f"${given(prices.usd_per_worker_hour)} per {worker}-hour"] if prices.usd_per_worker_hour is not None else []
    words += [_role_words(role.name, role.usd_per_worker_hour, role.workers) for role in prices.roles]
    words += [prices.market.replace("_", " ")] if prices.market != "on_demand" else []
    if prices.reserved_worker_hours is not None:
        words.append(f"{given(prices.reserved_worker_hours)} worker-hours paid in any case")
    for name, flat, amount, unit, per in (
        ("storage", prices.storage_usd, prices.storage_gb, prices.storage_usd_per_gb_month, "GB-month"),
        ("egress", prices.egress_usd, prices.egress_gb, prices.egress_usd_per_gb, "GB"),
    ):
        if flat is not None:
            words.append(f"{name} ${given(flat)}")
        elif amount is not None and unit is not None:
            words.append(f"{name} of {given(amount)} GB at ${given(unit)} per {per}")
    tokens = {
        "input": prices.usd_per_million_input_tokens,
        "cached": prices.usd_per_million_cached_tokens,
        "output": prices.usd_per_million_output_tokens,
    }
    words += [f"${given(price)} per million {kind} tokens" for kind, price in tokens.items() if price is not None]
    return f"{', '.join(words)} ({prices.as_of.isoformat()}, {prices.source})"


def _role_words(name: str, price: float, workers: int | None) -> str:
    return f"{name} ${given(price)} per worker-hour" if workers is None else f"{workers} {name} at ${given(price)} per hour each"
