"""Which incarnation is a worker of?"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fireassay.instruments.recorder.sink import identity_from, nth_meeting


def variables(folder: Path, port: int, restarts: int, **more: str) -> dict[str, str]:
    several = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "1", "MASTER_ADDR": "10.0.0.1", "MASTER_PORT": str(port), "FIREASSAY_RESTARTS": "1"}
    return {"FIREASSAY_LAUNCH_DIR": str(folder), "TORCHELASTIC_RESTART_COUNT": str(restarts), **several, **more}


def test_workers_of_several_nodes_agree_although_only_the_failed_ones_node_counts_a_restart(tmp_path: Path) -> None:
    """torch elastic counts a restart where a worker failed; on the other nodes it is a change of membership."""
    first = [identity_from(variables(tmp_path, 4001, 0, RANK=rank)).incarnation for rank in "01"]
    again = [identity_from(variables(tmp_path, 4002, int(rank), RANK=rank)).incarnation for rank in "01"]
    assert (first, again) == ([0, 0], [1, 1])


def test_workers_of_one_node_have_its_count(tmp_path: Path) -> None:
    assert identity_from(variables(tmp_path, 4001, 3, LOCAL_WORLD_SIZE="2")).incarnation == 3
    assert list(tmp_path.iterdir()) == []


def test_meetings_are_numbered_once_by_whoever_comes_first(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: nth_meeting(tmp_path / "meetings", "a:1"), range(40)))
    assert set(found) == {0}
    assert [path.name for path in (tmp_path / "meetings").iterdir()] == ["0"]
