"""How is a history of gates kept in MLflow?  As an experiment with a run a gate, to be charted and filtered there.

The line of `fireassay.verdict.checking.kept` is in tags that are sent with the request that makes the run: no job can leave half a line, and
jobs that write at once write different runs.  The experiment is MLFLOW_EXPERIMENT_NAME, else `assay-history`: repositories that share a
server need one each.  Metrics are value, change and bounds by the metric's name, below `invalid/` where the gate could decide nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from fireassay.api import exporting
from fireassay.api.senders.support.mlflow_client import MAX_TAG, allowed_name, experiment, experiments, folder, opened
from fireassay.errors import EnvironmentLacks
from fireassay.printable import one_line
from fireassay.record.secrets.redact import redact
from fireassay.record.store import shown_url
from fireassay.reports.exports.support import tracked
from fireassay.verdict.checking.kept import Kept, line, read

if TYPE_CHECKING:
    from mlflow import MlflowClient

GATE: Final = "fireassay.gate"  # a tag: the digest of the change's record
LINE: Final = "fireassay.line."  # tags: the line in pieces, in the order of their names
EXPERIMENT: Final = "assay-history"
PAGE: Final = 1_000  # runs


class Runs:
    """The gates of an experiment. Raises EnvironmentLacks: MLflow is not installed, does not answer, or does not take what it gets."""

    def __init__(self, destination: str) -> None:
        self.destination = destination
        self.experiment = os.environ.get("MLFLOW_EXPERIMENT_NAME") or EXPERIMENT
        self.shown = f"experiment {self.experiment} of {shown_url(destination) or 'MLflow'}"

    def check(self) -> None:
        with self._client() as client:
            experiments(client, self.experiment)

    def add(self, kept: Kept, _: str) -> str:
        with self._client() as client:
            home = experiment(client, self.experiment)
            before = client.search_runs([home], filter_string=f"tags.`{GATE}` = '{kept.digest}'", max_results=1)
            run = before[0] if before else client.create_run(home, _at(kept), _tags(kept), _title(kept))
            if run.info.status != "FINISHED":  # new, or its job was interrupted here
                client.log_batch(run.info.run_id, metrics=_metrics(kept))
                client.set_terminated(run.info.run_id)
            return f"{self.shown}{', kept before' if before else ''}"

    def load(self) -> list[Kept]:
        if (local := folder(self.destination)) is not None and not local.is_dir():  # MLflow would make it
            raise EnvironmentLacks(f"{self.shown}: there is no such folder")
        with self._client() as client:
            runs = list(_runs(client, experiments(client, self.experiment)))
        return [one for run in runs for one in read(_line(run.data.tags), f"{self.shown}, run {run.info.run_id}")]

    @contextmanager
    def _client(self) -> Iterator[MlflowClient]:
        exporting.check("mlflow", self.destination)
        try:
            with opened(self.destination) as client:
                yield client
        except Exception as error:  # of a library that is not ours
            what = redact(one_line(f"{type(error).__name__}: {error}"))
            raise EnvironmentLacks(f"{self.shown}: {what[:500]}") from None


def _runs(client: MlflowClient, homes: list[str]) -> Iterator[Any]:
    """Every run that is a gate, oldest first."""
    token = None
    while homes:
        page = client.search_runs(homes, f"tags.`{GATE}` LIKE '%'", max_results=PAGE, order_by=["attributes.start_time"], page_token=token)
        yield from page
        if not (token := page.token):
            return


def _tags(kept: Kept) -> dict[str, str]:
    text = line(kept)
    known = {
        GATE: kept.digest,
        "fireassay.status": kept.verdict,
        "fireassay.sentence": kept.sentence,
        "mlflow.source.git.commit": kept.commit,
    }
    return known | {f"{LINE}{at // MAX_TAG:04}": text[at : at + MAX_TAG] for at in range(0, len(text), MAX_TAG)}


def _line(tags: dict[str, str]) -> bytes:
    return "".join(tags[name] for name in sorted(tags) if name.startswith(LINE)).encode()


def _title(kept: Kept) -> str:
    return f"{kept.verdict} {kept.commit[:10]}".strip()


def _at(kept: Kept) -> int:
    """Milliseconds since 1970."""
    return tracked.ns(kept.created_utc) // 1_000_000


def _metrics(kept: Kept) -> list[Any]:
    from mlflow.entities import Metric

    name, change = (tracked.marked(one, "" if kept.decides else "invalid") for one in (kept.metric, f"{kept.metric}.change"))
    numbers = {
        name: kept.value,
        f"{name}.low": kept.low,
        f"{name}.high": kept.high,
        change: kept.change,
        f"{change}.low": kept.change_low,
        f"{change}.high": kept.change_high,
    }
    return [Metric(allowed_name(key), number, _at(kept), 0) for key, number in numbers.items() if number is not None]
