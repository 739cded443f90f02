"""How are the rounds of a tuning measured, and how does an interrupted one resume?

Measuring and judging meet here: `fireassay.runners.experiment.run` runs all candidates of a round interleaved,
`fireassay.verdict.tuning` says which survive.  A round's records are the only state: with `resume`, a round whose records are
complete, from one session, and of the same experiments and script is reused; an unfinished one is measured again.  Only the
newest session counts, and none older than the round before it: an earlier tuning of the same file is not the interrupted one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from fireassay.api.interim_analysis import advice
from fireassay.api.sides import Watch, side, unwatched
from fireassay.errors import Interrupted, RecordError, WorkloadError
from fireassay.estimates.format import count
from fireassay.frames.record_data import from_record
from fireassay.record.lookup import record_folders
from fireassay.record.reader import open_record
from fireassay.runners.experiment import run
from fireassay.runners.experiment.progress import RunProgress
from fireassay.runners.experiment.script import script_path
from fireassay.spec.experiment import Experiment
from fireassay.spec.sections.tune import Choice, Tune, arm, check, choices, left_out, rounds_after, rounds_at_most
from fireassay.verdict.tuning import Made, Tuned
from fireassay.verdict.tuning import tuned as decide

Show = Callable[[RunProgress], None] | None
ENDED = ("complete", "failed")


def tuned(
    experiment: Experiment,
    folder: Path,
    root: Path,
    *,
    resume: bool = False,
    show: Show = None,
    announce: Callable[[str], object] | None = None,
    watch: Watch = unwatched,
) -> Tuned:
    """Run all rounds.

    Args:
        resume: reuse the rounds whose records are complete.
        show: called several times a second with the progress.
        announce: called with a sentence before each round.
        watch: shows how far the judging of a record is.

    Raises:
        SpecError: no knobs, or one without effect.
        WorkloadError: the launches of today's settings failed.
        Interrupted: stopped by a signal; the records keep all measurements.
    """
    return decide(experiment, _Rounds(experiment, check(experiment), folder, root, resume, show, announce, watch).measure)


def planned(tune: Tune, levels: int) -> str:
    """The settings and rounds of a tuning, in words."""
    *before, last = rounds_at_most(tune)
    lines = [f"{count(len(choices(tune)), 'arms')}; the first is the baseline:", ""]
    lines += [f"  {choice.label}" for choice in choices(tune)]
    if more := left_out(tune):
        lines.append(f"  {more} more are not tried (tune.at_most = {tune.at_most})")
    lines.append("")
    lines += [
        f"round {number}: at most {arms} arms, {count(blocks, 'launches')} of each; {tune.keep:.0%} of those other than today's continue"
        for number, (arms, blocks) in enumerate(before, 1)
    ]
    total = levels * sum(arms * blocks for arms, blocks in (*before, last))
    lines.append(f"last round, which alone decides: at most {last[0]} arms, {count(last[1], 'launches')} of each")
    return "\n".join([*lines, f"at most {count(total, 'launches')} in all"])


@dataclass
class _Rounds:
    """Measures one round after the other."""

    experiment: Experiment
    tune: Tune
    folder: Path
    root: Path
    resume: bool
    show: Show
    announce: Callable[[str], object] | None
    watch: Watch
    walls: list[float] = field(default_factory=list)  # seconds of the launches so far
    since: str = ""  # start of the previous round, as in record names

    def measure(self, arms: Sequence[Choice], blocks: int, index: int, last: bool) -> Sequence[Made]:
        """All candidates, interleaved; their judged records.  Candidates whose launches all failed are included and say so."""
        experiments = [arm(self.experiment, choice, blocks, index, number) for number, choice in enumerate(arms)]
        message = f"tune: round {index + 1}: {len(arms)} arms, {blocks} launch{'es' if blocks != 1 else ''} of each configuration"
        paths: Sequence[Path] | None = recorded(self.root, experiments, self._script(), self.since) if self.resume else None
        self.resume = paths is not None  # rounds after a repeated one are repeated too
        if self.announce is not None:
            self.announce(f"{message}{', already measured' if paths else ''}")
        paths = self._made(experiments, arms, index, last) if paths is None else paths
        self.since = _begun(paths)
        return tuple(Made(side=side(path, choice.label, self.watch), record=str(path)) for path, choice in zip(paths, arms, strict=True))

    def _made(self, experiments: Sequence[Experiment], choices: Sequence[Choice], index: int, last: bool) -> Sequence[Path]:
        every = [
            run.Member(experiment=experiment, folder=self.folder, label=choice.label)
            for experiment, choice in zip(experiments, choices, strict=True)
        ]
        show = None if self.show is None else _Left(self.show, self.walls, self._launches(experiments, last)).report
        try:
            return run.run_together(every, root=self.root, on_progress=show, advice=advice())
        except Interrupted:
            raise Interrupted(
                f"interrupted in round {index + 1}; the measurements are kept in {self.root}, in records named "
                f"{self.experiment.name[:64]}-*. The same command with --resume continues this round; without it, tuning starts over."
            ) from None
        except WorkloadError:
            paths = recorded(self.root, experiments, self._script())
            if paths is None or not _trained(paths[0]):
                raise
            return paths

    def _launches(self, experiments: Sequence[Experiment], last: bool) -> int:
        """Launches of this round and of possible later ones."""
        blocks, levels = experiments[0].launches.per_configuration, len(experiments[0].factor.levels)
        coming = () if last else tuple(rounds_after(self.tune, len(experiments), blocks))[1:]
        return levels * (len(experiments) * blocks + sum(arm_count * each for arm_count, each in coming))

    def _script(self) -> str | None:
        """The script digest as records store it; None: the script is no file."""
        with suppress(OSError, TypeError):
            return hashlib.sha256(script_path(self.experiment, self.folder).read_bytes()).hexdigest()
        return None


@dataclass
class _Left:
    """Replaces the time left of one record by that of the whole tuning."""

    show: Callable[[RunProgress], None]
    walls: list[float]
    launches: int
    ended: dict[Path, int] = field(default_factory=dict)

    def report(self, progress: RunProgress) -> None:
        """Show progress with the time left of all rounds, from the mean launch so far."""
        known = self.ended.get(progress.record, 0)
        self.walls += [(row["end_ns"] - row["begin_ns"]) / 1e9 for row in progress.rows[known:]]
        self.ended[progress.record] = len(progress.rows)
        left = None
        if self.walls:
            running = 0.0 if progress.running is None else progress.running.elapsed_s
            mean = sum(self.walls) / len(self.walls)
            left = max(0.0, mean * (self.launches - sum(self.ended.values())) - min(mean, running))
        self.show(replace(progress, seconds_left=left))


def recorded(root: Path, made: Sequence[Experiment], script: str | None, since: str = "") -> list[Path] | None:
    """The records of exactly these experiments, in order, from their newest session, if it is complete and has ended.

    Args:
        since: sessions begun before this belong to an earlier tuning.
    """
    number_by_name = {item.name: number for number, item in enumerate(made)}
    sessions: dict[str, dict[int, Path]] = {}
    unfinished: set[str] = set()
    for path in record_folders(root):
        number = number_by_name.get(path.name.rsplit("-", 2)[0])  # <name>-<time>-<id>
        entry = None if number is None else _session_of(path, made[number], script)
        if number is None or entry is None:
            continue
        session, ended = entry
        sessions.setdefault(session, {})[number] = path
        if not ended:
            unfinished.add(session)
    newest = max(sessions, key=lambda item: _begun(sessions[item].values()), default="")
    paths = sessions.get(newest, {})
    if newest in unfinished or len(paths) < len(made) or _begun(paths.values()) < since:
        return None
    return [paths[number] for number in range(len(made))]


def _begun(paths: Iterable[Path]) -> str:
    """Start of a session's last record; all are begun before the first launch."""
    return max(path.name.rsplit("-", 2)[1] for path in paths)


def _session_of(path: Path, experiment: Experiment, script: str | None) -> tuple[str, bool] | None:
    """The session of a record and whether it has ended, if it belongs to this experiment and script."""
    try:
        record = open_record(path)
    except RecordError:
        return None
    before = record.manifest.get("environment", {}).get("before") or {}  # None if stopped at once
    same = script is None or (before.get("script") or {}).get("sha256") in (None, script)
    if not same or record.experiment != experiment:
        return None
    session, ended = str((record.manifest.get("session") or {}).get("id", "")), record.state in ENDED
    # stopped before its session was noted: newer than any complete one
    return None if ended and not session else (session, ended)


def _trained(path: Path) -> bool:
    return from_record(open_record(path)).timed.height > 0
