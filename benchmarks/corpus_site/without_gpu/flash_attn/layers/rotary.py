"""See `flash_attn`."""

apply_rotary_emb = None
