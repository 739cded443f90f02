"""Models that read images, with random weights, made in a folder: a CLIP, a BLIP with a reward's head, a Llava."""

from __future__ import annotations

import hashlib
from io import BytesIO
from pathlib import Path
from typing import Any

from fireassay.instruments.images.decoding import decode
from fireassay.quality.scoring.pictures import Picture

WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "<image>", "Yes", "No", "a", "red", "blue", "circle", "square", "photo", "depicts", "A", "?")
SIDE = 32  # pixels that the models see
LONGEST = 12  # tokens
CHAT = (
    "{% for message in messages %}{% for part in message['content'] %}{% if part['type'] == 'image' %}<image> {% else %}{{ part['text'] }}"
    "{% endif %}{% endfor %}{% endfor %}{% if add_generation_prompt %} ?{% endif %}"
)


def drawn(colour: str, size: tuple[int, int] = (48, 40), kind: str = "PNG") -> bytes:
    """A file with a dot of this colour on white."""
    from PIL import Image, ImageDraw

    image = Image.new("RGB", size, "white")
    ImageDraw.Draw(image).ellipse((4, 4, size[0] // 2, size[1] // 2), fill=colour)
    into = BytesIO()
    image.save(into, format=kind)
    return into.getvalue()


def picture(colour: str, size: tuple[int, int] = (48, 40)) -> Picture:
    return decode(drawn(colour, size))


def tokenizer(folder: Path, longest: int = LONGEST) -> Any:
    """One token a word, with marks around a text as BERT has them; saved in the folder."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    ids = {word: number for number, word in enumerate(WORDS)}
    made = Tokenizer(models.WordLevel(ids, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", ids["[CLS]"]), ("[SEP]", ids["[SEP]"])]
    )
    wrapped = PreTrainedTokenizerFast(
        tokenizer_object=made,
        model_max_length=longest,
        pad_token="[PAD]",
        unk_token="[UNK]",
        bos_token="[CLS]",
        eos_token="[SEP]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        additional_special_tokens=["<image>"],
    )
    wrapped.save_pretrained(folder)
    return wrapped


def preprocessor(folder: Path) -> Any:
    """CLIP's, for small images; saved in the folder."""
    from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

    made = CLIPImageProcessorPil(size={"shortest_edge": SIDE}, crop_size={"height": SIDE, "width": SIDE})
    made.save_pretrained(folder)
    return made


VISION: dict[str, Any] = {
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "image_size": SIDE,
    "patch_size": 8,
}


def seeded(model: Any) -> Any:
    """The model with weights of a spread that makes every input matter, the same for every version of torch's initialisation."""
    import torch

    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for weights in model.parameters():
            if weights.dim() > 1:
                weights.copy_(0.3 * torch.randn(weights.shape, generator=generator))
    return model.eval()


def clip(folder: Path) -> Path:
    """A CLIPModel with two layers each."""
    from transformers import CLIPConfig, CLIPModel

    text = {
        "vocab_size": len(WORDS),
        "hidden_size": 16,
        "intermediate_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "max_position_embeddings": LONGEST,
        "pad_token_id": 0,
        "bos_token_id": 2,
        "eos_token_id": 3,
    }
    config = CLIPConfig(text_config=text, vision_config=VISION, projection_dim=8)
    seeded(CLIPModel(config)).save_pretrained(folder)
    tokenizer(folder)
    preprocessor(folder)
    return folder


def reward(folder: Path) -> Path:
    """A BlipForImageTextRetrieval, and a head of three linear layers."""
    import torch
    from safetensors.torch import save_file
    from transformers import BlipConfig, BlipForImageTextRetrieval

    text = {
        "vocab_size": len(WORDS),
        "hidden_size": 16,
        "encoder_hidden_size": 16,
        "intermediate_size": 32,
        "projection_dim": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "max_position_embeddings": 40,
        "pad_token_id": 0,
        "bos_token_id": 2,
        "eos_token_id": 3,
        "sep_token_id": 3,
    }
    config = BlipConfig(text_config=text, vision_config=VISION, image_text_hidden_size=8)
    seeded(BlipForImageTextRetrieval(config)).save_pretrained(folder)
    generator = torch.Generator().manual_seed(3)
    shapes = {"layers.0": (8, 16), "layers.2": (4, 8), "layers.7": (1, 4)}
    head = {f"mlp.{name}.weight": torch.randn(shape, generator=generator) for name, shape in shapes.items()}
    head |= {f"mlp.{name}.bias": torch.randn(shape[0], generator=generator) for name, shape in shapes.items()}
    save_file(head, folder / "mlp.safetensors")
    tokenizer(folder, longest=512)
    preprocessor(folder)
    return folder


def llava(folder: Path) -> Path:
    """A Llava with a chat template."""
    from transformers import CLIPVisionConfig, LlamaConfig, LlavaConfig, LlavaForConditionalGeneration, LlavaProcessor

    text = LlamaConfig(
        vocab_size=len(WORDS),
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=128,
        pad_token_id=0,
        bos_token_id=2,
        eos_token_id=3,
    )
    config = LlavaConfig(vision_config=CLIPVisionConfig(**VISION), text_config=text, image_token_id=4, vision_feature_layer=-1)
    seeded(LlavaForConditionalGeneration(config)).save_pretrained(folder)
    processor = LlavaProcessor(
        image_processor=preprocessor(folder),
        tokenizer=tokenizer(folder, longest=128),
        patch_size=8,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=CHAT,
    )
    processor.save_pretrained(folder)
    return folder


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
