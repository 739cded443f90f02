"""Do the pages make a site?  Builds it with Sphinx into build/site; a warning, a dead link or a load from a network is an error.

python tools/site_docs.py             of this repository
python tools/site_docs.py FOLDER      of another tree with the same layout: tests have a small one

The configuration is docs/conf.py.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from sphinx.cmd.build import build_main

REPOSITORY = Path(__file__).resolve().parents[1]
# What a browser fetches by itself to show a page. A link is fetched when somebody follows it.
LOADS = re.compile(
    r"""<(?:script|img|iframe|source)\b[^>]*\bsrc=["'](?:https?:)?//[^"']+|<link\b(?![^>]*rel=["'](?:canonical|author))[^>]*\bhref=["'](?:https?:)?//[^"']+"""
    r"""|@import\s+["']?(?:url\()?["']?(?:https?:)?//[^"')]+|url\(\s*["']?(?:https?:)?//[^"')]+"""
)


def build(tree: Path, *, configuration: Path = REPOSITORY / "docs") -> int:
    """Sphinx's exit code; the site is then in build/site of the tree."""
    site, cache = tree / "build" / "site", tree / "build" / "site-cache"
    return build_main(["-q", "-W", "--keep-going", "-c", str(configuration), "-d", str(cache), str(tree), str(site)])


def loads_from_elsewhere(site: Path) -> list[str]:
    """What pages and styles of a site would fetch from a network, with the file that does."""
    files = [path for suffix in ("*.html", "*.css") for path in sorted(site.rglob(suffix))]
    return [f"{path.relative_to(site)}: {found}" for path in files for found in LOADS.findall(path.read_text(encoding="utf-8"))]


def main(arguments: list[str]) -> int:
    """Build, search what was built, and say where it is."""
    tree = Path(arguments[0]).resolve() if arguments else REPOSITORY
    code = build(tree)
    found = loads_from_elsewhere(tree / "build" / "site") if code == 0 else []
    for line in found:
        print(f"loads from a network: {line}", file=sys.stderr)
    if code == 0 and not found:
        print(f"the site: {tree / 'build' / 'site' / 'index.html'}")
    return code or bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
