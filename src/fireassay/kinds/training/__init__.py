"""Did a training on several workers stay correct, and did the workers add speed?"""

from fireassay.spec.kind import Kind

KIND = Kind(name="training", title="a training", precedence=1000, applies=lambda experiment: True, trains=True)
