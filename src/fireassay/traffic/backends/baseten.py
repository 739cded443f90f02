"""How are requests sent to Baseten?

In OpenAI's dialect, with the key as `Authorization: Api-Key KEY`.  URL: https://inference.baseten.co for the shared models, and
https://model-ID.api.baseten.co/environments/production/sync for a deployment of one's own.  The key comes from BASETEN_API_KEY unless
`api_key_env` names another variable.

Options: `path`, `omit`, `max_tokens_key`, `body.KEY`, `json.KEY`.
Source: https://docs.baseten.co/development/model-apis/overview and /reference/inference-api/overview.
"""

from __future__ import annotations

from dataclasses import replace

from fireassay.spec.sections.serving import Target
from fireassay.traffic.backends.support.bodies import adding, headers_of
from fireassay.traffic.backends.support.openai_dialect import TEXT_TASKS, Dialect, backend_of
from fireassay.traffic.parts import Sign


def prepare(target: Target) -> Sign:
    """Add the key in Baseten's form."""
    return adding(headers_of(target, before="Api-Key "))


BACKEND = replace(backend_of("baseten", Dialect(), tasks=(*TEXT_TASKS, "embeddings")), prepare=prepare)
