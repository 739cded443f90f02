"""See `flash_attn`."""
