"""How are files of benchmarks read, and prompts made of their rows?  Shared by the layouts."""
