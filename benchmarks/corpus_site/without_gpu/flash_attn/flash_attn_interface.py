"""See `flash_attn`."""

flash_attn_func = None
