"""Which trees may not be released, and do recipe, image and workflow build what pyproject.toml describes?"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from tools.release_check import Release, Wrong, agreeing_versions, checked, clean_tree, recipe_differences, written_changes

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LINTER = Path(sys.executable).parent / "hadolint"


@pytest.fixture
def release(tmp_path: Path) -> Release:
    """A tree of version 2.0.0 that is ready."""
    files = {
        "pyproject.toml": '[project]\nversion = "2.0.0"\n',
        "src/fireassay/__init__.py": '__version__ = "2.0.0"\n',
        "packaging/recipe.yaml": 'context:\n  version: "2.0.0"\n',
        "CHANGELOG.md": "# Changelog\n\n## [Unreleased]\n\n## [2.0.0]\n\n- Entry.\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = Release(tmp_path, tmp_path / "made", wanted="2.0.0")
    found.git("init", "--quiet")
    commit(found)
    return found


def commit(release: Release) -> None:
    release.git("add", ".")
    release.git("-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "--quiet", "--allow-empty", "-m", "change")


def write(release: Release, file: str, text: str) -> None:
    (release.root / file).write_text(text)


def test_a_tree_that_is_ready_passes(release: Release) -> None:
    release.git("tag", "v2.0.0")
    assert agreeing_versions(release) == "2.0.0"
    assert written_changes(release) == "1 lines"
    assert clean_tree(release) == release.git("rev-parse", "HEAD")[:12]


def tag_another(release: Release) -> None:
    release.git("tag", "v2.0.0")
    commit(release)


FAULTS: dict[str, tuple[Callable[[Release], object], Callable[[Release], str], str]] = {
    "package": (lambda it: write(it, "src/fireassay/__init__.py", '__version__ = "1.9"'), agreeing_versions, "__init__.py says 1.9, pyproject.toml 2.0.0"),
    "recipe": (lambda it: write(it, "packaging/recipe.yaml", "{}"), agreeing_versions, "recipe.yaml says nothing"),
    "wrong tag": (lambda it: it.git("tag", "v2.0.1"), agreeing_versions, "tagged v2.0.1, and its version is 2.0.0"),
    "tag of another commit": (tag_another, agreeing_versions, "v2.0.0 is another commit: raise the version"),
    "no section": (lambda it: write(it, "CHANGELOG.md", "## [Unreleased]\n"), written_changes, "0 sections of 2.0.0"),
    "left behind": (
        lambda it: write(it, "CHANGELOG.md", "## [Unreleased]\n- New.\n## [2.0.0]\n- Old.\n"), written_changes, r"Unreleased: move them below \[2.0.0\]"
    ),
    "another version": (lambda it: write(it, "pyproject.toml", '[project]\nversion = "1.9"'), agreeing_versions, "2.0.0 is to be released, .* says 1.9"),
    "no entry": (lambda it: write(it, "CHANGELOG.md", "## [Unreleased]\n## [2.0.0]\n"), written_changes, "entries of no change"),
    "dirty": (lambda it: write(it, "new.txt", ""), clean_tree, "not committed: new.txt"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_tree_with_a_fault_is_refused_with_the_remedy(release: Release, fault: str) -> None:
    plant, check, expected = FAULTS[fault]
    plant(release)
    with pytest.raises(Wrong, match=expected):
        check(release)


def test_a_tree_between_two_releases_is_no_failure_until_a_version_is_to_be_released(
    release: Release, capsys: pytest.CaptureFixture[str]
) -> None:
    tag_another(release)
    write(release, "CHANGELOG.md", "## [Unreleased]\n- New.\n## [2.0.0]\n- Old.\n")
    assert checked(replace(release, wanted=""), (agreeing_versions, written_changes))
    assert [line.split(": ")[0] for line in capsys.readouterr().out.splitlines()] == ["LATER  agreeing versions", "LATER  written changes"]
    assert not checked(release, (written_changes,))
    assert not checked(release, (agreeing_versions,))


def test_every_check_runs_though_one_fails(release: Release, capsys: pytest.CaptureFixture[str]) -> None:
    write(release, "new.txt", "")
    assert not checked(release, (clean_tree, agreeing_versions))
    assert capsys.readouterr().out == "WRONG  clean tree: not committed: new.txt\nok     agreeing versions: 2.0.0\n"


# ---- the files beside pyproject.toml ---------------------------------------------------------------------------------


def test_the_conda_recipe_requires_what_the_project_requires() -> None:
    assert recipe_differences(ROOT) == []


@pytest.mark.parametrize("platform", ["linux-64", "linux-aarch64", "osx-arm64", "win-64"])
def test_rattler_build_renders_the_recipe_without_a_variant_of_ours(platform: str) -> None:
    """Of what the documented command does, all that needs no channel."""
    rattler = pytest.importorskip("rattler_build", reason="py-rattler-build is not installed")
    recipe = rattler.Stage0Recipe.from_yaml((ROOT / "packaging/recipe.yaml").read_text())
    config = rattler.RenderConfig(platform=rattler.PlatformConfig(target_platform=platform))
    (variant,) = recipe.render(rattler.VariantConfig(), config)
    made = variant.recipe.to_dict()
    assert made["package"] == {"name": "fireassay", "version": PROJECT["version"]}
    assert made["requirements"].get("build", []) == ([f"gcc_{platform}"] if platform.startswith("linux") else [])
    assert ("uvloop >=0.20,<1" in made["requirements"]["run"]) == (platform != "win-64")


def test_a_requirement_that_only_one_of_both_has_is_named(tmp_path: Path) -> None:
    (tmp_path / "packaging").mkdir()
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nrequires-python = ">=3.11"\ndependencies = ["a-b>=1,<2", "c>=3; sys_platform != \'win32\'"]'
    )
    recipe = "requirements: {run: [python >=3.11, 'a-b >=1,<3', {if: not win, then: c >=3}]}"
    (tmp_path / "packaging/recipe.yaml").write_text(recipe)
    assert recipe_differences(tmp_path) == ["a-b >=1,<2", "a-b >=1,<3"]


@pytest.mark.skipif(not LINTER.exists() and not os.environ.get("CI"), reason="hadolint is not installed")
def test_the_linter_has_no_remark_on_the_containerfile() -> None:
    done = subprocess.run([LINTER, "--no-color", ROOT / "packaging/Containerfile"], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("", 0)


def test_the_image_has_two_stages_of_one_pinned_base_and_does_not_run_as_root() -> None:
    text = (ROOT / "packaging/Containerfile").read_text()
    bases = re.findall(r"^FROM ([^ \n]+)", text, re.MULTILINE)
    assert len(bases) == 2
    assert len(set(bases)) == 1
    assert re.fullmatch(r"docker\.io/library/python:3\.\d+-slim-\w+", bases[0])
    assert re.findall(r"^USER (.+)", text, re.MULTILINE) == ["1000"]
    assert text.index("gcc") < text.rindex("FROM ") < text.index("USER")


def test_a_tag_builds_wheels_of_both_architectures_from_the_sdist() -> None:
    jobs = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())["jobs"]
    assert jobs["wheels"]["strategy"]["matrix"]["runner"] == ["ubuntu-24.04", "ubuntu-24.04-arm"]
    assert next(step["run"] for step in jobs["wheels"]["steps"] if "run" in step).endswith('"$(ls dist/fireassay-*.tar.gz)"')
    commands = "\n".join(step.get("run", "") for step in jobs["source"]["steps"])
    for target in re.findall(r"make ([\w-]+)", commands):
        assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert all((ROOT / script).is_file() for script in re.findall(r"python (tools/\S+)", commands))


def test_a_runner_of_packages_finds_the_command_by_the_distributions_name() -> None:
    """`uvx NAME` and `pipx run NAME` start the command that is named as the distribution."""
    assert PROJECT["scripts"][PROJECT["name"]] == PROJECT["scripts"]["assay"] == "fireassay.cli:main"
