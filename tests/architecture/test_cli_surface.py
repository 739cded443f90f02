"""Which verbs and flags does the command line promise?  Changing this table is a deliberate decision."""

from __future__ import annotations

from fireassay import catalog, cli

# of every verb that shows results: see fireassay.cli.support.output
FORMATS = "--json --excel --html --junit --latex --markdown --format --full"
OUTPUT = f"{FORMATS} --output"
OF_A_TABLE = "--tolerance --efficiency --deadline --budget --joules --work --scaling --use --where --price --prices --carbon --predict"
# verb -> positional words in capitals and flags, in the order of its help
SURFACE = {
    "attach": f"RECORD --stop --root {OUTPUT}",
    "audit": f"TARGET {OF_A_TABLE} {OUTPUT} --root",
    "check": (
        "RECORD --against --history --root --varying --force --primary --at --margin --day-to-day --all --accept --confirm "
        "--baseline-folder --folder --rounds --blocks --show --trust --json --excel --html --latex --format --full --output --junit --markdown --push"
    ),
    "comment": "FILE --name",
    "completion": "SHELL --names --root",
    "config": OUTPUT,
    "comm": (
        "--workers --ops --sizes --factor --dtype --backend --placement --warm-up --seconds --calls --memory --root-rank --group-size --launches "
        "--seed --confidence --launcher --threads --pin --nodes --node-rank --rendezvous-endpoint --rendezvous-id --timeout --name "
        "--matrix --interface --net --root --dry-run --toml --yes --detect --detach "
        f"{OUTPUT}"
    ),
    "compare": f"RECORDS --varying --force --primary --at --margin --history --day-to-day {OUTPUT} --root",
    "demo": f"--folder --whole --list {OUTPUT}",
    "doctor": f"SUBJECT --seconds --show {OUTPUT}",
    "evaluate": (
        "--target --task --data --model --margin --own-references --flips --max-flip-rate --explore --divergence --repetitions "
        "--steps --step-is --step-field -k --step-prompt --best-of --task-option --data-version --split "
        "--limit --first --perturb --metric --option --extract --majority "
        "--judge --judge-model --rubric --gold --judge-cache --judge-key-env --judge-price --concurrency "
        "--temperature --backend --tokenizer --request-timeout --keep-going --api-key-env --header --no-stream --prices --price --price-date --price-source "
        f"--carbon --confidence --seed --name --root --dry-run --toml --detach {OUTPUT}"
    ),
    "export": "RECORD --to --genai-bench --assay-score --out --option --root",
    "fleet": "--hosts --launcher --nodes --tests --rounds --pairs --transport --parallel --find --confidence --history --drain-list --name --root "
    f"--dry-run --toml --detach {OUTPUT}",
    "gate": (
        "BASE EXPERIMENT --margin --merge-base --setup --accept --budget --pairs --primary --shell --workers --round --trials --warm-up --timeout "
        "--ignore-failure --root --detach --json --excel --html --latex --format --full --output --badge --history --junit --markdown"
    ),
    "history": f"WHERE {OUTPUT}",
    "import": f"FILES --from --tool --name --margin --metric --varying --most-failed {OUTPUT} --root",
    "list": f"ROOT --kind --verdict --workload --all --no-judge --store {OUTPUT}",
    "load": (
        "URLS --model --backend --server-engine --server-version --server-gpu-type --server-gpu-count "
        "--task --scenario --concurrency --rate --arrival --cv --duration --warm-up --requests --cold "
        "--trace --speed --slo --attainment --latency-cap --throughput-floor --tokenizer --prompts --prompt-field --answer-field --quality-metric "
        "--data-version --split --margin --cluster-field --prefix-tokens --cache --turns "
        "--think --canaries --identity --api-key-env --header --metrics --processes --launcher --client-hosts --request-timeout --keep-going "
        "--temperature --quick --launches --seed --confidence --precision --name --prices --price --price-date --price-source "
        "--watts --carbon --no-stream --no-verify-tls --search --goodput --root --check --dry-run --toml --detect --trust --detach "
        f"{OUTPUT}"
    ),
    "mlperf": f"ACTION LOGS --round --division --benchmark --scenario {OUTPUT} --root",
    "profile": (
        "EXPERIMENT --workers --seed --name --env --launcher --python --threads --pin --nodes --node-rank --rendezvous-endpoint "
        "--rendezvous-id --timeout --wait --warm-up --active --no-memory --tool --root --trust "
        f"{OUTPUT}"
    ),
    "rate": "FOLDER --likert --seed --each --record --items --root --port",
    "report": "RECORD --json --format --page --output --full --root",  # and one flag for each page and format
    "reproduce": f"RECORD --against --folder --root --history --day-to-day --force --dry-run --trust {OUTPUT}",
    "resume": f"RECORD --root --force --trust --detach {OUTPUT}",
    "rubric": f"TABLE {OF_A_TABLE} {OUTPUT}",
    "run": (
        "EXPERIMENT --workers --quick --launches --seed --confidence --budget --precision --at-most --repeat --name "
        "--runner --work --parallelism --data --data-version --split --env --steps --fresh-folder --scaling --base --time "
        "--result --any-order --items --numbers --scores --rankings --relevant "
        "--quality-metric --quality-direction --margin --chance --target --target-within --efficiency --deadline --budget-usd --only "
        "--required-workers --prices --price --price-date --price-source --energy --watts --carbon "
        "--fault --launcher --python --max-restarts --threads --pin --start --nodes --node-rank "
        "--rendezvous-endpoint --rendezvous-id --workers-per-node --resume-on-preemption --timeout --total-timeout "
        "--root --dry-run --detect --keep-going --trust --detach "
        f"{OUTPUT}"
    ),
    "schema": "--keys --claim --document",
    "score": (
        "FILES --reference-side --metric --score-field --score-scale --lower-is-better --best-of --seconds-field --cost-field --reference --answer "
        "--image --id --side --common --cluster --group --weight "
        "--judge --judge-model --rubric --gold --judge-cache --judge-key-env --judge-price "
        "--extract --ratings --sides --rater --rating --scale --raters --against --option "
        "--data-version --split --margin --own-references "
        f"--majority --max-flip-rate --confidence --seed --name --root --toml {OUTPUT}"
    ),
    "serve": "--root --port --host --expose --title --no-judge",
    "sign": "RECORD --key --root",
    "simulate": (
        "--workers --step-time --serial --alpha --gbps --beta-gbps --gradient --buckets --overlap --jitter --noise --stragglers "
        "--slowdown --weak --steps --launches --seed --name --root "
        f"{OUTPUT}"
    ),
    "site": "FOLDER --root --title",
    "status": f"RECORD {OUTPUT} --root",
    "time": (
        "--launches --round --trials --warm-up --precision --confidence --timeout --shell --ignore-failure --show-output "
        f"--name --root --detach {OUTPUT}"
    ),
    "tune": "FILE --root --resume --dry-run --detach --json --excel --junit --latex --markdown --format --full --output --html",
    "verify": f"RECORD --expect --signers {OUTPUT} --root",
    "watch": f"--pid --slurm-job --for --log --no-stacks --no-record --root {OUTPUT}",
}

EVERY = ("--help", "--help-all", "--quiet", "--color")  # of all verbs


def surface(verb: str) -> list[str]:
    """Positional words and flags of a verb, without --help and the flags that plug-ins add."""
    words: list[str] = []
    for action in cli.parser(catalog.load("cli.verbs", verb))._actions:
        words += action.option_strings or [action.dest.upper()]
    added = (*catalog.names("reports.writers"), *catalog.names("reports.pages"))
    own = {"-h", *EVERY, *(f"--{name}" for name in added if verb == "report")}
    return [word for word in words if word not in own]


def test_the_verbs_are_these() -> None:
    assert sorted(SURFACE) == list(catalog.names("cli.verbs"))


def test_the_flags_of_the_verbs_are_these() -> None:
    found = {verb: surface(verb) for verb in SURFACE}
    assert {verb: flags for verb, flags in found.items() if flags != SURFACE[verb].split()} == {}


def test_some_flags_are_those_of_all_verbs() -> None:
    known = {verb: cli.parser(catalog.load("cli.verbs", verb))._option_string_actions for verb in SURFACE}
    assert [(verb, flag) for verb, flags in known.items() for flag in EVERY if flag not in flags] == []
