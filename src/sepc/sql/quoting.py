"""Names and texts in SQL, quoted so that nothing in them is taken as SQL."""

from __future__ import annotations

from sepc.wording import shown


def check_encodable(text: str) -> str:
    """Return the text, or raise ValueError if a database cannot hold it."""
    if "\0" in text:
        raise ValueError(f"{shown(text)} has a null character, which SQL cannot hold.")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{shown(text)} is not valid Unicode, which SQL cannot hold.") from error
    return text


def doubled(text: str, quote: str) -> str:
    """The text between quotes, those inside doubled.

    Examples
    --------
    >>> print(doubled('a "b"; --', '"'))
    "a ""b""; --"
    """
    return quote + check_encodable(text).replace(quote, 2 * quote) + quote


def postgres_text(text: str) -> str:
    r"""A text in PostgreSQL; one with backslashes means the same whatever `standard_conforming_strings` is.

    Examples
    --------
    >>> print(postgres_text("it's"), postgres_text("a\\b"))
    'it''s' E'a\\b'
    """
    if "\\" not in text:
        return doubled(text, "'")
    return "E" + doubled(text.replace("\\", "\\\\"), "'")


def spark_text(text: str) -> str:
    r"""A text in Spark; as bytes, if any setting could change what stands between quotes.

    Backslashes and quotes depend on settings of the parser, and ``${name}`` is replaced by a variable.

    Examples
    --------
    >>> print(spark_text("north"), spark_text("it's"))
    'north' CAST(X'69742773' AS STRING)
    """
    if any(character in text for character in "\\'${"):
        return f"CAST(X'{check_encodable(text).encode().hex()}' AS STRING)"
    return doubled(text, "'")


def spark_name(name: str) -> str:
    """A name in Spark, where ``${name}`` is replaced by a variable even between quotes."""
    if "${" in name:
        raise ValueError(f"Spark takes ${{ in {shown(name)} as the beginning of a variable; rename the column.")
    return doubled(name, "`")
