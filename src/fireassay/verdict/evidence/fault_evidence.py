"""What evidence does a record hold on distributed training, and what is a diagnosis?"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import polars as pl

from fireassay.frames.record_data import RecordData
from fireassay.frames.training.correctness.first_gradients import Compared, First, compared, firsts
from fireassay.frames.training.correctness.hashed_state import hashes
from fireassay.frames.training.correctness.sample_ledger import Epoch, epochs
from fireassay.frames.training.correctness.sample_weights import weights
from fireassay.verdict.types import Finding, Severity

Layer = Literal["ledger", "gradient", "hashes"]


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """A named fault of one configuration."""

    fault: str
    layer: Layer
    severity: Severity
    evidence: str
    remedy: str

    def finding(self, configuration: str) -> Finding:
        """The diagnosis as a finding of an audit."""
        return Finding(self.fault, self.severity, configuration, self.evidence, self.remedy)


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """The evidence of every layer, read once per record."""

    measured: RecordData
    epochs: tuple[Epoch, ...]
    weighed: pl.DataFrame = field(repr=False)
    hashed: pl.DataFrame = field(repr=False)  # of the parameters
    random: pl.DataFrame = field(repr=False)  # of the random states
    host: pl.DataFrame = field(repr=False)  # of the host's random states, if the model is on a GPU
    first: tuple[First, ...]
    compared: tuple[Compared, ...]


def look(measured: RecordData) -> Evidence:
    """Collect the evidence that the diagnoses need."""
    return Evidence(
        measured=measured,
        epochs=epochs(measured),
        weighed=weights(measured),
        hashed=hashes(measured),
        random=hashes(measured, what="random_hash"),
        host=hashes(measured, what="random_hash_host"),
        first=firsts(measured),
        compared=compared(measured),
    )


def fingerprints_of(measured: RecordData, name: str, what: str) -> pl.DataFrame:
    launches = measured.timed.filter(pl.col("configuration") == name).select("launch")
    return measured.table("fingerprints").filter(pl.col("what") == what).join(launches, on="launch", how="semi")
