"""What do messages between pairs of ranks look like in JSON?"""

from __future__ import annotations

from typing import Final

from fireassay.frames.links.pairs import Link, Pairs
from fireassay.reports.documents.values import VALUE, Key, Keys

LINK: Final[Keys[tuple[Pairs, Link]]] = (
    Key("from", "integer", "rank of the sender", lambda item: item[1].pair[0]),
    Key("to", "integer", "rank of the receiver", lambda item: item[1].pair[1]),
    Key("class", "string or null", "of `classes`; null: none", lambda item: item[0].classes.kinds.get(item[1].pair)),
    Key("latency", "object", "a value as in `metrics`, seconds", lambda item: item[1].latency, VALUE),
    Key("bandwidth", "object", "likewise, bytes per second", lambda item: item[1].bandwidth, VALUE),
    Key("wrong", "integer", "bytes that arrived changed", lambda item: item[1].wrong),
)
PAIRS: Final[Keys[Pairs]] = (
    Key("configuration", "string", "the configuration whose ranks sent messages to each other"),
    Key("hosts", "list of strings", "the host of every rank; empty where the ranks did not report it", lambda pairs: pairs.matrix.hosts),
    Key("at_once", "boolean", "whether pairs without a common rank were measured at the same time", lambda pairs: pairs.matrix.together),
    Key("classes", "list of strings", "the classes that occur, the nearest first; empty where refused", lambda pairs: pairs.classes.names),
    Key("refused", "string", "why there are no classes; empty where there are", lambda pairs: pairs.classes.refused),
    Key("sentences", "list of strings", "the classes in words, and contradictions", lambda pairs: pairs.classes.sentences),
    Key("links", "list of objects", "one for every ordered pair", lambda pairs: [(pairs, link) for link in pairs.matrix.links], LINK),
)
