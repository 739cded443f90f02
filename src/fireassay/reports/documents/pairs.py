"""How do other programs read the matrix of pairs?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from fireassay.frames.links.pairs import Pairs

KEYS: Final = (
    ("configuration", "string", "the configuration whose ranks sent to one another"),
    ("hosts", "list of strings", "the host of every rank; empty where the ranks did not say"),
    ("at_once", "boolean", "whether pairs without a common rank were measured at the same time"),
    ("classes", "list of strings", "the classes that occur, the nearest first; empty where none are told"),
    ("refused", "string", "why no classes are told; empty where they are"),
    ("sentences", "list of strings", "what the classes are and what contradicts them"),
    ("links", "list of objects", "one for every ordered pair: from, to, class, latency and bandwidth as values, wrong bytes"),
)


def as_json(several: Sequence[Pairs], value: Any) -> list[dict[str, Any]]:
    """For other programs; `value` turns an estimate or an absent value into JSON."""
    return [
        {
            "configuration": pairs.configuration,
            "hosts": list(pairs.matrix.hosts),
            "at_once": pairs.matrix.together,
            "classes": list(pairs.classes.names),
            "refused": pairs.classes.refused,
            "sentences": list(pairs.classes.sentences),
            "links": [
                {
                    "from": link.pair[0],
                    "to": link.pair[1],
                    "class": pairs.classes.kinds.get(link.pair),
                    "latency": value(link.latency),
                    "bandwidth": value(link.bandwidth),
                    "wrong": link.wrong,
                }
                for link in pairs.matrix.links
            ],
        }
        for pairs in several
    ]
