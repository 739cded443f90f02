"""Which facts do several audits share?"""
