"""Which sections does an experiment have beside the workload?"""
