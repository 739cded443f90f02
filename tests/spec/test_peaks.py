"""The peaks of devices: the right entry or none, never one to fall back to."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import fireassay
from fireassay.spec.sections import costs
from fireassay.spec.sections.costs import knows, peak_of

# bfloat16, dense, as the makers publish it
RIGHT = {
    "NVIDIA H200": 989.4,
    "NVIDIA B200": 2250.0,
    "NVIDIA RTX A6000": 154.85,
    "NVIDIA L40S": 362.05,
    "NVIDIA L4": 121.0,
    "NVIDIA A10G": 70.0,
    "NVIDIA GeForce RTX 4090": 165.2,
    "NVIDIA GeForce RTX 3090": 71.0,
    "AMD Instinct MI350X": 2306.9,
    "AMD Instinct MI355X": 2516.6,
    "NVIDIA H100 80GB HBM3": 989.4,
    "NVIDIA H100 PCIe": 756.0,
    "NVIDIA H100 NVL": 835.5,
    "NVIDIA A100-SXM4-80GB": 312.0,
    "NVIDIA A100 80GB PCIe": 312.0,
    "NVIDIA A100-PCIE-40GB": 312.0,
    "NVIDIA H200 NVL": 835.5,
    "NVIDIA L40": 181.05,
    "NVIDIA A10": 125.0,
    "AMD Instinct MI300X": 1307.4,
    "nvidia h200": 989.4,
}
UNKNOWN = (
    "NVIDIA A100-SXM4-40GB MIG 1g.5gb",
    "NVIDIA GeForce RTX 4090 Laptop GPU",
    "NVIDIA GeForce RTX 4090 D",
    "NVIDIA H100",
    "NVIDIA L400",
    "NVIDIA H800",
    "NVIDIA H2000",
    "AMD Instinct MI250X",
    "Intel(R) Xeon(R) Processor",
    "",
    "cpu",
    "GPU",
    "NVIDIA GeForce RTX 3080",
    "NVIDIA L40S-48Q",
    "NVIDIA A1000",
    "Tesla K80",
    "NVIDIA Graphics Device",
    "H100 and more",
)


@pytest.mark.parametrize(("device", "tflops"), RIGHT.items())
def test_a_known_device_has_the_peak_of_its_maker(device: str, tflops: float) -> None:
    found = peak_of(device, "bfloat16")
    assert found is not None
    assert found.flops_per_s == pytest.approx(tflops * 1e12)
    assert found.source


@pytest.mark.parametrize("device", UNKNOWN)
def test_any_other_device_is_unknown(device: str) -> None:
    assert peak_of(device, "bfloat16") is None
    assert not knows(device)


def test_a_precision_without_a_figure_is_unknown_and_does_not_become_another() -> None:
    assert peak_of("NVIDIA A100-SXM4-80GB", "float8") is None  # the device has no such unit
    assert peak_of("Tesla V100-SXM2-32GB", "bfloat16") is None
    assert peak_of("NVIDIA H200", "int3") is None
    assert knows("NVIDIA A100-SXM4-80GB")


def test_single_precision_is_not_that_of_the_tensor_cores() -> None:
    full, rounded = (peak_of("NVIDIA H200", name) for name in ("float32", "tf32"))
    assert full is not None
    assert rounded is not None
    assert rounded.flops_per_s > 7 * full.flops_per_s


def table() -> list[dict[str, object]]:
    return list(tomllib.loads(costs.PEAKS.read_text())["peak"])


def test_no_name_matches_two_entries() -> None:
    for device in (*RIGHT, *UNKNOWN):
        assert sum(entry.device.fullmatch(device) is not None for entry in costs._entries()) <= 1, device


def test_half_the_bits_are_about_twice_the_speed_on_tensor_cores_so_that_no_figure_is_a_sparse_one() -> None:
    """Over all devices that have both: 16 bits against tf32, and 8 against 16, by 1.9 to 2.1."""
    for entry in table():
        for fast, slow in (("bfloat16", "tf32"), ("float8", "bfloat16")):
            if fast in entry and slow in entry:
                assert 1.9 < float(str(entry[fast])) / float(str(entry[slow])) < 2.1, (entry["device"], fast)


# device -> multiprocessors, 16-bit operations of one in a clock without sparsity, clock in GHz at which its maker counts: from the
# makers' architecture papers (Volta, Turing, Ampere GA100 and GA102, Hopper, Ada; CDNA 3 and 4), not from the datasheets of the table
UNITS = {
    "NVIDIA H100 80GB HBM3": (132, 4096, 1.830),
    "NVIDIA H200": (132, 4096, 1.830),
    "NVIDIA GH200 480GB": (132, 4096, 1.830),
    "NVIDIA H100 PCIe": (114, 4096, 1.620),
    "NVIDIA A100-SXM4-80GB": (108, 2048, 1.410),
    "NVIDIA A30": (56, 2048, 1.440),
    "NVIDIA A40": (84, 1024, 1.740),
    "NVIDIA A10": (72, 1024, 1.695),
    "NVIDIA RTX A6000": (84, 1024, 1.800),
    "NVIDIA L40S": (142, 1024, 2.490),
    "NVIDIA L40": (142, 512, 2.490),
    "NVIDIA L4": (58, 1024, 2.040),
    "NVIDIA RTX 6000 Ada Generation": (142, 1024, 2.505),
    "NVIDIA GeForce RTX 4090": (128, 512, 2.520),
    "NVIDIA GeForce RTX 3090": (82, 512, 1.695),
    "NVIDIA GeForce RTX 3090 Ti": (84, 512, 1.860),
    "Tesla V100-SXM2-32GB": (80, 1024, 1.530),
    "Tesla T4": (40, 1024, 1.590),
    "AMD Instinct MI300X": (304, 2048, 2.100),
    "AMD Instinct MI325X": (304, 2048, 2.100),
    "AMD Instinct MI350X": (256, 4096, 2.200),
    "AMD Instinct MI355X": (256, 4096, 2.400),
}


@pytest.mark.parametrize(("device", "units"), UNITS.items())
def test_a_peak_is_units_times_operations_times_clock(device: str, units: tuple[int, int, float]) -> None:
    """Whatever a datasheet prints large: a figure with sparsity would be twice this."""
    count, each, clock = units
    found = peak_of(device, "float16")
    assert found is not None
    assert found.flops_per_s == pytest.approx(count * each * clock * 1e9, rel=0.005)


def test_every_entry_says_where_it_is_from() -> None:
    for entry in table():
        assert len(str(entry["source"])) > 20, entry["device"]


def test_the_table_is_part_of_the_package() -> None:
    assert costs.PEAKS.is_relative_to(Path(fireassay.__file__).parent)
