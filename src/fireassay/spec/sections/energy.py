"""Where do joules come from?

The section [energy].  The meters are the files in `instruments/machine/energy/`, which `catalog` finds; nothing lists them here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Final, Literal
from urllib.parse import urlsplit

from pydantic import Field

from fireassay import catalog
from fireassay.errors import Problem
from fireassay.spec.explain import NOTHING, did_you_mean, shown
from fireassay.spec.model import Model, Positive, flag

METERS: Final = "instruments.machine.energy"
ALONE: Final = ("auto", "none", "modelled")


class Energy(Model):
    """Source of energy measurements."""

    source: Annotated[str, flag("--energy", "SOURCE", "auto, none, modelled, or meters: rapl,nvml,ipmi ...", run=300)] = Field(
        "auto",
        description="auto: the counters that need no address (rapl, nvml, amdsmi), else not measured. Or meters by name, with commas: rapl, "
        "nvml, amdsmi, dcgm, ipmi, redfish, prometheus; of those with the same devices the first is read. none. modelled: a labelled estimate "
        "from the key below.",
    )
    endpoint: str | None = Field(
        None,
        max_length=2000,
        description="Address of the meter for dcgm, redfish and prometheus: http://127.0.0.1:9400/metrics. Without credentials: "
        "Redfish reads them from FIREASSAY_REDFISH_USER and FIREASSAY_REDFISH_PASSWORD.",
    )
    metric: str | None = Field(
        None, max_length=200, description="prometheus: the metric's name, such as kepler_node_platform_joules_total."
    )
    unit: Literal["J", "mJ", "uJ", "kWh", "W", "mW"] | None = Field(None, description="prometheus: its unit. Default: what its name says.")
    labels: dict[str, str] = Field(default_factory=dict, description="prometheus: the labels that a series must have to be read.")
    max_watts: float | None = Field(
        None,
        gt=0.0,
        le=20_000.0,
        description="The most that one device, or a host whose supply is read, can draw: it narrows energy_bound. A higher power is a fault of "
        "the meter. Default: 2 kW for a device, 20 kW for a host.",
    )
    idle: Literal["include", "subtract"] = Field(
        "include", description="subtract: the idle power, measured before each launch, x its time is taken off, and every number says so."
    )
    idle_s: float = Field(
        10.0, gt=0.0, le=3600.0, description="Only for subtract: seconds before each launch in which the idle power is measured."
    )
    modelled_watts_per_worker: Annotated[
        Positive | None,
        flag("--watts", "W", "watts of one worker, for --energy modelled", run=310),
        flag("--watts", "W", "watts of one replica: energy is then modelled", load=440),
    ] = Field(None, description="Only for source = modelled: watts charged to one worker. Never mixed with measured joules.")

    @property
    def sources(self) -> tuple[str, ...]:
        """The meters that are named."""
        return () if self.source in ALONE else tuple(self.source.split(","))

    sample_every_s: float = Field(1.0, gt=0.0, le=3600.0, description="Seconds between two readings of the counters.")


AT_ADDRESS: Final = ("dcgm", "redfish", "prometheus")  # read from energy.endpoint


def meters_exist(energy: Energy) -> Iterator[Problem]:
    """Report meters that are none, and what they lack."""
    known = (*catalog.names(METERS), *catalog.third_party(METERS))
    allowed = ", ".join((*ALONE, *known))
    for name in energy.sources:
        if name not in known:
            fix = did_you_mean(name, (*ALONE, *known)) or "Several meters stand with commas: rapl,dcgm."
            yield Problem("energy.source", shown(energy.source), f"one of {allowed}", fix)
    if len(set(energy.sources)) < len(energy.sources):
        yield Problem("energy.source", shown(energy.source), "each meter once")
    addressed = [name for name in energy.sources if name in AT_ADDRESS]
    if addressed and energy.endpoint is None:
        yield Problem(
            "energy.endpoint", NOTHING, f"an address, since energy.source is {shown(energy.source)}", 'Add endpoint = "http://...".'
        )
    if len(addressed) > 1:
        yield Problem("energy.source", shown(energy.source), "one meter that has an address", "energy.endpoint is one address.")
    if "prometheus" in energy.sources and energy.metric is None:
        fix = 'For example metric = "kepler_node_platform_joules_total".'
        yield Problem("energy.metric", NOTHING, "the name of a metric for prometheus", fix)
    yield from _address(energy.endpoint)


def _address(endpoint: str | None) -> Iterator[Problem]:
    if endpoint is None:
        return
    try:
        parts = urlsplit(endpoint)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        sound, parts = False, None
    if not sound or parts is None:
        yield Problem(
            "energy.endpoint",
            "no such address",
            "an address that begins with http:// or https://",
            "For example http://127.0.0.1:9400/metrics.",
        )
    elif "@" in parts.netloc or parts.query:
        fix = "Credentials are read from the environment: FIREASSAY_REDFISH_USER and FIREASSAY_REDFISH_PASSWORD."
        yield Problem("energy.endpoint", "an address with a user, a password or a query", "one without", fix)
