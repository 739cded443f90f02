"""Tables and claims that were read wrongly, or refused without a way on; the values by hand."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from tests.cases.asked import HERE, asked

TABLES, CLAIMS = HERE / "tables", HERE / "claims"
# file, flags -> exit code, what has to be said
ANSWERS: tuple[tuple[str, tuple[str, ...], int, tuple[str, ...]], ...] = (
    # DenseDepth 104: a step of 24 in 2 s against one of 6 in 0.45 s is 12 items/s to 13.33; 4 times 24 are 48 items/s
    ("rub12b.csv", (), 2, ("of all workers together, or of each?", '--use global_batch="batch" or --use batch_per_worker="batch"')),
    ("rub12b.csv", ("--use", "global_batch=batch"), 0, ("4 2 0.5000 0.90 22",)),
    ("rub12b.csv", ("--use", "batch_per_worker=batch"), 0, ("4 2 0.5000 3.60 90",)),
    ("rub11_step_epoch.csv", (), 2, ("both say the time",)),
    ("rub11_step_epoch.csv", ("--use", "ms/step"), 2, ("of all workers together, or of each?",)),
    ("rub11_step_epoch.csv", ("--use", "s/epoch"), 0, ("3471 1.10 27",)),  # 3803/3471
    # 64.14/21.38 = 3.00 on 4 times the processes
    ("rub6_base2.md", ("--full",), 0, ("37.5% at 8, computed 75.0%", "although its base row has 2", "No scaling law is fitted")),
    ("rub7_sequential.md", (), 0, ('Row 3 ("Sequential") is left out: it gives no number', "2 3.86 0.78 39", "relative to another base")),
    ("rub8_jobs.md", (), 2, ('--where "Corpus=64"',)),
    (
        "rub8_jobs.md",
        ("--where", "Corpus=64"),
        0,
        ('Row 6 ("automatic") is left out', '"Arm" is read as the number of workers', "2 1.90 95"),
    ),
    ("rub9_parallel.md", (), 0, ('"Configuration" is read as the number of workers', "4 158.04 0.95 24")),
)


@pytest.mark.parametrize(("file", "flags", "code", "said"), ANSWERS, ids=[" ".join((row[0], *row[1])) for row in ANSWERS])
def test_a_table_gives_its_value_or_the_way_to_it(
    file: str, flags: tuple[str, ...], code: int, said: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    got, text = asked(capsys, "rubric", TABLES / file, *flags)
    assert [words for words in said if words not in text] == []
    assert got == code


def test_superlinear_rows_carry_no_law(capsys: pytest.CaptureFixture[str]) -> None:
    _, text = asked(capsys, "rubric", TABLES / "rub6_base2.md", "--full")
    assert not any(words in text for words in ("Amdahl serial fraction", "Singular", "Universal"))


# ---- quality, cost and work that were not recognised ------------------------------------------------------------------

SCORES = (
    *(
        "held-out accuracy",
        "Acc.",
        "MMLU",
        "pass@1",
        "ROUGE-L",
        "EM",
        "val_acc",
        "Top-1 Acc",
        "BLEU-4",
        "mIoU",
        "mAP@50",
        "Test Acc (best)",
    ),
    *("AUROC", "Pass@10", "HumanEval", "GSM8K acc", "exact match", "Pearson r", "win rate", "Validation accuracy (mean of 3)"),
    *("Acc@1", "valAcc", "top1acc", "mAP50", "R@1", "acc5", "Hit@10"),
)
ERRORS = ("error rate", "WER", "val loss", "Top-1 error", "test err.", "Perplexity", "RMSE", "eval_loss", "Err@1", "testLoss")


@pytest.mark.parametrize(("name", "better", "worse"), [*((name, 0.91, 0.7) for name in SCORES), *((name, 0.7, 0.91) for name in ERRORS)])
def test_a_row_that_lost_quality_is_not_recommended_whatever_the_score_is_called(
    name: str, better: float, worse: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "t.csv"
    table.write_text(f"GPUs,time,{name}\n1,100,0.8\n2,52,{better}\n8,14,{worse}\n", encoding="utf-8")
    code, text = asked(capsys, "rubric", table)
    assert code == 0
    assert "2 workers: 1.92 times as fast as 1, efficiency 0.96 (at least 0.70), quality held" in text
    assert "better than that of the base row" in text


def test_percent_in_a_heading_of_any_score_is_percent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "t.csv"
    table.write_text("GPUs,time,MMLU (%)\n1,100,70.1\n2,52,70.0\n8,14,61\n", encoding="utf-8")
    assert "quality: not held in 1 of 3 rows (p = 8) (largest drift 9.1 points" in asked(capsys, "rubric", table, "--full")[1]


@pytest.mark.parametrize(
    ("heading", "cells", "said"),
    [
        ("loss", ("0.5", "0.9"), 'loss (looks like quality: --use quality="loss")'),
        ("serving cost", ("$3", "$9"), "serving cost (looks like cost"),
        ("epochs", ("50", "25"), "epochs (50, 25)"),
        ("Model", ("small", "large"), "Model (small, large)"),
        ("Acc by class", ("good", "bad"), "Acc by class (looks like quality, and not every cell is a number)"),
    ],
)
def test_what_is_not_used_and_may_matter_is_on_the_first_screen(
    heading: str, cells: tuple[str, str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "t.csv"
    table.write_text(f"GPUs,time,accuracy,{heading}\n1,100,0.8,{cells[0]}\n2,52,0.8,{cells[1]}\n", encoding="utf-8")
    assert f"Not used, and it may matter: {said}" in asked(capsys, "rubric", table, "--use", "accuracy")[1]


def test_the_user_may_say_what_any_column_means(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "t.csv"
    table.write_text("Setting,Median,Verdict score X\nA 1,100,5\nA 2,60,3\n", encoding="utf-8")
    words = ("--use", "workers=Setting", "--use", "seconds=Median", "--use", "quality=Verdict score X", "--tolerance", "1")
    code, text = asked(capsys, "rubric", table, *words)
    assert (code, "stay at 1 worker" in text, "3.000" in text) == (0, True, True)
    assert asked(capsys, "rubric", table, "--use", "Median")[0] == 2


# ---- numbers beside a limit ---------------------------------------------------------------------------------------------


def test_numbers_on_the_two_sides_of_a_limit_do_not_print_alike(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """100/(2 x 71.469) = 0.6996 and 100/(4 x 35.70) = 0.7003; 0.8744 loses 0.0056 of 0.88, 0.8753 loses 0.0047."""
    table = tmp_path / "t.csv"
    table.write_text("GPUs,time,acc,cost\n1,100,0.88,1\n2,71.469,0.8753,1.204\n4,35.70,0.8744,1.196\n", encoding="utf-8")
    _, text = asked(capsys, "rubric", table, "--budget", "1.2", "--full")
    for shown in ("0.6996", "69.96", "0.7003", "70.03", "0.8744", "1.204"):
        assert shown in text


# ---- cells and layouts --------------------------------------------------------------------------------------------------

LAYOUTS = {
    "parts of a time": "GPUs,time\n1,10h 12m\n2,5h 30m\n4,2 h 50 min\n",
    "price in the cells": "GPUs,time,cost\n1 GPU,612 min,$1.20/hr\n2 GPUs,330 min,$2.40/hr\n4 GPUs,170 min,$4.80/hr\n",
    "serial": "| Run | Time (min) |\n|---|---|\n| Serial (1) | 612 |\n| Parallel 2 | 330 |\n| Parallel 4 | 170 |\n",
    "white space": "Cluster size   Tp(s)\n--------------------\n1              36720\n2              19800\n4              10200\n",
    "single blanks": "GPUs Time\n1 36720\n2 19800\n4 10200\n",
    "frame": "+------+-------+\n| GPUs | Time  |\n+------+-------+\n| 1    | 36720 |\n| 2    | 19800 |\n| 4    | 10200 |\n+------+-------+\n",
    "along the top": "| Step | 1 GPU | 2 GPUs | 4 GPUs |\n|---|---|---|---|\n| Training time | 612 min | 330 min | 170 min |\n",
    "symbols": "p,T(p),S(p),E(p)\n1,36720,1,1\n2,19800,1.85,.93\n4,10200,3.6,.9\n",
    "multiples": "GPUs,Throughput\n1x A100,100 tok/s\n2x A100,185.5 tok/s\n4x A100,0.36K tok/s\n",
    "flags": "| Command | Mean [s] |\n|---|---|\n| `make -j1` | 612 |\n| `make -j2` | 330 |\n| `make -j4` | 170 |\n",
    "a unit as the heading": "GPUs,ms,speedup\n1,36720,1\n2,19800,1.85\n4,10200,4.2\n",
    "wall": "threads   wall     user\n1         36720s   36700s\n2         19800s   36700s\n4         10200s   36700s\n",
    "days": "GPUs,time\n1,0-10:12:00\n2,5:30:00\n4,2:50:00\n",
    "minutes beside hours": "GPUs,time\n1,1:01:12\n2,33:00\n4,17:00\n",
    "minutes with a fraction": "GPUs,time\n1,61:12.0\n2,33:00.0\n4,17:00.0\n",
}


@pytest.mark.parametrize("text", LAYOUTS.values(), ids=LAYOUTS)
def test_a_table_is_read_as_people_write_it(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """612, 330 and 170 minutes: 1.85 and 3.60 times as fast."""
    table = tmp_path / "t.txt"
    table.write_text(text, encoding="utf-8")
    code, said = asked(capsys, "rubric", table, *(("--use", "seconds=Mean [s]") if "Mean" in text else ()))
    assert code == 0
    assert "4 workers: 3.60 times as fast as 1, efficiency 0.90" in said
    assert " 1.85 " in said or " 1.86 " in said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("GPUs,tokens/s\n1,900 tok/s\n2,1.7 ktok/s\n", '"tok/s" and "ktok/s"; allowed: one unit'),
        ("GPUs,time\n1,61:12\n2,33:00\n", "Is it minutes and seconds, or hours and minutes? Write h:mm:ss in every row, as in 0:45:00."),
        ("GPUs,time\n1,6-8 hours\n2,4 hours\n", "Write one number in one unit"),
        ("GPUs,time\n2 nodes x 4,3\n4 nodes x 4,2\n", "a whole number from 1"),
    ],
)
def test_what_cannot_be_read_is_refused_without_advice_that_misleads(
    text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "t.csv"
    table.write_text(text, encoding="utf-8")
    code, told = asked(capsys, "rubric", table)
    assert (code, said in told) == (2, True)


def test_a_score_without_a_number_is_said_and_a_baseline_is_a_speedup_of_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "t.csv"
    table.write_text("Workers,Speedup,Accuracy\n1,baseline,same\n2,1.9x,same\n", encoding="utf-8")
    code, text = asked(capsys, "rubric", table)
    assert (code, "2 workers: 1.90 times as fast as 1" in text) == (0, True)
    assert "Accuracy (looks like quality, and not every cell is a number)" in text


def test_a_size_beside_a_number_of_processes_is_not_the_number_of_workers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "t.txt"
    table.write_text("Procs   N       Time(s)   GFLOPS\n1       10000   120.5     5.53\n4       20000   250.1     21.3\n", encoding="utf-8")
    code, text = asked(capsys, "rubric", table)
    assert (code, "4 workers: 3.85 times as fast as 1" in text) == (0, True)  # 21.3/5.53
    assert "Not used, and it may matter: N (10000, 20000)" in text


def test_a_batch_that_grows_with_the_workers_makes_steps_of_weak_scaling(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """(16/274.6)/(4/195.5) = 2.85, as its author says."""
    table = tmp_path / "t.csv"
    table.write_text("GPUs,global batch,device ms/step\n1,4,195.5\n2,8,249.9\n4,16,274.6\n", encoding="utf-8")
    assert "4 workers: 2.85 times as fast as 1, efficiency 0.71" in asked(capsys, "rubric", table)[1]


def test_a_table_s_own_speedups_are_held_against_its_times(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "t.csv"
    table.write_text("GPUs,time,speedup\n1,100,1.0\n2,60,1.67\n4,40,3.5\n", encoding="utf-8")
    assert "own speedup contradicts its times: 3.5 at 4, computed 2.5" in asked(capsys, "rubric", table)[1]
    table.write_text("GPUs,time,speedup\n1,100,1.0\n2,60,1.7\n4,40,2.5\n", encoding="utf-8")
    assert "contradicts" not in asked(capsys, "rubric", table)[1]


# ---- claims ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "said"),
    [
        # 24/2.0 = 12 items/s against 6/0.45 = 13.3
        ("cl2_step_batch.toml", ("a step of 24 items is compared with one of 6", "unequal work; per item it is 0.9 times as fast")),
        ("cl5_batch_twice.toml", ("8 sequences with a token each 100 ms generate 80 tokens/s", "is 640 tokens/s")),
        # sqrt(.7915 .2085 / 1319) = 1.12 points, a difference of two 1.58
        ("leaderboard.toml", ("0.46 points apart over 1,319 items", "the standard error of one is 1.12 points, of their difference 1.59")),
    ],
)
def test_a_claim_is_not_sound_and_why(file: str, said: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    code, text = asked(capsys, "audit", CLAIMS / file, "--full")
    assert [words for words in said if words not in text] == []
    assert code == 1


def test_a_time_to_train_includes_its_data_loading(capsys: pytest.CaptureFixture[str]) -> None:
    code, text = asked(capsys, "audit", CLAIMS / "time_to_train.toml", "--full")
    assert (code, "Sound as stated" in text) == (0, True)


# ---- several scores in one table ---------------------------------------------------------------------------------------

TWO = "workers,seconds,accuracy,F1\n1,100,0.80,0.75\n2,52,0.80,{f1}\n4,28,{accuracy},0.75\n"


@pytest.mark.parametrize("verb", ["audit", "rubric"])
def test_every_score_is_judged_and_the_worst_decides(verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "two.csv"
    table.write_text(TWO.format(f1=0.60, accuracy=0.79), encoding="utf-8")
    code, text = asked(capsys, verb, table)
    assert code == 0
    assert "stay at 1 worker" in text
    assert "F1 0.6 at 2 workers differs by 0.15 from 0.75 at 1, more than the tolerance 0.005" in text
    assert "efficiency accuracy F1" in text.replace(", %", "")
    text = asked(capsys, verb, table, "--full")[1]
    assert "accuracy 0.79 at 4 workers differs by 0.01 from 0.8 at 1" in text
    assert "accuracy: not held in 1 of 3 rows (p = 4) (largest drift 0.010, tolerance 0.005)" in text
    assert "F1: not held in 1 of 3 rows (p = 2) (largest drift 0.150, tolerance 0.005)" in text


def test_scores_that_are_all_held_are_named_and_a_flag_chooses_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "two.csv"
    table.write_text(TWO.format(f1=0.75, accuracy=0.80), encoding="utf-8")
    assert "RECOMMENDED two.csv: 4 workers: 3.57 times as fast as 1, efficiency 0.89 (at least 0.70), accuracy and F1 held" in (
        asked(capsys, "rubric", table)[1].replace(str(tmp_path), "").replace("/two", "two")
    )
    table.write_text(TWO.format(f1=0.60, accuracy=0.80), encoding="utf-8")
    code, text = asked(capsys, "rubric", table, "--use", "accuracy")
    assert (code, "quality held" in text, 'F1 (looks like quality: --use quality="F1")' in text) == (0, True, True)


def test_a_row_with_several_losses_is_refused_by_the_worst(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "many.csv"
    table.write_text("gpus,s,MMLU (%),GSM8K (%),val loss\n1,100,70,80,0.9\n8,15,69,70,0.7\n", encoding="utf-8")
    text = asked(capsys, "rubric", table, "--full")[1]
    assert (
        "GSM8K (%) 70 % at 8 workers differs by 10 points from 80 % at 1, more than the tolerance 0.5 points; MMLU (%) is not held either"
        in text
    )
    assert "The val loss at p = 8 is better than that of the base row" in text


def test_scores_in_different_units_have_a_tolerance_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "units.csv"
    table.write_text("gpus,s,accuracy,loss\n1,100,0.80,2.31\n8,15,0.80,2.35\n", encoding="utf-8")
    code, text = asked(capsys, "rubric", table)
    assert (code, "column loss: found 2.35" in text, '--tolerance "loss=0.02"' in text) == (2, True, True)
    for bare in ("0.05", "0.5%"):
        code, text = asked(capsys, "rubric", table, "--tolerance", bare)
        assert (code, "a tolerance for each score" in text) == (2, True)
    assert "accuracy and loss held" in asked(capsys, "rubric", table, "--tolerance", "accuracy=0.01,loss=0.05")[1]
    assert "loss 2.35 at 8 workers differs by 0.04" in asked(capsys, "rubric", table, "--tolerance", "loss=0.03")[1]
    code, text = asked(capsys, "rubric", table, "--tolerance", "F2=0.03")
    assert (code, "accuracy, loss" in text) == (2, True)
    code, text = asked(capsys, "rubric", table, "--tolerance", "loss=much")
    assert (code, "--tolerance" in text) == (2, True)


def test_a_score_that_a_row_lacks_and_one_at_the_floor_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "gaps.csv"
    table.write_text("gpus,s,accuracy,F1\n1,100,0.80,0.75\n8,15,0.80,\n", encoding="utf-8")
    assert "its F1 is not given, and that of the base row is 0.75" in asked(capsys, "rubric", table, "--full")[1]
    table.write_text("gpus,s,accuracy,F1\n1,100,0.80,0\n8,15,0.80,0\n", encoding="utf-8")
    assert "row 2, column F1: found 0, the F1 of the base row" in asked(capsys, "rubric", table)[1]
    table.write_text("gpus,s,accuracy,F1\n1,100,0.80,high\n8,15,0.80,0.7\n", encoding="utf-8")
    assert "row 2, column F1: found" in asked(capsys, "rubric", table)[1]


def test_a_spread_beside_a_score_is_no_score(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "spread.csv"
    table.write_text("gpus,s,accuracy,accuracy std,acc (SE)\n1,100,0.80,0.002,0.001\n8,15,0.80,0.02,0.01\n", encoding="utf-8")
    code, text = asked(capsys, "rubric", table)
    assert (code, "quality held" in text) == (0, True)


def test_many_scores_show_those_that_decide_on_the_first_screen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ["MMLU", "GSM8K", "ARC", "PIQA", "BoolQ", "HellaSwag"]
    table = tmp_path / "six.csv"
    table.write_text(f"gpus,s,{','.join(names)}\n1,100,{','.join(['0.8'] * 6)}\n8,15,.8,.8,.8,.8,.8,.7\n", encoding="utf-8")
    text = asked(capsys, "rubric", table)[1]
    assert "HellaSwag" in text.split("cheapest")[0]
    assert "3 more scores: --full" in text
    assert "all 6 scores held" in asked(capsys, "rubric", table, "--tolerance", "0.2")[1]


def test_a_table_is_read_from_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(LAYOUTS["single blanks"].encode())))
    code, said = asked(capsys, "rubric", "-")
    assert code == 0
    assert "standard input: 4 workers: 3.60 times as fast as 1" in said
