"""What several exporters and senders share."""
