"""Did distribution preserve gradients, replicas and samples?"""
