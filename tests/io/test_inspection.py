"""`inspect` describes a file with a digest that fits, or refuses it, in plain characters."""

import unicodedata

import pytest
from sklearn.datasets import make_moons

import sepc
from sepc import SelectiveClassifier, SEPClassifier
from sepc.errors import FormatError
from sepc.io.container import decode, encode
from sepc.model_files import to_bytes

RED = "\x1b[31mred\x1b[0m\nand \u202eback \ud800"
ODD = (None, True, -1, 10**400, 1e308, "", RED, [], {}, [[]], [{}], {"values": 3})


@pytest.fixture(scope="module")
def parts():
    X, y = make_moons(80, noise=0.3, random_state=0)
    selective = SelectiveClassifier(SEPClassifier(trust="counts"), 0.3, random_state=0).fit(X, y)
    return decode(to_bytes(selective))


def nodes_of(node, path=()):
    """The path of every value of a description."""
    for name, inner in node.items():
        yield (*path, name)
        if isinstance(inner, dict):
            yield from nodes_of(inner, (*path, name))


def replaced(node, path, value):
    first, *rest = path
    return node | {first: replaced(node[first], rest, value) if rest else value}


def is_plain(text):
    return all(sign == "\n" or unicodedata.category(sign) not in ("Cc", "Cf", "Cs", "Zl", "Zp") for sign in text)


@pytest.mark.quick_cases("None", "1e+308", "{}", "[[][{]*", "'\\x1b*")
@pytest.mark.parametrize("value", ODD, ids=lambda value: repr(value)[:20])
def test_any_malformed_node_is_described_or_refused(parts, value, tmp_path):
    arrays, content = parts
    paths = list(nodes_of(content["model"]))
    assert len(paths) > 40
    for path in paths:
        (tmp_path / "odd.sepc").write_bytes(encode(arrays, replaced(content, ("model", *path), value)))
        try:
            told = sepc.inspect(tmp_path / "odd.sepc")
        except FormatError:
            continue
        assert is_plain(str(told))
        assert len(str(told)) < 5_000
        assert is_plain(repr(told))
        assert told._repr_html_().encode()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"library": "sepc", "model": []}, "model"),
        ({"library": "sepc"}, "model"),
        ({"library": 3, "model": {}}, "library"),
        ({"model": {}}, "library"),
    ],
)
def test_a_file_without_a_model_is_refused(content, message, tmp_path):
    (tmp_path / "none.sepc").write_bytes(encode({}, content))
    with pytest.raises(FormatError, match=message):
        sepc.inspect(tmp_path / "none.sepc")


def test_what_is_said_about_a_model_is_short(tmp_path):
    kept = {f"p{i}": "x" * 10_000 for i in range(500)}
    names = ["y" * 10_000] * 500
    model = {"kind": "z" * 10_000, "parameters": {"kept": kept, "lost": kept}, "feature_names_in": names}
    (tmp_path / "long.sepc").write_bytes(encode({}, {"library": "v" * 10_000, "model": model}))
    text = str(sepc.inspect(tmp_path / "long.sepc"))
    assert len(text) < 5_000
    assert "480 more" in text
    assert "492 more" in text
