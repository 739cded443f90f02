"""How is a load put on engines, and how are engines started and faults injected?"""
