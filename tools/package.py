"""Can the distribution be built, does the index accept it, and does it work where nothing else is installed?

Builds an sdist and from it a wheel, checks their metadata (twine), installs the wheel in an empty environment with its dependencies
alone, and runs both commands there.  What passed is left in dist/, in place of what was there.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
DEMO = ("fireassay/demo/demo.toml", "fireassay/demo/digits.toml", "fireassay/demo/digits/train.py", "fireassay/demo/digits/digits.csv.gz")
WANTED = ("fireassay/py.typed", "licenses/LICENSE", "traffic/wire/_core.c", "reports/writers/templates/page.html", "spec/peaks.toml", *DEMO)
VERDICTS = (0, 4)  # on a busy machine three rounds decide nothing
COMMANDS = (  # in the empty environment, and what each prints
    (("fireassay", "--help"), "usage: "),
    (("assay", "--help"), "usage: "),
    (("assay", "demo", "--help"), "assay demo --whole"),
    (("assay", "demo", "--list"), "digits/train.py"),
    (("assay", "time", "--launches", "3", "--round", "0.05", "--quiet", "--json", "--", "true"), '"against_first"'),
)


def built(folder: Path) -> Path:
    """The wheel, built from the sdist."""
    subprocess.run([sys.executable, "-m", "build", "--outdir", folder, ROOT], check=True, stdout=subprocess.DEVNULL)
    files = sorted(folder.iterdir())
    subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *files], check=True)
    (wheel,) = (file for file in files if file.suffix == ".whl")
    return wheel


def lacking(wheel: Path) -> list[str]:
    """The files that a wheel must hold and this one lacks."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    return [wanted for wanted in WANTED if not any(name.endswith(wanted) for name in names)]


def main() -> int:
    """Build, check, install and run."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        wheel = built(folder / "dist")
        if missing := lacking(wheel):
            print(f"{wheel.name} lacks {', '.join(missing)}", file=sys.stderr)
            return 1
        venv.create(folder / "empty", with_pip=True)
        bin_ = folder / "empty" / "bin"
        subprocess.run([bin_ / "python", "-m", "pip", "install", "--quiet", wheel], check=True)
        for words, expected in COMMANDS:
            result = subprocess.run([bin_ / words[0], *words[1:]], cwd=folder, capture_output=True, text=True, check=False)
            if result.returncode not in VERDICTS or expected not in result.stdout:
                print(f"{' '.join(words)}: exit code {result.returncode}\n{result.stdout}{result.stderr}", file=sys.stderr)
                return 1
        keep(wheel.parent, DIST)
    print(f"dist/{wheel.name}: built, checked, installed alone, run")
    return 0


def keep(made: Path, where: Path) -> None:
    """The distributions made, and no older ones: `pip install dist/*.whl` needs exactly one."""
    shutil.rmtree(where, ignore_errors=True)
    shutil.copytree(made, where)


if __name__ == "__main__":
    sys.exit(main())
