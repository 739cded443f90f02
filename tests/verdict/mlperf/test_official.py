"""Does mlperf-logging still give the verdicts that are stored?  Where it is installed; it is no dependency of ours."""

from __future__ import annotations

import logging
import tomllib
from pathlib import Path

import pytest

from tests.verdict.mlperf.training_logs import PLANTED, Planted, write

pytestmark = pytest.mark.deep
compliance = pytest.importorskip("mlperf_logging.compliance_checker.mlp_compliance")
rcp = pytest.importorskip("mlperf_logging.rcp_checker.rcp_checker")
seeds = pytest.importorskip("mlperf_logging.package_checker.seed_checker")
meta = pytest.importorskip("mlperf_logging.benchmark_meta")
EXPECTED = tomllib.loads((Path(__file__).parent / "planted_training.toml").read_text(encoding="utf-8"))


def _complies(path: Path, round_: str) -> bool:
    compliance.enqueued_configs.clear()
    checker = compliance.make_checker("training", round_, True, False)
    return bool(compliance.main(str(path), f"training_{round_}/common.yaml", checker)[0])


def _passes(check: object, *arguments: object, **named: object) -> bool:
    """A check's verdict; an exception of the checker accepts nothing."""
    try:
        found = check(*arguments, **named)  # type: ignore[operator]
    except (KeyError, TypeError, ValueError):
        return False
    return bool(found[0] if isinstance(found, tuple) else found)


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.name)
def test_the_stored_verdict_is_that_of_the_checkers(planted: Planted, tmp_path: Path) -> None:
    logging.disable(logging.CRITICAL)
    folder, round_ = write(planted, tmp_path / "logs"), f"{planted.round}.0"
    paths = sorted(folder.glob("result_*.txt"))
    found = {
        "files": sum(not _passes(_complies, path, round_) for path in paths) <= 1,
        "count": len(paths) == meta.get_result_file_counts("training")[planted.benchmark],
    }
    if planted.division == "closed":
        found["seeds"] = _passes(seeds.SeedChecker(round_).check_seeds, [str(path) for path in paths])
        found["rcp"] = _passes(rcp.check_directory, str(folder), "training", round_, False, False, rcp_pass="pruned_rcps")
    logging.disable(logging.NOTSET)
    stored = EXPECTED[planted.name]
    assert found == {part: stored[part] for part in found}
    assert stored["passed"] is all(found.values())
