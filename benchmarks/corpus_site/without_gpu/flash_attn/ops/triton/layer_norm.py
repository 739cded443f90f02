"""See `flash_attn`."""

layer_norm_fn = None
