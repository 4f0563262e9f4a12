"""Formulas as MathML, which browsers draw by themselves: no script, nothing to load."""

import re
from html import escape

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

logger = logging.getLogger(__name__)


def visit_math(translator, node):
    """Write an inline formula."""
    translator.body.append(_convert(node, as_block=False))
    raise nodes.SkipNode


def visit_math_block(translator, node):
    """Write a displayed formula, in a box that can scroll."""
    translator.body.append(translator.starttag(node, "div", CLASS="math-block"))
    translator.body.append(_convert(node, as_block=True) + "</div>\n")
    raise nodes.SkipNode


def _convert(node, as_block):
    """MathML of a formula; one that cannot be converted is a warning."""
    # A command that docutils' converter does not know.
    formula = re.sub(r"\\dots\b", r"\\ldots", node.astext())
    try:
        mathml = tex2mathml(formula, as_block=as_block)
    except MathError as error:
        logger.warning("no MathML for %r: %s", formula, error, location=node)
        return f"<code>{escape(formula)}</code>"
    # A thin space between a function's name and what it is of, where no bracket parts them.
    return re.sub(r"(&ApplyFunction;</mo>)(?=\s*<m[in])", r'\1<mspace width="0.17em"/>', mathml)


def setup(app):
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
