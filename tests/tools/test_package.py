"""What does `make package` leave in dist/?"""

from __future__ import annotations

from pathlib import Path

from tools.package import keep


def test_only_the_newest_distributions_are_kept(tmp_path: Path) -> None:
    made, dist = tmp_path / "made", tmp_path / "dist"
    made.mkdir()
    (made / "fireassay-2-py3-none-any.whl").write_text("new")
    dist.mkdir()
    (dist / "fireassay-1-py3-none-any.whl").write_text("old")
    keep(made, dist)
    assert [path.name for path in dist.iterdir()] == ["fireassay-2-py3-none-any.whl"]
