"""Does assay leave unmodified training scripts of others alone, and is what it says of them true?

Every script of `corpus.toml` runs plain (torchrun) and attached (`assay run`) on 1 and 2 workers, each time in a fresh copy of its
folder, and
four things are compared: exit codes; hashes of the final weights, optimizer states and buffers (a witness in `corpus_site` that runs in
both;
where two plain runs differ too, the script is not deterministic); numbers of the record against the witness's and against what reading
the script
tells (`steps`, `items` per rank, in the file); and the findings against somebody's judgement of each, which is in the file as well.
None of the scripts is part of this project: `--sources` is a folder with a checkout of each repository that the file names.
What has been made is kept in `--work` and not made again, unless `--again`; `--table` writes the table from what is there.

    python benchmarks/corpus.py --sources DIR --python VENV/bin/python --work DIR [--only NAME] [--launches 1] [--table results/corpus.md]

Promise: equal exit codes; equal weights where deterministic; no false finding; no number that a second look contradicts.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SITE, LIST = HERE / "corpus_site", HERE / "corpus.toml"
LIMIT_S = 240.0  # of one run
HANGS = 3  # of a plain run, that are tried again
WORKERS = (1, 2)
GRAVE = ("fail", "invalid", "warning")  # findings that are judged one by one; notes follow from the numbers
Json = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Case:
    """One script, as the list has it."""

    name: str
    source: str  # folder below --sources
    script: str  # from its folder
    folder: str = "."  # that is copied, from the source
    arguments: tuple[str, ...] = ()
    environment: Json
    stand_ins: tuple[str, ...] = ()
    data: tuple[str, ...] = ()  # "kind folder"
    before: tuple[str, ...] = ()  # scripts that make its data
    unwritten: bool = False  # it trains memory that nobody wrote: no two runs need to be equal
    parallelism: str = "none"  # on two workers
    kinds: str = ""  # what it stands for
    steps: tuple[int, ...] = ()  # of a rank, by worker count, from reading the script
    items: tuple[float, ...] = ()  # likewise
    loss: str = ""  # a pattern whose last match in the plain log, with one worker, is the last step's loss
    judged: tuple[Json, ...] = ()  # finding = "rule@configuration", true, why
    useful: str = ""
    launches: int = 0
    workers: tuple[int, ...] = WORKERS
    options: tuple[str, ...] = ()  # of `assay run`


def cases() -> tuple[list[Case], Json]:
    """All of the list, and what it says of all."""
    listed = tomllib.loads(LIST.read_text())
    made = []
    for one in listed["script"]:
        lists = {key: tuple(value) if isinstance(value, list) else value for key, value in one.items()}
        made.append(Case(**{"environment": {}, **lists}))
    return made, listed


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where it runs."""

    sources: Path
    python: Path
    work: Path
    launches: int

    def folder(self, case: Case, run: str) -> Path:
        """Of one run."""
        return self.work / case.name / run


def prepare(case: Case, place: Place, run: str) -> Path:
    """A fresh copy of the script's folder with its data.

    Raises:
        subprocess.CalledProcessError: its data could not be made.
    """
    folder = place.folder(case, run)
    shutil.rmtree(folder, ignore_errors=True)
    made = place.folder(case, "made")
    if not made.exists():
        shutil.copytree(place.sources / case.source / case.folder, made, symlinks=True, ignore=shutil.ignore_patterns(".git"))
        for asked in case.data:
            kind, where = asked.split()
            quietly([str(place.python), str(SITE / "data.py"), kind, str(made / where)], made)
        for asked in case.before:
            quietly([str(place.python), *asked.split()], made)
    shutil.copytree(made, folder, symlinks=True)
    (folder / ".out").mkdir()
    return folder


def quietly(words: list[str], folder: Path) -> None:
    """Run it.

    Raises:
        subprocess.CalledProcessError: it failed; its last words are in the error.
    """
    subprocess.run(words, cwd=folder, check=True, capture_output=True, text=True, timeout=LIMIT_S)


def environment(case: Case, folder: Path) -> dict[str, str]:
    """Of both runs: the witness, one thread, no hub, and gloo on this machine alone."""
    outer = {name: value for name, value in os.environ.items() if not name.startswith(("FIREASSAY_", "CORPUS_"))}
    paths = [SITE, *(SITE / one for one in case.stand_ins if (SITE / one).is_dir()), folder]
    installed = [one for one in case.stand_ins if (SITE / f"stand_in_{one}.py").exists()]
    fixed = {
        "CORPUS_OUT": str(folder / ".out"),
        "CORPUS_STAND_INS": " ".join(installed),
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1",
        "CUDA_VISIBLE_DEVICES": "",
        "MPLBACKEND": "Agg",
        "GLOO_SOCKET_IFNAME": "lo",
        "HF_HUB_OFFLINE": "1",
        "HF_HOME": str(folder / ".hub"),
        "TORCHINDUCTOR_CACHE_DIR": str(folder / ".inductor"),
    }
    return {**outer, **fixed, **{name: str(value) for name, value in case.environment.items()}}


def plain(case: Case, place: Place, workers: int, again: str = "") -> Json:
    """Under torchrun, as assay starts it; once more where it hangs by itself, and how often it did."""
    hung = 0
    while (run := plainly(case, place, workers, again))["code"] is None and hung < HANGS:
        hung += 1
    return {**run, "hung": hung}


def plainly(case: Case, place: Place, workers: int, again: str) -> Json:
    """Once."""
    folder = prepare(case, place, f"plain{workers}{again}")
    arguments = [one.replace("{workers}", str(workers)).replace("{seed}", "1").replace("{launch}", "0") for one in case.arguments]
    script = [case.script, *arguments]
    words = (
        [str(place.python), *script]
        if "plain" in case.options
        else [
            str(place.python),
            "-m",
            "torch.distributed.run",
            "--nnodes",
            "1",
            "--nproc-per-node",
            str(workers),
            "--max-restarts",
            "0",
            "--rdzv-backend",
            "c10d",
            "--rdzv-endpoint",
            "127.0.0.1:0",
            "--local-addr",
            "127.0.0.1",
            *script,
        ]
    )
    begun = datetime.now(UTC)
    code = limited(words, folder, environment(case, folder), folder.parent / f"plain{workers}{again}.log")
    seconds = (datetime.now(UTC) - begun).total_seconds()
    log = (folder.parent / f"plain{workers}{again}.log").read_text(errors="replace")
    return {"code": code, "seconds": seconds, "said": witnesses(folder), "loss": re.findall(case.loss, log)[-1:] if case.loss else []}


def limited(words: list[str], folder: Path, variables: dict[str, str], log: Path, output: Path | None = None) -> int | None:
    """Its exit code; None: it took too long, and was ended with all that it had started."""
    with log.open("w") as errors, (output or log).open("a") as file:
        process = subprocess.Popen(
            words,
            cwd=folder,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=errors if output else file,
            start_new_session=True,
        )
        try:
            return process.wait(LIMIT_S * (1 if output is None else 6))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(30)
            return None


def witnesses(folder: Path) -> list[Json]:
    """What the processes of a run said, by launch and rank."""
    said = [json.loads(path.read_text()) for path in sorted((folder / ".out").glob("*.json"))]
    return sorted(said, key=lambda one: (one["launch"], one["rank"], one["steps"]))


def attached(case: Case, place: Place, options: Iterable[str]) -> Json:
    """By `assay run` on all worker counts, one record."""
    folder = prepare(case, place, "attached")
    launches, records = str(case.launches or place.launches), place.folder(case, "records")
    words = [
        str(place.python),
        "-m",
        "fireassay",
        "run",
        "--workers",
        ",".join(map(str, case.workers)),
        "--launches",
        launches,
        "--name",
        case.name,
        "--root",
        str(records),
        "--json",
        "--quiet",
        "--timeout",
        str(LIMIT_S),
        "--fresh-folder",
        *options,
        *case.options,
        "--",
        case.script,
        *case.arguments,
    ]
    output = folder.parent / "attached.json"
    output.write_text("")
    code = limited(words, folder, environment(case, folder), folder.parent / "attached.log", output)
    try:
        report = json.loads(output.read_text())
    except json.JSONDecodeError:
        return {"code": code, "report": None, "said": witnesses(folder), "steps": {}}
    return {"code": code, "report": slim(report), "said": witnesses(folder), "steps": recorded(records)}


def slim(report: Json) -> Json:
    """What is compared of a report."""
    kept = {key: report.get(key, []) for key in ("verdict", "dimensions", "findings", "layers", "launches", "gates")}
    metrics = {f"{one['metric']}@{one['configuration']}": one["value"] for one in report["metrics"] if one["measured"]}
    absent = {f"{one['metric']}@{one['configuration']}": one.get("detail") for one in report["metrics"] if not one["measured"]}
    return {**kept, "metrics": metrics, "absent": absent}


def recorded(root: Path) -> Json:
    """Of each launch and rank: steps, items, and the losses' number and last value."""
    import polars as pl

    found: Json = {}
    for part in root.glob("*/tables/steps/launch=*/*.parquet"):
        for (launch, rank), rows in pl.read_parquet(part).group_by("launch", "rank"):
            items = rows["items"]
            found[f"{launch}-{rank}"] = {
                "steps": rows.height,
                "items": None if items.null_count() == rows.height else items.sum(),
                "losses": 0,
                "last_loss": None,
                "paused_s": (rows["checkpoint_ns"].sum() or 0) / 1e9,
            }
    for part in root.glob("*/tables/fingerprints/launch=*/*.parquet"):
        losses = pl.read_parquet(part).filter(pl.col("what") == "loss").sort("step")
        for (launch, rank), rows in losses.group_by("launch", "rank", maintain_order=True):
            found.setdefault(f"{launch}-{rank}", {}).update(losses=rows.height, last_loss=rows["value"][-1])
    return found


# ---------------------------------------------------------------------- comparing


def made(case: Case, place: Place, options: Iterable[str]) -> Json:
    """All runs of a script; the plain ones twice where the weights differ."""
    whole: Json = {"name": case.name, "made_utc": datetime.now(UTC).isoformat(timespec="seconds"), "unwritten": case.unwritten}
    whole["plain"] = {str(workers): plain(case, place, workers) for workers in case.workers}
    whole["attached"] = attached(case, place, options)
    whole["twice"] = {}
    for workers in case.workers:
        if same_weights(whole, workers) is False:
            whole["twice"][str(workers)] = plain(case, place, workers, again="b")
    return whole


def launches_of(whole: Json, workers: int) -> list[Json]:
    """The attached ones with so many workers."""
    report = whole["attached"]["report"]
    return [] if report is None else [one for one in report["launches"] if one["workers"] == workers]


def hashes(said: Iterable[Json]) -> list[tuple[Any, ...]]:
    """What must be equal."""
    return sorted((one["rank"], one["weights"], one["state"], one["buffers"], str(one["steps"])) for one in said)


def same_weights(whole: Json, workers: int) -> bool | None:
    """Whether every attached launch ended with the plain run's weights; None: nothing to compare."""
    truth = hashes(whole["plain"][str(workers)]["said"])
    found = [
        hashes(one for one in whole["attached"]["said"] if one["launch"] == launch["launch"]) for launch in launches_of(whole, workers)
    ]
    return all(one == truth for one in found) if truth and found else None


def weights_words(whole: Json, workers: int) -> str:
    """In the table."""
    same = same_weights(whole, workers)
    if same is None:
        return "not seen"
    if same:
        return "equal"
    twice = whole["twice"].get(str(workers))
    if whole.get("unwritten") or (twice and hashes(twice["said"]) != hashes(whole["plain"][str(workers)]["said"])):
        return "not deterministic"
    return "**differ**"


def code_words(whole: Json, workers: int) -> str:
    """Exit codes: one if all are equal."""
    before = whole["plain"][str(workers)]["code"]
    after = {one["exit_code"] for one in launches_of(whole, workers)} or {"no launch"}
    return str(before) if after == {before} else f"**{before} / {', '.join(map(str, sorted(after, key=str)))}**"


def contradictions(case: Case, whole: Json) -> list[str]:
    """Numbers of the record that the witness or the script contradict."""
    found = []
    unseen = {one["configuration"] for one in findings(whole) if one["id"].startswith("steps_unseen@")}
    for place, workers in enumerate(case.workers):
        for launch in launches_of(whole, workers):
            said = [one for one in whole["attached"]["said"] if one["launch"] == launch["launch"]]
            for rank in range(workers):
                row = whole["attached"]["steps"].get(f"{launch['launch']}-{rank}")
                own = [one for one in said if one["rank"] == rank]
                found += against(case, workers, place, rank, row, own, unseen=f"workers={workers}" in unseen)
    return [*dict.fromkeys(found), *other_loss(whole)]


def other_loss(whole: Json) -> list[str]:
    """The last loss with one worker, where the script prints it: to as many digits."""
    printed = whole["plain"].get("1", {}).get("loss") or []
    rows = [whole["attached"]["steps"].get(f"{one['launch']}-0", {}) for one in launches_of(whole, 1)]
    digits = [len(one.partition("e")[0].partition(".")[2]) for one in printed]
    said = [f"{row.get('last_loss') or 0.0:.{digits[0]}{'e' if 'e' in printed[0] else 'f'}}" for row in rows] if printed else []
    return [f"1 worker: last loss {one}, the script prints {printed[0]}" for one in said if float(one) != float(printed[0])]


def against(case: Case, workers: int, place: int, rank: int, row: Json | None, said: list[Json], *, unseen: bool) -> list[str]:
    """One rank of one launch; `unseen`: the report says that it saw no step, and why."""
    where = f"{workers} worker{'s' * (workers > 1)}, rank {rank}"
    counts = sorted({count for one in said for _, count in one["steps"]})
    expected = case.steps[place] if case.steps else None
    if row is None or not row.get("steps"):
        return [f"{where}: no step seen of {expected or counts}"] if (expected or counts) and not unseen else []
    found = []
    if expected is not None and row["steps"] != expected:
        found.append(f"{where}: {row['steps']} steps, the script makes {expected}")
    elif expected is None and counts and row["steps"] not in counts:
        found.append(f"{where}: {row['steps']} steps, optimizers made {counts}")
    if case.items and row["items"] is not None and row["items"] != case.items[place]:
        found.append(f"{where}: {row['items']:g} items, the script uses {case.items[place]:g}")
    return found


def findings(whole: Json) -> list[Json]:
    """What is to be judged: grave findings, and layers that failed for another reason than one of these."""
    report = whole["attached"]["report"]
    if report is None:
        return []
    grave = [{"id": f"{one['rule']}@{one['configuration']}", **one} for one in report["findings"] if one["severity"] in GRAVE]
    rules = {one["rule"] for one in grave}
    layers = [
        {"id": f"layer_{one['layer']}@{one['configuration']}", "severity": one["state"], "evidence": one["sentence"]}
        for one in report["layers"]
        if one["state"] not in ("pass", "advice", "not run") and one["sentence"].partition(":")[0] not in rules
    ]
    return [*grave, *layers]


def judgement(case: Case, listed: Json, finding: Json) -> tuple[str, str]:
    """("true", "false" or "open", why) of a finding."""
    for one in (*case.judged, *listed.get("judged", [])):
        here = fnmatch(case.parallelism, one.get("parallelism", "*"))
        if here and fnmatch(finding["id"], one["finding"]) and one.get("says", "") in finding["evidence"]:
            return ("true" if one["true"] else "false"), one["why"]
    return "open", ""


def grouped(case: Case, listed: Json, whole: Json) -> dict[str, dict[str, list[str]]]:
    """The names of the findings, by judgement and its reason."""
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for finding in findings(whole):
        verdict, why = judgement(case, listed, finding)
        names = found[verdict][why]
        name = finding["id"].partition("@")[0]
        if name not in names:
            names.append(name)
    return found


def names_of(groups: dict[str, list[str]]) -> str:
    """In a cell."""
    return ", ".join(sorted({name for names in groups.values() for name in names})) or "-"


# ---------------------------------------------------------------------- telling


def kept(case: Case, listed: Json, whole: Json) -> list[str]:
    """The promises that are broken."""
    broken = [f"exit code, {workers}" for workers in case.workers if "**" in code_words(whole, workers)]
    broken += [f"weights, {workers}" for workers in case.workers if "**" in weights_words(whole, workers)]
    judged = grouped(case, listed, whole)
    broken += [f"false: {', '.join(names)}: {why}" for why, names in judged["false"].items()]
    return [
        *broken,
        *praised(case, whole),
        *contradictions(case, whole),
        *(f"open: {name}" for names in judged["open"].values() for name in names),
    ]


def praised(case: Case, whole: Json) -> list[str]:
    """Layers that passed on several ranks that have nothing to do with each other."""
    layers = (whole["attached"]["report"] or {}).get("layers", []) if case.parallelism.startswith("none") else []
    names = [one["layer"] for one in layers if one["state"] == "pass"]
    return [f"false: passed {', '.join(names)}: nothing is distributed"] if names else []


def ran(whole: Json) -> bool:
    """Whether the script runs here at all, without assay."""
    return any(run["code"] == 0 for run in whole["plain"].values())


def shown(case: Case, listed: Json, whole: Json) -> None:
    """One script on standard output."""
    report = whole["attached"]["report"]
    print(f"== {case.name}: assay {whole['attached']['code']}, {report['verdict']['status'] if report else 'no report'}")
    for workers in case.workers:
        run = whole["plain"][str(workers)]
        print(
            f"   {workers}: code {code_words(whole, workers)}, weights {weights_words(whole, workers)}, plain {run['seconds']:.1f} s, "
            f"steps {[one['steps'] for one in run['said']]}"
        )
    for launch in sorted(whole["attached"]["steps"]):
        print(f"   {launch}: {whole['attached']['steps'][launch]}")
    for finding in findings(whole):
        print(f"   [{'/'.join(judgement(case, listed, finding))}] {finding['severity']} {finding['id']}: {finding['evidence']}")
    for layer in report["layers"] if report else ():
        print(f"   layer {layer['layer']}@{layer['configuration']}: {layer['state']}: {layer['sentence']}")
    for broken in kept(case, listed, whole):
        print(f"   BROKEN {broken}")


def table(listed: Json, done: list[tuple[Case, Json]], place: Place, path: Path) -> None:
    """Write the table."""
    absent = [case.name for case, whole in done if not ran(whole)]
    hung = {case.name: sum(run.get("hung", 0) for run in whole["plain"].values()) for case, whole in done}
    done = [(case, whole) for case, whole in done if ran(whole)]
    lines = [line(number, case, listed, whole) for number, (case, whole) in enumerate(done, 1)]
    broken = [(case.name, one) for case, whole in done for one in kept(case, listed, whole)]
    head = [
        f"# Unmodified scripts of others, plain and attached, {max(whole['made_utc'] for _, whole in done)[:10]}",
        "",
        f"`python benchmarks/corpus.py --launches {place.launches}`. {machine(place)}",
        "",
        *listed["conditions"].strip().splitlines(),
        "",
        "| | script | parallelism on 2 | exit 1, 2 | weights 1, 2 | steps of a rank 1, 2 | true findings | false | open | useful |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    tail = [
        "",
        f"{len(done)} scripts; {len(broken)} promises broken" + (":" if broken else "."),
        "",
        *(f"* {name}: {one}" for name, one in broken),
        *(["", f"Hung without assay, and were run again: {words}. {listed['hangs'].strip()}"] if (words := times(hung)) else []),
        *(["", f"Not shown, since they do not run here without assay either: {', '.join(absent)}."] if absent else []),
    ]
    origins = ["", "## Where they are from", "", *(origin(case, listed["sources"][case.source]) for case, _ in done)]
    path.write_text("\n".join([*head, *lines, *tail, *origins]) + "\n")


def times(hung: dict[str, int]) -> str:
    """Which of them, and how often."""
    return ", ".join(f"{name} ({count} times)" if count > 1 else name for name, count in hung.items() if count)


def origin(case: Case, source: Json) -> str:
    """Where a script is from, and how it was run."""
    words = f"* {case.name}: {source['from']} at {source['at']}, `{case.folder}/{case.script} {' '.join(case.arguments)}`"
    more = [
        f"; stand-ins: {', '.join(case.stand_ins)}" if case.stand_ins else "",
        f"; data made: {', '.join(case.data)}" if case.data else "",
    ]
    return words + "".join(more)


def line(number: int, case: Case, listed: Json, whole: Json) -> str:
    """A row."""
    judged = grouped(case, listed, whole)
    steps = [
        str(whole["attached"]["steps"].get(f"{one[0]['launch']}-0", {}).get("steps", "-")) if one else "-"
        for one in (launches_of(whole, workers) for workers in case.workers)
    ]
    cells = [
        number,
        f"{case.name}: {case.kinds}",
        case.parallelism,
        *(", ".join(words(whole, workers) for workers in case.workers) for words in (code_words, weights_words)),
        ", ".join(steps),
        *(names_of(judged[one]) for one in ("true", "false", "open")),
        case.useful or "-",
    ]
    return "| " + " | ".join(str(one).replace("|", "\\|") for one in cells) + " |"


def machine(place: Place) -> str:
    """What it was made on."""
    asked = "import importlib.metadata as m, json; print(json.dumps({n: m.version(n) for n in %r if __import__('importlib.util').util.find_spec(n)}))"
    names = [
        "torch",
        "fireassay",
        "accelerate",
        "transformers",
        "datasets",
        "lightning",
        "timm",
        "skorch",
        "opacus",
        "gymnasium",
        "torchvision",
        "numpy",
    ]
    said = subprocess.run([str(place.python), "-c", asked % names], capture_output=True, text=True, check=False).stdout or "{}"
    versions = ", ".join(f"{name} {version}" for name, version in json.loads(said).items())
    return f"{os.cpu_count()} virtual processors, Linux {platform.release()}, Python {platform.python_version()}; {versions}."


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    """Of the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sources", type=Path, help="folder with a checkout of every repository of corpus.toml")
    parser.add_argument("--python", type=Path, default=Path(sys.executable), help="with assay and what the scripts import")
    parser.add_argument("--work", type=Path, default=Path("corpus"), help="where the runs are made and kept")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="this script (or pattern) alone; may be repeated")
    parser.add_argument("--again", action="store_true", help="also what has been made")
    parser.add_argument("--launches", type=int, default=1, help="attached launches of each worker count")
    parser.add_argument("--option", action="append", default=[], help="of `assay run`, for all scripts")
    parser.add_argument("--table", type=Path, help="write the table of all that is there")
    return parser.parse_args(words)


def main() -> int:
    """Make what is missing, and tell it."""
    asked = arguments()
    if asked.sources is None:
        print("not run: --sources is the folder with the scripts' repositories, which are no part of this project")
        return 0
    place = Place(sources=asked.sources.resolve(), python=asked.python.absolute(), work=asked.work.resolve(), launches=asked.launches)
    place.work.mkdir(parents=True, exist_ok=True)
    listed_cases, listed = cases()
    done = []
    for case in listed_cases:
        path = place.work / f"{case.name}.json"
        wanted = not asked.only or any(fnmatch(case.name, pattern) for pattern in asked.only)
        if wanted and (asked.again or not path.exists()):
            shutil.rmtree(place.work / case.name, ignore_errors=True)
            try:
                path.write_text(json.dumps(made(case, place, asked.option), indent=1))
            except (subprocess.CalledProcessError, subprocess.TimeoutExpired, OSError) as error:
                print(f"== {case.name}: not made: {error}: {str(getattr(error, 'stderr', '') or '')[-800:]}")
                continue
        if path.exists():
            done.append((case, json.loads(path.read_text())))
            if wanted:
                shown(*done[-1][:1], listed, done[-1][1])
    if asked.table and done:
        table(listed, done, place, asked.table)
    return 1 if any(kept(case, listed, whole) for case, whole in done) else 0


if __name__ == "__main__":
    raise SystemExit(main())
