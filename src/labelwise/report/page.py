"""The HTML file: skeleton, style, app and data, with a Content-Security-Policy that blocks
everything else.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Mapping
from importlib import resources
from string import Template
from typing import Any

from .._tables import json_ready

_ESCAPED = {ord(x): f"\\u{ord(x):04x}" for x in "<>&\u2028\u2029"}


def asset(name: str) -> str:
    """A static file of the page."""
    return resources.files(__package__).joinpath("static", name).read_text(encoding="utf-8")


def render(title: str, meta: dict[str, Any], arrays: Mapping[str, str]) -> str:
    """The page with its data: ``arrays`` are base64 text."""
    style, app = asset("style.css"), asset("app.js")
    policy = (
        f"default-src 'none'; script-src '{_hash(app)}'; style-src '{_hash(style)}'; img-src "
        "data: blob:; base-uri 'none'; form-action 'none'"
    )
    scripts = []
    for name, text in arrays.items():
        place = html.escape(_encodable(f"data-{name}"))
        scripts.append(f'<script type="text/plain" id="{place}">{text}</script>')
    return Template(asset("page.html")).substitute(
        title=html.escape(_encodable(title)),
        csp=html.escape(policy),
        style=style,
        app=app,
        meta=as_json(meta),
        data="\n".join(scripts),
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


def _encodable(text: str) -> str:
    """``text`` with question marks for lone surrogates, which cannot be encoded."""
    return text.encode("utf-8", "replace").decode("utf-8")


def as_json(value: Any) -> str:
    """JSON that is safe inside an HTML element; NaN and infinity are null."""
    text = json.dumps(json_ready(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return _encodable(text).translate(_ESCAPED)
