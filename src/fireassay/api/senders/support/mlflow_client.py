"""How is MLflow's client opened, and what does it take?

A destination is a tracking server (http://...), another store that MLflow knows (sqlite:///...), or a folder; empty: MLFLOW_TRACKING_URI.
MLflow's usage statistics are turned off; its credentials are its own (MLFLOW_TRACKING_TOKEN ...).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mlflow import MlflowClient

OWN: Final = {  # unless the user says otherwise
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_ALLOW_FILE_STORE": "true",  # a folder is what was asked for
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",  # where the document of `--json` goes
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",  # 7 take minutes to say that nothing listens
}
MAX_TAG, MAX_NAME = 5_000, 250  # characters, of MLflow's REST API


@contextmanager
def opened(destination: str) -> Iterator[MlflowClient]:
    """MLflow's client, and its variables while it is used. Raises what MLflow raises."""
    before = dict(os.environ)
    os.environ.update({name: value for name, value in OWN.items() if name not in before})
    try:
        from mlflow import MlflowClient

        yield MlflowClient(tracking_uri=_uri(destination))
    finally:
        for name in OWN.keys() - before.keys():
            os.environ.pop(name, None)


def experiments(client: MlflowClient, name: str) -> list[str]:
    """The ids of a name: none if nothing was sent yet, and several if jobs made it in a folder at the same time."""
    return [one.experiment_id for one in client.search_experiments(filter_string=f"name = '{name}'")]


def experiment(client: MlflowClient, name: str) -> str:
    """The id of a name, which is made if nothing was sent yet."""
    if found := experiments(client, name):
        return found[0]
    try:
        return str(client.create_experiment(name))
    except Exception:  # a class of MLflow's, which is large to import: another job made it meanwhile
        if found := experiments(client, name):
            return found[0]
        raise


def folder(destination: str) -> Path | None:
    """The folder that a destination is; None: a server or another store."""
    return Path(destination).resolve() if destination and ":/" not in destination else None


def _uri(destination: str) -> str | None:
    """None: MLflow's own default."""
    return local.as_uri() if (local := folder(destination)) is not None else destination


def allowed_name(name: str) -> str:
    """A name that MLflow allows: it is a path in its file store."""
    parts = (part for part in re.sub(r"[^/\w.\- :]", "_", name).split("/") if part.strip("."))
    return "/".join(parts)[:MAX_NAME] or "_"
