"""Is a record no worse than a baseline, or than a history of records?  A suspicion is confirmed by measuring both again.

How is a suspected regression confirmed?

Both versions of the code are measured again here, interleaved, and compared block by block.  The record's code is in the working
directory; the baseline's is in the given folder, or in a temporary `git worktree` of the commit that the baseline record names,
if that was clean.  Code runs only if its script is byte for byte the one measured: a record's claim is no reason to run
other code.  Git hooks are disabled.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fireassay.api.checkout import CannotCheckOut, checked_out, git, top_of
from fireassay.api.lookup import find, folders_of, pasted
from fireassay.api.sides import Watch, comparable, refuse_itself, refuse_observed, side, sides, unwatched
from fireassay.api.trust import refuse_foreign
from fireassay.errors import AssayError, Interrupted, RecordError
from fireassay.frames.record_data import RecordData
from fireassay.record.store import is_address, shown_url
from fireassay.runners.experiment import run
from fireassay.runners.experiment.progress import RunProgress
from fireassay.runners.experiment.script import changed_file, script_identity, with_secrets
from fireassay.spec.experiment import Experiment
from fireassay.verdict.checking.check import alone, check, check_history, confirm, unconfirmed
from fireassay.verdict.checking.history import in_order
from fireassay.verdict.checking.types import STATES, Check
from fireassay.verdict.comparison.compare import compare
from fireassay.verdict.comparison.sessions import DAYS
from fireassay.verdict.comparison.types import Comparison, Side

BLOCKS = 5
FOLDER = "confirmations"  # below the root, so that `latest` and histories do not take these for a build's records


class CannotConfirm(CannotCheckOut):
    """Why the two cannot be measured here; completes a sentence."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where the code of both sides may be."""

    folder: Path | None  # from --folder
    baseline: Path | None  # from --baseline-folder
    here: Path  # the working directory


def code_of(measured: RecordData, place: Place) -> Path:
    """The folder with the record's own code. Raises CannotConfirm: the code is missing, or has changed since."""
    if place.folder is not None:
        return _same_script(measured, place.folder, "--folder")
    recorded = Path(str(_script(measured).get("folder") or place.here))
    inside = recorded.is_relative_to(place.here)
    candidates = [place.here, *([recorded] if inside else [])]
    why = ""
    for candidate in candidates:
        try:
            return _same_script(measured, candidate, str(candidate))
        except CannotConfirm as error:
            why = why or str(error)
    raise CannotConfirm(why)


def why_not(baseline: RecordData, record: RecordData, place: Place) -> str:
    """Why both codes cannot be measured again from here; empty if they can, as far as is seen without a checkout."""
    try:
        folder = code_of(record, place)
        if place.baseline is not None:
            _same_script(baseline, place.baseline, "--baseline-folder")
        else:
            commit = _clean_commit(baseline)  # first: it names the flag that needs no git
            git(top_of(folder), "cat-file", "-e", f"{commit}^{{commit}}")
    except FAILURES as error:
        return reason_of(error)
    return ""


@contextmanager
def baseline_code(measured: RecordData, place: Place, folder: Path) -> Iterator[Path]:
    """The folder with the baseline's code, valid during the body; `folder` holds the record's.

    Raises:
        CannotConfirm: no clean commit is recorded, the repository lacks it, or the script differs.
    """
    if place.baseline is not None:
        yield _same_script(measured, place.baseline, "--baseline-folder")
        return
    commit = _clean_commit(measured)
    top = top_of(folder)
    with checked_out(top, commit) as tree:
        yield _same_script(measured, tree / folder.resolve().relative_to(top), f"commit {commit[:12]}")


def fresh(
    experiment: Experiment,
    baseline: Path,
    record: Path,
    *,
    root: Path,
    blocks: int = BLOCKS,
    on_progress: Callable[[RunProgress], None] | None = None,
) -> list[Path]:
    """Measure both versions, interleaved, in `blocks` blocks of the record's experiment; returns the records, baseline first."""
    spec = short(experiment, blocks)
    sides = [run.Member(experiment=spec, folder=baseline, label="baseline"), run.Member(experiment=spec, folder=record, label="record")]
    try:
        return run.run_together(sides, root=root, on_progress=on_progress)
    except Interrupted as error:  # resuming cannot interleave them, and the baseline checkout is gone by then
        stopped = str(error).partition(";")[0]
        raise Interrupted(
            f"{stopped} while measuring both again: undecided. Run the same command again; the measurements are kept in {root}."
        ) from error


def short(experiment: Experiment, blocks: int) -> Experiment:
    """The experiment with a fixed number of blocks, no faults, and secrets from this environment."""
    launches = experiment.launches.model_copy(update={"per_configuration": blocks, "precision": None, "budget_s": None})
    noise = experiment.noise.model_copy(update={"repeat": 0})
    return with_secrets(experiment.model_copy(update={"launches": launches, "noise": noise, "faults": ()}))


# ---- identity of the code --------------------------------------------------------------------------------------------


def _script(measured: RecordData) -> Mapping[str, Any]:
    script = measured.before.get("script")
    return script if isinstance(script, Mapping) else {}


def _same_script(measured: RecordData, folder: Path, where: str) -> Path:
    recorded, script = _script(measured).get("sha256"), measured.experiment.workload.script
    if recorded is None:
        raise CannotConfirm("the record does not say which script it ran")
    now = script_identity(measured.experiment, folder)
    if now["sha256"] is None:
        raise CannotConfirm(f"{where} does not contain {script}")
    changed = changed_file(measured.manifest.get("environment"), now)
    if now["sha256"] != recorded or changed:
        raise CannotConfirm(f"{changed or script} in {where} is not the script that was measured")
    return folder


def _clean_commit(measured: RecordData) -> str:
    git = (measured.before.get("workload") or {}).get("git")
    commit = str(git.get("commit", "")) if isinstance(git, Mapping) else ""
    if not re.fullmatch(r"[0-9a-f]{40}([0-9a-f]{24})?", commit):
        raise CannotConfirm("the baseline's record names no commit; give a checkout of its code with --baseline-folder")
    if not isinstance(git, Mapping) or git.get("dirty") is not False:
        raise CannotConfirm("the baseline was measured with uncommitted changes; give its code with --baseline-folder")
    return commit


def reason_of(error: Exception) -> str:
    """The error as one line for a note."""
    text = str(error).strip().splitlines()
    return text[0] if text else type(error).__name__


FAILURES = (CannotCheckOut, AssayError)


Again = Callable[[str], AbstractContextManager[Callable[[RunProgress], None] | None]]  # says why, and shows the progress in its body


@dataclass(frozen=True, kw_only=True)
class Checked:
    """A check, the path of its record, and the records made to confirm it."""

    check: Check
    record: Path
    fresh: Sequence[Path] = ()
    cannot: str = ""  # why an open result cannot be measured again here

    @property
    def exit_code(self) -> int:
        """That of its state; see docs/reference/exit-codes.md."""
        return STATES[self.check.state][0]


@dataclass(frozen=True, kw_only=True)
class Checking:
    """What is checked, and how."""

    record: str | None  # None: the latest; of a history alone, its newest
    against: str | None  # the baseline
    history: str | None  # folder or store
    root: Path
    varying: tuple[str, ...]
    force: bool
    primary: str | None
    at: str | None
    margin: float | None
    day_to_day: float | None
    everything: bool  # every metric decides
    confirm: str  # auto, always or never
    blocks: int  # to measure again
    code: Place
    again: Again
    trust: Callable[[Path, Experiment, Path], None] = refuse_foreign  # raises if the record's experiment may not run here
    watch: Watch = unwatched

    def named(self, record: Path) -> list[str]:
        """The words that name the baseline and the record in a command; none without a baseline of its own."""
        if self.against is None or is_address(self.against):
            return []
        name = record.name if record.parent == Path("records") else str(record)
        return [pasted(self.against, self.root), str(self.record) if is_address(self.record or "") else name]

    def run(self) -> Checked:
        """The check, confirmed if requested and possible."""
        folders = list(folders_of(self.history)) if self.history else []
        path = self._path(folders)
        record = side(path, watch=self.watch)
        refuse_observed((record,))
        others = (folder for folder in folders if folder.resolve() != path.resolve())
        earlier = sides(others, self.watch, lambda other: _is_earlier(other, record.measured))
        past = comparable(record, earlier, self.varying)
        baseline: Side | None
        if self.against is not None:
            baseline = self._baseline(self.against, record)
            result = self._against(baseline, record, past)
        else:
            result, baseline = self._along(past, record, left_out=len(earlier) - len(past))
        result, fresh = self._confirmed(result, baseline, record, path)
        is_open = baseline is not None and result.state == "inconclusive" and not fresh
        cannot = why_not(baseline.measured, record.measured, self.code) if baseline is not None and is_open else ""
        return Checked(check=result, record=path, fresh=fresh, cannot=cannot)

    def _path(self, folders: Sequence[Path]) -> Path:
        if self.record is not None or self.against is not None:
            return find(self.record or "latest", self.root)
        if not folders:
            raise RecordError(f"{self.history} contains no complete record. `assay check --push` adds one.")
        return folders[-1]

    def _baseline(self, name: str, record: Side) -> Side:
        path = find(name, self.root)
        baseline = side(path, watch=self.watch)
        refuse_observed((baseline,))
        refuse_itself((baseline, record), "--against")
        return baseline if baseline.label != record.label else replace(baseline, label=f"{baseline.label} (baseline)")

    def _comparison(self, baseline: Side, record: Side) -> Comparison:
        return compare((baseline, record), varying=self.varying, force=self.force, primary=self.primary, at=self.at)

    def _against(self, baseline: Side, record: Side, past: Sequence[Side] = ()) -> Check:
        days = DAYS if self.day_to_day is None else self.day_to_day
        comparison = self._comparison(baseline, record)
        return check(comparison, baseline, record, past=past, margin=self.margin, days=days, everything=self.everything)

    def _along(self, past: Sequence[Side], record: Side, *, left_out: int) -> tuple[Check, Side | None]:
        """The check against the history alone, and the side to measure again with the record."""
        if not past:
            return alone(record, shown_url(str(self.history)), left_out), None
        ordered = in_order(past)
        result = check_history(self._comparison(ordered[-1], record), ordered, record, margin=self.margin, everything=self.everything)
        return result, next((other for other in ordered if other.label == result.suspects_from), ordered[-1])

    # ---- measuring again ---------------------------------------------------------------------------------------------

    def _confirmed(self, result: Check, baseline: Side | None, record: Side, path: Path) -> tuple[Check, Sequence[Path]]:
        always = self.confirm == "always" and result.state == "inconclusive" and result.design != "in turn"
        if baseline is None or not (result.wants_confirmation or always):
            return result, ()
        if self.confirm == "never":
            return unconfirmed(result, "--confirm never"), ()
        try:
            return self._measured_again(result, baseline, record, path)
        except Interrupted:
            raise
        except FAILURES as error:
            return unconfirmed(result, reason_of(error)), ()

    def _measured_again(self, result: Check, baseline: Side, record: Side, path: Path) -> tuple[Check, Sequence[Path]]:
        """Fresh interleaved launches of both versions. Raises CannotConfirm, AssayError: they cannot be measured here."""
        code, root = code_of(record.measured, self.code), self.root / FOLDER
        self.trust(path, record.measured.experiment, code)
        why = f"{result.sentence}\nmeasuring both again, interleaved: {self.blocks} rounds"
        with self.again(why) as show, baseline_code(baseline.measured, self.code, code) as old:
            records = fresh(record.measured.experiment, old, code, root=root, blocks=self.blocks, on_progress=show)
        first, second = (side(path, watch=self.watch) for path in records)
        return confirm(result, self._against(first, second), everything_in_doubt=self.confirm == "always"), records


def _is_earlier(other: RecordData, record: RecordData) -> bool:
    """Made before the record, and not a copy of it."""
    manifest, other_manifest = record.manifest, other.manifest
    return other_manifest.get("id") != manifest.get("id") and str(other_manifest.get("created_utc")) <= str(manifest.get("created_utc"))
