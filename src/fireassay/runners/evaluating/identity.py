"""What identifies the items of a task?  A digest of each part that decides a score, so that a difference is named.

Digests are of what was read, never of a file's bytes: the same items in another order of keys, with other line ends or in another file
are the same task.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256

from fireassay.quality.scoring.items import Item


def of_items(items: Sequence[Item]) -> dict[str, str]:
    """part -> digest.

    `items` are the ids in their order, so another limit or order is another one; all other parts go by id, whatever the order.
    """
    ordered = sorted(items, key=lambda item: item.id)
    return {
        "items": f"{len(items)} items, {digest([item.id for item in items])}",
        "prompts": digest([item.prompt or json.dumps([dict(message) for message in item.messages], sort_keys=True) for item in ordered]),
        "references": _digest_of([item.references for item in ordered]),
        "choices": _digest_of([item.choices for item in ordered]),
        "clusters": _digest_of([item.cluster for item in ordered]),
        "groups": _digest_of([sorted(item.groups.items()) for item in ordered]),
        "weights": _digest_of([item.weight for item in ordered]),
        "tests": _digest_of([(item.entry_point, item.test) for item in ordered]),
    }


def _digest_of(values: Sequence[object]) -> str:
    return digest([repr(value) for value in values])


def digest(texts: Sequence[str]) -> str:
    """SHA-256 of the texts, each with its length."""
    whole = sha256()
    for text in texts:
        whole.update(len(text).to_bytes(8, "big"))
        whole.update(text.encode("utf-8", "surrogatepass"))
    return whole.hexdigest()
