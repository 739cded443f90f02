"""Is a record no worse than a baseline, or than a history of records?  A suspicion is confirmed by measuring both again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from fireassay.api import remeasure
from fireassay.api.lookup import find, folders_of, pasted
from fireassay.api.sides import Watch, comparable, refuse_itself, side, sides, unwatched
from fireassay.errors import Interrupted, RecordError
from fireassay.record.store import is_address, shown_url
from fireassay.runners.experiment.progress import RunProgress
from fireassay.verdict.checking.check import alone, check, check_history, confirm, unconfirmed
from fireassay.verdict.checking.history import in_order
from fireassay.verdict.checking.types import STATES, Check
from fireassay.verdict.comparison.compare import compare
from fireassay.verdict.comparison.sessions import DAYS
from fireassay.verdict.comparison.types import Comparison, Side

Again = Callable[[str], AbstractContextManager[Callable[[RunProgress], None] | None]]  # says why, and shows the progress in its body


@dataclass(frozen=True, kw_only=True)
class Checked:
    """A check, the path of its record, and the records made to confirm it."""

    check: Check
    record: Path
    fresh: Sequence[Path] = ()

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
    code: remeasure.Place
    again: Again
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
        others = sides((folder for folder in folders if folder.resolve() != path.resolve()), self.watch)
        earlier = [other for other in others if _is_earlier(other, record)]
        past = comparable(record, earlier, self.varying)
        baseline: Side | None
        if self.against is not None:
            baseline = self._baseline(self.against, record)
            result = self._against(baseline, record, past)
        else:
            result, baseline = self._along(past, record, left_out=len(earlier) - len(past))
        result, fresh = self._confirmed(result, baseline, record)
        return Checked(check=result, record=path, fresh=fresh)

    def _path(self, folders: Sequence[Path]) -> Path:
        if self.record is not None or self.against is not None:
            return find(self.record or "latest", self.root)
        if not folders:
            raise RecordError(f"{self.history} contains no complete record. `assay check --push` adds one.")
        return folders[-1]

    def _baseline(self, name: str, record: Side) -> Side:
        path = find(name, self.root)
        baseline = side(path, watch=self.watch)
        refuse_itself((baseline, record), "--against")
        return baseline if baseline.label != record.label else side(path, f"{baseline.label} (baseline)", self.watch)

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

    def _confirmed(self, result: Check, baseline: Side | None, record: Side) -> tuple[Check, Sequence[Path]]:
        always = self.confirm == "always" and result.state == "inconclusive" and result.design != "in turn"
        if baseline is None or not (result.wants_confirmation or always):
            return result, ()
        if self.confirm == "never":
            return unconfirmed(result, "--confirm never"), ()
        try:
            return self._measured_again(result, baseline, record)
        except Interrupted:
            raise
        except remeasure.FAILURES as error:
            return unconfirmed(result, remeasure.reason_of(error)), ()

    def _measured_again(self, result: Check, baseline: Side, record: Side) -> tuple[Check, Sequence[Path]]:
        """Fresh interleaved launches of both versions.

        Raises:
            CannotConfirm, AssayError: they cannot be measured here.
        """
        code, root = remeasure.code_of(record.measured, self.code), self.root / remeasure.FOLDER
        why = f"{result.sentence}\nmeasuring both again, interleaved: {self.blocks} blocks"
        with self.again(why) as show, remeasure.baseline_code(baseline.measured, self.code, code) as old:
            fresh = remeasure.fresh(record.measured.experiment, old, code, root=root, blocks=self.blocks, on_progress=show)
        first, second = (side(path, watch=self.watch) for path in fresh)
        return confirm(result, self._against(first, second), everything_in_doubt=self.confirm == "always"), fresh


def _is_earlier(other: Side, record: Side) -> bool:
    """Made before the record, and not a copy of it."""
    manifest, other_manifest = record.measured.manifest, other.measured.manifest
    return other_manifest.get("id") != manifest.get("id") and str(other_manifest.get("created_utc")) <= str(manifest.get("created_utc"))
