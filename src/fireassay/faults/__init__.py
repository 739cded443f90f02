"""Which faults can an experiment inject, one file per fault?"""
