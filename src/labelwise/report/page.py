"""The HTML file: structure, style, script and data, with a Content-Security-Policy that blocks
everything else.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from importlib import resources
from typing import Any

from .._tables import json_ready

SCRIPTS = (
    "data.js",
    "measures.js",
    "decisions.js",
    "format.js",
    "dom.js",
    "charts.js",
    "overview.js",
    "rejection.js",
    "detection.js",
    "sets.js",
    "sources.js",
    "explorer.js",
    "detail.js",
    "planner.js",
    "comparison.js",
    "main.js",
)


def asset(name: str) -> str:
    """A static file of the front end."""
    return resources.files(__package__).joinpath("static", name).read_text(encoding="utf-8")


def script() -> str:
    """The front end as one script in its own scope."""
    return '"use strict";\n(() => {\n' + "\n".join(asset(name) for name in SCRIPTS) + "\n})();\n"


def render(title: str, data: dict[str, Any]) -> str:
    """The page."""
    style, code = asset("style.css"), script()
    policy = (
        f"default-src 'none'; script-src '{_hash(code)}'; style-src '{_hash(style)}'; img-src "
        "data:; base-uri 'none'; form-action 'none'"
    )
    parts = {
        "TITLE": html.escape(_encodable(title)),
        "POLICY": html.escape(policy),
        "STYLE": style,
        "DATA": as_json(data),
        "SCRIPT": code,
    }
    page = asset("page.html")
    for name, text in parts.items():
        before, mark, after = page.partition(f"<!--{name}-->")
        if not mark:
            raise ValueError(f"the page has no place for {name}")
        page = before + text + after
    return page


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


def _encodable(text: str) -> str:
    """``text`` with question marks for lone surrogates, which cannot be encoded."""
    return text.encode("utf-8", "replace").decode("utf-8")


def as_json(value: Any) -> str:
    """JSON that is safe inside an HTML element; numbers have 12 digits, NaN and infinity are
    null.
    """
    text = json.dumps(
        json_ready(value, 12), ensure_ascii=False, separators=(",", ":"), allow_nan=False
    )
    return (
        _encodable(text)
        .replace("<", "\\u003c")
        .replace(">", "\\u003e")
        .replace("&", "\\u0026")
        .replace("\u2028", "\\u2028")
        .replace("\u2029", "\\u2029")
    )
