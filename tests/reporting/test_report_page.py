"""The page: well formed, alone, and safe with any name."""

import base64
import hashlib
import re
import shutil
import subprocess
import unicodedata
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from optional import package_or_skip
from sklearn.datasets import load_iris, make_blobs

from sepc import SEPClassifier, report
from sepc.documents import charts
from sepc.documents.charts import ticks
from sepc.documents.markup import Markup, svg, tag
from sepc.views.charts import overlap_chart
from sepc.wording import columns_of

pd = package_or_skip("pandas")

OURS = {
    *("html", "head", "meta", "title", "style", "body", "header", "nav", "main", "footer", "section", "script"),
    *("h1", "h2", "p", "ul", "li", "a", "dl", "dt", "dd", "div", "figure", "figcaption"),
    *("strong", "small", "span", "details", "summary", "ol", "input", "label", "output", "button"),
    *("table", "caption", "thead", "tbody", "tr", "th", "td", "svg", "desc", "defs", "pattern", "clippath", "g"),
    *("rect", "line", "polyline", "polygon", "path", "circle", "ellipse", "text", "use"),
}
VOID = {"meta", "input"}

HOSTILE = [
    "<script>document.title='taken'</script>",
    "<img src=x onerror=\"document.title='taken'\">",
    "</style><script>alert(1)</script>",
    "</title></svg></table></script>",
    "\"' onmouseover='alert(1)' x=\"",
    "javascript:alert(1)",
    "&lt;b&gt; &amp; ]]> <!-- -->",
    "two\nlines\r\n\tand\x00NUL\x1b[31m",
    "\u202eright to left\u2066",
    "emoji 👩‍🔬 and 漢字",
    "long " * 2000,
]


class Outline(HTMLParser):
    """Elements, their attributes and text; fails if an end is missing or too many."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.text, self.within, self.open = [], [], [], {}, []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, name, attributes):
        self.tags.append(name)
        self.attributes += [(name, *pair) for pair in attributes]
        if name not in VOID:
            self.open.append(name)

    def handle_endtag(self, name):
        assert self.open.pop() == name

    def handle_data(self, data):
        self.text.append(data)
        self.within.setdefault(self.open[-1] if self.open else None, []).append(data)


@pytest.fixture(scope="module")
def hostile():
    """A report in which every name is hostile: features, classes, labels, index and title."""
    X, y = make_blobs(440, centers=11, n_features=11, cluster_std=3.0, random_state=0)
    frame = pd.DataFrame(X, columns=HOSTILE, index=[HOSTILE[i % 11] + str(i) for i in range(440)])
    labels = np.array(HOSTILE, dtype=object)[y]
    classifier = SEPClassifier(max_ellipsoids=3).fit(frame[::2], labels[::2])
    strange = np.where(np.arange(220) < 3, "<script>strange</script>", labels[1::2])
    return report(classifier, frame[1::2], strange, title=HOSTILE[2])


def test_hostile_names_add_no_element_and_no_script(hostile, made, tmp_path):
    page, plain = Outline(hostile.to_html(tmp_path / "report.html")), Outline(made.to_html())
    assert (tmp_path / "report.html").read_bytes().decode() == hostile.to_html()
    assert set(page.tags) <= OURS
    assert page.tags.count("script") == page.tags.count("style") == 1
    assert page.within["script"] == plain.within["script"]
    assert page.within["style"] == plain.within["style"]
    assert not re.search("innerHTML|eval", page.within["script"][0])
    assert not [one for one in page.attributes if one[1].startswith("on")]
    assert all(value.startswith("#") for _, name, value in page.attributes if name in ("href", "src", "xlink:href"))
    assert page.within["h1"] == [HOSTILE[2]]
    text = "".join(page.text)
    assert all(name in text for name in HOSTILE[:7])
    no_address = hostile.to_html().replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?://|@import|url\((?!#)", no_address)


def test_hostile_names_hide_nothing_and_do_not_swell_the_page(hostile):
    page = hostile.to_html()
    for told in (page, str(hostile)):
        kinds = {sign: unicodedata.category(sign) for sign in set(told) - {"\n", "\u200d"}}
        assert not [sign for sign, kind in kinds.items() if kind in ("Cc", "Cf", "Cs", "Zl", "Zp")]
    assert "\\x00" in page
    assert "\\u202e" in str(hostile)
    assert len(page) < 450_000
    assert max(map(columns_of, str(hostile).splitlines())) <= 100


def test_the_policy_allows_our_script_and_nothing_else(hostile):
    page = Outline(hostile.to_html())
    (policy,) = (value for _, name, value in page.attributes if name == "content" and "default-src" in value)
    allowed = dict(one.strip().split(" ", 1) for one in policy.split(";"))
    own = base64.b64encode(hashlib.sha256("".join(page.within["script"]).encode()).digest()).decode()
    assert allowed["default-src"] == "'none'"
    assert allowed["script-src"] == f"'sha256-{own}'"


def test_the_page_can_be_read_by_everyone(hostile):
    page = Outline(hostile.to_html())
    assert ("html", "lang", "en") in page.attributes
    assert page.tags.count("h1") == 1
    assert page.tags.index("h1") < page.tags.index("h2")
    names = [value for _, name, value in page.attributes if name == "id"]
    assert len(names) == len(set(names))
    used = [value for _, name, value in page.attributes if name == "aria-labelledby"]
    assert len(used) == page.tags.count("svg") == page.tags.count("desc")
    assert set(" ".join(used).split()) <= set(names)
    links = {value[1:] for _, name, value in page.attributes if name == "href"}
    assert links <= set(names)
    assert page.tags.count("caption") == page.tags.count("table")


def test_text_is_escaped_unless_it_is_markup():
    assert tag("p", "<b>", Markup("<i></i>"), ["&"], None, 3) == "<p>&lt;b&gt;<i></i>&amp;3</p>"
    assert tag("p", f"{tag('b')}") == "<p>&lt;b&gt;&lt;/b&gt;</p>"
    assert tag("a", href="#x", title='"<', hidden=True, lang=None) == '<a href="#x" title="&quot;&lt;" hidden></a>'


@pytest.mark.parametrize("attribute", [{"onclick": "x"}, {"href": "javascript:x"}, {"a b": "x"}])
def test_attributes_that_could_do_harm_are_refused(attribute):
    with pytest.raises(ValueError, match="report"):
        tag("a", **attribute)


def test_overlaps_are_drawn_for_more_than_two_classes_and_not_for_many():
    X, y = load_iris(return_X_y=True)
    for n, n_drawn in ((2, 0), (3, 6)):
        X_n, y_n = X[y < n], y[y < n]
        found = report(SEPClassifier(max_ellipsoids=3).fit(X_n, y_n), X_n, X_train=X_n, y_train=y_n).figures.landscape
        drawn = overlap_chart(found.classes, found.inside.tolist())
        assert (svg(drawn) if drawn else "").count("\u00a0% of ") == n_drawn
    many = tuple(f"class {i}" for i in range(31))
    assert overlap_chart(many, tuple(tuple(0.25 for _ in many) for _ in many)) is None


@pytest.mark.parametrize(("start", "end"), [(0, 1), (0, 0.013), (-3.2, 17.9), (1e6, 1.0001e6), (0, 3), (-2e-9, 1e-9)])
def test_ticks_are_few_and_inside(start, end):
    found = ticks(start, end)
    assert 2 <= len(found) <= 7
    assert start - 1e-9 * abs(end) <= found[0] < found[-1] <= end + 1e-9 * abs(end)


def check_rules(css):
    """Read rules, and those within an at-rule; fails at what is neither a rule nor a list of declarations."""
    while css := css.strip():
        head = re.match(r"[^{};]+\{", css)
        assert head, css[:80]
        depth, end = 1, head.end()
        while depth and end < len(css):
            depth += {"{": 1, "}": -1}.get(css[end], 0)
            end += 1
        inner, selector = css[head.end() : end - 1], head[0]
        assert depth == 0 == selector.count("(") - selector.count(")"), selector
        if selector.startswith("@"):
            check_rules(inner)
        else:
            assert inner.rstrip().endswith(";"), inner
            for declaration in inner.rstrip("; \n").split(";"):
                assert re.fullmatch(r"\s*-{0,2}[a-z][a-z0-9-]*\s*:[^:{}]+", declaration), declaration
                assert declaration.count("(") == declaration.count(")"), declaration
        css = css[end:]


def test_the_style_sheet_is_well_formed_and_its_names_are_known():
    css = re.sub(r'"[^"\n]*"', '""', Path(charts.__file__).with_name("page.css").read_text("utf-8"))
    check_rules(css)
    given = set(re.findall(r"(--[\w-]+):", css)) | {"--share", "--fill", "--stroke"}
    assert set(re.findall(r"var\((--[\w-]+)\)", css)) <= given


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no Node.js")
def test_the_script_has_no_syntax_error():
    script = Path(charts.__file__).with_name("page.js")
    done = subprocess.run(["node", "--check", script], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
