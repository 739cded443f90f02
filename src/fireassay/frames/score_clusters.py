"""Which examples belong to one cluster, and how is that stated?

An example's cluster comes with its scores and must be the same wherever it was scored; a side recorded without clusters
takes the other's.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from fireassay.estimates.estimate import Absent
from fireassay.estimates.format import count
from fireassay.stats.comparing.noninferiority import Labels


def clusters_of(scores: pl.DataFrame, examples: Sequence[str]) -> list[str | None] | Absent:
    """The cluster of each of the examples, None for a single one, from a frame (example, cluster, ...)."""
    if scores["cluster"].null_count() == scores.height:
        return [None] * len(examples)
    known = scores.filter(pl.col("cluster").is_not_null()).select("example", "cluster").unique()
    twice = known.filter(pl.col("example").is_duplicated()).sort("example", "cluster")
    if twice.height:
        example, *others = twice["example"][0], *twice.filter(pl.col("example") == twice["example"][0])["cluster"]
        detail = f"example {example} was scored in the clusters {' and '.join(others)}; use the same one everywhere"
        return Absent(reason="refused", detail=detail)
    labels = dict(known.iter_rows())
    return [labels.get(example) for example in examples]


def undeclared(clusters: Labels, declared: str) -> Absent | None:
    """Why declared clusters are unusable if no example has one."""
    if not declared or any(label is not None for label in clusters):
        return None
    return Absent(
        reason="refused",
        detail=f"quality.cluster says that examples share {declared!r}, but no score has one; call probe.examples(..., cluster=...), or "
        f"remove the key",
    )


def examples_words(examples: int, clusters: int | None, alone: int) -> str:
    """ "500 examples in 50 clusters", or that they count as independent because no cluster was given."""
    if clusters is None:
        return f"{count(examples, 'examples')} taken as independent, because no clusters are given"
    return f"{count(examples, 'examples')} in {count(clusters, 'clusters')}{f', {alone:,} of them in none' if alone else ''}"


def labels_words(clusters: Labels) -> str:
    """The same for labels."""
    given = [label for label in clusters if label is not None]
    return examples_words(len(clusters), len(set(given)) if given else None, len(clusters) - len(given))
