"""Whose joules are added, and what is taken off?"""

from __future__ import annotations

import pytest

from fireassay.frames.costs import energy_method, energy_words, launch_bound, launch_joules
from fireassay.spec.sections.energy import Energy
from tests.handmade import Handmade


def test_four_ranks_of_a_host_are_one_device_and_two_hosts_are_two() -> None:
    """A host's meter is read by one process: 100 J of package-0 on each of two hosts are 200 J, whatever the number of ranks."""
    made = Handmade(levels=(4,), blocks=1)
    number = made.launch(workers=4)
    for host in ("node-a", "node-a", "node-b"):  # read twice on the first: the same counter
        for at_s, joules in ((0.0, 0.0), (10.0, 100.0)):
            made.reading(number, "package-0", "energy", joules, at_s=at_s, unit="J")
            made.rows["telemetry"][-1] = (*made.rows["telemetry"][-1][:2], host, *made.rows["telemetry"][-1][3:])
    assert launch_joules(made.measured()).rows() == [(number, 200.0)]


def test_joules_after_the_end_of_a_launch_are_not_its_own() -> None:
    """A launch of 100 s, read 10 s later: 1000 J at 90 s and 1400 J at 110 s are 1200 J at its end."""
    made = Handmade(levels=(1,), blocks=1)
    number = made.launch(workers=1, wall_s=100.0)
    for at_s, joules in ((0.0, 0.0), (90.0, 1000.0), (110.0, 1400.0)):
        made.reading(number, "package-0", "energy", joules, at_s=at_s, unit="J")
    assert launch_joules(made.measured()).rows() == [(number, pytest.approx(1200.0))]


def test_counted_sampled_and_modelled_joules_are_never_added() -> None:
    made = Handmade(levels=(1,), blocks=1)
    number = made.launch(workers=1)
    for method, joules in (("modelled", 5.0), ("sampled", 30.0), ("counter", 100.0)):
        made.reading(number, f"device-{method}", "energy", joules, unit="J", method=method)
        expected = {"modelled": 5.0, "sampled": 30.0, "counter": 100.0}[method]
        assert (energy_method(made.measured()), launch_joules(made.measured()).rows()) == (method, [(number, expected)])


def idling(idle: str, *, watts: float | None) -> Handmade:
    made = Handmade(levels=(1,), blocks=1, energy=Energy(idle=idle, idle_s=5.0))  # type: ignore[arg-type]
    number = made.launch(workers=1)
    if watts is not None:
        made.reading(number, "package-0", "idle_power", watts, unit="W", method="sampled")
    made.reading(number, "package-0", "energy", 0.0, unit="J")
    made.reading(number, "package-0", "energy", 1000.0, at_s=10.0, unit="J")
    return made


def test_idle_power_is_taken_off_only_on_request_and_said() -> None:
    """1000 J in 10 s, of which 40 W x 10 s are idle."""
    subtracted, included = idling("subtract", watts=40.0).measured(), idling("include", watts=40.0).measured()
    assert launch_joules(subtracted)["value"].to_list() == [600.0]
    assert launch_joules(included)["value"].to_list() == [1000.0]
    assert "less idle power x time (idle for 5 s before each launch)" in energy_words(subtracted)
    assert "idle" not in energy_words(included)


def test_more_idle_than_used_is_nothing_and_no_negative_energy() -> None:
    assert launch_joules(idling("subtract", watts=400.0).measured())["value"].to_list() == [0.0]


def test_idle_power_that_nobody_measured_leaves_the_joules_unknown() -> None:
    assert launch_joules(idling("subtract", watts=None).measured()).height == 0


def test_the_bound_of_a_launch_is_the_sum_over_its_devices() -> None:
    made = Handmade(levels=(1,), blocks=1)
    number = made.launch(workers=1)
    for device in ("package-0", "GPU-a"):
        made.reading(number, device, "energy", 10.0, unit="J")
        for at_s, bound in ((0.0, 0.0), (5.0, 2.5)):
            made.reading(number, device, "energy_bound", bound, at_s=at_s, unit="J")
    assert launch_bound(made.measured())["value"].to_list() == [pytest.approx(5.0)]
