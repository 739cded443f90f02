"""What breaks with the newest dependencies?  A copy of the tree without upper bounds, in an environment of its own, runs the fast tests."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

BOUND = re.compile(r",\s*<\s*[\w.]+(?=[^\n]*[\"'])|(?<=\w)<\s*[\w.]+(?=[\"'])")


def unbounded(text: str) -> str:
    """The project file with every `<` of a requirement removed, for this Python too."""
    return BOUND.sub("", text)


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="newest-") as folder:
        tree = Path(folder) / "tree"
        subprocess.run(["git", "clone", "-q", ".", str(tree)], check=True)
        project = tree / "pyproject.toml"
        project.write_text(unbounded(project.read_text(encoding="utf-8")), encoding="utf-8")
        python = Path(folder) / "environment" / "bin" / "python"
        subprocess.run([sys.executable, "-m", "venv", str(python.parents[1])], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", "-e", ".[dev]"], cwd=tree, check=True)
        subprocess.run([str(python), "-m", "pip", "list", "--outdated"], cwd=tree, check=False)  # what something else still holds back
        return subprocess.run(
            [str(python), "-m", "pytest", "-p", "tests.fast", "-n", "2", "-q", "-r", "f"], cwd=tree, check=False
        ).returncode


if __name__ == "__main__":
    sys.exit(main())
