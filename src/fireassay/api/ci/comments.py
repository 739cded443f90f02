"""How does a verdict become one comment on a pull request, and stay one?

A hidden marker names the comment; it is looked for among the comments of the token's own user, and changed.  Which request it is the forge
says: the event of a GitHub workflow, the variables of a GitLab job.  Of a `workflow_run`, whose code came from a fork, the request is the open
one with this head, and nothing that the fork's job left is asked.  The text may come from there: it is cut, and cannot link, mention or embed.
The token goes to the API's own address, over TLS, follows no redirection, and is in no message.
Cannot prevent that two jobs which comment for the first time at once make two comments: give them one `concurrency` group.
Source: REST API of GitHub (issue comments, pulls, rate limits), REST API v4 of GitLab (notes).
"""

from __future__ import annotations

import json
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from email.message import Message
from http.client import HTTPException
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlsplit

from fireassay.api.records.served import is_loopback
from fireassay.api.senders.support.http import Stay, told
from fireassay.errors import EnvironmentLacks, refuse
from fireassay.printable import one_line, printable
from fireassay.record.untrusted.paths import json_of

LINES: Final = 25  # of a comment, with its marker and its link
MAX_LETTERS: Final = 8_000
MAX_BYTES: Final = 8 << 20  # of a reply
PAGE: Final = 100
MAX_PAGES: Final = 30
TIMEOUT_S: Final = 30.0
TRIES: Final = 3
MAX_WAIT_S: Final = 60.0  # for a rate limit
# What makes a tag, a mention, a link, an image, a reference or a command (`/merge` of GitLab) of plain text; broken by a space of no width.
ACTIVE: Final = re.compile(r"(?m)^\s*/(?=\w)|<(?=[A-Za-z/!?])|@(?=\w)|\](?=[(\[:])|:(?=//)|[#!$%~&](?=\d)|(?i:www)(?=\.)")
GAP: Final = "\N{ZERO WIDTH SPACE}"


@dataclass(frozen=True, kw_only=True)
class Forge:
    """Where the comments of one pull request are."""

    api: Api
    comments: str  # lists them, and takes new ones
    one: str  # the beginning of the address of one
    change: str  # HTTP method
    link: str  # the run, for the reader


def body(text: str, name: str, link: str) -> str:
    """The comment: a hidden marker, the text as text, a link to the run; at most `LINES` lines."""
    lines = ACTIVE.sub(lambda found: found[0] + GAP, printable(text)[:MAX_LETTERS]).strip().splitlines()
    if (left := len(lines) - (LINES - 5)) > 0:
        lines = lines[:-left]
    fence = ["```"] if sum(each.startswith("```") for each in lines) % 2 else []
    more = [f"{left} more lines in the run."] if left > 0 else []
    return "\n".join((marker(name), *lines, *fence, *more, "", f"[Run]({link})"))


def marker(name: str) -> str:
    """The hidden first line. Raises SpecError: the name could end it."""
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,50}", name):
        raise refuse("--name", repr(name), "up to 50 letters, digits, dots, dashes and underscores", source="the command line")
    return f"<!-- assay:{name} -->"


def post(environ: Mapping[str, str], text: str, name: str, pause: Callable[[float], None] = time.sleep) -> str:
    """Make the comment of this job's request, or change it if it is there; returns its address, "" where the run is of no open request.

    Raises:
        SpecError: this is no job of GitHub or GitLab, or one of no pull request.
        EnvironmentLacks: there is no token, or it may not, or the API cannot be reached, or limits the rate for longer than a minute.
    """
    for left in reversed(range(TRIES)):
        try:
            forge = _forge(environ)
            return "" if forge is None else _post(forge, body(text, name, forge.link), marker(name))
        except Later as later:  # also where a reply was lost: the comment is looked for again
            if not left or later.seconds > MAX_WAIT_S:
                raise EnvironmentLacks(f"{later}. Run the job again later.") from None
            pause(later.seconds)
    raise AssertionError


def _post(forge: Forge, text: str, mark: str) -> str:
    api = forge.api
    mine = next((each for each in api.pages(forge.comments) if str(each.get("body", "")).startswith(mark) and api.is_own(each)), None)
    method, path = ("POST", forge.comments) if mine is None else (forge.change, f"{forge.one}/{int(mine['id'])}")
    made = api.call(method, path, {"body": text})
    return one_line(str(made.get("html_url") or forge.link))


# ---- which request ---------------------------------------------------------------------------------------------------


def _forge(environ: Mapping[str, str]) -> Forge | None:
    if environ.get("GITHUB_EVENT_PATH"):
        return _github(environ)
    if environ.get("CI_MERGE_REQUEST_IID"):
        return _gitlab(environ)
    fix = "Use it in a workflow on pull_request or workflow_run, or in a job of a merge request."
    raise refuse("assay comment", "no pull request in this environment", "a job of GitHub or GitLab", fix, source="the command line")


def _github(environ: Mapping[str, str]) -> Forge | None:
    token = _token(environ, "GITHUB_TOKEN", "github.token")
    api = Api(root=environ.get("GITHUB_API_URL", "https://api.github.com"), header=("Authorization", f"Bearer {token}"))
    repository = environ.get("GITHUB_REPOSITORY", "")
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", repository):
        raise refuse("GITHUB_REPOSITORY", repr(repository), "OWNER/NAME", source="the environment")
    try:
        event = json_of(Path(environ["GITHUB_EVENT_PATH"]).read_bytes())
        run = event.get("workflow_run")
        number = int(event["pull_request"]["number"]) if run is None else _with_head(api, repository, run)
        of = int((environ.get("GITHUB_RUN_ID") or 0) if run is None else run["id"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        found = f"no pull request ({type(error).__name__}: {error})"
        raise refuse("GITHUB_EVENT_PATH", found, "the event of a pull_request or a workflow_run", source="the environment") from None
    if number is None:
        return None
    link = f"{environ.get('GITHUB_SERVER_URL', 'https://github.com')}/{repository}/actions/runs/{of}"
    issues = f"/repos/{repository}/issues"
    return Forge(api=api, comments=f"{issues}/{number}/comments", one=f"{issues}/comments", change="PATCH", link=link)


def _with_head(api: Api, repository: str, run: Mapping[str, Any]) -> int | None:
    """The open request whose head the run measured; None if it was closed, or has a newer commit."""
    head = quote(f"{run['head_repository']['owner']['login']}:{run['head_branch']}", safe="")
    found = api.pages(f"/repos/{repository}/pulls?state=open&head={head}")
    return next((int(each["number"]) for each in found if each["head"]["sha"] == run["head_sha"]), None)


def _gitlab(environ: Mapping[str, str]) -> Forge:
    api = Api(root=environ.get("CI_API_V4_URL", ""), header=("PRIVATE-TOKEN", _token(environ, "GITLAB_TOKEN", "a project access token")))
    project, request = (quote(environ.get(name, ""), safe="") for name in ("CI_PROJECT_ID", "CI_MERGE_REQUEST_IID"))
    notes = f"/projects/{project}/merge_requests/{request}/notes"
    return Forge(api=api, comments=notes, one=notes, change="PUT", link=environ.get("CI_PIPELINE_URL", ""))


def _token(environ: Mapping[str, str], name: str, kind: str) -> str:
    if not (token := environ.get(name, "").strip()):
        raise EnvironmentLacks(f"{name} is not set: a comment needs a token ({kind}) in the environment of this step")
    return token


# ---- the API ---------------------------------------------------------------------------------------------------------


class Later(Exception):
    """The same request may succeed after so many seconds; completes no sentence."""

    def __init__(self, why: str, seconds: float) -> None:
        super().__init__(why)
        self.seconds = seconds


@dataclass(frozen=True, kw_only=True)
class Api:
    """Requests with a token to one address. Raises SpecError: that would go in plain text over a network."""

    root: str
    header: tuple[str, str] = field(repr=False)

    def __post_init__(self) -> None:
        parts = urlsplit(self.root)
        if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(parts.hostname or "")):
            raise refuse("the API's address", repr(self.root), "https://...: a token is sent there", source="the environment")

    def pages(self, path: str) -> Iterator[Mapping[str, Any]]:
        """The items of a list, page by page."""
        mark = "&" if "?" in path else "?"
        for page in range(1, MAX_PAGES + 1):
            yield from (items := self.call("GET", f"{path}{mark}per_page={PAGE}&page={page}", reply=list))
            if len(items) < PAGE:
                return

    def is_own(self, comment: Mapping[str, Any]) -> bool:
        """True if the token's user wrote it: a stranger may have planted the marker."""
        author = comment.get("user") or comment.get("author") or {}
        try:
            return bool(author.get("id") == self.call("GET", "/user").get("id"))
        except EnvironmentLacks:  # a workflow's token may not ask who it is; only an app that is installed here is a bot
            return bool(author.get("type") == "Bot")

    def call(self, method: str, path: str, content: Mapping[str, str] | None = None, *, reply: type = dict) -> Any:
        """The reply's JSON, an object or a list of them. Raises EnvironmentLacks or `Later`."""
        data = None if content is None else json.dumps(content).encode()
        request = urllib.request.Request(f"{self.root.rstrip('/')}{path}", data, dict([self.header]), method=method)
        request.add_header("Content-Type", "application/json")
        request.add_header("Accept", "application/json")
        request.add_header("User-Agent", "assay")
        what = f"{method} {urlsplit(self.root).hostname}{path.partition('?')[0]}"
        try:
            with urllib.request.build_opener(Stay).open(request, timeout=TIMEOUT_S) as answer:
                found = json_of(answer.read(MAX_BYTES))
            if not isinstance(found, reply) or not all(isinstance(each, dict) for each in (found if isinstance(found, list) else ())):
                raise ValueError("the reply is not what this API promises")
            return found
        except urllib.error.HTTPError as error:
            with error:
                why = f"{what}: {error.code} {told(_message(error.read(MAX_BYTES)), dict([self.header]))[:200]}"
            raise _refused(error.code, why, error.headers) from None
        except (OSError, HTTPException, ValueError) as error:
            raise Later(f"{what}: {told(error, dict([self.header]))}", 1.0) from None


def _refused(status: int, why: str, headers: Message) -> Exception:
    if status >= 500:
        return Later(why, 1.0)
    wait = headers.get("retry-after", "")
    limited = status == 429 or (status == 403 and ("rate limit" in why.lower() or wait or headers.get("x-ratelimit-remaining") == "0"))
    if limited:
        reset = headers.get("x-ratelimit-reset", "")
        seconds = float(wait) if wait.isdigit() else max(0.0, float(reset) - time.time()) if reset.isdigit() else MAX_WAIT_S
        return Later(f"{why} (the rate is limited for {seconds:.0f} s)", seconds)
    fork = " The token of a pull request from a fork may only read: comment from a workflow_run (docs/how-to/gate-on-github.md)."
    return EnvironmentLacks(f"{why}.{fork if status == 403 else ''}")


def _message(content: bytes) -> str:
    """What the API says of an error."""
    try:
        said = json_of(content)
        return str(said.get("message") or said.get("error") or "") if isinstance(said, dict) else ""
    except ValueError:
        return content.decode(errors="replace")
