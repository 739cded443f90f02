"""Which sections does an experiment have besides the workload?"""
