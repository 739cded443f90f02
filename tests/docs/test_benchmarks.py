"""Is every benchmark in the table of benchmarks?"""

from __future__ import annotations

from pathlib import Path


def test_every_benchmark_is_in_the_table(repository: Path) -> None:
    table = (repository / "benchmarks" / "README.md").read_text()
    scripts = sorted(path.name for path in (repository / "benchmarks").glob("*.py"))
    assert [name for name in scripts if f"| `{name}` |" not in table] == []
