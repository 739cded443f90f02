"""A copy of GenAI-Bench whose ratings and skills are known by hand, in each of the public layouts.

Rater r gives image m of prompt i the rating 1 + (i + m + r) % 5, so that over every 5 prompts each mean is 3; from model 3 on ratings of 5
are 4, so that these have a mean of 2.8.  Prompt i has skill k if it is divisible by k + 2; advanced are those with one of the last five.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

MODELS = ("DALLE_3", "SDXL_Turbo", "DeepFloyd_I_XL_v1", "Midjourney_6", "SDXL_2_1", "SDXL_Base")
BASIC = ("attribute", "scene", "spatial relation", "action relation", "part relation")
ADVANCED = ("counting", "comparison", "differentiation", "negation", "universal")
PROMPTS = 1600


def rating(prompt: int, model: int, rater: int) -> int:
    return min(1 + (prompt + model + rater) % 5, 5 if model < 3 else 4)


def ratings(prompt: int) -> dict[str, list[int]]:
    return {name: [rating(prompt, model, rater) for rater in range(3)] for model, name in enumerate(MODELS)}


def skills(prompt: int) -> tuple[list[str], list[str]]:
    """Basic and advanced ones."""
    has = [name for index, name in enumerate((*BASIC, *ADVANCED)) if prompt % (index + 2) == 0]
    return [name for name in has if name in BASIC], [name for name in has if name in ADVANCED]


def level(prompt: int) -> list[str]:
    basic, advanced = skills(prompt)
    return ["advanced"] if advanced else ["basic"] if basic else []


def as_json(folder: Path, prompts: int = PROMPTS) -> Path:
    """genai_image.json and genai_skills.json, as t2v_metrics reads them."""
    folder.mkdir(exist_ok=True)
    whole = {
        f"{prompt:05d}": {"id": f"{prompt:05d}", "prompt": f"drawing {prompt}", "prompt in Chinese": "画", "models": ratings(prompt)}
        for prompt in range(1, prompts + 1)
    }
    tags: dict[str, list[int]] = {name: [] for name in (*BASIC, *ADVANCED, "basic", "advanced")}
    for prompt in range(1, prompts + 1):
        for name in (*skills(prompt)[0], *skills(prompt)[1], *level(prompt)):
            tags[name].append(prompt)
    (folder / "genai_image.json").write_text(json.dumps(whole))
    (folder / "genai_skills.json").write_text(json.dumps(tags))
    return folder


def rows(prompts: int = PROMPTS) -> list[dict[str, Any]]:
    """As BaiqiL/GenAI-Bench: lists are texts."""
    return [
        {
            "id": f"{prompt:05d}",
            "prompt": f"drawing {prompt}",
            "basic_skills": str(skills(prompt)[0]),
            "advanced_skills": str(skills(prompt)[1]),
            **{f"{name}_HumanRating": str(values) for name, values in ratings(prompt).items()},
        }
        for prompt in range(1, prompts + 1)
    ]


def older_rows(prompts: int = PROMPTS) -> list[dict[str, Any]]:
    """As its first revisions: Index, Prompt, and structs of lists."""
    return [
        {
            "Index": prompt,
            "Prompt": f"drawing {prompt}",
            "Tags": {"basic": skills(prompt)[0], "advanced": skills(prompt)[1]},
            "HumanRatings": ratings(prompt),
        }
        for prompt in range(1, prompts + 1)
    ]
