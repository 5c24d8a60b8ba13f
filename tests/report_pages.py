"""What the tests of the report page share: predictions to show, and how to read the page."""

from __future__ import annotations

import base64
import zlib
from dataclasses import dataclass

import numpy as np

import labelwise as lw
from labelwise.io import Predictions

PARTS = ("total", "aleatoric", "epistemic")
LOSSES = ("log", "squared", "spherical", "zero_one")


def ensemble(n=300, members=5, k=5, seed=0, class_names=None, sharpness=20.0):
    """A plausible ensemble and labels drawn from its truth."""
    rng = np.random.default_rng(seed)
    theta = rng.dirichlet(np.full(k, 0.3), n)
    probs = np.stack([rng.dirichlet(0.05 + sharpness * t, members) for t in theta], axis=1)
    y = np.array([rng.choice(k, p=t) for t in theta])
    return lw.Ensemble(probs, class_names=class_names, member_axis=0), y


def embedded(report, name: str) -> np.ndarray:
    """A block of the page as an array."""
    block = report.data["blocks"][name]
    data = zlib.decompress(base64.b64decode(report.arrays[name]))
    values = np.frombuffer(data, f"<{block['dtype']}").reshape(block["shape"])
    return values.cumsum() if block.get("steps") else values


SKIN = [
    "melanoma",
    "nevus",
    "basal cell carcinoma",
    "actinic keratosis",
    "benign keratosis",
    "dermatofibroma",
    "vascular lesion",
]


@dataclass
class Hospital:
    """Skin lesions of patients at three sites, seen by five networks and three readers."""

    probs: np.ndarray
    y: np.ndarray
    ids: np.ndarray
    patients: np.ndarray
    site: np.ndarray
    age: np.ndarray
    votes: np.ndarray
    images: np.ndarray

    @property
    def predictions(self) -> Predictions:
        return Predictions(
            probs=self.probs,
            y_true=self.y,
            ids=self.ids,
            groups=self.patients,
            class_names=tuple(SKIN),
            images=self.images,
            member_names=tuple(f"seed-{j}" for j in range(11, 16)),
        )

    @property
    def metadata(self) -> dict[str, list[str]]:
        return {
            "image": self.ids.tolist(),
            "site": self.site.tolist(),
            "age": self.age.astype(str).tolist(),
        }


def hospital(n: int = 1500) -> Hospital:
    """Worse at one site; the fourth network is the odd one."""
    rng = np.random.default_rng(0)
    k = len(SKIN)
    y = rng.choice(k, n, p=[0.15, 0.5, 0.08, 0.06, 0.12, 0.04, 0.05])
    patient = rng.integers(0, 500, n)
    site = np.array(["Aachen", "Bonn", "Köln"])[patient % 3]
    hard = rng.gamma(1.0, 1.0, (n, 1)) * np.where(site == "Köln", 1.8, 1.0)[:, None]
    logits = rng.normal(0, 1, (n, k)) * hard + 2.6 * np.eye(k)[y]
    members = logits + rng.normal(0, 0.6, (5, n, k)) * (0.3 + hard)
    members[3] += rng.normal(0, 2, (n, k))
    probs = np.exp(members - members.max(-1, keepdims=True))
    probs /= probs.sum(-1, keepdims=True)
    votes = np.zeros((n, k), int)
    readers = 0.7 * np.eye(k)[y] + 0.3 * probs.mean(0)
    for _ in range(3):
        chosen = (readers.cumsum(1) > rng.random((n, 1))).argmax(1)
        votes[np.arange(n), chosen] += 1
    return Hospital(
        probs=probs,
        y=y,
        ids=np.array([f"scan-{i:05d}" for i in range(n)]),
        patients=np.array([f"patient-{i:04d}" for i in patient]),
        site=site,
        age=rng.integers(3, 98, 500)[patient],
        votes=votes,
        images=rng.integers(0, 256, (n, 8, 8, 3), dtype=np.uint8),
    )


def settle(page) -> None:
    """Wait until nothing is being counted."""
    page.wait_for_function(
        "() => !/(Counting|Sorting|Reading the cases) …/.test(document.body.innerText)"
    )


def value(page, key: str) -> float:
    """The unrounded number that is shown under this key."""
    return float(page.locator(f"[data-key='{key}']").first.get_attribute("data-value"))


def press(page, key: str, **options) -> None:
    page.locator(f"button[data-key='{key}']").first.click(**options)
    settle(page)


def listed(page) -> list[int]:
    """Positions of the cases in the list."""
    settle(page)
    rows = page.evaluate("labelwise.rows()")
    assert value(page, "cases.n") == len(rows)
    return rows


def choose(page, label: str, option: str, within: str) -> None:
    page.locator(f"{within} select[aria-label='{label}']").select_option(option)
    settle(page)
