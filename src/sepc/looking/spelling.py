"""Compare spellings: case, spaces and single letters."""

from __future__ import annotations

# In shorter words, one different letter makes a different word; longer text is hardly a label.
SHORTEST_WORD, LONGEST_TEXT = 4, 80


def fold_spelling(text: str) -> str:
    """The text in lower case with single spaces, the same for spellings that differ only in case and spaces.

    Examples
    --------
    >>> fold_spelling(" Very  High") == fold_spelling("very high")
    True
    """
    return " ".join(text.casefold().split())


def without_a_letter(text: str) -> set[str]:
    """The text, and the text without each of its letters; two texts one letter apart have one of these in common."""
    if len(text) > LONGEST_TEXT:
        return {text}
    return {text, *(text[:i] + text[i + 1 :] for i in range(len(text)))}


def are_one_letter_apart(first: str, second: str) -> bool:
    """Whether texts differ by a letter added, dropped, replaced or swapped with the next, in a word of four or more.

    The first letter of the word must be the same, since 'typical' and 'atypical' are different words, and what
    differs must be letters, since 'grade1' and 'grade2' are different too.

    Examples
    --------
    >>> are_one_letter_apart("sick", "sikc"), are_one_letter_apart("type a", "type b")
    (True, False)
    """
    words, others = first.split(), second.split()
    if len(words) != len(others):
        return False
    different = [(word, other) for word, other in zip(words, others, strict=True) if word != other]
    return len(different) == 1 and _is_typo(*different[0])


def _is_typo(word: str, other: str) -> bool:
    if max(len(word), len(other)) < SHORTEST_WORD or word[0] != other[0] or abs(len(word) - len(other)) > 1:
        return False
    start = next((i for i, (a, b) in enumerate(zip(word, other, strict=False)) if a != b), min(len(word), len(other)))
    longer, shorter = sorted((word[start:], other[start:]), key=len, reverse=True)
    if len(longer) > len(shorter):
        return longer[1:] == shorter and longer[0].isalpha()
    if longer[1:] == shorter[1:]:
        return longer[0].isalpha() and shorter[0].isalpha()
    return longer[:2] == shorter[1::-1] and longer[2:] == shorter[2:] and longer[:2].isalpha()
