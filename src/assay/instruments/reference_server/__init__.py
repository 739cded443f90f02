"""Which server knows exactly when it sent each token?  The truth that the client is tested against."""
