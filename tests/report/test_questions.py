"""Twelve questions of a hospital: each answered by at most three clicks, with NumPy's answer."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from report_pages import SKIN, choose, listed, press, settle, value

MELANOMA = 0


class Clicks:
    """A page on which clicks are counted."""

    def __init__(self, page) -> None:
        self.page, self.count = page, 0

    def press(self, key: str) -> None:
        self.count += 1
        press(self.page, key)

    def choose(self, label: str, option: str, within: str) -> None:
        self.count += 1
        choose(self.page, label, option, within)

    def click(self, selector: str) -> None:
        self.count += 1
        self.page.locator(selector).first.click()
        settle(self.page)


@pytest.fixture
def ask(lesions, open_page):
    """The page, and afterwards: no more than three clicks."""
    data, report = lesions
    clicks = Clicks(open_page(report, width=1440))
    clicks.data, clicks.report = data, report
    clicks.mean = data.probs.mean(0)
    clicks.guess = clicks.mean.argmax(-1)
    clicks.u = lw.decompose(lw.Ensemble(data.probs)).sum()
    yield clicks
    assert 1 <= clicks.count <= 3


def edges(report, name: str) -> np.ndarray:
    (column,) = [x for x in report.data["columns"] if x["name"] == name]
    return np.asarray(column["edges"])


def flagged(score: np.ndarray, cuts: np.ndarray, share: float) -> np.ndarray:
    """The most uncertain cases, cut at the edge whose number is nearest to the share."""
    counts = np.array([np.sum(score >= cut) for cut in cuts[:-1]] + [0])
    wanted = share * len(score)
    best = np.argmin(np.abs(counts - wanted))
    return score >= cuts[best] if best < len(cuts) - 1 else np.zeros(len(score), bool)


def test_1_which_melanomas_are_missed_and_does_it_know(ask) -> None:
    missed = (ask.data.y == MELANOMA) & (ask.guess != MELANOMA)
    known = missed & flagged(ask.u.total, edges(ask.report, "total.log"), 0.1)
    assert value(ask.page, "table.melanoma.known") == known.sum() > 0
    ask.press("table.melanoma.missed")
    assert sorted(listed(ask.page)) == np.flatnonzero(missed).tolist()
    ask.press("table.melanoma.known")
    assert sorted(listed(ask.page)) == np.flatnonzero(known).tolist()


def test_2_which_patients_are_these(ask) -> None:
    missed = (ask.data.y == MELANOMA) & (ask.guess != MELANOMA)
    ask.press("table.melanoma.missed")
    ask.choose("by", "group", "#table")
    names, counts = np.unique(ask.data.patients[missed], return_counts=True)
    name = names[counts.argmax()]
    assert value(ask.page, f"table.{name}.n") == counts.max()
    ask.press(f"table.{name}.n")
    assert sorted(listed(ask.page)) == np.flatnonzero(missed & (ask.data.patients == name)).tolist()


def test_3_which_classes_are_confused_where_the_members_disagree(ask) -> None:
    ask.click("#matrix button[data-option=epistemic]")
    shares = {}
    for t, truth in enumerate(SKIN):
        for p, predicted in enumerate(SKIN):
            cell = (ask.data.y == t) & (ask.guess == p)
            if t != p and cell.sum() >= 10:
                share = ask.u.epistemic[cell].sum() / ask.u.total[cell].sum()
                shares[truth, predicted] = share
                text = ask.page.locator(
                    f"[data-key='matrix.{truth}.{predicted}']"
                ).first.inner_text()
                assert abs(float(text.replace("\u00a0%", "")) / 100 - share) < 0.011
    assert len(shares) > 3
    truth, predicted = max(shares, key=shares.get)
    ask.press(f"matrix.{truth}.{predicted}")
    cell = (ask.data.y == SKIN.index(truth)) & (ask.guess == SKIN.index(predicted))
    assert sorted(listed(ask.page)) == np.flatnonzero(cell).tolist()


def test_4_what_if_ten_percent_of_each_class_are_referred(ask) -> None:
    ask.click("#policy button[data-option=each]")
    ask.press("policy.referred")
    rows = np.array(listed(ask.page))
    for k in range(len(SKIN)):
        own = ask.guess == k
        chosen = rows[ask.guess[rows] == k]
        assert len(chosen) == pytest.approx(0.1 * own.sum(), abs=1 + 0.03 * own.sum())
        rest = np.setdiff1d(np.flatnonzero(own), chosen)
        assert ask.u.total[chosen].min(initial=np.inf) >= ask.u.total[rest].max()


def test_5_which_member_is_the_odd_one(ask) -> None:
    ask.choose("by", "member", "#table")
    own = ask.data.probs.argmax(-1)
    for j in range(5):
        name = f"seed-{11 + j}"
        assert value(ask.page, f"member.{name}.accuracy") == np.mean(own[j] == ask.data.y)
        assert value(ask.page, f"member.{name}.differs") == np.sum(own[j] != ask.guess)
    distance = [value(ask.page, f"exact.members.{j}.distance") for j in range(5)]
    assert np.argmax(distance) == 3
    ask.press("member.seed-14.differs")
    assert sorted(listed(ask.page)) == np.flatnonzero(own[3] != ask.guess).tolist()


def test_6_where_is_it_sure_and_wrong(ask) -> None:
    ask.press("finding.sure")
    cuts = edges(ask.report, "top")
    cut = cuts[np.argmin(np.abs(cuts - 0.9))]
    expected = (ask.guess != ask.data.y) & (ask.mean.max(-1) >= cut)
    assert abs(cut - 0.9) < 0.01
    assert sorted(listed(ask.page)) == np.flatnonzero(expected).tolist()


def test_7_is_it_worse_at_one_site(ask) -> None:
    ask.choose("by", "site", "#table")
    right = ask.guess == ask.data.y
    accuracy = {}
    for site in np.unique(ask.data.site):
        here = ask.data.site == site
        accuracy[site] = value(ask.page, f"table.{site}.accuracy")
        assert accuracy[site] == pytest.approx(right[here].mean())
    worst = min(accuracy, key=accuracy.get)
    assert worst == "Köln"
    ask.press(f"table.{worst}.wrong")
    expected = (ask.data.site == worst) & ~right
    assert sorted(listed(ask.page)) == np.flatnonzero(expected).tolist()


def test_8_what_does_a_sensitivity_of_95_percent_cost(ask) -> None:
    ask.click("#policy button[data-option=class]")
    ask.press("policy.referred")
    referred = np.zeros(len(ask.guess), bool)
    referred[listed(ask.page)] = True
    found = (ask.guess == MELANOMA) | referred
    ill = ask.data.y == MELANOMA
    sensitivity = found[ill].mean()
    assert value(ask.page, "policy.sensitivity") == pytest.approx(sensitivity)
    assert sensitivity >= 0.95
    # the most probable melanomas among the others, and hardly more than are needed
    others = ask.guess != MELANOMA
    p = ask.mean[:, MELANOMA]
    assert p[referred & others].min() >= p[~referred & others].max()
    most = p[referred & others].min()
    fewer = (ask.guess == MELANOMA) | (others & (p > most + 0.02))
    assert fewer[ill].mean() < 0.95


def test_9_is_70_percent_melanoma_right_in_70_percent(ask) -> None:
    ask.choose("x", "p", "#map")
    p, ill = ask.mean[:, MELANOMA], ask.data.y == MELANOMA
    rows = ask.page.locator("#map tbody tr").count()
    assert rows == 10
    for g in range(rows):
        here = (p >= g / 10) & (p < (g + 1) / 10 if g < 9 else True)
        assert value(ask.page, f"reliability.{g}.n") == here.sum()
        assert value(ask.page, f"reliability.{g}.happened") == pytest.approx(ill[here].mean())
        expected = value(ask.page, f"reliability.{g}.expected")
        assert expected == pytest.approx(p[here].mean(), abs=0.005)
    ask.press("reliability.6.n")
    assert sorted(listed(ask.page)) == np.flatnonzero((p >= 0.6) & (p < 0.7)).tolist()


def test_10_which_50_should_be_labeled_next(ask) -> None:
    ask.click("#cases button:has-text('50 to label next')")
    rows = listed(ask.page)
    assert len(rows) == 50
    # each predicted class in turn, so that none has many more than another unless others ran out
    counts = np.bincount(ask.guess[rows], minlength=len(SKIN))
    assert counts.max() - counts.min() <= 1
    for k in range(len(SKIN)):
        own = np.flatnonzero(ask.guess == k)
        chosen = np.intersect1d(own, rows)
        rest = np.setdiff1d(own, rows)
        assert ask.u.epistemic[chosen].min() >= ask.u.epistemic[rest].max() - 0.01
    ask.click("summary:has-text('Export')")
    with ask.page.expect_download() as download:
        ask.click("button:has-text('ids of the selection')")
    text = download.value.path().read_text()
    assert sorted(text.split()) == sorted(ask.data.ids[rows])


def test_11_one_case_its_members_its_like_and_its_link(ask, open_page) -> None:
    i = 471
    ask.count += 1
    ask.page.locator("#search").fill(ask.data.ids[i])
    ask.page.keyboard.press("Enter")
    settle(ask.page)
    panel = ask.page.locator("#case")
    assert panel.locator("h2").inner_text() == ask.data.ids[i]
    assert ask.data.patients[i] in panel.inner_text()
    likely = int(ask.guess[i])
    name = SKIN[likely]
    assert value(ask.page, f"case.{name}.mean") == pytest.approx(ask.mean[i, likely], abs=1e-4)
    u = lw.decompose(lw.Ensemble(ask.data.probs))
    found = value(ask.page, f"case.{name}.epistemic")
    assert found == pytest.approx(u.epistemic[i, likely], abs=1e-4)
    row = panel.locator("tr", has_text=name).first.text_content()
    for j in range(5):
        assert f"seed-{11 + j} " in row
    assert panel.locator(".nearest li").count() >= 3
    again = open_page(ask.report, hash=f"#case={ask.data.ids[i]}")
    assert again.locator("#case h2").inner_text() == ask.data.ids[i]


def test_12_do_readers_disagree_where_it_claims_noise(ask) -> None:
    ask.choose("y", "reader_disagreement", "#map")
    ask.click("#map details summary")
    ask.page.wait_for_selector("#map [data-key^='map.']", state="attached")
    share = ask.data.votes.max(1) / 3
    total = 0
    counts = ask.page.eval_on_selector_all(
        "#map [data-key^='map.']", "all => all.map((x) => [x.dataset.key, +x.dataset.value])"
    )
    for _, n in counts:
        total += n
    assert total == len(share)
    most = max((key for key, n in counts if n), key=lambda key: int(key.split(".")[1]))
    ask.press(most)
    rows = listed(ask.page)
    assert np.all(share[rows] == share.min())
