"""Interface counters from a made-up /proc and /sys: summed over directions, the busiest only, damage told and not guessed."""

from __future__ import annotations

from pathlib import Path

import pytest

from fireassay.instruments.machine import interfaces
from fireassay.instruments.machine.host import HostNoise
from fireassay.record.machine import Machine, Unread

HEAD = """Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
"""
ETH0 = "  eth0: 1000 10 1 2 3 0 0 0 500 5 4 8 0 0 0 0\n"
LO = "    lo: 7 1 0 0 0 0 0 0 7 1 0 0 0 0 0 0\n"
SNMP = """Ip: Forwarding DefaultTTL
Ip: 1 64
Tcp: RtoAlgorithm OutSegs RetransSegs InErrs
Tcp: 1 2000 7 0
"""


def machine(root: Path, files: dict[str, str]) -> Machine:
    for path, text in files.items():
        file = root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return Machine(root=root, environ={})


def test_both_directions_are_kept_apart_for_bytes_and_summed_for_errors(tmp_path: Path) -> None:
    here = machine(tmp_path, {"/proc/net/dev": HEAD + ETH0 + LO})
    read = {(one.device, one.counter): one.value for one in interfaces.Interfaces().read(here)}
    assert read["net-eth0", "received_bytes"] == 1000
    assert read["net-eth0", "sent_bytes"] == 500
    assert read["net-eth0", "errors"] == 5  # 1 received, 4 sent
    assert read["net-eth0", "dropped"] == 10  # 2 and 8
    assert len(read) == 12


def test_the_busiest_interfaces_are_followed_and_stay_the_same(tmp_path: Path) -> None:
    many = [f"veth{place}: {place} 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n" for place in range(20)]
    reader = interfaces.Interfaces()
    first = {one.device for one in reader.read(machine(tmp_path, {"/proc/net/dev": HEAD + "".join(many)}))}
    assert first == {f"net-veth{place}" for place in range(12, 20)}
    grown = [line.replace(": 1 ", ": 999 ") for line in many if not line.startswith("veth19:")]
    then = {one.device for one in reader.read(machine(tmp_path, {"/proc/net/dev": HEAD + "".join(grown)}))}
    assert then == first - {"net-veth19"}


def test_what_tcp_sent_again_is_read_by_its_name(tmp_path: Path) -> None:
    here = machine(tmp_path, {"/proc/net/snmp": SNMP})
    assert interfaces.tcp(here) == {"segments_sent": 2000, "segments_sent_again": 7}


def test_settings_that_a_virtual_interface_does_not_have_are_left_out(tmp_path: Path) -> None:
    here = machine(
        tmp_path,
        {
            "/sys/class/net/eth0/mtu": "9000\n",
            "/sys/class/net/eth0/speed": "25000\n",
            "/sys/class/net/eth0/duplex": "full\n",
            "/sys/class/net/eth0/carrier": "1\n",
            "/sys/class/net/eth0/operstate": "up\n",
            "/sys/class/net/veth0/mtu": "1500\n",
            "/sys/class/net/veth0/speed": "-1\n",
        },
    )
    assert interfaces.settings(here, "eth0") == {"mtu": 9000, "speed_bits": 25_000_000_000, "duplex": "full", "carrier": "1", "state": "up"}
    assert interfaces.settings(here, "veth0") == {"mtu": 1500}
    assert interfaces.settings(here, "gone") == {}


@pytest.mark.parametrize("text", [HEAD + "eth0: 1 2 3\n", HEAD + "eth0: a b c d e f g h i j k l m n o p\n"])
def test_a_damaged_table_is_no_number(tmp_path: Path, text: str) -> None:
    with pytest.raises(ValueError, match=r"numbers|invalid literal"):
        interfaces.counted(machine(tmp_path, {"/proc/net/dev": text}))


def test_a_machine_without_the_table_says_so(tmp_path: Path) -> None:
    with pytest.raises(Unread, match="/proc/net/dev"):
        interfaces.counted(Machine(root=tmp_path, environ={}))
    absences = HostNoise(Machine(root=tmp_path, environ={}), ticks_per_s=100).absences
    assert "/proc/net/dev" in absences["network"]
    assert "/proc/net/snmp" in absences["tcp"]


def test_this_machine_has_a_loopback() -> None:
    if Path("/proc/net/dev").exists():
        assert "lo" in interfaces.counted(Machine())


def test_the_rate_is_of_the_busiest_interface_between_two_reads(tmp_path: Path) -> None:
    """In two seconds eth0 received 4,000 and sent 1,000 bytes, lo 100 and 100."""
    now = [10.0]
    rates = interfaces.Rates(machine(tmp_path, {"/proc/net/dev": HEAD + ETH0 + LO}), lambda: now[0])
    assert rates.read() is None
    assert rates.read() is None, "no time has passed"
    now[0] = 12.0
    machine(tmp_path, {"/proc/net/dev": HEAD + ETH0.replace(" 1000 ", " 5000 ").replace(" 500 ", " 1500 ") + LO.replace(" 7 ", " 107 ")})
    assert rates.read() == ("eth0", 2000.0, 500.0)


def test_an_interface_that_began_again_has_no_rate(tmp_path: Path) -> None:
    now = [10.0]
    rates = interfaces.Rates(machine(tmp_path, {"/proc/net/dev": HEAD + ETH0 + LO}), lambda: now[0])
    rates.read()
    now[0] = 11.0
    machine(tmp_path, {"/proc/net/dev": HEAD + ETH0.replace(" 1000 ", " 3 ") + LO})
    assert rates.read() == ("lo", 0.0, 0.0)


def test_what_cannot_be_read_has_no_rate(tmp_path: Path) -> None:
    assert interfaces.Rates(Machine(root=tmp_path, environ={}), lambda: 1.0).read() is None
