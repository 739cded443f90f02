"""How much is paid for a run, and for what?

The section [prices]: workers (on demand, reserved or spot, alike or by role of a fleet), storage, egress and tokens.  Every amount is in
US dollars; a month is 730 hours (8760 / 12), as cloud price lists count it.  Prices are inputs: they have one date and one source.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, ConfigDict, Field, ValidationError

from fireassay.errors import Problem, refuse_any
from fireassay.spec.explain import NOTHING, explain, shown
from fireassay.spec.model import Model, Unreadable, flag, listed
from fireassay.spec.toml_file import parse

HOURS_PER_MONTH: Final = 730.0
MAX_USD: Final = 1e12  # of any price: sums stay finite
Usd = Annotated[float, Field(ge=0.0, le=MAX_USD)]
Amount = Annotated[float, Field(ge=0.0, le=1e15)]


def iso_date(value: object) -> object:
    """Accept a quoted date like an unquoted one."""
    try:
        return date.fromisoformat(value) if isinstance(value, str) and len(value) == len("2026-01-31") else value
    except ValueError:
        return value


class Role(Model):
    """The price of a role's workers: of a part of a fleet, or of an engine."""

    name: str = Field(min_length=1, max_length=80, description="The role: prefill, decode, router ..., or the name of an engine.")
    usd_per_worker_hour: Usd = Field(description="US dollars for one worker of this role for one hour.")
    workers: int | None = Field(
        None,
        ge=1,
        le=100_000,
        description="How many workers of this role a launch pays for, whatever its level. Default: the role is the name of an engine "
        "(a target), and its replicas are paid.",
    )


class Prices(Model):
    """The prices of a run, with their date and source."""

    usd_per_worker_hour: Annotated[
        Usd | None,
        flag("--price", "USD", "price of one worker for one hour", run=270),
        flag("--price", "USD", "price of one replica for one hour", load=410, evaluate=250),
    ] = Field(None, description="US dollars for one worker for one hour. Required unless roles or tokens are priced.")
    as_of: Annotated[
        date, BeforeValidator(iso_date), flag("--price-date", "DATE", "date of the price (today)", run=280, load=420, evaluate=260)
    ] = Field(description="The date of the price.", alias="date")
    source: Annotated[str, flag("--price-source", "TEXT", "where the price is from", run=290, load=430, evaluate=270)] = Field(
        min_length=1, description="Source of the price: a price list, a contract, an assumption."
    )
    market: Literal["on_demand", "reserved", "spot"] = Field(
        "on_demand",
        description="Kind of the price of a worker. reserved: reserved_worker_hours are paid whether used or not. spot: time that "
        "interruptions made useless is shown apart, as for the others.",
    )
    reserved_worker_hours: Amount | None = Field(
        None, description="Only for reserved: worker-hours that every run pays for, used or not; what it uses beyond them is paid as well."
    )
    roles: Annotated[tuple[Role, ...], BeforeValidator(listed)] = Field(
        (), description="Prices by role of a fleet (with its workers) or by engine (the name of a target), instead of usd_per_worker_hour."
    )
    storage_usd: Usd | None = Field(None, description="Storage of one run, a flat sum.")
    storage_gb: Amount | None = Field(None, description="Instead: gigabytes (10^9 bytes) that one run stores.")
    storage_usd_per_gb_month: Usd | None = Field(None, description="Price of a gigabyte stored for a month of 730 hours.")
    storage_hours: Amount | None = Field(None, description="Hours for which they are stored. Default: as long as the run took.")
    egress_usd: Usd | None = Field(None, description="Data sent out by one run, a flat sum.")
    egress_gb: Amount | None = Field(None, description="Instead: gigabytes (10^9 bytes) that one run sends out.")
    egress_usd_per_gb: Usd | None = Field(None, description="Price of a gigabyte sent out.")
    usd_per_million_input_tokens: Usd | None = Field(None, description="Price of a million prompt tokens that no cache held.")
    usd_per_million_cached_tokens: Usd | None = Field(
        None, description="Price of a million prompt tokens from the server's cache. Default: that of input tokens."
    )
    usd_per_million_output_tokens: Usd | None = Field(None, description="Price of a million output tokens, reasoning included.")

    model_config = ConfigDict(populate_by_name=True)

    @property
    def prices_tokens(self) -> bool:
        """True if tokens are paid for."""
        return self.usd_per_million_input_tokens is not None or self.usd_per_million_output_tokens is not None

    @property
    def of_fleet(self) -> float | None:
        """US dollars for an hour of all roles with a number of workers; None: workers are not priced by such roles."""
        fleet = [role.usd_per_worker_hour * role.workers for role in self.roles if role.workers is not None]
        return sum(fleet) if fleet else None

    @property
    def fleet_workers(self) -> int | None:
        """How many workers the roles of a fleet have together; None: workers are not priced by such roles."""
        return None if self.of_fleet is None else sum(role.workers or 0 for role in self.roles)


PARTS: Final = (  # (flat sum, quantity, price of a unit)
    ("storage_usd", "storage_gb", "storage_usd_per_gb_month"),
    ("egress_usd", "egress_gb", "egress_usd_per_gb"),
)


def prices_add_up(prices: Prices) -> Iterator[Problem]:
    """Report parts of a cost that are given twice or by halves."""
    if prices.usd_per_worker_hour is None and not prices.roles and not prices.prices_tokens:
        fix = "Add usd_per_worker_hour = ... below [prices], or the prices of roles or tokens."
        yield Problem("prices.usd_per_worker_hour", NOTHING, "a number of at least 0", fix)
    for flat, quantity, unit in PARTS:
        halves = [name for name in (quantity, unit) if getattr(prices, name) is not None]
        if getattr(prices, flat) is not None and halves:
            fix = f"Remove prices.{flat}, or prices.{quantity} and prices.{unit}."
            yield Problem(f"prices.{flat}", f"{shown(getattr(prices, flat))} beside prices.{halves[0]}", "one of them", fix)
        elif len(halves) == 1:
            other = unit if halves[0] == quantity else quantity
            yield Problem(f"prices.{other}", NOTHING, f"a number, since prices.{halves[0]} is given", f"Or give prices.{flat}, a flat sum.")
    if prices.storage_hours is not None and prices.storage_gb is None:
        yield Problem("prices.storage_hours", shown(prices.storage_hours), "a time only together with prices.storage_gb")
    if (prices.market == "reserved") != (prices.reserved_worker_hours is not None):
        fix = 'Write market = "reserved" and reserved_worker_hours = ..., or neither.'
        yield Problem(
            "prices.reserved_worker_hours", shown(prices.reserved_worker_hours or "nothing"), "a number if reserved, else none", fix
        )
    if prices.usd_per_million_cached_tokens is not None and prices.usd_per_million_input_tokens is None:
        fix = "Cached tokens are some of the prompt's: the price of the others is needed too."
        yield Problem("prices.usd_per_million_input_tokens", NOTHING, "a number, since cached tokens are priced", fix)
    names = [role.name for role in prices.roles]
    if len(set(names)) < len(names):
        yield Problem("prices.roles", ", ".join(names), "each role once", "Remove one of two roles with one name.")
    sized = {role.workers is not None for role in prices.roles}
    if len(sized) > 1 or (sized == {True} and prices.usd_per_worker_hour is not None):
        fix = "Roles with workers price the whole fleet; roles without price the engines of these names, others usd_per_worker_hour."
        yield Problem(
            "prices.roles", ", ".join(role.name for role in prices.roles), "roles of a fleet, each with workers, or engines, none with", fix
        )


def of_file(text: str) -> dict[str, Any]:
    """The table [prices] of a TOML file, or the whole file if it has none; the flag --prices. Raises Unreadable or SpecError.

    Wrong values are reported here, under the file's name; a missing date or source is not: flags may give them.
    """
    data, _ = parse(Path(text), "prices")
    table = data.get("prices", data)
    if not isinstance(table, Mapping) or not table:
        raise Unreadable("a TOML file with a table [prices]", "For example: [prices] usd_per_worker_hour = 2.0, date, source.")
    try:
        Prices.model_validate(table)
    except ValidationError as error:
        refuse_any([problem for problem in explain(Prices, error) if problem.found != NOTHING], text)
    return dict(table)


def of_launches(prices: Prices, workers: int, name: str = "") -> float:
    """US dollars for an hour of a launch: its fleet, the replicas of the engine of that name, or its workers. NaN: not priced."""
    if (fleet := prices.of_fleet) is not None:
        return fleet
    for role in prices.roles:
        if role.name == name:
            return role.usd_per_worker_hour * workers
    if prices.usd_per_worker_hour is None:
        return 0.0 if prices.prices_tokens else math.nan
    return prices.usd_per_worker_hour * workers
