"""What should the small model answer?  Questions, and its own answers made one by one in this process, as a reference.

    python examples/serving/make_prompts.py MODEL OUT.jsonl [--prompts 72] [--tokens 32]

Greedy, float32, one prompt at a time, no server and no batching: a fleet that gives other answers has changed the result.
It needs torch and transformers, and takes about ten seconds.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from pydoc_data.topics import topics

TOPICS = ("if", "while", "for", "try", "with", "class", "lambda", "yield", "import", "assert", "del", "pass")
FORMS = ("What does {0} do?", "Explain {0} in one line.", "When is {0} of use, and when is it not?", "Show {0} and its parts.")


def questions(number: int) -> list[str]:
    """So many different questions; the same every time."""
    names = [*TOPICS, *sorted(set(topics) - set(TOPICS))]
    return [form.format(name) for name in names for form in FORMS][:number]


def main() -> None:
    """Answer the questions and write one line of JSON for each."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--prompts", type=int, default=72)
    parser.add_argument("--tokens", type=int, default=32)
    asked = parser.parse_args()

    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    torch.set_num_threads(1)
    tokenizer = AutoTokenizer.from_pretrained(asked.model, local_files_only=True)
    model = AutoModelForCausalLM.from_pretrained(asked.model, local_files_only=True, dtype=torch.float32).eval()
    with asked.out.open("w", encoding="utf-8") as out, torch.inference_mode():
        for place, text in enumerate(questions(asked.prompts)):
            said = [{"role": "user", "content": text}]
            ids = tokenizer.apply_chat_template(said, add_generation_prompt=True, return_tensors="pt", return_dict=True)
            made = model.generate(**ids, max_new_tokens=asked.tokens, do_sample=False, pad_token_id=tokenizer.pad_token_id)
            answer = tokenizer.decode(made[0, ids["input_ids"].shape[1] :], skip_special_tokens=True)
            out.write(json.dumps({"id": f"q{place:03d}", "prompt": text, "answer": answer}) + "\n")
    print(f"{asked.out}: {asked.prompts} prompts with answers of {asked.tokens} tokens")


if __name__ == "__main__":
    main()
