"""How do the members of a group relate: ranks, launches, replicas?"""
