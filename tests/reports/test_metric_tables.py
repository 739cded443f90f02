"""Tables list their columns; a metric that no table lists may ask for one."""

from __future__ import annotations

from dataclasses import replace

from fireassay import catalog
from fireassay.metrics.metric import Shown
from fireassay.reports import metric_tables

METRICS = catalog.load_all("metrics")
TABLES = [table for table in vars(metric_tables).values() if isinstance(table, metric_tables.MetricTable)]


def test_every_column_is_a_metric_once() -> None:
    assert {column.metric for table in TABLES for column in table.columns} <= set(METRICS)
    assert all(len({column.metric for column in table.columns}) == len(table.columns) for table in TABLES)


def test_a_metric_that_asks_for_a_table_is_its_last_column() -> None:
    ours = METRICS["tpot_p50"]
    theirs = replace(ours, name="theirs", shown=(Shown(table="engines", head="theirs"),))
    columns = metric_tables.ENGINES.of([theirs, ours])
    assert [(column.head, metric.name) for column, metric in columns] == [("p50", "tpot_p50"), ("theirs", "theirs")]
