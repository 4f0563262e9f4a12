"""Check the built site, page by page, as readers see it.

Looked for are dead links, what is loaded from elsewhere and, in Chromium and in Firefox if it is
there: what runs beyond an edge, pictures whose text is too small on a phone, text of too little
contrast in either theme, formulas that are not set.

``python docs/check_site.py docs/_build/html`` prints what is wrong, and then returns 1.
"""

import argparse
import functools
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

WIDTHS = (1400, 1100, 420)  # pixels: a desk, a small laptop, a phone
CONTRAST, CONTRAST_LARGE = 4.5, 3.0  # of text, of large text: WCAG 2.2, 1.4.3 (AA)
MIN_TEXT = 7  # pixels; of the smallest text of a picture on a phone
TIMEOUT = 300  # seconds for all pages
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
FIREFOX = ("firefox", "firefox-esr")
# A link is followed when it is clicked; all others of these are loaded with the page.
LINKS = {("a", "href"), ("area", "href"), ("form", "action"), ("link", "href")}
LOADED_LINKS = {"stylesheet", "icon", "preload", "modulepreload", "preconnect", "dns-prefetch"}
IN_CSS = re.compile(r"""url\(\s*['"]?([^'")]+)|@import\s+['"]([^'"]+)""")

# Opens every page in a frame, makes the frame as wide as each device, and posts what is wrong.
HARNESS = """
<!doctype html><body><script>
function name(element) {
  const label = element.id ? "#" + element.id : [...element.classList].map(c => "." + c).join("");
  return element.tagName.toLowerCase() + label + " " +
    JSON.stringify(element.textContent.trim().slice(0, 40));
}
// What ends right of the edge, unless a box scrolls it, and boxes that hide overflow.
function scrolls(element, view) {
  for (let box = element.parentElement; box && box !== view.document.body; box = box.parentElement)
    if (["auto", "scroll"].includes(view.getComputedStyle(box).overflowX)) return true;
  return false;
}
function isWide(element, view, width) {
  const box = element.getBoundingClientRect();
  if (box.width <= 1 || box.height <= 1) return false;  // hidden
  const style = view.getComputedStyle(element);
  const hides = ["hidden", "clip"].includes(style.overflowX) && style.textOverflow !== "ellipsis";
  if (hides && element.scrollWidth > element.clientWidth + 1) return true;
  return box.right > width + 1 && !scrolls(element, view);
}
function findWide(view, width) {
  const all = [...view.document.body.querySelectorAll("*")];
  const wide = all.filter(element => isWide(element, view, width));
  const outermost = wide.filter(element => !wide.includes(element.parentElement)).map(name);
  const total = view.document.documentElement.scrollWidth;
  const told = `runs beyond an edge at ${width} pixels (to ${total}): `;
  return total > width || outermost.length ? [told + outermost.slice(0, 5).join("; ")] : [];
}
// Pictures whose smallest text is too small: of SVG by its font sizes, else as ten points.
async function findTiny(view) {
  const tiny = [];
  for (const image of view.document.querySelectorAll("article img")) {
    if (image.closest(".sphx-glr-thumbcontainer")) continue;  // a click away from the whole
    const width = image.getBoundingClientRect().width;
    if (width <= 1 || !image.naturalWidth) continue;
    let text = 10 / 72 * 100 * width / image.naturalWidth;  // matplotlib: 100 pixels an inch
    if (image.src.endsWith(".svg")) {
      const source = await (await fetch(image.src)).text();
      const sizes = [...source.matchAll(/font(?:-size)?: *([0-9.]+)px/g)].map(m => +m[1]);
      const units = source.match(/viewBox="[-0-9.]+ [-0-9.]+ ([0-9.]+)/);
      if (!sizes.length || !units) continue;
      text = Math.min(...sizes) * width / units[1];
    }
    if (text < MIN_TEXT)
      tiny.push(`text of ${text.toFixed(1)} pixels on a phone: ${image.getAttribute("src")}`);
  }
  return tiny;
}
// Contrast of text to what is behind it.
function channels(color) {  // "rgb(0, 0, 0)", or "color(srgb 0 0 0)" of what is mixed
  const [r, g, b, a = 1] = color.replace(/^color\\(\\w+/, "").match(/[0-9.]+/g).map(Number);
  const scale = color.startsWith("color(") ? 255 : 1;
  return [r * scale, g * scale, b * scale, a];
}
function over([r, g, b, a], below) {
  return [r, g, b].map((c, i) => a * c + (1 - a) * below[i]).concat(1);
}
function luminance(color) {
  const [r, g, b] = color.slice(0, 3).map(c => c / 255)
    .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
function background(element, view) {
  const layers = [];
  for (let box = element; box; box = box.parentElement) {
    const style = view.getComputedStyle(box);
    if (style.backgroundImage !== "none") return null;  // a picture: not judged
    layers.push(channels(style.backgroundColor));
    if (layers.at(-1)[3] === 1) break;
  }
  return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255, 1]);
}
function findFaint(view, theme) {
  view.document.documentElement.dataset.theme = theme;
  const faint = new Map();
  for (const element of view.document.body.querySelectorAll("*")) {
    const texts = [...element.childNodes].filter(n => n.nodeType === 3 && n.data.trim());
    if (!texts.length || !element.checkVisibility({visibilityProperty: true})) continue;
    const style = view.getComputedStyle(element), behind = background(element, view);
    const box = element.getBoundingClientRect();
    const isShown = box.width > 1 && box.height > 1 && !element.closest("math, [disabled]");
    if (!behind || !isShown) continue;
    const [a, b] = [over(channels(style.color), behind), behind].map(luminance);
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const size = parseFloat(style.fontSize), isBold = style.fontWeight >= 700;
    const least = size >= 24 || (isBold && size >= 18.66) ? LARGE : CONTRAST;
    const key = `contrast of ${contrast.toFixed(2)}, ${theme}: ${style.color}`;
    if (contrast < least - 0.005 && !faint.has(key)) faint.set(key, `${key} ${name(element)}`);
  }
  return [...faint.values()];
}
// Formulas of no size, and lines of a formula whose columns do not stand below each other.
function isRagged(table) {
  const rows = [...table.children].map(row => row.children[1]?.getBoundingClientRect().left);
  const edges = rows.filter(edge => edge !== undefined);
  return edges.some(edge => Math.abs(edge - edges[0]) > 1.5);
}
function findUnset(view) {
  const shown = [...view.document.querySelectorAll("math")].filter(f => f.checkVisibility());
  const unset = shown.filter(formula => {
    const box = formula.getBoundingClientRect();
    const isFlat = box.width < 2 || box.height < 5;
    return isFlat || [...formula.querySelectorAll("mtable")].some(isRagged);
  });
  return unset.map(formula => `a formula is not set: ${name(formula)}`);
}
async function check(page) {
  const frame = document.createElement("iframe");
  frame.style.cssText = `border: 0; height: 900px; width: ${WIDTHS[0]}px`;
  frame.src = "/" + page;
  document.body.append(frame);
  await new Promise(resolve => { frame.onload = resolve; });
  const view = frame.contentWindow;
  await view.document.fonts.ready;
  for (const image of view.document.images) image.loading = "eager";
  const still = view.document.createElement("style");
  still.textContent = "* { transition: none !important }";
  view.document.head.append(still);
  const problems = [...findFaint(view, "dark"), ...findFaint(view, "light"), ...findUnset(view)];
  for (const width of WIDTHS) {
    frame.style.width = width + "px";
    await new Promise(resolve => view.setTimeout(resolve, 20));
    problems.push(...findWide(view, width));
  }
  problems.push(...await findTiny(view));
  const loaded = view.performance.getEntriesByType("resource").map(entry => entry.name);
  const foreign = loaded.filter(url => !url.startsWith(location.origin) && url.startsWith("http"));
  problems.push(...foreign.map(url => `loads from another host ${url}`));
  frame.remove();
  return problems.map(problem => `${page}: ${problem}`);
}
(async () => {
  const findings = [];
  try {
    for (const page of PAGES) findings.push(...await check(page));
    await fetch("/findings", {method: "POST", body: JSON.stringify(findings)});
  } catch (error) {
    await fetch("/findings", {method: "POST", body: JSON.stringify(String(error))});
  }
})();
</script></body>
"""
VOID = {"br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}


class Page(HTMLParser):
    """A page's anchors, what it links to and what it loads.

    Parameters
    ----------
    path : Path
        The file.
    """

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links, self.loads = set(), [], []
        self._open = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        """Note what a tag refers to."""
        attrs = {name: value or "" for name, value in attrs}
        self.anchors |= {attrs[name] for name in ("id", "name") if name in attrs}
        if tag not in VOID:
            self._open.append(tag)
        self.loads += _urls_in_css(attrs.get("style", ""))
        self.loads += [part.split()[0] for part in attrs.get("srcset", "").split(",") if part]
        for name in ("href", "src", "action", "data", "poster", "xlink:href"):
            if name not in attrs:
                continue
            is_loaded = tag == "link" and LOADED_LINKS & set(attrs.get("rel", "").split())
            is_link = (tag, name) in LINKS and not is_loaded
            (self.links if is_link else self.loads).append(attrs[name])

    def handle_endtag(self, tag):
        """Close a tag, and those within it that need no end."""
        if tag in self._open:
            while self._open.pop() != tag:
                pass

    def handle_data(self, data):
        """Note what a style sheet within the page refers to."""
        if self._open[-1:] == ["style"]:
            self.loads += _urls_in_css(data)


def _urls_in_css(text):
    return [first or second for first, second in IN_CSS.findall(text)]


def find_pages(root):
    """List the files of the pages; themes keep templates in ``_static``.

    Parameters
    ----------
    root : Path
        Folder of the site.

    Returns
    -------
    pages : list of Path
        In the order of their names.
    """
    return [path for path in sorted(root.rglob("*.html")) if "_static" not in path.parts]


def read_pages(root):
    """Read the pages of the site in a folder: a dict of :class:`Page`, by resolved path."""
    return {path.resolve(): Page(path) for path in find_pages(root)}


def find_dead_links(root, pages):
    """Name links to files and anchors that are missing, and what is loaded from other hosts.

    Parameters
    ----------
    root : Path
        Folder of the site.
    pages : dict
        Of :func:`read_pages`.

    Returns
    -------
    problems : list of str
        One for each.
    """
    references = [
        (path, url, is_load)
        for path, page in pages.items()
        for is_load, urls in ((False, page.links), (True, page.loads))
        for url in urls
    ]
    for path in sorted(root.rglob("*.css")):
        text = path.read_text(encoding="utf-8")
        references += [(path.resolve(), url, True) for url in _urls_in_css(text)]
    problems = {}
    for path, url, is_load in references:
        problem = _judge(path, url, is_load, pages, root.resolve())
        if problem:
            problems[f"{path.relative_to(root.resolve())}: {problem} {url}"] = None
    return list(problems)


def _judge(path, url, is_load, pages, root):
    """Tell what is wrong with a reference, or None."""
    parts = urlsplit(url)
    if parts.scheme == "data":
        return None
    if parts.scheme or parts.netloc:
        return "loads from another host" if is_load else None
    target = path
    if parts.path:
        start = root if parts.path.startswith("/") else path.parent
        target = (start / unquote(parts.path).lstrip("/")).resolve()
    if target.is_dir():
        target = target / "index.html"
    if not target.is_file():
        return "links to a missing file"
    anchor = unquote(parts.fragment)
    if anchor and target in pages and anchor not in pages[target].anchors:
        return "links to a missing anchor"
    return None


def find_browser(names):
    """Find a program by any of its names.

    Parameters
    ----------
    names : iterable of str

    Returns
    -------
    path : str or None
        None if there is none.
    """
    return next(filter(None, map(shutil.which, names)), None)


def find_unsightly(root, browser):
    """Name what a browser shows wrong at any width, and what scripts load from other hosts.

    Parameters
    ----------
    root : Path
        Folder of the site.
    browser : str
        Chromium or Firefox.

    Returns
    -------
    problems : list of str

    Raises
    ------
    RuntimeError
        If the browser does not answer in time, or cannot load a page.
    """
    values = {
        "CONTRAST": CONTRAST,
        "LARGE": CONTRAST_LARGE,
        "MIN_TEXT": MIN_TEXT,
        "WIDTHS": WIDTHS,
        "PAGES": [path.relative_to(root).as_posix() for path in find_pages(root)],
    }
    constants = "".join(f"const {name} = {json.dumps(value)};\n" for name, value in values.items())
    html = HARNESS.replace("<script>", f"<script>\n{constants}")
    findings = _run_harness(root, browser, html)
    if isinstance(findings, str):
        raise RuntimeError(f"{browser} could not check the site: {findings}")
    return findings


def _command(browser, profile, url):
    """Command that opens a page without a window, and keeps the browser running."""
    if Path(browser).name in FIREFOX:
        return [browser, "--headless", "--no-remote", "--profile", profile, url]
    return [
        browser,
        "--headless",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
        "--no-first-run",
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        f"--user-data-dir={profile}",
        "--remote-debugging-port=0",  # keeps it running
        *(["--no-sandbox"] if os.geteuid() == 0 else []),
        url,
    ]


def _run_harness(root, browser, html):
    """Serve the site and the harness to a browser, and return what the harness posts."""
    answer, answered = [], threading.Event()

    class Handler(http.server.SimpleHTTPRequestHandler):
        def do_GET(self):
            if self.path != "/harness":
                return super().do_GET()
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            return self.wfile.write(html.encode())

        def do_POST(self):
            answer.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()
            answered.set()

        def log_message(self, *args):
            pass

    handler = functools.partial(Handler, directory=str(root))
    with (
        http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server,
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile,
        tempfile.TemporaryFile() as log,
    ):
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/harness"
        command = _command(browser, profile, url)
        process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            stop = time.monotonic() + TIMEOUT
            while not answered.wait(0.5):
                if process.poll() is not None or time.monotonic() > stop:
                    log.seek(0)
                    text = log.read().decode(errors="replace")[-2000:]
                    raise RuntimeError(f"{browser} ended, or ran {TIMEOUT} seconds.\n{text}")
        finally:
            process.terminate()
            process.wait()
            server.shutdown()
    return answer[0]


def main(arguments=None):
    """Check a site.

    Parameters
    ----------
    arguments : list of str, default=None
        Those of the command line by default.

    Returns
    -------
    status : int
        0 if all is well, 1 if something is wrong, 2 if it could not be checked.
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", type=Path, help="folder of the built site")
    root = parser.parse_args(arguments).root
    browsers = list(filter(None, map(find_browser, (CHROMIUM, FIREFOX))))
    if not browsers:
        print("The site check needs Chromium or Firefox: apt-get install chromium", file=sys.stderr)
        return 2
    if not (root / "index.html").is_file():
        print(f"There is no site in {root}: make docs", file=sys.stderr)
        return 2
    pages = read_pages(root)
    problems = find_dead_links(root, pages)
    for browser in browsers:
        problems += find_unsightly(root, browser)
    names = " and ".join(Path(browser).name for browser in browsers)
    print("\n".join(problems or [f"Nothing is wrong with the site in {names}."]))
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
