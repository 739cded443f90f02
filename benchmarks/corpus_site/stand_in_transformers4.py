"""What if a script was written for transformers 4?  Names that version 5 took away; for `corpus.py` alone."""

import sys


def install(torch):
    """As soon as transformers defines its tokenizers and configurations."""
    from sitecustomize import After

    sys.meta_path.insert(0, After("transformers.tokenization_utils_base", named))
    sys.meta_path.insert(0, After("transformers.configuration_utils", flat))


def named(module):
    """`batch_encode_plus` is a call."""
    module.PreTrainedTokenizerBase.batch_encode_plus = module.PreTrainedTokenizerBase.__call__


def flat(module):
    """The base of rotary embeddings is an attribute; its default is what `data.py` writes."""
    module.PreTrainedConfig.rope_theta = 10000.0
