"""`assay rubric` as it is typed: what is printed, and the exit codes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from fireassay.cli import main


@pytest.fixture
def scaling(repository: Path) -> str:
    """The path of the first reference table."""
    return str(repository / "examples" / "rubric" / "scaling.csv")


def printed(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    assert main(["rubric", *words, "--full"]) == code
    return capsys.readouterr().out


def flat(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    """The same in one line."""
    return " ".join(printed(capsys, *words, code=code).split())


def rows(text: str) -> list[list[str]]:
    """The table's lines, whose further columns stand in further parts below."""
    parts = [
        part.splitlines()[1:] for part in re.split("Cost and the triangle|Fitted laws", text.partition("Rows -")[2])[0].split("\n ---")[1:]
    ]
    lines = [[line.split() for line in part if line.startswith(" ")] for part in parts]
    made = lines[0]
    for further in lines[1:]:
        made = [[*row, *more[1:]] for row, more in zip(made, further, strict=False)]
    return made


def test_more_workers_that_are_slower_than_one_have_no_ceiling(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """s = 1.58 and "speedup ceiling 1/s: 0.6" were printed."""
    (tmp_path / "t.csv").write_text("workers,seconds\n1,10\n2,12\n4,15\n")
    text = flat(capsys, str(tmp_path / "t.csv"))
    assert "slower than the base: no serial fraction explains it (s = 1.585 is above 1)" in text
    assert "ceiling" not in text
    (tmp_path / "weak.csv").write_text("workers,seconds\n1,10\n2,30\n")
    assert "slower than the base: no serial share explains it" in flat(capsys, str(tmp_path / "weak.csv"), "--scaling", "weak")


def test_a_quality_that_is_not_given_is_not_called_lost_alone_and_labels_stand_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """ "under deadlinep = 1" was printed."""
    (tmp_path / "t.csv").write_text("workers,seconds,quality\n1,100,0.9\n4,30,\n8,17,0.89\n")
    assert main(["rubric", str(tmp_path / "t.csv"), "--deadline", "200"]) == 0
    text = capsys.readouterr().out
    assert re.search(r"^deadline +p = 1 ", text, re.MULTILINE)
    assert "not held in 2 of 3 rows (p = 4, 8), not given at p = 4" in " ".join(text.split())


def test_the_first_reference_table_is_printed_as_documented(scaling: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, scaling)
    lines = rows(text)
    assert lines[0] == ["1", "3600", "1.00", "1.000", "100", "-", "-", "0.871", "1.00", "8.333e-07", "1200000", "8.333e-07"]
    # 1.8518e-06 / .450 for an item that sped the work up
    assert lines[5] == ["32", "250", "14.40", "0.450", "45", "poor", "0.0394", "0.871", "2.22", "1.852e-06", "540000", "4.115e-06"]
    text = " ".join(text.split())
    for sentence in (
        "s = 0.0376",
        "ceiling 1/s: 26.6",
        "0.50 at: p = 27.6",
        "p = 32: measured 14.40, model 14.77",
        "quality: held (largest drift 0.001, tolerance 0.005)",
        "recommended: p = 8",
        "cheapest: p = 1",
        "nothing here has an interval",
        "Verdict: 8 workers: 6.43 times as fast as 1, efficiency 0.80",
    ):
        assert sentence in text


def test_the_second_reference_table_is_printed_as_documented(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, str(repository / "examples" / "rubric" / "steps.csv"))
    lines = rows(text)
    assert all(head in text for head in ("nodes", "seconds", "Karp-Flatt", "$/step", "$/effective"))
    # 1 / 7.69 s
    assert [line[2] for line in lines] == ["0.1000", "0.1300", "0.2000", "0.2597"]
    assert [line[3] for line in lines] == ["1.00", "1.30", "2.00", "2.60"]
    assert [line[5] for line in lines] == ["100", "65", "50", "32"]
    assert [line[6] for line in lines] == ["-", "moderate", "moderate", "poor"]
    assert [[cell for cell in line if cell[0].isdigit()][-2] for line in lines] == ["0.2000", "0.3076", "0.4000", "0.6160"]
    # divided by the efficiency: 1, .6502, .5, .3247
    assert [[cell for cell in line if cell[0].isdigit()][-1] for line in lines] == ["0.2000", "0.4731", "0.8000", "1.8973"]


@pytest.mark.slow
def test_a_refused_row_is_marked_and_named(scaling: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    worse = tmp_path / "worse.csv"
    worse.write_text(Path(scaling).read_text(encoding="utf-8").replace("32.00,0.871", "32.00,0.860"), encoding="utf-8")
    text = printed(capsys, str(worse))
    assert rows(text)[5][-1] == "refused"
    assert "quality: not held in 1 of 6 rows (p = 32)" in " ".join(text.split())
    assert "fastest: p = 16" in text


def test_json_holds_the_same_numbers_and_says_that_there_are_no_intervals(scaling: str, capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(printed(capsys, scaling, "--json"))
    assert document["recommended"] == 8
    assert document["intervals"] is None
    assert [row["workers"] for row in document["rows"]] == [1, 2, 4, 8, 16, 32]
    assert document["rows"][0]["karp_flatt"] is None
    assert round(document["fit"]["serial_fraction"], 4) == 0.0376


@pytest.mark.slow
def test_flags_change_what_is_good_enough(scaling: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "recommended: p = 32" in flat(capsys, scaling, "--efficiency", "0.45")
    assert "recommended: p = 32" in flat(capsys, scaling, "--efficiency", "45%")
    assert "quality: not held" in flat(capsys, scaling, "--tolerance", "0.05%")
    assert "recommended: p = 4" in flat(capsys, scaling, "--budget", "1.2")
    assert "quality: not held" in flat(capsys, scaling, "--tolerance", "0")


def test_no_row_that_meets_everything_is_exit_code_1(scaling: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "Verdict: no row qualifies" in flat(capsys, scaling, "--deadline", "10", code=1)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--efficiency", "much"], "--efficiency: found much; allowed: a number above 0"),
        (["--tolerance", "-1"], "--tolerance: found -1; allowed: a number of at least 0"),
        (["--deadline", "nan"], "--deadline: found nan; allowed: a number above 0"),
        (["--price", "-1"], "--price: found -1; allowed: a number of at least 0"),  # was a traceback
        (["--price", "1e13"], "--price: found 1e13; allowed: at most 1e+12"),
        (["--work", "0"], "--work: found 0; allowed: a number above 0"),
        (["--predict", "0.5"], "--predict: found 0.5; allowed: a whole number of at least 1"),
        (["--efficiency", "70"], "--efficiency: found 70; allowed: a fraction (0.70) or percent (70%). Write 70%."),
        (["--where", "GPUs"], "--where: found GPUs; allowed: HEADING=CELL"),
        (["--predict", "2.5"], "--predict: found 2.5; allowed: a whole number of at least 1"),
    ],
)
def test_a_wrong_flag_is_one_sentence_and_exit_code_2(
    scaling: str, words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["rubric", scaling, *words]) == 2
    assert sentence in capsys.readouterr().err


def test_a_bad_table_is_exit_code_2_with_every_problem(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "my table.csv"
    table.write_text("p,s\n1,x\n0,1\n", encoding="utf-8")
    assert main(["rubric", str(table)]) == 2
    error = capsys.readouterr().err
    assert ": 2 problems\n" in error
    assert "row 2, column seconds" in error
    assert "row 3, column workers" in error


@pytest.mark.parametrize("columns", ["160", "70"])
def test_a_narrow_terminal_shows_the_rest_below_and_cuts_nothing(
    scaling: str, columns: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    text = re.sub(r"\x1b\[[0-9;]*m", "", printed(capsys, scaling))
    assert "Karp-Flatt" in text
    assert "1.852e-06" in text
    assert "14.40" in text
    assert max(map(len, text.splitlines())) <= int(columns)


def test_the_laws_are_printed_and_a_prediction_within_twice_the_range(scaling: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = flat(capsys, scaling, "--predict", "64")
    for words in (
        "Universal Scalability Law: contention alpha = 0.02417, coherency beta =",
        "law: Amdahl's law, by AICc",
        "peak: no peak up to N = 32",
        "largest row held out: p = 32",
        "measured 4800 work/s",
        "predicted at p = 64: S = 18.3 relative to 1",
    ):
        assert words in text


def test_a_refused_prediction_is_exit_code_1_with_its_reason_in_json_too(scaling: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no prediction for N = 65: it lies beyond 64" in flat(capsys, scaling, "--predict", "65", code=1)
    document = json.loads(printed(capsys, scaling, "--predict", "65", "--json", code=1))
    assert document["predicted"]["speedup"] is None
    assert "twice the largest measured N = 32" in document["predicted"]["sentence"]
    assert [law["law"] for law in document["scaling"]["laws"]] == ["amdahl", "usl"]


def test_throughputs_percent_and_weak_scaling_are_printed_in_their_own_units(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "t.md"
    table.write_text("| GPUs | samples/s | Top-1 (%) |\n|---|---|---|\n| 1 | 100 | 87.1 |\n| 8 | 650 | 86.9 |\n", encoding="utf-8")
    text = printed(capsys, str(table))
    assert all(head in text for head in ("workers", "samples/s", "quality"))
    assert rows(text)[1][:7] == ["8", "650", "6.50", "0.812", "81", "good", "86.9"]
    assert "quality: held (largest drift 0.2 points, tolerance 0.5 points)" in " ".join(text.split())
    weak = flat(capsys, str(table), "--scaling", "weak")
    assert "Gustafson serial share: s = 0.2143 of the time on p workers" in weak  # (8 - 6.5)/7
    assert "scaled speedup at p = 8: measured 6.50, model 6.50" in weak


def test_a_superlinear_row_is_marked_in_the_sentence_that_may_be_quoted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "t.csv"
    table.write_text("p,s\n1,100\n4,20\n", encoding="utf-8")
    assert "Verdict: 4 workers: 5.00 times as fast as 1 (superlinear)" in flat(capsys, str(table))


@pytest.mark.parametrize(
    ("text", "recommended", "cheapest"),
    [
        (
            (
                "p Tp(s) speedup eff quality $/run $/work work/$\n1 3600 1.00 1.000 0.871 1.00 8.333e-07 1200000\n"
                "2 1880 1.91 0.957 0.871 1.04 8.704e-07 1148936\n4 1010 3.56 0.891 0.871 1.12 9.352e-07 1069307\n"
                "8 560 6.43 0.804 0.871 1.24 1.037e-06 964286\n16 340 10.59 0.662 0.870 1.51 1.259e-06 794118\n"
                "32 250 14.40 0.450 0.871 2.22 1.852e-06 540000\nAmdahl serial fraction s : 0.0376\n"
                "speedup at p=32 vs Amdahl : measured 14.40x, model 14.77x\nquality held constant : True (max drift 0.001)\n"
            ),
            8,
            1,
        ),
        (
            (
                "nodes step_s speedup efficiency cost/step($)\n1 10.00 1.00 100% 0.2000\n2 7.69 1.30 65% 0.3076\n"
                "4 5.00 2.00 50% 0.4000\n8 3.85 2.60 32% 0.6160\n"
            ),
            1,
            1,
        ),
    ],
    ids=["41.6.1", "5.1.1"],
)
def test_printed_outputs_give_their_own_recommendation(
    text: str, recommended: int, cheapest: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As two textbooks print them, pasted unchanged."""
    (tmp_path / "t.txt").write_text(text)
    document = json.loads(printed(capsys, str(tmp_path / "t.txt"), "--json"))
    picked = {pick["goal"]: pick["workers"] for pick in document["picks"]}
    assert (picked["recommended"], picked["cheapest"], document["doubts"]) == (recommended, cheapest, [])
