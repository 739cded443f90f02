"""Where do scores come from without a hub?  A stand-in for `evaluate.load`: accuracy, and F1 of class 1."""


class Score:
    """Collects predictions and compares them."""

    def __init__(self):
        self.pairs = []

    def add_batch(self, *, predictions, references):
        """Of one batch."""
        self.pairs += list(zip([int(one) for one in predictions], [int(one) for one in references], strict=True))

    def compute(self, *, predictions=(), references=()):
        """Of all batches."""
        self.add_batch(predictions=predictions, references=references)
        pairs, self.pairs = self.pairs, []
        right = sum(one == other for one, other in pairs)
        hits = sum(one == other == 1 for one, other in pairs)
        ones = sum(one == 1 for one, _ in pairs) + sum(other == 1 for _, other in pairs)
        return {"accuracy": right / max(1, len(pairs)), "f1": 2 * hits / max(1, ones)}


def load(*_arguments, **_keywords):
    """Any metric is these two."""
    return Score()
