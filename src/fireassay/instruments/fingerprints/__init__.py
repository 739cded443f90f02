"""How are states and gradients summarised so that two launches can be compared?"""
