"""Records of answers with several numbers of steps, written down by hand: which answer, right or not, after how long.

    stepped({"levels": (1, 3)}, [[("7", 1.0), ("8", 0.0), None]])     one item, three samples, the last of which failed

Of samples `answers[item]` holds one answer for each launch, of turns one for each turn, of budgets one for each level.  An answer is its text and
its score; a text of None is NO_ANSWER, an answer of None a request that failed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fireassay.frames.record_data import RecordData
from fireassay.spec.experiment import Quality
from fireassay.spec.plan import configurations
from fireassay.spec.sections.evaluation import Evaluation
from fireassay.spec.sections.steps import Steps
from tests.serving_made import ServingMade

Answer = tuple[str | None, float] | None


def stepped(
    steps: dict[str, Any],
    answers: Sequence[Sequence[Answer]],
    *,
    seconds: Callable[[int, int], float] = lambda item, place: 1.0,
    reasoning: Callable[[int, int], int | None] = lambda item, place: None,
    tokens_out: Callable[[int, int], int | None] = lambda item, place: 4,
    margin: float | None = None,
    clusters: Sequence[str] | None = None,
    prices: float | None = None,
    tool_s: float = 0.0,
) -> RecordData:
    """The record; `seconds`, `reasoning` and `tokens_out` are those of (item, launch, turn or level)."""
    compared = Steps(**steps)
    most = max(map(len, answers))
    made = ServingMade(concurrency=(1,), blocks=most if compared.what == "samples" else 1, engines=("a",), replicas=1, prices=prices)
    update: dict[str, Any] = {"evaluation": Evaluation(task="sums.toml", steps=compared)}
    if margin is not None:
        update["quality"] = Quality(metric="exact_match", margin=margin)
    made.experiment = made.experiment.model_copy(update=update)
    names = [one.name for one in configurations(made.experiment)]
    for place in range(most):
        if compared.what != "turns" or place == 0:
            name = names[place] if compared.what == "reasoning_tokens" else names[0]
            launch = made.launch(name, block=place if compared.what == "samples" else 0, wall_s=100.0)
        for item, given in enumerate(answers):
            turn = place if compared.what == "turns" else 0
            answer, due_s = given[place], (item * most + place) * 2.0
            request = made.request(
                launch,
                due_s,
                ttft_s=seconds(item, place),
                gap_s=0.0,
                tokens_out=tokens_out(item, place),
                chunks=1,
                done_s=seconds(item, place),
                tokens_in=10 * (1 + turn),
                reasoning_tokens=reasoning(item, place),
                status="ok" if answer is not None else "5xx",
                session=item if compared.what == "turns" else None,
                turn=turn if compared.what == "turns" else None,
                pause_s=tool_s if turn else 0.0,
                pause_kind="tool" if turn and tool_s else "none",
            )
            cluster = None if clusters is None else clusters[item]
            outcome, text = ("ok", answer[0]) if answer is not None else ("5xx", None)
            texts = ("", outcome, f"it is {text}" if answer is not None else None, "stop", "last", 0, 1, text, None)
            made.rows["answers"].append((launch, "sums", f"i{item:03}", turn, request, cluster, "{}", 1.0, None, '["7"]', *texts[1:]))
            if answer is not None:
                made.rows["scores"].append((launch, "sums", f"i{item:03}", turn, "exact_match", answer[1], [answer[1]]))
    tasks = {"sums": {"metrics": {"exact_match": ""}, "method": "generation", "extractor": "extract:last_number@2"}}
    made.manifest["environment"]["before"] = {"evaluation": {"tasks": tasks}}
    return made.measured()
