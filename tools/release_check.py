"""Is this commit ready to be released?  All that a release needs but the upload.

    python -m tools.release_check             (make release-check)                  could it be?
    python -m tools.release_check 1.2.3       (make release-check VERSION=1.2.3)    is it, as this version?

A line per check: what was found, or what is wrong and what to do; the others run all the same, and the exit code is 1 if one is wrong.
What is only done when somebody releases, such as the heading of the changelog, is LATER without a version, and no failure.
Needs a package index and takes minutes.  Both architectures' wheels and the sdist are left in dist/.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tools import package
from tools.release_notes import section, version

OTHER = {"x86_64": "aarch64", "aarch64": "x86_64"}  # of each machine, the architecture that is built for across
MACHINE = {"x86_64": b"\x3e\x00", "aarch64": b"\xb7\x00"}  # e_machine of ELF, at byte 18
BUILDERS = ("podman", "buildah", "docker")
ANY_VERDICT = (0, 1, 3, 4)  # on a busy machine INVALID, but sent
LOAD = """
name = "release"
workload = { runner = "serving", work = "tokens" }
launches = { per_configuration = 2 }
[serving]
model = "reference"
scenarios = ["D(20,8)"]
concurrency = [2]
client = { transport = "compiled" } # or refuse
arrivals = { duration_s = 1.0, warm_up_s = 0.2 }
[[serving.targets]]
name = "reference"
command = ["python", "-m", "fireassay.instruments.reference_server", "--port", "{port}", "--first-s", "0.02", "--next-s", "0.002"]
"""


class Wrong(Exception):
    """What is wrong, and what to do."""


class Later(Wrong):
    """What is wrong once a version is given."""


@dataclass(frozen=True)
class Release:
    """A tree, and a folder for what is made of it."""

    root: Path
    folder: Path
    wanted: str = ""  # the version to release, if one is

    @property
    def version(self) -> str:
        """The version that is to be released."""
        return version(self.root)

    @property
    def made(self) -> Path:
        """The distributions."""
        return self.folder / "first"

    def unready(self, what: str) -> Wrong:
        """The error that is none until somebody releases."""
        return Wrong(what) if self.wanted else Later(what)

    def git(self, *words: str) -> str:
        """What git prints of the tree."""
        return subprocess.run(["git", "-C", self.root, *words], check=True, capture_output=True, text=True).stdout.strip()


def agreeing_versions(release: Release) -> str:
    """The version in the package, the recipe and the changelog, and the tag."""
    wanted, tag = release.version, f"v{release.version}"
    if release.wanted not in ("", wanted):
        raise Wrong(f"{release.wanted} is to be released, and pyproject.toml says {wanted}: raise one of them")
    for file, pattern in (("src/fireassay/__init__.py", r'__version__ = "(.+)"'), ("packaging/recipe.yaml", r'version: "(.+)"')):
        found = re.search(pattern, (release.root / file).read_text())
        if found is None or found[1] != wanted:
            raise Wrong(f"{file} says {found[1] if found else 'nothing'}, pyproject.toml {wanted}: make them equal")
    if here := [name for name in release.git("tag", "--points-at", "HEAD", "--list", "v*").split() if name != tag]:
        raise Wrong(f"this commit is tagged {here[0]}, and its version is {wanted}: raise one of them")
    if tag in release.git("tag", "--list", tag).split() and release.git("rev-list", "-n1", tag) != release.git("rev-parse", "HEAD"):
        raise release.unready(f"{tag} is another commit: raise the version in pyproject.toml")
    return wanted


def written_changes(release: Release) -> str:
    """The section of the version in the changelog."""
    changelog = (release.root / "CHANGELOG.md").read_text(encoding="utf-8")
    try:
        entries, waiting = section(changelog, release.version), section(changelog, "Unreleased")
    except LookupError as error:
        raise release.unready(f"{error.args[0]}. Move the entries of Unreleased below a heading of the version") from None
    if waiting or not entries:
        raise release.unready(
            f"CHANGELOG.md has entries of {'Unreleased' if waiting else 'no change'}: move them below [{release.version}]"
        )
    return f"{len(entries.splitlines())} lines"


def clean_tree(release: Release) -> str:
    """Files that are not committed."""
    if changed := release.git("status", "--porcelain"):
        raise Wrong(f"not committed: {', '.join(line[3:] for line in changed.splitlines()[:5])}")
    return release.git("rev-parse", "HEAD")[:12]


def recipe_in_step(release: Release) -> str:
    """The requirements of the conda recipe."""
    if different := recipe_differences(release.root):
        raise Wrong(f"packaging/recipe.yaml and pyproject.toml differ in {', '.join(different)}")
    return "as in pyproject.toml"


def recipe_differences(root: Path) -> list[str]:
    """Requirements, in the form of conda, that only one of the two has."""
    import yaml  # deferred: of the checks, one reads it

    recipe = yaml.safe_load((root / "packaging/recipe.yaml").read_text())["requirements"]["run"]
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    words = [f"python {project['requires-python']}", *(re.sub(r"([\w-]+)", r"\1 ", need, count=1) for need in project["dependencies"])]
    wanted = {_on(need, "not win") if need.endswith("; sys_platform != 'win32'") else need for need in words}
    return sorted(wanted ^ {_on(need["then"], need["if"]) if isinstance(need, dict) else need for need in recipe})


def _on(need: str, platforms: str) -> str:
    return f"{need.partition(';')[0]} if {platforms}"


def linted_containerfile(release: Release) -> str:
    """The rules of hadolint."""
    linter = Path(sys.executable).parent / "hadolint"
    done = subprocess.run([linter, "--no-color", release.root / "packaging/Containerfile"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Wrong(done.stdout.strip())
    return "hadolint has no remark"


def same_bytes(release: Release) -> str:
    """Two builds, and what is in them."""
    first, second = (package.built(release.folder / name) for name in ("first", "second"))
    different = [one.name for one, other in zip(first, second, strict=True) if digest(one) != digest(other)]
    if different:
        raise Wrong(f"two builds of one commit differ: {', '.join(different)}")
    package.built_probe(release.folder)
    files = [*first, *(release.folder / "dist").glob("*.whl")]
    subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *files], check=True, stdout=subprocess.DEVNULL)
    shutil.copy(files[-1], release.made)
    if flaws := [f"{file.name}: {flaw}" for file in files for flaw in package.flaws(file, package.WANTED if file == first[1] else ())]:
        raise Wrong("; ".join([*flaws, *package.large_in_git(release.root)]))
    return ", ".join(f"{file.name} {file.stat().st_size / 1e6:.2f} MB" for file in files)


def digest(file: Path) -> str:
    """The SHA-256 of a file."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def other_architecture(release: Release) -> str:
    """The wheel for the other architecture, by a cross compiler."""
    other = OTHER[platform.machine()]
    compiler = f"{other}-linux-gnu-gcc"
    if shutil.which(compiler) is None:
        raise Wrong(f"{compiler} is not installed: in Debian, gcc-{other.replace('_', '-')}-linux-gnu and the libc6-dev of its name")
    (sdist,) = release.made.glob("*.tar.gz")
    across = {"CC": compiler, "LDSHARED": f"{compiler} -shared", "_PYTHON_HOST_PLATFORM": f"linux-{other}"}
    wheel = package.built_wheel(sdist, release.folder / "other", across)
    (core,) = (data for name, data in package.contents(wheel).items() if name.endswith("_core.abi3.so"))
    if core[18:20] != MACHINE[other]:
        raise Wrong(f"the core of {wheel.name} is of another architecture (e_machine {core[18:20].hex()})")
    shutil.copy(wheel, release.made)
    return f"{wheel.name} {wheel.stat().st_size / 1e6:.2f} MB"


def wheel_alone(release: Release) -> str:
    """The wheel where there is neither a package nor a compiler; it must use its core in a load."""
    (wheel,) = release.made.glob(f"fireassay-*_{platform.machine()}.whl")
    (probe,) = release.made.glob("fireassay_probe-*.whl")
    begin = time.monotonic()
    package.try_alone(release.folder / "alone", wheel, probe, and_then=put_load)
    return f"installed, run, and a load sent by its core, in {time.monotonic() - begin:.0f} s"


def put_load(bin_: Path) -> None:
    """Puts a load on the reference server with the compiled core. Raises Wrong: it gave no verdict."""
    (bin_ / "load.toml").write_text(LOAD)
    variables = os.environ | {"PATH": f"{bin_}{os.pathsep}{os.environ['PATH']}"}
    command = [bin_ / "assay", "run", "load.toml", "--quiet", "--json"]
    done = subprocess.run(command, cwd=bin_, env=variables, capture_output=True, text=True, check=False)
    if done.returncode not in ANY_VERDICT:
        raise Wrong(f"a load with the compiled core gives {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def source_without_compiler(release: Release) -> str:
    """The sdist where there is no compiler."""
    (sdist,) = release.made.glob("*.tar.gz")
    bin_ = package.empty(release.folder / "source-only")
    package.install(bin_, "install", "--no-deps", "--no-cache-dir", sdist)
    told = subprocess.run([bin_ / "fireassay", "--version"], capture_output=True, text=True, check=True).stdout
    if "\ncore    Python: not compiled" not in told:
        raise Wrong(f"without a compiler --version says\n{told}")
    return told.splitlines()[2]


def one_off_runs(release: Release) -> str:
    """`uvx fireassay` and `pipx run fireassay`."""
    (wheel,) = release.made.glob(f"fireassay-*_{platform.machine()}.whl")
    bin_ = package.empty(release.folder / "runners")
    package.install(bin_, "install", "uv", "pipx")
    home = {"PIPX_HOME": str(release.folder / "pipx"), "PATH": f"{bin_}{os.pathsep}{os.environ['PATH']}"}
    for words in (("uvx", "--from", wheel, "fireassay"), ("uvx", "--from", wheel, "assay"), ("pipx", "run", "--spec", wheel, "fireassay")):
        done = subprocess.run(
            [bin_ / words[0], *words[1:], "--version"], capture_output=True, text=True, env=os.environ | home, check=False
        )
        if "\ncore    compiled\n" not in done.stdout:
            raise Wrong(f"{words[0]} ... {words[-1]} --version gives {done.returncode}:\n{done.stdout}{done.stderr}")
    return "uvx and pipx run it"


def container(release: Release) -> str:
    """The image, where something builds images."""
    for builder in BUILDERS:
        if shutil.which(builder) and subprocess.run([builder, "info"], capture_output=True, check=False).returncode == 0:
            command = [builder, "build", "-t", "fireassay", "-f", release.root / "packaging/Containerfile", release.made]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise Wrong(f"{builder} could not build it:\n{done.stderr[-2000:]}")
            return f"built by {builder}"
    return f"not built: none of {', '.join(BUILDERS)} works here"


CHECKS: tuple[Callable[[Release], str], ...] = (
    agreeing_versions, written_changes, clean_tree, recipe_in_step, linted_containerfile,
    same_bytes, other_architecture, wheel_alone, source_without_compiler, one_off_runs, container,
)  # fmt: skip


def checked(release: Release, checks: tuple[Callable[[Release], str], ...] = CHECKS) -> bool:
    """Run the checks and print a line of each; whether none is wrong."""
    right = True
    for check in checks:
        name = check.__name__.replace("_", " ")
        try:
            print(f"ok     {name}: {check(release)}", flush=True)
        except Later as later:
            print(f"LATER  {name}: {later}", flush=True)
        except (Wrong, SystemExit, subprocess.CalledProcessError, OSError, ValueError) as error:
            right = False
            print(f"WRONG  {name}: {error}", flush=True)
    return right


def main(wanted: str = "") -> int:
    """Check this tree."""
    with tempfile.TemporaryDirectory() as temporary:
        release = Release(package.ROOT, Path(temporary), wanted.removeprefix("v"))
        right = checked(release)
        if release.made.is_dir():
            package.keep(release.made, package.DIST)
    if right and not wanted:
        print(f"it could be released. Is it ready as this version? make release-check VERSION={version(package.ROOT)}")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
