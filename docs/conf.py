"""How Sphinx builds the documentation: `make docs`. Nothing is fetched from the network."""

from __future__ import annotations

import os
import re
import sys
from importlib.metadata import version as version_of
from pathlib import Path

HERE = Path(__file__).parent
EXAMPLES = HERE.parent / "examples"
NOTEBOOKS = EXAMPLES / "notebooks"
sys.path[:0] = [str(HERE), str(HERE.parent / "tools")]
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

project = "sepc"
author = "The sepc developers"
project_copyright = author
release = version = version_of("sepc")

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery/**.ipynb", "gallery/**.md5", "gallery/**.py"]
templates_path = ["_templates"]

# Pages are Markdown that GitHub shows as well, so that only the front page uses what MyST adds to it.
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3

# Notebooks are shown with the outputs they hold; tests/test_notebooks.py runs them.
nb_execution_mode = "off"

# Docstrings: `name` in single quotes is code, types are those that the docstring names.
default_role = "code"
autodoc_typehints = "none"
autosummary_generate = True
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

html_theme = "pydata_sphinx_theme"
html_title = "sepc"
html_static_path = ["_static"]
html_css_files = ["sepc.css"]
html_favicon = html_logo = "_static/sepc.svg"
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "sepc"},
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
}
if site := os.environ.get("SEPC_DOCS_SITE"):  # where all versions are shown; without it, pages stand alone
    from add_to_site import folder_of

    html_theme_options |= {
        "switcher": {"json_url": f"{site}switcher.json", "version_match": folder_of(version)},
        "check_switcher": False,  # the list is written when the pages are added to the site
        "show_version_warning_banner": True,
        "navbar_end": ["version-switcher", "theme-switcher", "navbar-icon-links"],
    }
html_sidebars = {"gallery/**": [], "tutorial/**": []}


def needs_data(script: Path) -> bool:
    """Whether an example reads data sets that the library does not bring."""
    return "SEPC_DATA_HOME" in script.read_text(encoding="utf-8")


def scripts_to_run() -> str:
    """A pattern of the examples to run: those asked for, or all whose data sets are there."""
    if asked := os.environ.get("SEPC_DOCS_EXAMPLES"):
        return asked
    have_data = bool(os.environ.get("SEPC_DATA_HOME"))
    names = [path.stem for path in EXAMPLES.rglob("plot_*.py") if have_data or not needs_data(path)]
    return rf"{re.escape(os.sep)}({'|'.join(names)})\.py$"


sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": scripts_to_run(),
    "ignore_pattern": r"drawing\.py",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "write_computation_times": False,
    "thumbnail_size": (480, 320),
    "min_reported_time": 15,
    "abort_on_example_error": False,
}

# Files beside docs/ that pages link to, as GitHub needs it, and where they are shown here.
AT_ROOT = "CHANGELOG|SECURITY|CONTRIBUTING|CODE_OF_CONDUCT"
SHOWN_AT = {
    rf"(?:\.\./)+({AT_ROOT})\.md": lambda found: f"/reference/{found[1].lower()}.md",
    r"(?:\.\./)+docs/([\w/]+\.md)": lambda found: f"/{found[1]}",
    r"(?:\.\./)+examples/notebooks/(\w+\.ipynb)": lambda found: f"/notebooks/{found[1]}",
    r"(?:\.\./)+examples/([\w/]+)\.py": lambda found: f"/gallery/{found[1]}.rst",
    r"(?:\.\./)+examples/paper/?": lambda found: "/gallery/paper/index.rst",
    r"(?:\.\./)+examples/?": lambda found: "/gallery/index.rst",
}


def with_links_inside(app: object, page: str, source: list[str]) -> None:
    """Point links at what GitHub shows to where it is shown here."""
    for link, shown in SHOWN_AT.items():
        source[0] = re.sub(rf"(?<=\]\(){link}(?=[)#])", shown, source[0])


def with_links_among_included(app: object, path: Path, page: str, source: list[str]) -> None:
    """Point links from one file at the root to another to where that is shown here."""
    source[0] = re.sub(
        rf"(?<=\]\()({AT_ROOT})\.md(?=[)#])", lambda found: f"/reference/{found[1].lower()}.md", source[0]
    )


def bring_notebooks(app: object) -> None:
    """Copy the notebooks to where Sphinx finds them; what has not changed is left alone, and so not read again."""
    for path in NOTEBOOKS.glob("*.ipynb"):
        here, text = HERE / "notebooks" / path.name, path.read_text(encoding="utf-8")
        if not here.exists() or here.read_text(encoding="utf-8") != text:
            here.write_text(text, encoding="utf-8")


def draw_pictures(app: object) -> None:
    """Draw the pictures of the pages anew, so that they show what the library does now."""
    import draw_algorithm
    import draw_hero
    import draw_tutorial

    draw_algorithm.draw_all()
    draw_hero.draw()
    draw_tutorial.draw()


def write_generated_pages(app: object) -> None:
    """The reference of the `sepc` command from its parsers, and of the model file from the declarations of records."""
    import describe_commands
    import describe_records

    folder = HERE / "reference" / "generated"
    folder.mkdir(exist_ok=True)
    (folder / "command.md").write_text(describe_commands.page(), encoding="utf-8")
    (folder / "records.md").write_text(describe_records.page(), encoding="utf-8")


def setup(app) -> None:
    """Called by Sphinx."""
    app.connect("builder-inited", write_generated_pages)
    app.connect("builder-inited", bring_notebooks)
    app.connect("builder-inited", draw_pictures)
    app.connect("source-read", with_links_inside)
    app.connect("include-read", with_links_among_included)
