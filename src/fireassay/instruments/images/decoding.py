"""How is an image of a stranger decoded, and what of it may a record keep?

The one place where Pillow decodes: PNG, JPEG, WebP, GIF and BMP by their content, whatever the name says; the size is read before a pixel is.
Of an animation the first frame counts.  The orientation in EXIF is applied; all metadata and the colour profile are dropped, and so is
transparency, as the published scores do (`convert("RGB")`).  A thumbnail is drawn anew from the pixels, so nothing else of a file gets into a record.
Cannot tell: what a colour profile would have changed.
"""

from __future__ import annotations

import hashlib
import warnings
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final

from fireassay.errors import AssayError, EnvironmentLacks
from fireassay.printable import one_line
from fireassay.quality.scoring.pictures import Picture
from fireassay.units import MIB

if TYPE_CHECKING:
    from PIL import Image

FORMATS: Final = ("PNG", "JPEG", "WEBP", "GIF", "BMP")
MAX_BYTES: Final = 64 * MIB  # of a file
MAX_PIXELS: Final = 64_000_000  # 192 MB as RGB
ORIENTATION: Final = 0x0112  # the tag of EXIF
MARKUP: Final = (b"<svg", b"<?xml", b"<!doctype", b"<html")
SIDE: Final = 256  # longest side of a thumbnail, in pixels
MAX_THUMBNAIL: Final = 32 << 10  # bytes
TRIED: Final = ((SIDE, 80), (SIDE, 50), (SIDE // 2, 50), (SIDE // 4, 50))  # side and JPEG quality, until it is small enough


class NotAnImage(Exception):
    """Why a file cannot be scored as an image, in a few words."""


def pillow() -> Any:
    """The module PIL.Image. Raises EnvironmentLacks: it is not installed."""
    try:
        from PIL import Image
    except ImportError:
        raise EnvironmentLacks("images need pillow: pip install 'fireassay[images]'") from None
    return Image


def decode(content: bytes) -> Picture:
    """The image in a file.

    Raises:
        NotAnImage: it is none of the formats, is damaged, or too large.
        EnvironmentLacks: Pillow is not installed.
    """
    module = pillow()
    if len(content) > MAX_BYTES:
        raise NotAnImage(f"{len(content):,} bytes, at most {MAX_BYTES:,}")
    if content[:1024].lstrip(b"\xef\xbb\xbf \t\r\n").lower().startswith(MARKUP):
        raise NotAnImage("not an image: SVG and HTML are programs, and are not run")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of palettes, and of sizes, which are checked here
            opened = module.open(BytesIO(content), formats=FORMATS)
            width, height = opened.size
            if width * height > MAX_PIXELS:
                raise NotAnImage(f"{width:,} x {height:,} pixels, at most {MAX_PIXELS:,}")
            opened.load()
            pixels = _upright(_rgb(opened), opened)
    except (NotAnImage, AssayError):
        raise
    except module.DecompressionBombError:
        raise NotAnImage(f"more than {MAX_PIXELS:,} pixels") from None
    except Exception as error:  # decoders of damaged files raise anything
        raise NotAnImage(f"not an image: {_why(error, content)}") from None
    pixels.info.clear()
    return Picture(
        sha256=hashlib.sha256(content).hexdigest(),
        format=str(opened.format),
        bytes=len(content),
        width=pixels.width,
        height=pixels.height,
        pixels=pixels,
    )


def _why(error: Exception, content: bytes) -> str:
    if type(error).__name__ == "UnidentifiedImageError":
        return f"neither {', '.join(FORMATS[:-1])} nor {FORMATS[-1]}" if content else "an empty file"
    return one_line(str(error))[:100] or type(error).__name__


def _rgb(opened: Image.Image) -> Image.Image:
    """In three channels of 8 bits; of 16 bits the upper 8."""
    if opened.mode.startswith("I;16"):
        opened = opened.convert("I")
    if opened.mode == "I":
        opened = opened.point(lambda value: value * (1.0 / 256.0)).convert("L")
    return opened.convert("RGB")


def _upright(pixels: Image.Image, opened: Image.Image) -> Image.Image:
    """As a camera says that it was held; as stored, if its EXIF cannot be read."""
    from PIL.Image import Transpose

    turns = {
        2: Transpose.FLIP_LEFT_RIGHT,
        3: Transpose.ROTATE_180,
        4: Transpose.FLIP_TOP_BOTTOM,
        5: Transpose.TRANSPOSE,
        6: Transpose.ROTATE_270,
        7: Transpose.TRANSVERSE,
        8: Transpose.ROTATE_90,
    }
    try:
        turn = turns.get(opened.getexif().get(ORIENTATION, 1))
    except AssayError:
        raise
    except Exception:  # as of damaged files
        turn = None
    return pixels if turn is None else pixels.transpose(turn)


def thumbnail(picture: Picture) -> bytes:
    """A JPEG of the whole image: at most 256 pixels wide and high, and 32 KiB large."""
    for side, quality in TRIED:
        scale = min(1.0, side / max(picture.width, picture.height))
        size = max(1, round(picture.width * scale)), max(1, round(picture.height * scale))
        small = picture.pixels.resize(size, reducing_gap=2.0)
        into = BytesIO()
        small.save(into, format="JPEG", quality=quality)
        if into.tell() <= MAX_THUMBNAIL:
            break
    return into.getvalue()
