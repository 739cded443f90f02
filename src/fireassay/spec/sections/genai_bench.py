"""Which tasks and backends does genai-bench call by another name?

Accepted wherever ours are, and read and written by the importer and the exporter.
(genai_bench/cli/option_groups.py and user/ of sgl-project/genai-bench at commit 7fd04d8; baseten as in its release 0.0.5.)
"""

from __future__ import annotations

from typing import Any, Final

TASKS: Final = {
    "text-to-text": "chat",
    "image-text-to-text": "image_chat",
    "text-to-embeddings": "embeddings",
    "image-to-embeddings": "image_to_embeddings",
    "text-to-rerank": "rerank",
    "text-to-image": "text_to_image",
    "text-to-speech": "text_to_speech",
}
BACKENDS: Final = {"azure-openai": "azure", "aws-bedrock": "bedrock", "gcp-vertex": "vertex", "oci-genai": "oci", "oci-cohere": "oci"}
OF_COHERE: Final = "oci-cohere"  # whose requests have Cohere's format, whatever the model is called


def own_task(value: Any) -> Any:
    """The table [serving] with our name of its task."""
    name = value.get("task") if isinstance(value, dict) else None
    return {**value, "task": TASKS[name]} if isinstance(name, str) and name in TASKS else value


def own_backend(value: Any) -> Any:
    """A target's table with our name of its backend."""
    name = value.get("backend") if isinstance(value, dict) else None
    if not isinstance(name, str) or name not in BACKENDS:
        return value
    options = value.get("options", {})
    if name == OF_COHERE and isinstance(options, dict):
        options = {"api_format": "COHERE", **options}
    return {**value, "backend": BACKENDS[name], **({"options": options} if options else {})}
