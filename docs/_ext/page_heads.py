"""What stands around a page: its title, its description, and no empty side bar."""

from html import escape

from docutils import nodes

MAX_DESCRIPTION = 160  # characters; search engines show no more


def describe(text):
    """Cut a paragraph to a description, after a sentence or else after a word."""
    text = " ".join(text.split())
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
        paragraph = None if doctree is None else next(doctree.findall(nodes.paragraph), None)
        text = tagline if paragraph is None else paragraph.astext()
        context["metatags"] = context.get("metatags", "") + (
            f'\n<meta name="description" content="{escape(describe(text))}">'
        )
    # A page of the header without pages below has nothing to show beside; nor has the root.
    is_alone = not context.get("parents") and not app.env.toctree_includes.get(pagename)
    if is_alone or pagename == app.config.root_doc:
        context["sidebars"] = []


def setup(app):
    """Connect to Sphinx."""
    app.connect("html-page-context", edit_head, priority=400)  # before the theme
    return {"parallel_read_safe": True, "parallel_write_safe": True}
