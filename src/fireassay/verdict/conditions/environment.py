"""What does the manifest record about machine, software and the record itself?

Reads only, compares nothing. A reading that could not be taken is None, so that it is reported as absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results

if TYPE_CHECKING:
    from fireassay.verdict.conditions.condition import Read

# Packages that determine speed or results of a typical workload; the record holds all packages.
PACKAGES: Final = (
    "accelerate",
    "cupy",
    "deepspeed",
    "flash-attn",
    "jax",
    "jaxlib",
    "lightning",
    "megatron-core",
    "mpi4py",
    "numpy",
    "onnxruntime",
    "polars",
    "pytorch-lightning",
    "ray",
    "scikit-learn",
    "scipy",
    "sglang",
    "tensorflow",
    "torchvision",
    "transformer-engine",
    "transformers",
    "triton",
    "vllm",
    "xformers",
)


def seen(measured: RecordData, *path: str, when: str = "before") -> Any:
    """A key of the captured environment; None if not recorded or unreadable."""
    value: Any = (measured.manifest.get("environment") or {}).get(when)
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return None if isinstance(value, Mapping) and "absent" in value else value


def of(*path: str) -> Read:
    """A key of the environment before the first launch."""
    return lambda measured, _: seen(measured, *path)


def manifest(key: str) -> Read:
    """A key of the manifest itself."""
    return lambda measured, _: measured.manifest.get(key) or None


def leading(read: Read, numbers: int) -> Read:
    """A version's leading numbers: 6.18.44-fc -> 6.18."""

    def shortened(measured: RecordData, results: Results) -> Any:
        value = read(measured, results)
        return ".".join(value.split(".")[:numbers]) if isinstance(value, str) else value

    return shortened


def usable(measured: RecordData, _: Results) -> Any:
    return seen(measured, "cpu", "usable", "count")


def numa(measured: RecordData, _: Results) -> Any:
    nodes = seen(measured, "cpu", "numa")
    return len(nodes) if isinstance(nodes, list) else None


def devices(key: str) -> Read:
    """One reading per GPU, sorted, since slot order does not matter."""

    def read(measured: RecordData, _: Results) -> Any:
        devices = seen(measured, "gpu", "nvidia", "devices")
        values = [device.get(key) for device in devices] if isinstance(devices, list) else []
        readings = [value for value in values if isinstance(value, str | int | float)]
        return sorted(readings) if len(readings) == len(values) and readings else None

    return read


def gpu_count(measured: RecordData, _: Results) -> Any:
    devices = seen(measured, "gpu", "nvidia", "devices")
    return len(devices) if isinstance(devices, list) else None


def container(measured: RecordData, _: Results) -> Any:
    hints = seen(measured, "host", "container")
    return (sorted(hints) or "none seen") if isinstance(hints, list) else None


def quota(measured: RecordData, _: Results) -> Any:
    quota = seen(measured, "cgroup", "cpu_quota")
    return quota.get("processors", "none") if isinstance(quota, Mapping) else None


def memory_limit(measured: RecordData, _: Results) -> Any:
    limit = seen(measured, "cgroup", "memory_limit")
    return limit.get("bytes", "none") if isinstance(limit, Mapping) else None


def image(measured: RecordData, _: Results) -> Any:
    """Digests of the nodes' images, without the registry and tag that they were pulled by."""
    pulled = seen(measured, "allocation", "image_id")
    return sorted({one.rpartition("@")[2] for one in pulled.split(", ")}) if isinstance(pulled, str) and pulled else None


def packages(measured: RecordData, _: Results) -> Any:
    """Versions of the relevant packages; a package that is not installed is listed as such."""
    versions = seen(measured, "software", "packages")
    return {name: versions.get(name, "not installed") for name in PACKAGES} if versions else None


def variables(measured: RecordData, _: Results) -> Any:
    return seen(measured, "workload", "variables")


def load(measured: RecordData, _: Results) -> Any:
    """Runnable tasks per usable processor just before the first launch."""
    runnable, processors = seen(measured, "noise", "load", "1min"), usable(measured, {})
    return round(runnable / processors, 3) if isinstance(runnable, int | float) and processors else None


def steal(measured: RecordData, _: Results) -> Any:
    """Share of CPU time stolen by the hypervisor between the two captures."""
    ticks = [seen(measured, "noise", "cpu_ticks", when=when) for when in ("before", "after")]
    if not all(isinstance(capture, Mapping) for capture in ticks):
        return None
    spent = {key: ticks[1].get(key, 0) - ticks[0].get(key, 0) for key in ticks[0]}
    return round(spent.get("steal", 0) / sum(spent.values()), 4) if sum(spent.values()) > 0 else None


def pressure(resource: str) -> Read:
    """Share of the time between the two captures in which some task waited for the resource (PSI "some")."""

    def read(measured: RecordData, _: Results) -> Any:
        waited = [seen(measured, "noise", f"pressure_{resource}", "some_us", when=when) for when in ("before", "after")]
        up = [seen(measured, "host", "uptime_s", when=when) for when in ("before", "after")]
        if None in (*waited, *up) or up[1] <= up[0]:
            return None
        return round((waited[1] - waited[0]) / 1e6 / (up[1] - up[0]), 3)

    return read


def floor(measured: RecordData, _: Results) -> Any:
    return measured.noise_floor
