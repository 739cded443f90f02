"""Which server knows exactly when it sent each token?

The ground truth for tests of the client.
"""
