"""Can the distributions be built, does the index accept them, and do they work where nothing else is installed?

Builds an sdist and from it a wheel, and the wheel of the probe, and checks their metadata (twine).  The probe is imported in an empty
environment; then the wheel is installed beside it with its dependencies alone, and both commands run; then each is uninstalled without the
other.  What passed is left in dist/, in place of what was there.
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


def built_probe(folder: Path) -> Path:
    """The wheel of `probe/`, from a copy of what it is made of: setuptools leaves a folder where it builds."""
    for part in ("pyproject.toml", "tools/probe_files.py", "probe", "src"):
        copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copyfile
        (folder / "source" / part).parent.mkdir(parents=True, exist_ok=True)
        copy(ROOT / part, folder / "source" / part)
    command = [sys.executable, "-m", "build", "--wheel", "--outdir", folder / "dist", folder / "source" / "probe"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    (wheel,) = (folder / "dist").glob("fireassay_probe-*.whl")
    subprocess.run([sys.executable, "-m", "twine", "check", "--strict", wheel], check=True)
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
        probe = built_probe(folder)
        venv.create(folder / "empty", with_pip=True)
        bin_ = folder / "empty" / "bin"
        install(bin_, "install", "--no-index", probe)
        expect_probe(bin_, of="fireassay_probe")
        install(bin_, "install", wheel)
        expect_probe(bin_, of="site-packages")
        for words, expected in COMMANDS:
            result = subprocess.run([bin_ / words[0], *words[1:]], cwd=folder, capture_output=True, text=True, check=False)
            if result.returncode not in VERDICTS or expected not in result.stdout:
                print(f"{' '.join(words)}: exit code {result.returncode}\n{result.stdout}{result.stderr}", file=sys.stderr)
                return 1
        install(bin_, "uninstall", "--yes", "fireassay")
        expect_probe(bin_, of="fireassay_probe")
        keep(wheel.parent, DIST)
    print(f"dist/{wheel.name} and {probe.name}: built, checked, installed alone and together, run")
    return 0


def install(bin_: Path, *words: str | Path) -> None:
    """Let pip do it."""
    subprocess.run([bin_ / "python", "-m", "pip", *words, "--quiet", "--disable-pip-version-check"], check=True)


def expect_probe(bin_: Path, *, of: str) -> None:
    """Raise if `import fireassay.probe` takes another distribution's, or anything with it."""
    heavy = "{'numpy', 'polars', 'pyarrow', 'pydantic', 'scipy'}"
    code = f"import sys, fireassay.probe as p; p.start(); print(p.__file__.split('/')[-3], *({heavy} & set(sys.modules)))"
    found = subprocess.run([bin_ / "python", "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    if found != of:
        raise SystemExit(f"import fireassay.probe gives {found!r} instead of {of!r}")


def keep(made: Path, where: Path) -> None:
    """The distributions made, and no older ones."""
    shutil.rmtree(where, ignore_errors=True)
    shutil.copytree(made, where)


if __name__ == "__main__":
    sys.exit(main())
