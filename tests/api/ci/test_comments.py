"""One comment under a pull request: made, then changed, never a stranger's; its text is inert and its token stays where it belongs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fireassay.api.ci.comments import GAP, LINES, Api, body, marker, post
from fireassay.errors import EnvironmentLacks, SpecError
from tests.api.ci.forge import BOT, STRANGER, TOKEN, Fake, serving
from tests.reports.writers.small import EVIL

PULL = {"pull_request": {"number": 7}}
SHA = "a" * 40
RUN = {"workflow_run": {"id": 99, "head_branch": "topic", "head_sha": SHA, "head_repository": {"owner": {"login": "fork"}}}}


@pytest.fixture
def fake() -> Iterator[Fake]:
    with serving(Fake()) as made:
        yield made


def job(fake: Fake, tmp_path: Path, event: dict[str, Any] = PULL, **more: str) -> dict[str, str]:
    """The environment of a step."""
    path = tmp_path / "event.json"
    path.write_text(json.dumps(event))
    here = {"GITHUB_API_URL": fake.address, "GITHUB_REPOSITORY": "owner/name", "GITHUB_EVENT_PATH": str(path), "GITHUB_RUN_ID": "12"}
    return {**here, "GITHUB_SERVER_URL": "https://github.example", "GITHUB_TOKEN": TOKEN, **more}


def posted(fake: Fake, tmp_path: Path, text: str = "FAIL 7 %", name: str = "gate", event: dict[str, Any] = PULL) -> list[float]:
    """The pauses that were made."""
    pauses: list[float] = []
    post(job(fake, tmp_path, event), text, name, pauses.append)
    return pauses


def test_the_first_run_makes_a_comment_and_the_next_changes_it(fake: Fake, tmp_path: Path) -> None:
    posted(fake, tmp_path, "FAIL 7 %")
    posted(fake, tmp_path, "PASS")
    posted(fake, tmp_path, "other", name="gpu")
    assert [one["body"].splitlines() for one in fake.comments] == [
        ["<!-- assay:gate -->", "PASS", "", "[Run](https://github.example/owner/name/actions/runs/12)"],
        ["<!-- assay:gpu -->", "other", "", "[Run](https://github.example/owner/name/actions/runs/12)"],
    ]
    assert ("PATCH", "/repos/owner/name/issues/comments/1000") in fake.asked
    assert fake.tokens == {f"Bearer {TOKEN}"}


def test_it_is_found_behind_a_thousand_comments_and_never_a_strangers(fake: Fake, tmp_path: Path) -> None:
    planted = {"id": 1, "user": STRANGER, "body": f"{marker('gate')}\nbuy"}
    fake.comments = [planted, *({"id": 10 + n, "user": STRANGER, "body": "hm"} for n in range(1000))]
    fake.comments.append({"id": 5000, "user": BOT, "body": f"{marker('gate')}\nold"})
    posted(fake, tmp_path, "PASS")
    assert len(fake.comments) == 1002
    assert "PASS" in fake.comments[-1]["body"]
    assert planted["body"].endswith("buy")


@pytest.mark.parametrize("cut", ["", "\n".join(f"line {n}" for n in range(60)), "```sh\n" + "x\n" * 60, EVIL * 500, "\n" * 5000])
def test_a_comment_has_at_most_25_lines_and_ends_with_its_link(cut: str) -> None:
    lines = body(cut, "gate", "https://ci.example/1").splitlines()
    assert len(lines) <= LINES
    assert (lines[0], lines[-1]) == ("<!-- assay:gate -->", "[Run](https://ci.example/1)")
    assert sum(line.startswith("```") for line in lines) % 2 == 0
    if cut.startswith("line"):
        assert "40 more lines in the run." in lines


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x>",
        "<!-- assay:gate -->",
        "[win](https://evil.example)",
        "![](https://evil.example/pixel)",
        "[a]: https://evil.example",
        "https://evil.example",
        "www.evil.example",
        "@everyone",
        "fixes #12",
        "owner/name#12 !34",
        "/merge",
        "ok\n  /approve",
        "<https://evil.example>",
    ],
)
def test_text_of_a_fork_cannot_link_mention_embed_or_command(text: str) -> None:
    made = "\n".join(body(text, "gate", "").splitlines()[1:-2])
    assert made.replace(GAP, "") == text
    for active in ("<s", "</", "<i", "<!", "<h", "](", "]:", "://", "www.", "@e", "#1", "!3", "/m", "/a"):
        assert active not in made


def test_of_a_fork_the_open_request_with_this_head_is_meant(fake: Fake, tmp_path: Path) -> None:
    fake.pulls = [{"number": 3, "head": {"sha": "b" * 40}}, {"number": 5, "head": {"sha": SHA}}]
    posted(fake, tmp_path, event=RUN)
    assert ("POST", "/repos/owner/name/issues/5/comments") in fake.asked
    assert fake.asked[0][1].startswith("/repos/owner/name/pulls?state=open&head=fork%3Atopic&")
    assert fake.comments[0]["body"].endswith("(https://github.example/owner/name/actions/runs/99)")


def test_of_a_run_that_is_not_the_newest_nothing_is_posted(fake: Fake, tmp_path: Path) -> None:
    fake.pulls = [{"number": 3, "head": {"sha": "b" * 40}}]
    assert post(job(fake, tmp_path, RUN), "FAIL", "gate") == ""
    assert fake.comments == []


def test_a_token_that_may_only_read_says_what_a_fork_needs(fake: Fake, tmp_path: Path) -> None:
    fake.answers = [(200, {}, "[]"), (403, {}, '{"message": "Resource not accessible by integration"}')]
    with pytest.raises(EnvironmentLacks, match=r"403 Resource not accessible by integration\. .*from a workflow_run") as refused:
        posted(fake, tmp_path)
    assert TOKEN not in str(refused.value)


@pytest.mark.parametrize("token", [TOKEN, "of-no-known-shape-42"])
@pytest.mark.parametrize("answer", ['{{"message": "Bad credentials: Bearer {0}"}}', "no JSON: {0}", "the token is {0}"])
def test_a_token_that_the_api_repeats_is_in_no_message(token: str, answer: str, fake: Fake, tmp_path: Path) -> None:
    fake.answers = [(401, {}, answer.format(token))]
    with pytest.raises(EnvironmentLacks, match="401") as refused:
        post(job(fake, tmp_path, GITHUB_TOKEN=token), "PASS", "gate")
    assert token not in str(refused.value)


def test_a_short_limit_is_waited_for_and_a_long_one_is_named(fake: Fake, tmp_path: Path) -> None:
    fake.answers = [(429, {"retry-after": "7"}, "{}"), (403, {"retry-after": "8"}, '{"message": "secondary rate limit"}')]
    assert posted(fake, tmp_path) == [7.0, 8.0]
    assert len(fake.comments) == 1
    fake.answers = [(403, {"x-ratelimit-remaining": "0", "retry-after": "1800"}, '{"message": "API rate limit exceeded"}')]
    with pytest.raises(EnvironmentLacks, match="limited for 1800 s"):
        posted(fake, tmp_path)


def test_a_limit_is_waited_for_also_where_the_request_is_looked_up(fake: Fake, tmp_path: Path) -> None:
    fake.pulls = [{"number": 5, "head": {"sha": SHA}}]
    fake.answers = [(429, {"retry-after": "3"}, "{}")]
    assert posted(fake, tmp_path, event=RUN) == [3.0]
    assert len(fake.comments) == 1


def test_a_reply_that_is_lost_makes_no_second_comment(fake: Fake, tmp_path: Path) -> None:
    fake.lost = 1
    assert posted(fake, tmp_path) == [1.0]
    assert len(fake.comments) == 1


@pytest.mark.parametrize("content", ["<html>", "[1]", '{"a": 1}', "", "[" * 9000])
def test_a_reply_that_is_no_list_of_comments_is_an_error_in_words(content: str, fake: Fake, tmp_path: Path) -> None:
    fake.answers = [(200, {}, content)] * 3
    with pytest.raises(EnvironmentLacks, match="Run the job again later"):
        posted(fake, tmp_path)


def test_the_token_follows_no_redirection_and_goes_in_plain_text_to_this_machine_only(fake: Fake, tmp_path: Path) -> None:
    with serving(Fake()) as other:
        fake.answers = [(302, {"Location": f"{other.address}/"}, "")]
        with pytest.raises(EnvironmentLacks, match="302"):
            posted(fake, tmp_path)
        assert other.asked == []
    for address in ("http://api.example", "ftp://api.example", "", "file:///etc/passwd", "http://127.0.0.1.evil.example"):
        with pytest.raises(SpecError, match="https://"):
            Api(root=address, header=("Authorization", TOKEN))
    assert TOKEN not in repr(Api(root="https://api.example", header=("Authorization", TOKEN)))


def test_gitlab_has_notes_and_a_token_that_knows_whose_it_is(tmp_path: Path) -> None:
    with serving(Fake(gitlab=True)) as fake:
        here = {
            "CI_API_V4_URL": fake.address,
            "CI_PROJECT_ID": "42",
            "CI_MERGE_REQUEST_IID": "7",
            "CI_PIPELINE_URL": "https://ci.example/1",
        }
        fake.comments = [{"id": 1, "author": {"id": 7}, "body": f"{marker('gate')}\nplanted"}]
        for text in ("FAIL", "PASS"):
            post({**here, "GITLAB_TOKEN": TOKEN}, text, "gate")
        assert [one["body"].splitlines()[1] for one in fake.comments] == ["planted", "PASS"]
        assert fake.asked[-1] == ("PUT", "/projects/42/merge_requests/7/notes/1001")
        assert fake.tokens == {TOKEN}


@pytest.mark.parametrize("event", [{}, {"pull_request": None}, {"workflow_run": {}}, {"pull_request": {"number": "1; rm"}}, {"push": 1}])
def test_an_event_without_a_request_is_refused(event: dict[str, Any], fake: Fake, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="no pull request"):
        posted(fake, tmp_path, event=event)


def test_a_missing_token_a_name_that_ends_the_marker_and_no_job_at_all_are_refused(fake: Fake, tmp_path: Path) -> None:
    with pytest.raises(EnvironmentLacks, match="GITHUB_TOKEN is not set"):
        post(job(fake, tmp_path, GITHUB_TOKEN=""), "", "gate")
    with pytest.raises(SpecError, match="--name"):
        marker("x --> <b>")
    with pytest.raises(SpecError, match="no pull request in this environment"):
        post({}, "", "gate")
    with pytest.raises(SpecError, match="OWNER/NAME"):
        post(job(fake, tmp_path, GITHUB_REPOSITORY="../../user"), "", "gate")
