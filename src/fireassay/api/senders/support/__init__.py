"""What several senders share."""
