"""Did a program that spreads its work over workers keep its result, and did the workers add speed?"""

from fireassay.spec.kind import STATUS_MEANINGS, Kind

KIND = Kind(
    name="programs",
    title="a program",
    precedence=500,
    applies=lambda experiment: experiment.workload.runner == "program" or experiment.program is not None,  # or a replay of one
    meanings=STATUS_MEANINGS,
    unchecked="name the files of the result: --result out.txt (--any-order), or score it: --scores FILE --quality-metric NAME",
    quality_remedy="see what the workers lose: items at the borders of shards, neighbours in other shards, merges",
)
