"""How do other programs read the quick check of a serving engine?"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from fireassay.printable import json_text
from fireassay.reports.pages.serving_check import Line


def render(urls: Sequence[str], lines: Sequence[Line]) -> str:
    """Render the lines as JSON."""
    document = {"urls": urls, "fit": not any(line.warning for line in lines), "lines": [asdict(line) for line in lines]}
    return json_text(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False))
