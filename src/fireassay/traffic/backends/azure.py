"""How are requests sent to Azure OpenAI?

In OpenAI's dialect at a deployment's path, with the key in `api-key`.  The first chunk of a stream has no choice, only the content
filter's result.  With api_version = "v1" the path is that of the newer API, /openai/v1/..., where the deployment is the model's name.

Options: `deployment` (default: the model's name), `api_version`, `auth` ("key": the header api-key; "bearer": an Entra ID token in the
same variable), `path`, `omit`, `max_tokens_key`, `body.KEY`, `json.KEY`.
Source: https://learn.microsoft.com/azure/ai-foundry/openai/reference.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final
from urllib.parse import quote

from fireassay.spec.sections.serving import Target
from fireassay.traffic.backends.support.bodies import adding, headers_of, option
from fireassay.traffic.backends.support.openai_dialect import OPTIONS, OWN_KEYS, PATHS, Dialect, kind_of, read_reply, wire_of
from fireassay.traffic.parts import Ask, Backend, Option, Sign, Wire

API_VERSION: Final = "2024-10-21"  # latest dated GA version
_OPENAI = wire_of(Dialect())


def wire(ask: Ask, target: Target) -> Wire:
    """OpenAI's body at the deployment's path."""
    deployment = option(target, "deployment") or ask.model
    version = option(target, "api_version") or API_VERSION
    generic = _OPENAI(ask if ask.model == deployment else ask._replace(model=deployment), target)
    if "path" in target.options:
        return generic
    return Wire(path=_path(kind_of(ask), deployment, version), body=generic.body, headers=generic.headers)


@lru_cache(maxsize=256)
def _path(kind: str, deployment: str, version: str) -> str:
    tail = PATHS[kind].removeprefix("/v1")
    if version == "v1":
        return f"/openai/v1{tail}"
    return f"/openai/deployments/{quote(deployment, safe='')}{tail}?api-version={quote(version, safe='')}"


def prepare(target: Target) -> Sign:
    """Add the key in Azure's header."""
    if option(target, "auth", "key") == "bearer":
        return adding(headers_of(target))
    return adding(headers_of(target, key_header="api-key", before=""))


BACKEND = Backend(
    name="azure",
    tasks=("chat", "completions", "image_chat", "embeddings"),
    wire=wire,
    read=read_reply,
    prepare=prepare,
    stops=True,
    own_keys=OWN_KEYS,
    options={
        **OPTIONS,
        "deployment": Option(meaning="the deployment's name, if it differs from the model's"),
        "api_version": Option(meaning=f"the API version, or v1; default: {API_VERSION}"),
        "auth": Option(meaning="how the key is sent", choices=("key", "bearer")),
    },
)
