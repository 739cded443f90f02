"""Which facts do several audits rest on?"""
