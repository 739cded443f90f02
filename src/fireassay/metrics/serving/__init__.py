"""How well were requests served?"""
