"""Settings of the documentation site: `sphinx-build -W --keep-going -b html docs docs/_build`."""

import sys
from importlib.metadata import version as version_of
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "bayesgen"
author = "The bayesgen developers"
project_copyright = author
version = release = version_of("bayesgen")

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_codeautolink",
    "sphinx_copybutton",
    "sphinx_design",
    "cyclopts.ext.sphinx",
    # of docs/_extensions
    "docstrings",
    "error_messages",
    "mathml",
    "repository",
]
exclude_patterns = ["_build", "_extensions", "_templates", "jupyter_execute"]
templates_path = ["_templates"]

# Pages and notebooks: what the committed notebooks printed is shown, nothing is run.
nb_execution_mode = "off"
nb_merge_streams = True
nb_output_stderr = "remove"
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
html_math_renderer = "mathml"

# Reference: docstrings say in words which types and shapes arguments have.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
autosummary_ignore_module_all = False
napoleon_google_docstring = True
napoleon_use_rtype = False
napoleon_custom_sections = [("Attributes", "params_style")]
add_module_names = False
default_role = "py:obj"
smartquotes = False
suppress_warnings = ["ref.python"]  # a method in backticks that several classes have
toc_object_entries_show_parents = "hide"
maximum_signature_line_length = 88

codeautolink_autodoc_inject = False
codeautolink_concat_default = True
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_exclude = ".linenos, .gp, .go"

repository_url = "https://github.com/bayesgen/bayesgen"
html_theme = "pydata_sphinx_theme"
html_title = "bayesgen"
html_static_path = ["_static"]
html_css_files = ["custom.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "icon_links": [{"name": "Source", "url": repository_url, "icon": "fa-brands fa-github"}],
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"index": []}
