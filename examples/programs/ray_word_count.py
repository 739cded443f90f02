#!/usr/bin/env python3
"""word_count.py on a local Ray cluster of N processors: a task for each shard, and one for each reducer.

ray_word_count.py WORKERS OUT [WORDS]
"""

import ray
from word_count import SHARDS, asked, mapped, reduced, write_numbers

if __name__ == "__main__":
    workers, out, words = asked()
    ray.init(num_cpus=workers, include_dashboard=False, _node_ip_address="127.0.0.1")
    map_task = ray.remote(lambda shard: [ray.put(part) for part in mapped(shard, workers, words)])
    reduce_task = ray.remote(lambda reducer, *parts: reduced(reducer, parts, out))
    shards = ray.get([map_task.remote(shard) for shard in range(SHARDS)])
    write_numbers(out, words, ray.get([reduce_task.remote(r, *(shard[r] for shard in shards)) for r in range(workers)]))
    ray.shutdown()
