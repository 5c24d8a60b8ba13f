"""The hold-out experiment (the paper's Appendix C.3) with the control arms that it lacks.

An ensemble is trained on a small part of the data. The class with the highest mean label-wise EU
then gets new images in each epoch of a continued training, and its EU falls. So does that of
classes without new images: continued training alone lowers it, and a class selected for a high
value regresses to the mean. Continuing the same checkpoint in several ways shows what the new
images add.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from labelwise import decompose

from ..datasets import Dataset
from ..files import read_npy, replacing, write_npy
from .holdout_runs import Runs
from .results_folder import Options, predict, record
from .settings import DIGITS, Setting, TestImages, image_shape, training_data

if TYPE_CHECKING:
    from ..training import Recipe

__all__ = ["ARMS", "PLANS", "Run", "run", "run_one"]


@dataclass(frozen=True)
class Plan:
    """How a data set is used: ``n_train`` images first, for ``first`` epochs, then ``then`` epochs
    of continued training.
    """

    n_train: int
    first: int
    then: int


PLANS = {
    "fashion-mnist": Plan(300, 5, 5),
    "cifar10": Plan(5000, 20, 20),
    "digits": Plan(200, 10, 10),
}


@dataclass(frozen=True)
class Arm:
    """A way to continue: where the images of one class come from, and which class that is."""

    pool: str | None = None
    """``"new"``: the hold-out; ``"old"``: the class's own first images, redrawn; ``None``: nothing
    is exchanged.
    """
    label: str = "selected"
    """``"selected"``: the class with the highest EU on the test set; ``"random"``: one of the
    others.
    """
    constant: bool = False
    """Whether the learning rate stays what it was."""


ARMS = {
    "swap": Arm("new"),
    "no-swap": Arm(),
    "old-pool": Arm("old"),
    "random-class": Arm("new", "random"),
    "swap-constant": Arm("new", constant=True),
    "no-swap-constant": Arm(constant=True),
}


@dataclass(frozen=True, eq=False)
class Draw:
    """The training images of each member in each epoch: at first the small part; later, one class
    of it is redrawn.
    """

    labels: np.ndarray = field(repr=False)
    n_train: int
    first: int
    seed: int
    pool: str | None = None
    label: int | None = None

    def small_and_held_out(self) -> tuple[np.ndarray, np.ndarray]:
        """Positions of the small part and of the hold-out; by the seed of the run, the same for all
        members and arms.
        """
        order = np.random.default_rng([self.seed, 1]).permutation(len(self.labels))
        return np.sort(order[: self.n_train]), np.sort(order[self.n_train :])

    def __call__(self, member: int, epoch: int) -> np.ndarray:
        small, held_out = self.small_and_held_out()
        if epoch < self.first or self.pool is None:
            return small
        candidates = held_out if self.pool == "new" else small
        pool = candidates[self.labels[candidates] == self.label]
        n = self.n_train // 10  # whatever the class had, as in the published code
        drawn = np.random.default_rng([self.seed, 2, member, epoch]).choice(
            pool, n, replace=self.pool == "old" or len(pool) < n
        )
        return np.concatenate([small[self.labels[small] != self.label], drawn])


def recipe_for(setting: Setting, plan: Plan, shape: Sequence[int] | None = None) -> Recipe:
    """The recipe over both parts of the training, with the published batches of 64; the learning
    rate falls when the protocol says so.
    """
    recipe = replace(
        setting.recipe(shape), epochs=plan.first + plan.then, batch_size=64, shuffle=True
    )
    return replace(
        recipe,
        rates=tuple((start, rate) for start, rate in recipe.rates if start < recipe.epochs),
        **setting.changed,
    )


def arms_of(recipe: Recipe, names: tuple[str, ...] | None = None) -> tuple[str, ...]:
    """The arms to run: by default all; those with a constant learning rate only where it is not
    constant anyway.
    """
    return tuple(name for name in names or ARMS if len(recipe.rates) > 1 or not ARMS[name].constant)


@dataclass(frozen=True, eq=False)
class Run:
    """One run: label-wise EU (test instances, classes) before, and after each arm; and the class of
    each arm.
    """

    before: np.ndarray
    after: dict[str, np.ndarray]
    labels: dict[str, int]
    second_half: np.ndarray
    """A random half of the test set; what a class selected on the other half does is judged on this
    one.
    """
    y_true: np.ndarray
    accuracy: dict[str, float]


def run_one(
    setting: Setting, run: int, options: Options, *, arms: tuple[str, ...] | None = None
) -> Run:
    """Train one run and all its arms, or read what is stored of it.

    Label-wise EU under squared loss is kept for each arm; the weights of an arm are deleted, those
    it branches off from stay.
    """
    plan = PLANS[setting.data]
    data, train = training_data(setting, **options.where)
    recipe = recipe_for(setting, plan, image_shape(data))
    small = Draw(train.y, plan.n_train, plan.first, run)
    first = replace(
        recipe,
        epochs=plan.first,
        rates=tuple(rate for rate in recipe.rates if rate[0] < plan.first),
    )
    training = _Training(
        setting,
        data,
        options.results / f"holdout-{setting.name}" / f"run-{run}",
        run,
        options,
        first,
        small,
    )
    before, accuracy = training.result("before", first, small)
    labels = choose(before, run)
    after: dict[str, np.ndarray] = {}
    correct = {"before": accuracy}
    for name in arms_of(recipe, arms):
        arm = ARMS[name]
        draw = small if arm.pool is None else replace(small, pool=arm.pool, label=labels[arm.label])
        after[name], correct[name] = training.result(
            name, replace(recipe, rates=(first if arm.constant else recipe).rates), draw
        )
    named = {name: labels[ARMS[name].label] for name in after}
    return Run(before, after, named, halves(len(before), run), data.test.y, correct)


def halves(n: int, run: int) -> np.ndarray:
    """A random half of the test set, as a mask."""
    return np.asarray(np.random.default_rng([run, 3]).permutation(n) >= n // 2)


def choose(before: np.ndarray, run: int) -> dict[str, int]:
    """The class with the highest mean EU on the test set, and another one at random."""
    selected = int(before.mean(axis=0).argmax())
    others = np.delete(np.arange(before.shape[1]), selected)
    return {"selected": selected, "random": int(np.random.default_rng([run, 4]).choice(others))}


@dataclass(frozen=True, eq=False)
class _Training:
    """Train, predict and store the arms of one run."""

    setting: Setting
    data: Dataset
    folder: Path
    run: int
    options: Options
    first: Recipe
    small: Draw

    def result(self, name: str, recipe: Recipe, draw: Draw) -> tuple[np.ndarray, float]:
        """EU (instances, classes) and accuracy before, or after an arm of the continued training;
        computed where not stored.
        """
        path = self.folder / f"{name}.npy"
        if not path.exists():
            q = predict(
                self.start if name == "before" else self.fit(name, recipe, draw, self.start),
                TestImages(self.setting.data),
                self.data.test,
            )
            eu = np.asarray(decompose(q, "squared").epistemic)
            correct = (q.mean().argmax(-1) == self.data.test.y)[:, None]
            with replacing(path) as file:
                write_npy(file, np.concatenate([eu, correct.astype(eu.dtype)], axis=1))
            if name != "before":
                shutil.rmtree(self.folder / f"training-{name}")
        array = read_npy(path)
        return array[:, :-1], float(array[:, -1].mean(dtype=float))

    @cached_property
    def start(self) -> Any:
        """The ensemble that all arms branch off from."""
        return self.fit("before", self.first, self.small, None)

    def fit(self, name: str, recipe: Recipe, draw: Draw, start: Any) -> Any:
        from ..training import fit_ensemble

        self.options.say(
            f"hold-out {self.setting.name}, run {self.run}, {name}: up to epoch {recipe.epochs}"
        )
        return fit_ensemble(
            recipe.network,
            self.data,
            n_members=self.setting.members,
            recipe=recipe,
            rng=self.run,
            out_dir=self.folder / f"training-{name}",
            resume=True,
            subset=draw,
            start=start,
            n_jobs=self.options.n_jobs,
        )


def canonical(setting: Setting) -> Setting:
    """Without changes that change nothing of the hold-out's recipe."""
    return (
        setting.canonical(lambda each: recipe_for(each, PLANS[each.data], DIGITS))
        if setting.data in PLANS
        else setting
    )


def run(
    setting: Setting,
    runs: int,
    options: Options,
    *,
    arms: tuple[str, ...] | None = None,
    first_run: int = 0,
) -> dict[str, Any]:
    """Train what is missing; write ``runs.npz``, ``holdout.json`` and ``holdout.png``; returns the
    numbers.

    ``arms`` are run with what each is compared with, and with swap and no-swap, if these are not
    stored; by default all. Runs before ``first_run`` are used as far as they are stored, so that
    several machines can share the work.
    """
    from .holdout_numbers import CONTROLS, draw, numbers_of

    if setting.data not in PLANS:
        raise ValueError(f"the hold-out experiment is on {', '.join(PLANS)}; got {setting.data!r}")
    plan = PLANS[setting.data]
    if setting.epochs is not None:
        raise ValueError(
            f"the hold-out experiment has {plan.first} + {plan.then} epochs; `epochs` is not for it"
        )
    if arms is not None and (unknown := [name for name in arms if name not in ARMS]):
        raise ValueError(f"`arms` must be of {', '.join(ARMS)}; got {unknown[0]!r}")
    if setting.members < 2:
        raise ValueError(
            "`members` must be at least 2: a single network has no epistemic uncertainty; got "
            f"{setting.members}"
        )
    path = options.results / f"holdout-{setting.name}" / "runs.npz"
    stored = Runs.read(path)
    asked = {name for arm in arms or ARMS for name in (arm, CONTROLS.get(arm, arm))}
    if "swap" not in stored.arms:
        asked |= {"swap", "no-swap"}  # what the experiment is about
    wanted = arms_of(recipe_for(setting, plan), tuple(name for name in ARMS if name in asked))
    for r in range(first_run, runs):
        if not stored.has(r, wanted):
            stored = stored.with_run(r, run_one(setting, r, options, arms=wanted))
            stored.write(path)
    found = stored.first(runs)
    numbers = numbers_of(found)
    more = {
        "plan": asdict(plan),
        "arms": {
            name: {**asdict(ARMS[name]), "runs": len(found.rows(name))} for name in found.arms
        },
    }
    about = replace(options, command=with_arms(options.command, found.arms))
    draw(
        found,
        numbers,
        record(f"holdout-{setting.name}", "holdout", numbers, about, runs=runs, **more).with_suffix(
            ".png"
        ),
    )
    return numbers


def with_arms(command: str, arms: Sequence[str]) -> str:
    """The command as typed, but with the arms that are stored: also those of earlier commands are
    shown.

    >>> with_arms("labelwise-lab reproduce holdout --arm old-pool --runs 2", ["no-swap", "random-class", "old-pool", "swap"])
    'labelwise-lab reproduce holdout --runs 2 --arm swap --arm no-swap --arm old-pool --arm random-class'
    """  # noqa: E501
    typed = re.sub(r" --arm[ =]\S+", "", command)
    return " ".join([typed, *(f"--arm {name}" for name in ARMS if name in arms)]) if command else ""
