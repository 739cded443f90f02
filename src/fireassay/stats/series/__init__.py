"""How does a series behave: drift, trend, change points, steady state?"""
