"""How do a program and a notebook use Fireassay?  The objects behind `fireassay.open`, `run`, `load`, `time` and `compare`."""
