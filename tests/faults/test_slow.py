"""The fault `slow` gives a replica a share of a processor, by a control group that is gone afterwards."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from fireassay.errors import EnvironmentLacks
from fireassay.faults import slow
from fireassay.spec.sections.serving import Target
from tests.faults.loaded import at_once, one_replica, row, struck_at
from tests.launchers.helpers import until
from tests.launchers.support.test_servers import Heard, pid_at


@pytest.mark.parametrize(
    ("share", "quota", "period"),
    [(1.0, 10_000, 10_000), (0.5, 5_000, 10_000), (0.1, 1_000, 10_000), (0.05, 1_000, 20_000), (0.0001, 1_000, 1_000_000)],
)
def test_the_period_is_as_short_as_the_least_quota_allows(share: float, quota: int, period: int) -> None:
    assert slow.quota_us(share) == (quota, period)


def permitted() -> bool:
    try:
        slow.check(slow.Keys(kind="slow"), Target(command=("x",)))
    except EnvironmentLacks:
        return False
    return True


@pytest.mark.skipif(not permitted(), reason="no control group may be made here")
def test_the_family_gets_the_quota_and_is_given_back(tmp_path: Path) -> None:
    heard = Heard()
    with one_replica(tmp_path, "children=1") as (one, _):
        until(lambda: len(one.pids(0)) == 2, "the child")
        family = one.pids(0)
        home, version = slow.home_of(family[0])
        strike = at_once("slow", struck_at(one), heard, share=0.2)
        until(lambda: slow.home_of(family[1])[0] != home, "the move")
        group = slow.Group(path=slow.home_of(family[1])[0], version=version)
        until(lambda: sorted(group.pids()) == sorted(family), "the rest of the family")
        if version == 1:
            assert (group.path / "cpu.cfs_quota_us").read_text().split() == ["2000"]
        strike.close()
        assert not group.path.exists()
        assert {slow.home_of(pid)[0] for pid in family} == {home}
        assert pid_at(one.urls[0]) == family[0]
    assert row(heard, "fault_end")[3]["trouble"] == ""


@pytest.mark.skipif(not permitted(), reason="no control group may be made here")
def test_a_replica_that_died_meanwhile_leaves_no_group_behind(tmp_path: Path) -> None:
    with one_replica(tmp_path) as (one, heard):
        home, _ = slow.home_of(one.pids(0)[0])
        strike = at_once("slow", struck_at(one), heard)
        until(lambda: slow.home_of(one.pids(0)[0])[0] != home, "the move")
        path = slow.home_of(one.pids(0)[0])[0]
        one.kill(0)
        strike.close()
        assert not path.exists()


def test_a_group_that_a_process_just_leaves_is_taken_away_at_the_next_try(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "assay-1-1"
    path.mkdir()
    tries: list[Path] = []

    def rmdir(taken: Path) -> None:
        tries.append(taken)
        if len(tries) < 3:
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))

    monkeypatch.setattr(Path, "rmdir", rmdir)
    monkeypatch.setattr(slow.Group, "pids", lambda self: [])
    slow.Group(path=path, version=2).remove(tmp_path)
    assert tries == [path] * 3


def machine(root: Path, mounts: str, groups: str) -> None:
    for name, text in (("proc/self/mounts", mounts), ("proc/self/cgroup", groups)):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def test_v2_makes_its_group_where_the_controller_is_handed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slow, "ROOT", tmp_path)
    machine(tmp_path, "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n", "0::/user.slice/assay.scope\n")
    top = tmp_path / "sys/fs/cgroup"
    (top / "user.slice/assay.scope").mkdir(parents=True)
    (top / "cgroup.subtree_control").write_text("cpuset cpu io memory pids\n")
    (top / "user.slice/cgroup.subtree_control").write_text("cpu memory\n")
    (top / "user.slice/assay.scope/cgroup.subtree_control").write_text("\n")
    home, version = slow.home_of()
    assert (home, version) == (top / "user.slice/assay.scope", 2)
    group = slow.make(home, version)
    assert group.path.parent == top / "user.slice"
    group.limit(0.1)
    assert (group.path / "cpu.max").read_text() == "1000 10000"
    group.free()
    assert (group.path / "cpu.max").read_text() == "max"


def test_what_a_killed_assay_left_behind_is_taken_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of process 1, which is alive, of 4242, which is not, and of 4243, made just now."""
    monkeypatch.setattr(slow, "ROOT", tmp_path)
    (tmp_path / "proc/1").mkdir(parents=True)
    for name in ("assay-1-0", "assay-4242-0", "assay-4243-0", "assay-x-0"):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (0, 0) if "4243" not in name else None)
    slow.make(tmp_path, 1)
    assert sorted(one.name for one in tmp_path.glob("assay-*") if str(os.getpid()) not in one.name) == [
        "assay-1-0",
        "assay-4243-0",
        "assay-x-0",
    ]


def test_without_the_right_it_is_told_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slow, "ROOT", tmp_path)
    machine(tmp_path, "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n", "0::/\n")
    (tmp_path / "sys/fs/cgroup").mkdir(parents=True)
    with pytest.raises(EnvironmentLacks, match=r"hands the cpu controller on.*systemd-run"):
        slow.check(slow.Keys(kind="slow"), Target(command=("x",)))


def test_a_machine_without_control_groups_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slow, "ROOT", tmp_path)
    with pytest.raises(EnvironmentLacks, match="no control groups"):
        slow.check(slow.Keys(kind="slow"), Target(command=("x",)))
