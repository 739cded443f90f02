"""A model as a judge: its rubric, what it is asked, what its replies say, where they are kept, and what people say of the same answers."""
