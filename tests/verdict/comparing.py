"""Judged records to compare, whose manifests say everything that the catalogue of conditions knows."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fireassay.frames.record_data import RecordData
from fireassay.spec.experiment import Experiment
from fireassay.verdict.comparison.types import Side
from tests.handmade import Handmade
from tests.verdict.judging import judge_once
from tests.verdict.making import good

NOISE = {
    "load": {"1min": 0.2, "5min": 0.2, "15min": 0.2},
    "cpu_ticks": {"user": 1000, "idle": 1000, "steal": 0},
    "pressure_cpu": {"some_us": 0},
    "pressure_memory": {"some_us": 0},
    "pressure_io": {"some_us": 0},
}
BEFORE: Mapping[str, Any] = {
    "script": {"folder": "/somewhere", "path": "/somewhere/train.py", "sha256": "ab" * 32},
    "host": {
        "name": "bench-01",
        "os": "Debian 12",
        "kernel": "6.1.44-amd64",
        "machine": "x86_64",
        "uptime_s": 1000.0,
        "virtualisation": "none seen",
        "container": [],
        "aslr": "full",
    },
    "cpu": {
        "model": "EPYC 9654",
        "usable": {"count": 8, "processors": list(range(8))},
        "smt": "off",
        "governors": ["performance"],
        "numa": [{"node": 0, "processors": "0-7"}],
    },
    "memory": {"total_bytes": 64_000_000_000},
    "noise": NOISE,
    "cgroup": {"cpu_quota": {"version": 2, "limit": "none"}, "memory_limit": {"version": 2, "limit": "none"}},
    "gpu": {
        "nvidia": {
            "source": "nvml",
            "driver": "570.1",
            "devices": [
                {"name": "H200", "memory_bytes": 150_000_000_000, "power_limit_w": 700.0, "sm_clock_max_mhz": 1980, "temperature_c": 40}
            ],
        }
    },
    "software": {
        "python": {"version": "3.11.7", "executable": "python"},
        "packages": {"numpy": "2.1.0"},
        "torch": {"version": "2.6.0", "cuda": "12.4"},
    },
    "workload": {"git": {"commit": "0123", "branch": "main", "dirty": False}, "variables": {"LANG": "C"}},
    "allocation": {"image_id": "lab/train@sha256:12", "job_partition": "gpu", "qos": "Guaranteed"},
    "doctor": {"noise_floor": 0.005},
}


def complete(**asked: Any) -> Handmade:
    """`good`, with an environment and a told number of parameters."""
    made = good(prices=asked.pop("prices", 1.0), **asked)
    after = {"host": {"uptime_s": 1100.0}, "noise": copy.deepcopy(NOISE)}
    after["noise"]["cpu_ticks"] = {"user": 2000, "idle": 2000, "steal": 0}  # type: ignore[index]
    made.manifest = {
        "environment": {"before": copy.deepcopy(dict(BEFORE)), "after": after},
        "reason": "",
        "name": "handmade",
        "assay_version": "0.2.0",
        "created_utc": "2026-01-01T00:00:00Z",
    }
    for row in made.rows["launches"]:
        made.fingerprint(row[0], "parameters", 1000)
        for rank in range(row[4]):
            part = {"device": "cuda:0", "name": "NVIDIA H200", "precision": "bfloat16", "flops": 1e12}
            made.event(row[0], "flops", 1.0, rank=rank, incarnation=0, step=0, value=1e12, detail={"by": [part]})
    return made


def side(label: str, made: Handmade) -> Side:
    """A judged record."""
    measured = made.measured()
    return Side(label=label, measured=measured, judgement=judge_once(made, measured))


def relabelled(one: Side, label: str) -> Side:
    """The same record under another name."""
    return replace(one, label=label)


def with_manifest(one: Side, label: str, path: str, value: Any) -> Side:
    """The record with one key of its manifest changed: "environment.before.cpu.model"; it need not be judged again."""
    manifest = copy.deepcopy(dict(one.measured.manifest))
    *folders, last = path.split("/")
    inner: Any = manifest
    for folder in folders:
        inner = inner[int(folder)] if isinstance(inner, list) else inner[folder]
    inner[last] = value
    return Side(label=label, measured=replace(one.measured, manifest=manifest), judgement=one.judgement)


def with_experiment(one: Side, label: str, path: str, value: Any) -> Side:
    """The record with one key of its experiment changed: "workload.arguments"."""
    content = one.measured.experiment.model_dump(by_alias=True)
    *folders, last = path.split(".")
    inner: Any = content
    for folder in folders:
        inner = inner[folder]
    inner[last] = value
    return Side(label=label, measured=replace(one.measured, experiment=Experiment.model_validate(content)), judgement=one.judgement)


def with_tables(one: Side, label: str, **tables: Any) -> Side:
    """The record with some tables changed."""
    measured: RecordData = replace(one.measured, tables={**one.measured.tables, **tables})
    return Side(label=label, measured=measured, judgement=one.judgement)
