"""Check the built site: dead links, what is loaded from elsewhere, what runs beyond an edge.

``python docs/check_site.py docs/_build/html`` needs Chromium, for the widths alone. It prints what
is wrong, page by page, and then returns 1.
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
TIMEOUT = 240  # seconds for all pages
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# A link is followed when it is clicked; all others of these are loaded with the page.
LINKS = {("a", "href"), ("area", "href"), ("form", "action"), ("link", "href")}
LOADED_LINKS = {"stylesheet", "icon", "preload", "modulepreload", "preconnect", "dns-prefetch"}
IN_CSS = re.compile(r"""url\(\s*['"]?([^'")]+)|@import\s+['"]([^'"]+)""")

# Opens every page in a frame, makes the frame as wide as each device and posts what is wrong:
# elements that end right of the edge, unless a box of their own scrolls them, boxes that cut off
# what is in them, and what the page has loaded from other hosts.
HARNESS = """
<!doctype html><body><script>
function scrolls(element, view) {
  for (let box = element.parentElement; box && box !== view.document.body; box = box.parentElement)
    if (["auto", "scroll"].includes(view.getComputedStyle(box).overflowX)) return true;
  return false;
}
function isWide(element, view, width) {
  const box = element.getBoundingClientRect();
  if (box.width <= 1 || box.height <= 1) return false;  // hidden
  const hides = ["hidden", "clip"].includes(view.getComputedStyle(element).overflowX);
  if (hides && element.scrollWidth > element.clientWidth + 1) return true;
  return box.right > width + 1 && !scrolls(element, view);
}
function name(element) {
  const label = element.id ? "#" + element.id : [...element.classList].map(c => "." + c).join("");
  return element.tagName.toLowerCase() + label + " " +
    JSON.stringify(element.textContent.trim().slice(0, 40));
}
function findWide(view, width) {
  const all = [...view.document.body.querySelectorAll("*")];
  const wide = all.filter(element => isWide(element, view, width));
  const outermost = wide.filter(element => !wide.includes(element.parentElement)).map(name);
  const total = view.document.documentElement.scrollWidth;
  return total > width || outermost.length ? [{width, total, elements: outermost.slice(0, 5)}] : [];
}
async function check(page) {
  const frame = document.createElement("iframe");
  frame.style.cssText = "border: 0; height: 900px; width: WIDEST";
  frame.src = "/" + page;
  document.body.append(frame);
  await new Promise(resolve => { frame.onload = resolve; });
  const view = frame.contentWindow, wide = [];
  await view.document.fonts.ready;
  for (const width of WIDTHS) {
    frame.style.width = width + "px";
    await new Promise(resolve => view.setTimeout(resolve, 20));
    wide.push(...findWide(view, width));
  }
  const loaded = view.performance.getEntriesByType("resource").map(entry => entry.name);
  const foreign = loaded.filter(url => !url.startsWith(location.origin) && url.startsWith("http"));
  frame.remove();
  return {page, wide, foreign};
}
(async () => {
  const findings = [];
  try {
    for (const page of PAGES) findings.push(await check(page));
    await fetch("/findings", {method: "POST", body: JSON.stringify(findings)});
  } catch (error) {
    await fetch("/findings", {method: "POST", body: JSON.stringify(String(error))});
  }
})();
</script></body>
"""


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
        self._in_style = False
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        """Note what a tag refers to."""
        attrs = {name: value or "" for name, value in attrs}
        self.anchors |= {attrs[name] for name in ("id", "name") if name in attrs}
        self._in_style = tag == "style"
        self.loads += _urls_in_css(attrs.get("style", ""))
        self.loads += [part.split()[0] for part in attrs.get("srcset", "").split(",") if part]
        for name in ("href", "src", "action", "data", "poster", "xlink:href"):
            if name not in attrs:
                continue
            is_loaded = tag == "link" and LOADED_LINKS & set(attrs.get("rel", "").split())
            is_link = (tag, name) in LINKS and not is_loaded
            (self.links if is_link else self.loads).append(attrs[name])

    def handle_data(self, data):
        """Note what a style sheet within the page refers to."""
        if self._in_style:
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


def find_dead_links(root):
    """Name links to files and anchors that are missing, and what is loaded from other hosts.

    Parameters
    ----------
    root : Path
        Folder of the site.

    Returns
    -------
    problems : list of str
        One for each.
    """
    pages = {path.resolve(): Page(path) for path in find_pages(root)}
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


def find_browser():
    """Find Chromium.

    Returns
    -------
    path : str or None
        The program; None if there is none.
    """
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def find_wide(root, browser):
    """Name what runs beyond an edge at any width, and what scripts load from other hosts.

    Parameters
    ----------
    root : Path
        Folder of the site.
    browser : str
        Chromium.

    Returns
    -------
    problems : list of str
        One for each page and width.

    Raises
    ------
    RuntimeError
        If Chromium does not answer in time, or cannot load a page.
    """
    pages = [path.relative_to(root).as_posix() for path in find_pages(root)]
    html = HARNESS.replace("WIDTHS", json.dumps(WIDTHS)).replace("PAGES", json.dumps(pages))
    findings = _run_harness(root, browser, html.replace("WIDEST", f"{WIDTHS[0]}px"))
    if isinstance(findings, str):
        raise RuntimeError(f"Chromium could not check the site: {findings}")
    problems = []
    for page in findings:
        problems += [f"{page['page']}: loads from another host {url}" for url in page["foreign"]]
        for wide in page["wide"]:
            elements = "; ".join(wide["elements"])
            head = f"{page['page']}: runs beyond an edge at {wide['width']} pixels"
            problems.append(f"{head} (to {wide['total']}): {elements}")
    return problems


def _run_harness(root, browser, html):
    """Serve the site and the harness to Chromium, and return what the harness posts."""
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
        command = [
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
            f"http://127.0.0.1:{server.server_port}/harness",
        ]
        process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            stop = time.monotonic() + TIMEOUT
            while not answered.wait(0.5):
                if process.poll() is not None or time.monotonic() > stop:
                    log.seek(0)
                    text = log.read().decode(errors="replace")[-2000:]
                    raise RuntimeError(f"Chromium ended, or ran {TIMEOUT} seconds.\n{text}")
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
    browser = find_browser()
    if browser is None:
        print("The site check needs Chromium: apt-get install chromium", file=sys.stderr)
        return 2
    if not (root / "index.html").is_file():
        print(f"There is no site in {root}: make docs", file=sys.stderr)
        return 2
    problems = find_dead_links(root) + find_wide(root, browser)
    print("\n".join(problems or ["All links are alive, and no page runs beyond an edge."]))
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
