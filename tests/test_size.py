"""The library stays small: whoever adds something takes something else away."""

import io
import tokenize
from pathlib import Path

import sepc

SOURCE = Path(sepc.__file__).parent
ROOT = Path(__file__).parents[1]

# To be lowered when code goes. Raise them only for what users gain more by than the code costs.
MOST_LINES, MOST_BYTES, MOST_TOKENS, MOST_FILES = 51_900, 2_330_000, 367_000, 225
MOST_OF_TESTS = 0.65
COUNTED = (tokenize.NAME, tokenize.NUMBER, tokenize.OP)


def lines_of(paths) -> int:
    return sum(len(path.read_text("utf-8").splitlines()) for path in paths)


def test_the_library_stays_small():
    code = sorted(SOURCE.rglob("*.py"))
    files = [path for path in SOURCE.rglob("*") if path.suffix in (".py", ".css", ".js", ".html", ".toml", ".json")]
    texts = [path.read_text("utf-8") for path in code]
    tokens = (token.type for text in texts for token in tokenize.generate_tokens(io.StringIO(text).readline))
    assert lines_of(files) <= MOST_LINES
    assert sum(path.stat().st_size for path in files) <= MOST_BYTES
    assert sum(kind in COUNTED for kind in tokens) <= MOST_TOKENS
    assert sum(path.name != "__init__.py" for path in code) <= MOST_FILES


def test_tests_are_shorter_than_what_they_test():
    assert lines_of((ROOT / "tests").rglob("*.py")) <= MOST_OF_TESTS * lines_of(SOURCE.rglob("*.py"))
