"""How does an image become the numbers that a CLIP-shaped model sees, where its folder does not say so?

Bicubic by Pillow, then (value / 255 - mean) / deviation with CLIP's constants, channels first: as torchvision's transforms on a Pillow image.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

MEAN: Final = (0.48145466, 0.4578275, 0.40821073)  # of OpenAI's CLIP
DEVIATION: Final = (0.26862954, 0.26130258, 0.27577711)


def longest_side(image: Any, size: int) -> Any:
    """Scaled until its longest side has `size` pixels, in the middle of a black square: open_clip's `resize_longest_max`."""
    from PIL import Image

    scale = size / max(image.size)
    width, height = (max(1, round(side * scale)) for side in image.size)
    square = Image.new("RGB", (size, size))
    square.paste(image.resize((width, height), Image.Resampling.BICUBIC), ((size - width) // 2, (size - height) // 2))
    return square


def shortest_side(image: Any, size: int) -> Any:
    """Scaled until its shortest side has `size` pixels, then the square in the middle: torchvision's Resize and CenterCrop."""
    from PIL import Image

    width, height = image.size
    if width <= height:
        width, height = size, int(size * height / width)
    else:
        width, height = int(size * width / height), size
    left, top = round((width - size) / 2.0), round((height - size) / 2.0)
    return image.resize((width, height), Image.Resampling.BICUBIC).crop((left, top, left + size, top + size))


def normalised(image: Any) -> NDArray[np.float32]:
    """Shape [3, height, width]."""
    mean, deviation = np.array(MEAN, dtype=np.float32), np.array(DEVIATION, dtype=np.float32)
    values = (np.asarray(image, dtype=np.float32) / np.float32(255.0) - mean) / deviation
    return np.ascontiguousarray(values.transpose(2, 0, 1), dtype=np.float32)
