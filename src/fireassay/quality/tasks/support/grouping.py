"""Does a field of a file's rows group its items, though nobody said so: a passage, a document, a conversation?

Items that share content are wrong together, and an interval that takes them as independent is too narrow.  A field is named if it holds texts or numbers,
each for two items or more on average: one whose name says what it groups by, else one of ten texts or more.
Cannot tell: fields that group items of which nothing depends on the group, and content that is shared inside of prompts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

NAMES: Final = (
    *(
        "cluster",
        "passage",
        "passage_id",
        "context",
        "context_id",
        "document",
        "document_id",
        "doc",
        "paragraph",
        "article",
        "article_id",
        "story",
        "video",
    ),
    *(
        "image",
        "image_id",
        "conversation",
        "conversation_id",
        "dialogue",
        "session",
        "session_id",
        "thread",
        "template",
        "template_id",
        "source_id",
        "user",
    ),
    *(
        "user_id",
        "family",
        "topic",
        "subject",
        "title",
        "page",
        "book",
        "repo",
        "repository",
        "problem",
        "problem_id",
        "group",
        "group_id",
        "parent_id",
    ),
)  # the closest to the items first
MIN_GROUPS: Final = 10  # of a field whose name says nothing
MIN_ITEMS: Final = 2.0  # of a group, on average
MOST: Final = 1_000_000  # values of a field that are kept


def grouping(rows: Iterable[Mapping[str, Any]], used: Collection[str]) -> tuple[str, int] | None:
    """The field that groups the rows of a file, one for each item, and how many groups it makes; `used`: fields with another meaning."""
    values: dict[str, set[object]] = {}
    items = 0
    for items, row in enumerate(rows, 1):
        names = [name for name in row if name not in used] if items == 1 else list(values)
        for name in names:
            value, seen = row.get(name), values.setdefault(name, set())
            if not isinstance(value, str | int) or isinstance(value, bool) or len(seen) > MOST:
                del values[name]
            else:
                seen.add(hash(value))
    found = {name: len(seen) for name, seen in values.items() if 2 <= len(seen) <= items / MIN_ITEMS}
    known = {NAMES.index(name.lower()): name for name in found if name.lower() in NAMES}
    if known:
        return (best := known[min(known)]), found[best]
    return max(((name, groups) for name, groups in found.items() if groups >= MIN_GROUPS), key=lambda pair: pair[1], default=None)
