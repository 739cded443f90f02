"""Tables that nobody here wrote, as they were published, with answers worked out by hand: each judged right, or refused with a way on."""

from __future__ import annotations

from typing import Any

import pytest

from fireassay.errors import Problem, SpecError
from fireassay.reports.pages.rubric import page
from fireassay.spec.timings import Stated, parse_timings, with_tolerance
from fireassay.verdict.claims.rubric import rubric
from fireassay.verdict.claims.rubric_types import Limits, Rubric

# github.com/mvsjober/ml-benchmarks, results.md: several series in one table
MAHTI = """\
| Benchmark           | Framework            | Cluster | GPUs | Date       | Img/sec |
|---------------------|----------------------|---------|------|------------|---------|
| DDP, synthetic      | PyTorch 1.11.0+cu115 | mahti   | 1    | 2022-05-18 | 758.90  |
| DDP, synthetic      | PyTorch 1.11.0+cu115 | mahti   | 4    | 2022-05-18 | 2836.54 |
| DDP, synthetic      | PyTorch 1.11.0+cu115 | mahti   | 8    | 2022-05-18 | 5502.49 |
| DDP, Imagenet data  | PyTorch 1.11.0+cu115 | mahti   | 1    | 2022-05-18 | 759.19  |
| DDP, Imagenet data  | PyTorch 1.11.0+cu115 | mahti   | 4    | 2022-05-18 | 2832.43 |
| DDP, Imagenet data  | PyTorch 1.11.0+cu115 | mahti   | 8    | 2022-05-18 | 5492.90 |
"""
# github.com/NVIDIA/DeepLearningExamples, Jasper: training performance on DGX A100, without its last column
JASPER = """\
##### Training performance: NVIDIA DGX A100 (8x A100 80GB)
| Batch size / GPU | GPUs | Throughput - TF32 | Throughput - mixed precision | Throughput speedup (TF32 to mixed precision) | Weak scaling - TF32 |
|----:|----:|-------:|-------:|-----:|-----:|
|  32 |   1 |  42.18 |  64.32 | 1.52 | 1.00 |
|  32 |   4 | 157.49 | 239.23 | 1.52 | 3.73 |
|  32 |   8 | 310.10 | 470.09 | 1.52 | 7.35 |
|  64 |   1 |  49.64 |  75.59 | 1.52 | 1.00 |
|  64 |   4 | 192.66 | 289.16 | 1.50 | 3.88 |
|  64 |   8 | 371.41 | 547.91 | 1.48 | 7.48 |

Note: Mixed precision permits higher batch sizes during training.
"""
# the same, HiFi-GAN: the batch of all GPUs together is 128 throughout
HIFIGAN = """\
| Batch size / GPU | Grad accumulation | GPUs | Throughput - TF32 | Throughput - mixed precision | Strong scaling - TF32 |
|-----:|-----:|-------:|---------:|----------:|-----:|
|  128 |    1 |      1 | 12055.44 |  15578.65 | 1.00 |
|   32 |    1 |      4 | 36766.63 |  40949.55 | 3.05 |
|   16 |    1 |      8 | 55372.63 |  55634.66 | 4.59 |
"""
# the same, FastPitch: published as weak scaling, although batch x accumulation x GPUs is 256 in every row
FASTPITCH = """\
| Batch size / GPU | Grad accumulation | GPUs | Throughput - TF32 | Throughput - mixed precision | Weak scaling - TF32 |
|---:|--:|--:|--------:|--------:|-----:|
| 32 | 8 | 1 |  97,735 | 101,730 | 1.00 |
| 32 | 2 | 4 | 337,163 | 352,300 | 3.45 |
| 32 | 1 | 8 | 599,221 | 623,498 | 6.13 |
"""
# an OpenFOAM study between nodes: 72 ranks are the smallest row
OPENFOAM = """\
| Ranks | Nodes | Time (s) | Speedup |
|-------|-------|----------|---------|
| 72    | 1     | 458.71   | 1.00×   |
| 144   | 2     | 166.34   | 2.76×   |
| 216   | 3     | 85.53    | 5.36×   |
| 288   | 4     | 63.83    | 7.19×   |

![Speedup](./plots/internode_speedup.png)
"""
VAR = (
    "| Nodes | Time (s) | Speed-up | Efficiency |\n"
    "|---|---|---|---|\n"
    "| 1 | 52.83 | 1.00× | 100% |\n"
    "| 2 | 32.79 | 1.61× | 81% |\n"
    "| 3 | 23.25 | 2.27× | 76% |\n"
    "| 4 | 22.86 | 2.31× | 58% |\n"
)
SLOWER = (
    "| Nodes | Time (s) | Speedup | Parallel Part (s) |\n"
    "|---|---|---|---|\n"
    "| 1 | 5.166 | 1.00x | 5.020 |\n"
    "| 2 | 7.534 | 0.69x | 7.030 |\n"
    "| 4 | 6.675 | 0.77x | 6.033 |\n"
    "| 7 | 9.995 | 0.52x | 9.060 |\n"
)
NCCL = (
    "| GPUs | Single-GPU (ms) | P2P Manual (ms) | NCCL (ms) | NCCL Speedup | Scaling Efficiency |\n"
    "|---|---|---|---|---|---|\n"
    "| 1 | 0.52 | — | 0.54 | 1.00× | 100% |\n"
    "| 2 | — | 0.30 | 0.28 | 1.93× | 96% |\n"
    "| 8 | — | 0.14 | 0.08 | 6.75× | 84% |\n"
)
KMEANS = (
    "| Nodes | Time (s) | Epochs | Clusters |\n"
    "| ----- | -------- | ------ | -------- |\n"
    "| 2 | 1.180753 | 25 | 4 |\n"
    "| 3 | .935105 | 25 | 4 |\n"
    "| 4 | .789611 | 25 | 4 |\n"
)
ACCELERATION = (
    "| # of GPU  | Acceleration Rate |\n| --------  | --------------:   |\n| 1 | 1.00 X |\n| 2 | 1.98 X |\n| 4 | 3.73 X |\n| 8 | 6.95 X |\n"
)
# Narayanan et al., SC'21, table 1: the model grows with the GPUs
MEGATRON = (
    "Number of GPUs,Number of parameters (billion),Achieved teraFLOP/s per GPU\n"
    "32,1.7,137\n"
    "64,3.6,138\n"
    "128,7.5,142\n"
    "256,18.4,135\n"
    "512,39.1,138\n"
    "1024,76.1,140\n"
    "1536,145.6,148\n"
    "1920,310.1,155\n"
    "2520,529.6,163\n"
    "3072,1008.0,163\n"
)
# Horovod's README of 2017: setups in rows, models in columns
HOROVOD = (
    "| Setup | Inception V3 | VGG-16 |\n|---|---|---|\n| Baseline single-GPU | 134.4 | 130.9 |\n"
    "| RDMA Horovod | 2,022.6 (15.0x) | **1,787.4 (13.7x)** |\n"
)
# horovod/horovod#1194, #416 and #288
FASTER_RCNN = "GPUs,images/s\n1,5\n8,25\n16,41\n32,80\n"
RESNET101 = "GPUs\timages/sec\tper GPU\tefficiency\n1\t202.78\t\t\n4\t650.92\t162.73\t80.25%\n16\t2379.56\t148.7225\t73.34%\n"
TWO_NODES = "gpus;total img/sec\r\n1;~641\r\n4;2380\r\n8;4419.71\r\n"
# Some-random/athena: one server, worker counts along the top
ATHENA = "GPUs | 1 | 2 | 3 | 4\nTraining time(s/1 epoch) | 121.409 | 83.111 | 61.607 | 54.507\n"
# Goyal et al. 2017: 8 P100 in 29 hours, 256 in one; error 23.60 and 23.74 percent
IMAGENET = "# of GPUs,Time to train,Top-1\n8,29 hours,76.40%\n256,1 hour,76.26%\n"
# TensorFlow's own benchmark, Inception v3 on a DGX-1
TENSORFLOW = "gpus,images/s\n1,142\n2,284\n4,596\n8,1131\n"


def judged(text: str, tolerance: str | None = None, at: float | None = None, **asked: Any) -> Rubric:
    limits = {name: asked.pop(name) for name in ("deadline_s", "budget_usd") if name in asked}
    timings = with_tolerance(parse_timings(text, "t", asked=Stated(**asked)), tolerance)
    return rubric(timings, Limits(**limits), predict_at=at)


def refused(text: str, tolerance: str | None = None, **asked: Any) -> Problem:
    with pytest.raises(SpecError) as caught:
        judged(text, tolerance, **asked)
    return caught.value.problems[0]


JUDGED: tuple[tuple[str, str, dict[str, Any], dict[int, float], int], ...] = (
    # 25/5/8, 41/5/16, 80/5/32
    ("faster-rcnn", FASTER_RCNN, {}, {8: 0.625, 16: 0.5125, 32: 0.5}, 1),
    # 650.92/202.78/4 and 2379.56/202.78/16, as its author says: 80.25 % and 73.34 %
    ("resnet101", RESNET101, {}, {4: 0.80250, 16: 0.73342}, 16),
    # 2380/641/4 and 4419.71/641/8: 92.8 % and 86.19 %
    ("two nodes", TWO_NODES, {}, {4: 0.92824, 8: 0.86188}, 8),
    ("mahti", MAHTI, {"where": (("Benchmark", "DDP, synthetic"),)}, {4: 0.93442, 8: 0.90633}, 8),
    # 142: 596/142/4, 1131/142/8
    ("tensorflow", TENSORFLOW, {}, {2: 1.0, 4: 1.04930, 8: 0.99560}, 8),
    ("athena", ATHENA, {}, {2: 0.73040, 3: 0.65690, 4: 0.55685}, 2),
    ("acceleration", ACCELERATION, {}, {2: 0.99, 4: 0.9325, 8: 0.86875}, 8),
    ("jasper", JASPER, {"use": ("Throughput - TF32",), "where": (("Batch size / GPU", "32"),)}, {4: 0.93344, 8: 0.91898}, 8),
    ("hifi-gan", HIFIGAN, {"use": ("Throughput - TF32",)}, {4: 0.76245, 8: 0.57415}, 4),
    ("fastpitch", FASTPITCH, {"use": ("throughput - tf32",)}, {4: 0.86244, 8: 0.76639}, 8),
    ("openfoam", OPENFOAM, {}, {144: 1.37883, 216: 1.78772, 288: 1.79661}, 288),
    ("value at risk", VAR, {}, {2: 0.80558, 3: 0.75742, 4: 0.57775}, 3),
    ("slower", SLOWER, {}, {2: 0.34285, 4: 0.19348, 7: 0.07384}, 1),
    ("nccl", NCCL, {}, {2: 0.96, 8: 0.84}, 8),
    ("k-means", KMEANS, {}, {3: 0.84180, 4: 0.74768}, 4),
    ("megatron", MEGATRON, {}, {64: 1.00730, 256: 0.98540, 3072: 1.18978}, 3072),
    ("imagenet", IMAGENET, {}, {256: 0.90625}, 256),
)


@pytest.mark.parametrize(("text", "asked", "efficiencies", "recommended"), [case[1:] for case in JUDGED], ids=[case[0] for case in JUDGED])
def test_a_published_table_gives_the_efficiencies_worked_out_by_hand(
    text: str, asked: dict[str, Any], efficiencies: dict[int, float], recommended: int
) -> None:
    result = judged(text, **asked)
    found = {row.workers: row.efficiency for row in result.rows}
    assert {count: found[count] for count in efficiencies} == pytest.approx(efficiencies, abs=6e-6)
    assert result.recommended == recommended


REFUSED: tuple[tuple[str, str, dict[str, Any], str, str], ...] = (
    ("several series", MAHTI, {}, "1 again, with Benchmark", '--where "Benchmark=DDP, synthetic"'),
    ("two throughputs", JASPER, {}, "Throughput - TF32 and Throughput - mixed precision", '--use "Throughput - TF32"'),
    ("two batches", JASPER, {"use": ("Throughput - TF32",)}, '1 again, with Batch size / GPU "64"', '--where "Batch size / GPU=32"'),
    ("no workers", HOROVOD, {}, "Setup, Inception V3, VGG-16", ""),
    (
        "transposed by name",
        "Server and GPU number | 1S - 1GPU | 1S - 2GPU\nTraining time | 121.4 | 83.1\n",
        {},
        "Server and GPU number",
        "",
    ),
    ("another currency", "GPUs,hours,€/h\n1,2,3\n", {}, "€/h", "Convert them"),
    ("both decimal marks", "GPUs;hours\n1;12.5\n2;6,75\n", {}, '"12.5" and "6,75"', "Write a point"),
    ("doubtful comma", "GPUs;seconds\n1;1,345\n2;2,745\n", {}, '"1,345"', "without thousands separators"),
    ("two tables", VAR + "\n" + SLOWER, {}, "2 tables", "Keep one of them"),
    ("a unit that is none", "GPUs,time\n1,12 parsecs\n", {}, '"12 parsecs"', "with the unit in the heading"),
    ("half in percent", "GPUs,s,acc\n1,2,87.1%\n2,1,0.871\n", {}, "no percent sign", "in all rows or in none"),
    (
        "no agreement",
        "GPUs,s,img/s,images\n1,10,100,1000\n2,5,200,2000\n",
        {},
        "200 a second for 5 s, which is not 2000",
        "Leave one of the three",
    ),
    ("asked of throughputs", FASTER_RCNN, {"deadline_s": 3.0}, "a table of throughputs", "--work N"),
    ("batches against a flag", HIFIGAN, {"use": ("Throughput - TF32",), "scaling": "weak"}, "weak, but the batches", "Leave it out"),
    ("work against a flag", "p,s,work\n1,4,8\n2,2,8\n", {"scaling": "weak"}, "weak, but the work of the rows", "the work decides"),
    ("nothing to use", FASTER_RCNN, {"use": ("speed",)}, "speed", "as it stands in the table"),
    ("no such rows", MAHTI, {"where": (("Cluster", "lumi"),)}, "Cluster=lumi", "as it stands in the table"),
)


@pytest.mark.parametrize(("text", "asked", "found", "fix"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_a_table_that_can_be_read_in_two_ways_is_refused_with_the_way_on(text: str, asked: dict[str, Any], found: str, fix: str) -> None:
    problem = refused(text, **asked)
    assert found in problem.found
    assert fix in problem.fix


# ---- percent ------------------------------------------------------------------------------------------------------

PERCENT = "workers,seconds,$/h,Top-1 (%)\n1,3600,1,87.1\n2,1880,2,87.1\n4,1010,4,87.1\n8,560,8,87.1\n16,340,16,87.0\n32,250,32,86.0\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        PERCENT,
        PERCENT.replace("Top-1 (%)", "accuracy").replace("87.1\n", "87.1%\n").replace("87.0\n", "87.0 %\n").replace("86.0\n", "86.0%\n"),
    ],
)
def test_percent_is_the_fraction_that_it_means(text: str) -> None:
    """The reference table in percent: 86.0 at 32 is 1.1 points below, 87.0 at 16 a tenth."""
    result = judged(text)
    assert [bool(row.refused) for row in result.rows] == [False] * 5 + [True]
    assert result.rows[0].quality == pytest.approx(0.871)
    assert "quality 86 % at 32 workers differs by 1.1 points from 87.1 % at 1, more than the tolerance 0.5 points" in result.notes[0]
    assert [bool(row.refused) for row in judged(text, "1.2%").rows] == [False] * 6
    assert [bool(row.refused) for row in judged(text, "0.05%").rows] == [False] * 4 + [True] * 2


def test_a_tolerance_must_be_in_the_unit_of_the_quality() -> None:
    problem = refused(PERCENT, "0.5")
    assert problem.where == "--tolerance"
    assert "--tolerance 0.5% for 0.5 points" in problem.fix
    assert not judged("p,s,acc\n1,2,.871\n2,1,.870\n", "0.5%").rows[1].refused  # of a fraction percent is plain


@pytest.mark.slow
def test_a_quality_above_one_without_a_unit_is_asked_about() -> None:
    text = PERCENT.replace("Top-1 (%)", "Top-1")
    problem = refused(text)
    assert (problem.where, problem.found) == ("column Top-1", "87.1")
    assert problem.fix.startswith('Points or percent? If it is percent, write "Top-1 (%)"')
    assert [bool(row.refused) for row in judged(text, "0.5%").rows] == [False] * 5 + [True]
    assert [bool(row.refused) for row in judged(text, "1.2").rows] == [False] * 6  # in its own unit


@pytest.mark.parametrize("heading", ["val loss", "valLoss", "Perplexity", "FID"])
@pytest.mark.parametrize("tolerance", [None, "0.5%"])
def test_a_loss_is_neither_points_nor_percent(heading: str, tolerance: str | None) -> None:
    problem = refused(f"GPUs,hours,{heading}\n1,8,2.45\n4,2.5,2.46\n", tolerance)
    assert "percent" not in f"{problem.allowed}{problem.fix}"
    assert problem.fix == "Say how much worse it may get: --tolerance 0.02."


def test_what_is_not_held_is_told_as_quality_and_the_fastest_is_among_the_held() -> None:
    result = judged("p,s,acc\n1,100,0.763\n8,13.2,0.741\n")
    lines = {line.label: line.text for line in page(result).answer.lines}  # type: ignore[union-attr]
    assert lines["quality"].startswith("not held in 1 of 2 rows (p = 8)")
    assert "the largest speedup with quality held" in lines["fastest"]


def test_points_on_a_scale_of_their_own_are_taken_with_a_tolerance() -> None:
    """BLEU of 27.3, 27.1 and 26.4: the last lost 0.9."""
    result = judged("GPUs,hours,BLEU\n1,8,27.3\n4,2.5,27.1\n8,1.5,26.4\n", "0.5")
    assert [bool(row.refused) for row in result.rows] == [False, False, True]
    assert "quality 26.4 at 8 workers differs by 0.9 from 27.3 at 1, more than the tolerance 0.5" in result.notes[0]


# ---- throughput, weak and superlinear ----------------------------------------------------------------------------


def test_a_throughput_column_is_a_speedup_per_worker() -> None:
    result = judged("GPUs,samples/s\n1,100\n8,650\n")
    assert result.rows[1].efficiency == 0.8125
    assert (result.mode, result.rate, result.fit, result.gustafson) == ("throughput", "samples", None, None)
    assert result.rows[1].seconds is None
    assert any("Use --scaling strong or --scaling weak" in note for note in result.notes)


def test_a_throughput_for_each_gpu_is_multiplied() -> None:
    result = judged("Nodes,GPUs,tokens/s/GPU\n1,8,1000\n4,32,900\n")
    assert [row.per_second for row in result.rows] == [8000.0, 28800.0]
    assert result.rows[1].efficiency == pytest.approx(0.9)


def test_work_gives_throughputs_their_times() -> None:
    """1000 samples: 10 s on one, 1.538 s on eight; Amdahl by hand: (100/650 - 1/8) / (1 - 1/8)."""
    result = judged("GPUs,samples/s\n1,100\n8,650\n", work=1000.0, deadline_s=2.0)
    assert [row.seconds for row in result.rows] == pytest.approx([10.0, 1000 / 650])
    assert (result.mode, result.recommended) == ("strong", 8)
    assert result.fit is not None
    assert result.fit.serial_fraction == pytest.approx((100 / 650 - 0.125) / 0.875)


def test_batches_of_each_gpu_make_a_weak_table_with_gustafson_s_share() -> None:
    """S = 157.49/42.18 = 3.73376 and 7.35183; s = (3 (4 - 3.73376) + 7 (8 - 7.35183)) / (9 + 49)."""
    result = judged(JASPER, use=("Throughput - TF32",), where=(("Batch size / GPU", "32"),))
    assert result.mode == "weak"
    assert result.gustafson is not None
    assert result.gustafson.serial_share == pytest.approx(0.0919989, abs=1e-6)
    assert result.rows[2].serial_share == pytest.approx((8 - 310.10 / 42.18) / 7)
    assert result.fit is None


def test_a_batch_of_all_gpus_makes_a_strong_table_whatever_it_is_called() -> None:
    """HiFi-GAN: (.75 (1/3.04980 - .25) + .875 (1/4.59317 - .125)) / (.75^2 + .875^2)."""
    result = judged(HIFIGAN, use=("Throughput - TF32",))
    assert result.mode == "strong"
    assert result.fit is not None
    assert result.fit.serial_fraction == pytest.approx(0.105068, abs=1e-5)
    assert judged(FASTPITCH, use=("Throughput - TF32",)).mode == "strong"


def test_gustafson_s_own_scaled_speedup_gives_his_serial_share() -> None:
    """CACM 31 (1988): 1021 on 1024 processors, s' of 0.3 percent: (1024 - 1021)/1023."""
    result = judged(f"p,seconds\n1,1000\n1024,{1000 * 1024 / 1021!r}\n", scaling="weak")
    assert result.gustafson is not None
    assert result.gustafson.measured_there == pytest.approx(1021.0)
    assert result.gustafson.serial_share == pytest.approx(3 / 1023)
    assert result.rows[1].efficiency == pytest.approx(1021 / 1024)


@pytest.mark.parametrize(("text", "counts"), [(OPENFOAM, (144, 216, 288)), (TENSORFLOW, (4,)), (MEGATRON, (128,))])
def test_a_superlinear_table_is_named_so_and_not_predicted(text: str, counts: tuple[int, ...]) -> None:
    result = judged(text, at=300 if text is OPENFOAM else 12)
    assert result.superlinear[: len(counts)] == counts
    assert (result.fit, result.scaling) == (None, None)
    assert any(note.startswith("Superlinear: at p = ") and "the baseline is weak" in note for note in result.notes)
    assert result.predicted is not None
    assert result.predicted.speedup is None
    assert "superlinear, which no scaling law covers" in result.predicted.sentence


def test_rounding_to_two_digits_is_no_superlinear_speedup() -> None:
    """2.01 on 2: an efficiency of 1.005."""
    result = judged("GPUs,speedup\n1,1.00\n2,2.01\n4,3.9\n")
    assert result.superlinear == ()


# ---- cells ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "GPUs\tTime (min)\r\n8\t3,5\r\n1\t20,5\r\n4\t6,25\r\n",
        "Number of GPUs;Training time [h]\n1;0,341666666666667\n4;0,104166666666667\n8;0,058333333333333\n",
        'GPUs,"Wall-clock time (s)"\n1,"1,230"\n4,375\n8,210\n',
        "GPUs,time\n1,0:20:30\n4,0:06:15\n8,0:03:30\n",
        "GPUs,Runtime\n1,20.5 min\n4,375 s\n8,210 s\n",
        "GPUs,time (ms)\n4,375 000\n8,210 000\n1,1 230 000\n",
        "# 3 of May\n# of GPUs,time_s,Comment\n1,1230±12,\n4,375*,\n8,210 (best),\n",
        "GPUs,seconds\n2,OOM\n1,1230\n4,375\n8,210\n",
        "GPUs,seconds\n1,1200\n1,1230.5\n4,375\n1,1230\n8,210\n",
    ],
)
def test_a_time_is_read_as_people_write_it(text: str) -> None:
    """20.5, 6.25 and 3.5 minutes: S = 3.28 on 4, 5.857 on 8."""
    result = judged(text)
    assert [row.workers for row in result.rows] == [1, 4, 8]
    assert [row.seconds for row in result.rows] == pytest.approx([1230.0, 375.0, 210.0])
    assert [row.speedup for row in result.rows] == pytest.approx([1.0, 3.28, 5.857143])


def test_what_was_left_out_and_put_together_is_said() -> None:
    notes = judged('GPUs,seconds,driver\n2,OOM,a\n1,1200,a\n1,1230.5,a\n8,"1,210",a\n').notes
    assert 'Row 2 is left out: its seconds is "OOM".' in notes
    assert "1 workers stand in 2 rows (3, 4): their medians are taken." in notes
    assert "1,210 is read with thousands separators." in notes
    assert "Not used: driver." in notes


def test_energy_comes_from_joules_or_from_power_and_time() -> None:
    """8 GPUs of 400 W for 10 h are 32 kWh = 115.2 MJ; 16 of 390 W for 5.5 h 34.32 kWh; 1e6 samples each."""
    result = judged("GPUs,Time to train (hours),Power per GPU (W),samples\n8,10,400,1e6\n16,5.5h,390,1e6\n")
    assert [row.joules for row in result.rows] == pytest.approx([115.2e6, 123.552e6])
    assert [row.joules_per_item for row in result.rows] == pytest.approx([115.2, 123.552])
    assert [row.joules for row in judged("GPUs,s,energy (kWh)\n1,2,1\n2,1,1.5\n").rows] == [3.6e6, 5.4e6]
    rates = judged("GPUs,images/s,power (kW)\n1,100,0.3\n8,650,2.6\n").rows
    assert [row.joules_per_item for row in rates] == pytest.approx([3.0, 4.0])
    assert [row.joules for row in rates] == [None, None]  # nobody said how long


def test_effective_work_costs_what_a_step_costs_divided_by_the_efficiency() -> None:
    """The second reference table: .2000, .3076/.65020, .4/.5, .616/.32468."""
    result = judged("nodes,step_seconds,usd_per_node_second\n1,10.00,0.02\n2,7.69,0.02\n4,5.00,0.02\n8,3.85,0.02\n")
    assert [row.usd_per_effective_work for row in result.rows] == pytest.approx([0.2, 0.473088, 0.8, 1.897280], abs=1e-6)
    by_item = judged("GPUs,images/s,$/GPU/h\n1,100,3.6\n8,650,3.6\n").rows[1]
    assert by_item.usd_per_item == pytest.approx(8 * 0.001 / 650)
    assert by_item.usd_per_effective_work == pytest.approx(8 * 0.001 / 650 / 0.8125)
    assert by_item.usd is None
