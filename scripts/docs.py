"""Build the documentation into one folder that needs nothing from outside: `python scripts/docs.py site`.

A broken link, a page that is in no menu or a name that the API page does not find is an error, as is any picture, style
or script that a page would load from an address.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOADED = re.compile(
    r"<(?:script|img|iframe|source)\b[^>]*\bsrc=[\"']?(?:https?:)?//"
    r"|<link\b(?=[^>]*\brel=[\"']?(?:stylesheet|preload|icon))[^>]*\bhref=[\"']?(?:https?:)?//"
)
DIAGRAMS = 'class="mermaid"'
"""Material draws these by a script that it loads from elsewhere."""


def main(site: Path) -> int:
    """Build into the folder; return the exit code."""
    command = ("mkdocs", "build", "--strict", "--quiet", "--site-dir", str(site))
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    status = subprocess.run((sys.executable, "-m", *command), cwd=ROOT, env=quiet, check=False).returncode
    if status:
        return status
    (site / "404.html").unlink(missing_ok=True)  # a server's page: its links begin at a root that a folder has not
    pages = sorted(site.rglob("*.html"))
    texts = {page: page.read_text(encoding="utf-8") for page in pages}
    loading = [page for page, text in texts.items() if LOADED.search(text) or DIAGRAMS in text]
    for page in loading:
        print(f"error: {page} loads something from outside", file=sys.stderr)
    if not loading:
        print(f"{len(pages)} pages, offline: {site / 'index.html'}")
    return 1 if loading else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
