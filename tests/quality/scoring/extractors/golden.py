"""Which answers stand in these texts?  Read by hand; the wordings are those that models use, with run-on continuations that mislead."""

from __future__ import annotations

from typing import NamedTuple


class Golden(NamedTuple):
    """A text, and what a reader finds in it; None: no answer."""

    extractor: str
    text: str
    answer: str | None
    choices: tuple[str, ...] = ()


ABCD = (" A", " B", " C", " D")
NLI = (" entailment", " not entailment")
TONE = (" negative", " positive")

GOLDEN: tuple[Golden, ...] = (
    # ---- whole, first_line
    Golden("whole", "  Paris \n", "Paris"),
    Golden("whole", "<think>Lyon?</think>\nParis", "Paris"),
    Golden("whole", "<think>It could be Paris", None),
    Golden("whole", "The rule is\nQuestion: which one?\n", "The rule is\nQuestion: which one?"),
    Golden("first_line", "\n Paris\nIt is the capital.", "Paris"),
    Golden("first_line", "Paris\n\nQuestion: capital of Italy?\nAnswer: Rome", "Paris"),
    Golden("first_line", "[THINK]a[/THINK]\nb\nc", "b"),
    Golden("first_line", "I think so.</think>\nParis", "Paris"),
    # ---- numbers
    Golden("last_number", "She has 3 apples and buys 1,234 more, so 1,237.", "1237"),
    Golden("last_number", "The total is $1,234.50.", "1234.5"),
    Golden("last_number", "That is 42%", "42"),
    Golden("last_number", "It was −7 degrees", "-7"),
    Golden("last_number", "16-3", "3"),
    Golden("last_number", "x = -3", "-3"),
    Golden("last_number", "about 1.5e3 metres", "1500"),
    Golden("last_number", "2 × 10^3", "2000"),
    Golden("last_number", "half of it is 3/4", "0.75"),
    Golden("last_number", "1/3 of them", "1/3"),
    Golden("last_number", "1 1/2 cups", "1.5"),
    Golden("last_number", r"so it is $\frac{3}{8}$.", "0.375"),
    Golden("last_number", r"10{,}000 in LaTeX", "10000"),
    Golden("last_number", "He finished 5th with 9 points", "9"),
    Golden("last_number", "He had 9 points and finished 5th", "9"),
    Golden("last_number", "H2O weighs 18 g", "18"),
    Golden("last_number", "18 g of H2O", "18"),
    Golden("last_number", "no number here", None),
    Golden("last_number", "42.", "42"),
    Golden("last_number", "042.00", "42"),
    Golden("last_number", "The answer is 5.\n\nQuestion: Tom has 7 pens and 2 books. How many?\nAnswer: 9", "5"),
    Golden("last_number", "5\nQ: And 6 + 7?\nA: 13", "5"),
    Golden("last_number", "Answer: 5<|im_end|>\n<|im_start|>user\n99", "5"),
    Golden("last_number", "<think>maybe 7, or 8</think>It is 6.", "6"),
    Golden("last_number", "<think>maybe 7, or 8", None),
    Golden("last_number", "<think>Question: 7?\nQuestion: 8?</think> 6", "6"),
    Golden("first_number", "4.5 out of 5", "4.5"),
    Golden("first_number", "Similarity: 3.20 (on a scale from 0 to 5)", "3.2"),
    Golden("first_number", "-$5 and 6", "-5"),
    # ---- hashes, boxed, final_number
    Golden("hashes", "6 * 7 = <<6*7=42>>42\n#### 42", "42"),
    Golden("hashes", "#### $1,000\n\nQuestion: next\nAnswer: 5\n#### 5", "1000"),
    Golden("hashes", "#### 1. Count the apples\nThere are 7.\n#### 7", "7"),
    Golden("hashes", "The answer is 7", None),
    Golden("hashes", "#### **-12**", "-12"),
    Golden("hashes", "##### 12", None),
    Golden("boxed", r"Thus $\boxed{\frac{1}{2}}$.", "0.5"),
    Golden("boxed", r"\boxed{x^{2}+1}", "x^{2}+1"),
    Golden("boxed", r"first \boxed{3}, no: \boxed{4}", "4"),
    Golden("boxed", r"\boxed{\text{Paris}}", "Paris"),
    Golden("boxed", r"\boxed{5", None),
    Golden("boxed", r"\boxed{5} or \boxed{6", "5"),
    Golden("final_number", "#### 42\nI hope that helps, 24/7!", "42"),
    Golden("final_number", "The answer is 42. Ask me 3 more things.", "42"),
    Golden("final_number", r"We get \boxed{1{,}024} after 10 steps of 2.", "1024"),
    Golden("final_number", "3 + 4 = 7", "7"),
    Golden("final_number", "The answer is 42.\n\nQ: 1 + 1?\nA: The answer is 2.", "42"),
    # ---- letters
    Golden("choice_letter", "Answer: C", "C", ABCD),
    Golden("choice_letter", "The answer is (C).", "C", ABCD),
    Golden("choice_letter", "**C**", "C", ABCD),
    Golden("choice_letter", "C.", "C", ABCD),
    Golden("choice_letter", " C", "C", ABCD),
    Golden("choice_letter", "c", "C", ABCD),
    Golden("choice_letter", "(C) mitosis", "C", ABCD),
    Golden("choice_letter", "C. mitosis", "C", ABCD),
    Golden("choice_letter", "**Answer:** **C. mitosis**", "C", ABCD),
    Golden("choice_letter", r"The final answer is $\boxed{\text{C}}$.", "C", ABCD),
    Golden("choice_letter", "#### C", "C", ABCD),
    Golden("choice_letter", "The correct option is C because cells divide.", "C", ABCD),
    Golden("choice_letter", "(C) is correct.", "C", ABCD),
    Golden("choice_letter", "I would go with B here.", "B", ABCD),
    Golden("choice_letter", "The answer is A. Wait, no: the answer is B.", "B", ABCD),
    Golden("choice_letter", "A is wrong. B is wrong. D is wrong.\nThe answer is C", "C", ABCD),
    Golden("choice_letter", "The answer is a cell, an organ of all life.", None, ABCD),
    Golden("choice_letter", "A cell divides by mitosis.", None, ABCD),
    Golden("choice_letter", "Answer: A or B", None, ABCD),
    Golden("choice_letter", "The answer is not C.", None, ABCD),
    Golden("choice_letter", "DNA and ATP", None, ABCD),
    Golden("choice_letter", "The answer is E", None, ABCD),
    Golden("choice_letter", "The answer is J", "J", tuple(f" {letter}" for letter in "ABCDEFGHIJ")),
    Golden("choice_letter", " C\n\nWhat is the unit of force?\nA. joule\nB. newton\nC. watt\nD. volt\nAnswer: B", "C", ABCD),
    Golden("choice_letter", " C. mitosis\n\nWhat is the unit of force?\nA. joule\nB. newton\nC. watt\nAnswer: B", "C", ABCD),
    Golden("choice_letter", "A. joule\nB. newton\nC. watt\nD. volt\nThe unit of force is the newton. Answer: B", "B", ABCD),
    Golden("choice_letter", "Answer: C\n\nQuestion: next\nAnswer: D", "C", ABCD),
    Golden("choice_letter", "<think>The answer is A.</think>The answer is D.", "D", ABCD),
    Golden("choice_letter", "<think>The answer is A. Hm", None, ABCD),
    # ---- texts of choices, yes and no, JSON
    Golden("choice_text", "positive", "positive", TONE),
    Golden("choice_text", "**Positive.**", "positive", TONE),
    Golden("choice_text", "This is not negative: positive", "positive", TONE),
    Golden("choice_text", "The answer is not entailment.", "not entailment", NLI),
    Golden("choice_text", "positive or negative?", None, TONE),
    Golden("choice_text", "It sounds positive to me", "positive", TONE),
    Golden("choice_text", "positive\n\nReview: dull\nSentiment: negative\nQuestion: and this?\nnegative", "positive", TONE),
    Golden("choice_text", "positively", None, TONE),
    Golden("yes_no", "Yes, it does.", "yes"),
    Golden("yes_no", "No.", "no"),
    Golden("yes_no", "The passage says so. So the answer is no.", "no"),
    Golden("yes_no", "Nobody knows", None),
    Golden("yes_no", "True", "yes"),
    Golden("yes_no", "no\nQuestion: is it?\nAnswer: yes", "no"),
    Golden("json_field", '```json\n{"reason": "x", "answer": "Paris"}\n```', "Paris"),
    Golden("json_field", '{"answer": 42.0}', "42.0"),
    Golden("json_field", '{"answer": "a"} {"answer": ', "a"),
    Golden("json_field", "answer: 42", None),
)
