"""Which model does a server serve, where no --model was given?  The only one that it lists; of several the user has to name one.

A server that lists none (no /v1/models, or not in time) is loaded without a name, as before.
"""

from __future__ import annotations

import http.client
import json
import shlex
from typing import Final

from fireassay.errors import refuse
from fireassay.instruments.engines.prometheus import fetch
from fireassay.printable import one_line, remark
from fireassay.spec.experiment import Experiment
from fireassay.spec.plan import targets_of
from fireassay.spec.sections.serving import Target
from fireassay.traffic.backends.support.bodies import headers_of
from fireassay.traffic.wire.response import below
from fireassay.units import MIB

ASK_S: Final = 3.0
MAX_NAMED: Final = 8


def with_served_models(experiment: Experiment) -> Experiment:
    """The experiment with the model of every engine that listens and was given none.

    Raises:
        SpecError: a server lists several models.
        EnvironmentLacks: the variable of an API key is not set.
    """
    serving = experiment.serving
    if serving is None or serving.model:
        return experiment
    named = tuple(_named(target) for target in targets_of(serving))
    if named == targets_of(serving):
        return experiment
    if len({target.model for target in named}) == 1:
        return experiment.model_copy(update={"serving": serving.model_copy(update={"model": named[0].model})})
    return experiment.model_copy(update={"serving": serving.model_copy(update={"targets": named})})


def _named(target: Target) -> Target:
    if target.model or not target.urls:
        return target
    models = listed(target)
    if len(models) > 1:
        shown = ", ".join(models[:MAX_NAMED]) + (f" and {len(models) - MAX_NAMED} more" if len(models) > MAX_NAMED else "")
        fix = f"Choose one: --model {shlex.quote(models[0])}"
        raise refuse("--model", f"nothing, and {target.urls[0]} serves {len(models)}: {shown}", "one of them", fix, source="the server")
    if models:
        remark(f"model {models[0]}, asked from {target.urls[0]}")
    return target.model_copy(update={"model": models[0]}) if models else target


def listed(target: Target) -> tuple[str, ...]:
    """The models that the first replica lists; empty if it lists none."""
    url = target.urls[0].rstrip("/")
    headers = {"accept": "application/json", **dict(headers_of(target))}
    try:
        content = json.loads(fetch(below(url, "/v1/models"), headers, timeout_s=ASK_S, most=MIB))
        return tuple(dict.fromkeys(one_line(str(item["id"])) for item in content["data"]))
    except (OSError, ValueError, RecursionError, KeyError, TypeError, http.client.HTTPException):
        return ()
