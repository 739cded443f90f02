"""What is put into a written page to make it part of a site?  Ways to other pages, and scripts that the content security policy allows.

Into the HTML, since a page knows neither its neighbours nor a script, and its sections may be shown or not.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Sequence
from functools import cache

import jinja2

from fireassay.printable import one_line

Way = tuple[str, str]  # text, relative address


def with_ways(page: str, ways: Sequence[Way]) -> str:
    """The page with links to others above its content."""
    links = "".join(
        f'<a href="{html.escape(target)}" style="margin-right:1.5em">{html.escape(one_line(text))}</a>' for text, target in ways
    )
    nav = f'<nav aria-label="More pages" style="padding:8px 0;font-size:14px;overflow-wrap:anywhere">{links}</nav>'
    return re.sub(r"<main[^>]*>", lambda match: f"{match[0]}{nav}", page, count=1)


@cache
def script(name: str) -> str:
    """A script of the site."""
    loader = jinja2.PackageLoader("fireassay.reports.site", "scripts")
    return loader.get_source(jinja2.Environment(), f"{name}.js")[0].strip()


def allowing(html: str, text: str, *more: str) -> str:
    """The page, its content security policy allowing one inline script, and `more` directives."""
    allowed = f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    def widened(match: re.Match[str]) -> str:
        policy = match[2].strip().rstrip(";")
        with_script = f"script-src {allowed}"
        policy = policy.replace("script-src", with_script, 1) if "script-src" in policy else f"{policy}; {with_script}"
        return f"{match[1]}{'; '.join((policy, *more))}{match[3]}"

    return re.sub(r'(<meta http-equiv="Content-Security-Policy" content=")([^"]*)(")', widened, html, count=1)
