"""What stands around a page: its title, its description, and no empty side bar.

Not sphinxext-opengraph, which describes pages by captions and code, and needs the site's address.
"""

from html import escape

from docutils import nodes
from sphinx import addnodes

MAX_DESCRIPTION = 160  # characters; search engines show no more


def find_description(doctree):
    """First paragraph of a page's text, or of a docstring, without formulas; None if none."""
    places = (nodes.document, nodes.section, addnodes.desc_content)
    for paragraph in doctree.findall(nodes.paragraph):
        if isinstance(paragraph.parent, places) and not any(paragraph.findall(nodes.math)):
            return paragraph.astext()
    return None


def shorten(text):
    """Cut a description after a sentence or else after a word."""
    text = " ".join(text.split())
    if text.endswith(":"):
        text = text[:-1] + "."
    if len(text) <= MAX_DESCRIPTION:
        return text
    head, _, _ = text[:MAX_DESCRIPTION].rpartition(". ")
    if head:
        return head + "."
    return text[: MAX_DESCRIPTION - 2].rpartition(" ")[0].rstrip(",;:") + " …"


def edit_head(app, pagename, templatename, context, doctree):
    """Give a page a description, the root page a title, and take empty side bars away."""
    tagline = app.config.html_context["tagline"]
    if pagename == app.config.root_doc:
        context["title"], context["docstitle"] = f"{app.config.project}: {tagline}", ""
    if 'name="description"' not in context.get("metatags", ""):
        text = None if doctree is None else find_description(doctree)
        text = shorten(text or f"{app.config.project}: {tagline}.")
        tag = f'<meta name="description" content="{escape(text)}">'
        context["metatags"] = f"{context.get('metatags', '')}\n{tag}"
    # A page of the header without pages below has nothing to show beside; nor has the root.
    is_alone = not context.get("parents") and not app.env.toctree_includes.get(pagename)
    if is_alone or pagename == app.config.root_doc:
        context["sidebars"] = []


def setup(app):
    """Connect to Sphinx."""
    app.connect("html-page-context", edit_head, priority=400)  # before the theme
    return {"parallel_read_safe": True, "parallel_write_safe": True}
