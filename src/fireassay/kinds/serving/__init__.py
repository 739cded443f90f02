"""How do serving engines perform under a load?"""

from fireassay.spec.kind import Kind

KIND = Kind(
    name="serving",
    title="a load on serving engines",
    precedence=100,
    applies=lambda experiment: experiment.serving is not None,
    questions={
        "correctness": "Are the answers right, and did each client get its own?",
        "performance": "How fast is it, and under how much load?",
        "cost": "What does an answer cost?",
        "reliability": "Does it survive?",
    },
    configurations="loads",
    workers="Replicas",
    own_cost="Client",
    names_scores=False,
    interleaving="both in one record, as serving.targets",
    sends_requests=True,
    speeds_up=False,
    own_processes=False,  # servers may predate the launch
    same_examples=False,  # a higher load uses more prompts of a file; quality pairs examples by id
    quality_remedy="examine the answers at this load: an engine may truncate, quantise or batch differently when it is full",
)
