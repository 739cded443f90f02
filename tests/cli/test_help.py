"""Does the command line explain itself, and does it answer nonsense with one sentence?"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pytest

from fireassay import __version__, catalog, cli
from fireassay.cli.support.verb import Parser, brief
from fireassay.errors import Interrupted, RecordError, SpecError
from fireassay.exit_codes import EXIT_CODES
from tests.limits import PROCESS_S

VERBS = catalog.names("cli.verbs")


def assay(*words: str, **more: str) -> subprocess.CompletedProcess[str]:
    """What a command gives, in this process; one of them is run as a process below."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with patch.dict(os.environ, more), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = cli.main([*words])
        except SystemExit as end:
            code = int(end.code or 0)
    return subprocess.CompletedProcess(words, code, *(stream.buffer.getvalue().decode() for stream in (out, err)))


def parser(verb: str) -> Parser:
    made = cli.parser(catalog.load("cli.verbs", verb))
    assert isinstance(made, Parser)
    return made


def test_help_names_every_verb_once_and_every_exit_code() -> None:
    text = assay("help", "--all").stdout
    rows = [line.split() for line in text.splitlines()]
    assert [name for name in VERBS if sum(row[:1] == [name] for row in rows) != 1] == []
    assert [code for code in EXIT_CODES if [str(code)] not in [row[:1] for row in rows]] == []


def test_the_summaries_in_help_are_the_verbs_own() -> None:
    own = {verb: catalog.load("cli.verbs", verb) for verb in VERBS}
    assert [verb for verb, made in own.items() if made.name != verb or made.group not in cli.GROUPS] == []
    text = " ".join(cli.whole_help().split())
    assert [verb for verb, made in own.items() if f"{verb} {made.summary} " not in text] == []


@pytest.mark.parametrize("verb", VERBS)
def test_no_group_stands_twice_in_the_help_of_a_verb(verb: str) -> None:
    lines = brief(catalog.load("cli.verbs", verb), parser(verb)).splitlines()
    groups = [line.split()[0] for line in lines if re.match(r"[a-z]+ +(-|[0-9])", line)]
    assert sorted(set(groups)) == sorted(groups)


def test_help_begins_with_the_verbs_that_most_people_need() -> None:
    lines = assay("--help").stdout.splitlines()
    own = {verb: catalog.load("cli.verbs", verb) for verb in VERBS}
    front = sorted((made for made in own.values() if made.front), key=lambda made: made.front)
    assert [line.split(maxsplit=1) for line in lines if line.startswith("  ")] == [[made.name, made.summary] for made in front]
    assert len({made.front for made in front}) == len(front), "no two verbs have one line"
    assert [made.name for made in front] == ["run", "load", "score", "gate", "compare", "audit", "report", "list"]
    assert lines[-1].startswith("more: assay help --all")


def test_no_line_of_either_help_is_wider_than_80_columns() -> None:
    assert [line for text in (cli.help_text(), cli.whole_help()) for line in text.splitlines() if len(line) > 80] == []


@pytest.mark.parametrize("words", [("help",), ("-h",)])
def test_help_is_also_a_word(words: tuple[str, ...]) -> None:
    assert assay(*words).stdout == assay("--help").stdout


def test_help_of_a_verb_is_also_asked_for_in_the_order_of_git() -> None:
    assert assay("help", "list").stdout == assay("list", "--help").stdout
    assert assay("help", "lsit").stderr == assay("lsit").stderr


def test_every_verb_explains_itself_with_an_example() -> None:
    texts = {verb: parser(verb).format_help() for verb in VERBS}
    assert [verb for verb, text in texts.items() if not text.startswith(f"usage: assay {verb}")] == []
    assert [verb for verb, text in texts.items() if not re.search(rf"^  +assay {verb}\b", text, re.MULTILINE)] == []


@pytest.mark.parametrize("columns", ["60", "100", "300"])
def test_help_is_never_wider_than_100_columns(monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    lines = [(verb, line) for verb in VERBS for line in parser(verb).format_help().splitlines()]
    assert [(verb, line) for verb, line in lines if len(line) > 100] == []


def test_no_word_at_all_asks_four_questions_and_counts_as_bad_input() -> None:
    result = assay()
    assert (result.returncode, result.stderr) == (2, "")
    lines = result.stdout.splitlines()
    questions = [line.partition("?") for line in lines if "? " in line and "   assay " in line]
    assert [command.split()[1] for _, _, command in questions] == ["run", "load", "gate", "audit"]
    assert all(len(line) <= 80 for line in lines)
    assert f"gives a verdict, in {cli.DEMO_TOOK}" in " ".join(lines), "a time has its condition"


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_a_verb_is_one_screen_and_comes_from_its_declarations(verb: str) -> None:
    own = catalog.load("cli.verbs", verb)
    parser = cli.parser(own)
    text = brief(own, parser)
    lines = text.splitlines()
    assert len(lines) <= 25
    assert [line for line in lines if len(line) > 80] == []
    assert any(line.startswith(f"  assay {verb}") for line in lines)
    shown = {word for line in lines[:-1] for word in re.findall(r"(?<![\w-])--[a-z][a-z-]+", line)}
    assert shown <= {*parser._option_string_actions, *re.findall(r"--[a-z-]+", own.description)}
    assert f"\nexit     {next(iter(own.exits))} " in text
    assert set(own.exits) <= set(EXIT_CODES)
    assert lines[-1].endswith(f"assay {verb} --help-all")


@pytest.mark.parametrize(("verb", "flags"), [("compare", ["--at"]), ("check", ["--confirm", "--baseline-folder", "--rounds"])])
def test_the_short_help_has_the_flags_of_the_readme_and_the_how_tos(verb: str, flags: list[str]) -> None:
    own = catalog.load("cli.verbs", verb)
    assert [flag for flag in flags if f" {flag} " not in brief(own, cli.parser(own))] == []


def test_only_verbs_that_judge_trainings_exit_with_no_gain() -> None:
    verbs = {verb for verb in VERBS if 9 in catalog.load("cli.verbs", verb).exits}
    assert verbs == {"attach", "audit", "report", "resume", "run"}, "a load and collectives have no base to keep"


def test_help_all_has_every_flag_with_its_key() -> None:
    short, long = assay("run", "--help").stdout, assay("run", "--help-all").stdout
    assert "--rendezvous-id" not in short
    assert re.search(r"--rendezvous-id ID\s+the job's id, shared by all nodes\s+\[launcher.rendezvous_id\]", long)
    assert re.search(
        r"--launches N\s+launches of each worker count, instead of\s+until it is decided\s+\[launches.per_configuration\]", long
    )


def test_help_is_given_whatever_else_is_missing() -> None:
    assert assay("load", "--help").returncode == 0
    assert assay("simulate", "--serial", "x", "--help-all").returncode == 2  # a wrong value comes first


def test_usual_flags_that_a_parser_lacks_are_noticed() -> None:
    own = replace(catalog.load("cli.verbs", "list"), usual={"which": ("--nothing",)})
    with pytest.raises(KeyError):
        brief(own, cli.parser(own))


def test_version() -> None:
    first, *others = assay("--version").stdout.splitlines()
    assert first == f"fireassay {__version__}"
    assert [line.split()[0] for line in others] == ["commit", "core", "extras"]


def test_an_unknown_verb_gets_one_sentence_with_the_closest_verb() -> None:
    result = assay("verfy")
    assert result.returncode == 2
    assert result.stderr == ("error: there is no verb 'verfy'. Did you mean `assay verify`? See `assay --help`.\n")


def test_an_unknown_verb_that_resembles_none_gets_the_list() -> None:
    result = assay("xxxxxxxx")
    assert result.returncode == 2
    assert f"Available: {', '.join(VERBS)}." in result.stderr


def test_an_option_before_the_verb_is_told_where_it_belongs() -> None:
    result = assay("--quiet", "list")
    assert result.returncode == 2
    assert result.stderr == (
        "error: assay has no option '--quiet'. Available: --help, --version. Options of a verb follow it. See `assay --help`.\n"
    )


def test_a_misspelt_flag_gets_one_sentence_with_the_closest_flag() -> None:
    result = assay("list", "--hlep")
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr == ("error: assay list: unrecognized arguments: --hlep. Did you mean --help? See `assay list --help`.\n")


def test_piped_help_has_no_colour_codes() -> None:
    asked = [("--help",), *((verb, "--help") for verb in VERBS)]
    assert [words for words in asked if (said := assay(*words)).returncode != 0 or "\x1b" in said.stdout] == []


def test_a_process_gives_the_same_as_a_call() -> None:
    command = [sys.executable, "-m", "fireassay", "list", "--hlep"]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=PROCESS_S, check=False)
    called = assay("list", "--hlep")
    assert (done.returncode, done.stdout, done.stderr) == (called.returncode, called.stdout, called.stderr)


@pytest.mark.parametrize("columns", ["0", "1", "40", "many", ""])
def test_help_survives_any_window(columns: str) -> None:
    result = assay("list", "--help", COLUMNS=columns)
    assert (result.returncode, result.stderr) == (0, "")


def test_descriptions_are_filled_and_examples_kept() -> None:
    made = Parser(prog="assay x", description="One\nsentence.\n\n    assay x  # as it is\n\nAnother.")
    assert "One sentence.\n\n    assay x  # as it is\n\nAnother.\n" in made.format_help()


def planted(monkeypatch: pytest.MonkeyPatch, stop: BaseException) -> None:
    def dispatch(_: list[str]) -> int:
        raise stop

    monkeypatch.setattr(cli, "_dispatch", dispatch)


@pytest.mark.parametrize(
    ("stop", "code", "last_line"),
    [
        (SpecError((), "x.toml"), 2, "error: x.toml: 0 problems"),
        (RecordError("nothing there"), 6, "error: nothing there"),
        (KeyboardInterrupt(), 130, "assay: interrupted"),
        (Interrupted("stopped by Ctrl-C"), 130, "assay: stopped by Ctrl-C"),
        (ValueError("oops"), 70, "error: this is a defect in assay; please report it with the lines above"),
    ],
)
def test_every_way_out_has_its_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], stop: BaseException, code: int, last_line: str
) -> None:
    planted(monkeypatch, stop)
    assert cli.main([]) == code
    assert capsys.readouterr().err.splitlines()[-1] == last_line


def test_a_traceback_holds_no_secret_and_steers_no_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("MY_TOKEN", "perfectly-ordinary-words")
    planted(monkeypatch, ValueError("\x1b[31mperfectly-ordinary-words at https://me:hunter2@h/"))
    assert cli.main([]) == 70
    err = capsys.readouterr().err
    assert "Traceback (most recent call last)" in err
    assert not [word for word in ("perfectly-ordinary-words", "hunter2", "\x1b") if word in err]


def test_a_reader_that_goes_away_is_neither_a_pass_nor_a_traceback(tmp_path: Path) -> None:
    errors = tmp_path / "errors"
    reader, writer = os.pipe()
    os.close(reader)
    with errors.open("wb") as stderr:
        result = subprocess.run([sys.executable, "-m", "fireassay", "--help"], stdout=writer, stderr=stderr, timeout=PROCESS_S, check=False)
    os.close(writer)
    assert (result.returncode, errors.read_text()) == (141, "")
