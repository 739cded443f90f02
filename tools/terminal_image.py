"""What does a report look like in a terminal?  Runs `assay report RECORD` in one of 80 columns and draws what it printed as SVG.

python tools/terminal_image.py RECORD [NAME]      writes docs/images/terminal.svg, or NAME.svg there

The text is exactly what the command printed, with its colours. The image loads no font from a network: the reader's own monospaced one is
used, and each run of text is fitted to its width in cells.
"""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
COLUMNS = 80
# Dark letters on paper, readable on the light and the dark page of a forge; the roles are those of the HTML report.
NORMAL = [(27, 30, 34), (161, 29, 23), (10, 102, 57), (122, 75, 0), (29, 93, 166), (139, 74, 166), (13, 125, 108), (86, 92, 100)]
THEME = TerminalTheme((255, 255, 255), (27, 30, 34), NORMAL, NORMAL)
FORMAT = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
  <style>
    .{unique_id}-matrix {{ font-family: "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: {char_height}px; line-height: {line_height}px; }}
    .{unique_id}-title {{ font-family: sans-serif; font-size: 18px; fill: #565c64; }}
    {styles}
  </style>
  <defs>{lines}</defs>
  {chrome}
  <g transform="translate({terminal_x}, {terminal_y})">
    {backgrounds}
    <g class="{unique_id}-matrix">{matrix}</g>
  </g>
</svg>
"""


def printed(command: list[str]) -> str:
    """What a command prints to a terminal of `COLUMNS` columns."""
    ours, theirs = pty.openpty()
    environment = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
    job = subprocess.Popen(
        command, stdout=theirs, stderr=subprocess.DEVNULL, env=environment | {"COLUMNS": str(COLUMNS), "TERM": "xterm-256color"}
    )
    os.close(theirs)
    parts = []
    while part := _read(ours):
        parts.append(part)
    job.wait()
    return b"".join(parts).decode().replace("\r\n", "\n")


def _read(terminal: int) -> bytes:
    """The next bytes; none at its end, which Linux tells as an error."""
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""


def drawn(title: str, text: str) -> str:
    """A terminal's text as SVG."""
    with open(os.devnull, "w") as nowhere:
        console = Console(record=True, width=COLUMNS, file=nowhere, force_terminal=True, color_system="truecolor")
        console.print(Text.from_ansi(text.rstrip("\n")))
        return console.export_svg(title=title, theme=THEME, code_format=FORMAT, unique_id="terminal")


def main(arguments: list[str]) -> int:
    """Run, draw, write."""
    if not 1 <= len(arguments) <= 2:
        print(__doc__, file=sys.stderr)
        return 2
    record, name = arguments[0], arguments[1] if len(arguments) == 2 else "terminal"
    text = printed([sys.executable, "-c", "import sys; from fireassay.cli import main; sys.exit(main())", "report", record])
    path = IMAGES / f"{name}.svg"
    path.write_text(drawn(f"assay report {Path(record).name}", text), encoding="utf-8")
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
