"""What does a worker cost, and where do joules come from?

The sections [prices] and [energy].
"""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from pydantic import BeforeValidator, ConfigDict, Field

from fireassay.spec.model import Model, Positive, flag


def iso_date(value: object) -> object:
    """Accept a quoted date like an unquoted one."""
    try:
        return date.fromisoformat(value) if isinstance(value, str) and len(value) == len("2026-01-31") else value
    except ValueError:
        return value


class Prices(Model):
    """The price of a worker, with its date and source."""

    usd_per_worker_hour: Annotated[
        float,
        flag("--price", "USD", "price of one worker for one hour", run=270),
        flag("--price", "USD", "price of one replica for one hour", load=410, evaluate=250),
    ] = Field(ge=0.0, description="US dollars for one worker for one hour.")
    as_of: Annotated[
        date, BeforeValidator(iso_date), flag("--price-date", "DATE", "date of the price (today)", run=280, load=420, evaluate=260)
    ] = Field(description="The date of the price.", alias="date")
    source: Annotated[str, flag("--price-source", "TEXT", "where the price is from", run=290, load=430, evaluate=270)] = Field(
        min_length=1, description="Source of the price: a price list, a contract, an assumption."
    )

    model_config = ConfigDict(populate_by_name=True)


class Energy(Model):
    """Source of energy measurements."""

    source: Annotated[
        Literal["auto", "none", "rapl", "nvml", "modelled"], flag("--energy", "SOURCE", "auto, none, rapl, nvml or modelled", run=300)
    ] = Field(
        "auto",
        description="auto: hardware counters if the machine has them, else not measured. modelled: a labelled estimate from the key below.",
    )
    modelled_watts_per_worker: Annotated[
        Positive | None,
        flag("--watts", "W", "watts of one worker, for --energy modelled", run=310),
        flag("--watts", "W", "watts of one replica: energy is then modelled", load=440),
    ] = Field(None, description="Only for source = modelled: watts charged to one worker. Never mixed with measured joules.")
    sample_every_s: float = Field(1.0, gt=0.0, le=3600.0, description="Seconds between two readings of the counters.")
