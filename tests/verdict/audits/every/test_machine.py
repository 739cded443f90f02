"""Was the machine quiet, and can its energy be trusted?"""

from __future__ import annotations

import pytest

from fireassay import catalog
from fireassay.verdict.audits.every import machine as audited
from tests.handmade import Handmade
from tests.verdict.making import good, judged, rules_of

rules = rules_of(audited.AUDITS)

# ---- contention ----
# contention: other programs, the hypervisor or a quota took processor time from the timed launches.


def loaded(**grown: float) -> Handmade:
    """A good record with counters of its own: 10 s on 2 processors, 12 s busy (11.5 ours, 0.3 assay's), 8 s idle."""
    made = good(leave_out=("counters",))
    names = {
        "busy": ("cpu", "busy", 12.0),
        "idle": ("cpu", "idle", 8.0),
        "steal": ("cpu", "steal", 0.0),
        "own": ("launch", "cpu_time", 11.5),
        "assay": ("coordinator", "cpu_time", 0.3),
        "throttled": ("cgroup", "throttled", 0.0),
    }
    for number in range(len(made.rows["launches"])):
        for name, (device, counter, usual) in names.items():
            value = grown.get(name, usual) if number < 3 else usual
            made.reading(number, device, counter, 100.0, at_s=0.0)
            made.reading(number, device, counter, 100.0 + value, at_s=10.0)
    return made


def replace_noise(made: Handmade, **limits: float) -> Handmade:
    """The same record, asked with other limits."""
    noise = made.experiment.noise.model_copy(update=limits)
    made.experiment = made.experiment.model_copy(update={"noise": noise})
    return made


@pytest.mark.slow
def test_a_quiet_machine_gives_no_finding() -> None:
    assert rules(judged(loaded())) == {}


@pytest.mark.slow
def test_foreign_load_is_named_with_its_share_its_limit_and_its_launches() -> None:
    """(15 - 11.5 - 0.3) / (15 + 8 + 0) = 3.2 / 23 = 13.9 % in the first three launches; (0.2 / 20) = 1 % in the others."""
    (finding,) = judged(loaded(busy=15.0)).verdict.findings
    assert (finding.rule, finding.severity) == ("foreign_load", "warning")
    assert finding.evidence == (
        "other programs used up to 13.9 % of the processors; at most 10 % are allowed; it affected 3 of 10 timed launches (launches 0-2)"
    )


@pytest.mark.slow
def test_the_load_of_the_launch_itself_is_never_foreign() -> None:
    """Four workers on two cores use them fully, and nobody else does."""
    assert rules(judged(loaded(busy=20.0, own=19.7, idle=0.0))) == {}


@pytest.mark.slow
def test_a_tenth_of_the_machine_is_let_pass_and_more_is_not() -> None:
    assert rules(judged(loaded(busy=13.79, idle=6.21))) == {}  # 1.99 / 20
    assert rules(judged(loaded(busy=13.81, idle=6.19))) == {"foreign_load": [None]}  # 2.01 / 20


@pytest.mark.slow
def test_steal_is_named_by_itself() -> None:
    assert rules(judged(loaded(steal=0.19))) == {}  # 0.19 / 20.19 = 0.94 %
    assert rules(judged(loaded(steal=0.21))) == {"steal": [None]}  # 0.21 / 20.21 = 1.04 %


@pytest.mark.slow
def test_throttling_is_a_share_of_the_time_between_the_readings() -> None:
    """0.5 % of 10 s is 0.05 s."""
    assert rules(judged(loaded(throttled=0.049))) == {}
    assert rules(judged(loaded(throttled=0.051))) == {"throttled": [None]}


@pytest.mark.slow
def test_the_limits_are_those_of_the_experiment() -> None:
    strict = replace_noise(loaded(), most_foreign=0.005, most_steal=0.5)
    assert rules(judged(strict)) == {"foreign_load": [None]}
    assert rules(judged(replace_noise(loaded(steal=5.0), most_steal=0.5))) == {}


@pytest.mark.slow
def test_waiting_for_a_processor_is_the_launchs_own_and_waiting_for_a_disk_is_not() -> None:
    made = loaded()
    for resource in ("cpu", "io"):
        for at_s, value in ((0.0, 0.0), (10.0, 9.0)):
            made.reading(4, resource, "pressure_some", value, at_s=at_s)
    assert rules(judged(made)) == {"pressure_io": [None]}


@pytest.mark.slow
def test_a_slow_sentinel_is_named_with_its_launch() -> None:
    made = loaded()
    for number in range(10):
        made.reading(number, "sentinel", "before", 0.050 + 0.0001 * (number % 3), at_s=-1.0, method="self")
        made.reading(number, "sentinel", "after", 0.050, at_s=11.0, method="self")
    assert rules(judged(made)) == {}
    made.reading(7, "sentinel", "after", 0.065, at_s=11.5, method="self")
    (finding,) = judged(made).verdict.findings
    assert (finding.rule, finding.severity) == ("slow_sentinel", "warning")
    assert "the speed probe took 1.3 times its median" in finding.evidence
    assert "(launch 7)" in finding.evidence


def with_sentinels(blocks: int, slower: float, celsius: float = 0.0) -> Handmade:
    """A good record whose sentinel takes `slower` of itself more in every block, and a GPU that gets warmer."""
    made = good(blocks=blocks)
    for number in range(2 * blocks):
        block = number // 2
        for counter, at_s in (("before", -1.0), ("after", 11.0)):
            made.reading(number, "sentinel", counter, 0.05 * (1.0 + slower * block), at_s=at_s, method="self")
        if celsius:
            made.reading(number, "gpu-0", "temperature", 40.0 + celsius * block, at_s=1.0, unit="degC")
    return made


def drifts(made: Handmade) -> list[str]:
    return [finding.evidence for finding in judged(made).verdict.findings if finding.rule == "drift"]


@pytest.mark.slow
def test_a_sentinel_that_gets_slower_block_by_block_is_named_as_drift() -> None:
    """Eight blocks in strict order: p = 2 / 8! = 5e-5; 7 steps of ln 1.01 or so."""
    (steps, sentinel) = drifts(with_sentinels(8, 0.01))
    assert sentinel.startswith("the speed probe rose by 7")
    assert "8 rounds (p = 5e-05)" in sentinel
    assert steps.startswith("the step times rose by")  # the good record's steps take 1 % longer in every block


@pytest.mark.slow
def test_a_drift_needs_six_blocks() -> None:
    """Five values in strict order have p = 2 / 5! = 0.017; six have 2 / 6! = 0.003."""
    assert drifts(with_sentinels(5, 0.05)) == []
    assert any(said.startswith("the speed probe") for said in drifts(with_sentinels(6, 0.05)))


@pytest.mark.slow
def test_heat_is_named_where_a_temperature_rose_too() -> None:
    assert all("a GPU's temperature rose by 21 degrees" in said for said in drifts(with_sentinels(8, 0.01, celsius=3.0)))
    assert all("no temperature was recorded" in said for said in drifts(with_sentinels(8, 0.01)))


@pytest.mark.slow
def test_a_change_too_small_to_matter_is_no_drift() -> None:
    """7 x 0.1 % = 0.7 %, below comparison.smallest_effect = 1 %."""
    assert not any(said.startswith("the speed probe") for said in drifts(with_sentinels(8, 0.001)))


@pytest.mark.slow
def test_launches_that_were_made_again_are_counted() -> None:
    made = loaded()
    made.launch(workers=1, block=0, wall_s=20.0, status="contaminated", reason="other programs used 40 %")
    (finding,) = judged(made).verdict.findings
    assert (finding.rule, finding.severity) == ("contaminated", "note")
    assert finding.evidence == "1 launch was disturbed and repeated (launch 10); the first: other programs used 40 %"


@pytest.mark.slow
def test_what_the_meter_could_not_read_is_said_with_its_reason() -> None:
    made = loaded()
    made.manifest["environment"] = {"before": {"pressure_io": {"absent": "/proc/pressure/io: not there"}}}
    (finding,) = judged(made).verdict.findings
    assert (finding.rule, finding.severity) == ("noise_not_readable", "note")
    assert finding.evidence == "not monitored: psi_io (/proc/pressure/io: not there)"


@pytest.mark.slow
def test_without_counters_it_says_that_nothing_would_be_seen() -> None:
    judgement = judged(good(leave_out=("counters",)))
    assert rules(judgement) == {"contention_not_measured": [None]}
    assert judgement.verdict.findings[0].severity == "note"


@pytest.mark.slow
def test_where_nothing_was_timed_nothing_is_said_about_counters() -> None:
    """Of a profile alone, and where every launch failed, the counters were read: there only is no timing to disturb."""
    made = good()
    made.rows["launches"] = [(*row[:12], "failed", "exit 1", *row[14:]) for row in made.rows["launches"]]
    assert "contention_not_measured" not in rules(judged(made))


@pytest.mark.slow
def test_a_disturbed_launch_does_not_change_the_status() -> None:
    assert judged(loaded(busy=19.0, idle=1.0)).verdict.status == "GAIN"


# ---- energy readings ----
# Joules that are a lower bound, and launches too short for the sensor.

ENERGY_READINGS = catalog.load("verdict.audits", "energy_readings")


def made(*, wall_s: float, period_s: float, doubts: float) -> Handmade:
    record = Handmade(levels=(1,), blocks=1)
    number = record.launch(workers=1, wall_s=wall_s)
    record.reading(number, "GPU-1", "energy", 100.0, unit="J")
    record.reading(number, "GPU-1", "energy_doubts", doubts, unit="count")
    record.reading(number, "GPU-1", "sensor_period", period_s, method="sampled")
    return record


def energy_readings_rules(record: Handmade) -> list[str]:
    return [finding.rule for finding in ENERGY_READINGS.examine(record.measured(), {})]


def test_enough_periods_and_no_doubt_is_fine() -> None:
    assert energy_readings_rules(made(wall_s=2.0, period_s=0.1, doubts=0)) == []


def test_fewer_than_twenty_periods_are_flagged() -> None:
    assert energy_readings_rules(made(wall_s=1.9, period_s=0.1, doubts=0)) == ["energy_window_short"]


def test_a_doubtful_counter_gives_a_lower_bound() -> None:
    assert energy_readings_rules(made(wall_s=60.0, period_s=0.1, doubts=2)) == ["energy_lower_bound"]


def test_without_energy_there_is_nothing_to_say() -> None:
    record = Handmade(levels=(1,), blocks=1)
    record.launch(workers=1)
    assert energy_readings_rules(record) == []
