"""Mistakes that type checkers find; `make types` checks that mypy and pyright report each of them.
Not run.
"""

from __future__ import annotations

import numpy as np

import labelwise as lw

probs = np.full((3, 5, 4), 0.25)
q = lw.Ensemble(probs)
u = lw.decompose(q)
costs = lw.decisions.Costs(default=1)

lw.decompose(q, "lgo")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
lw.joint.decompose(q, "lgo")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
lw.quantify("a.npz", "b.npz", losses=["lgo"])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]
lw.decompose(q, correction="bootstrap")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
lw.decompose("probs.npz")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
lw.decisions.decide(q, costs, task="oneclass")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]

lw.evaluaton  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
lw.evaluation.rejection_curv  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
lw.joint.mutual_info  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
lw.models.fit_esemble  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
u.epistemc  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]

x: int = u.epistemic  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
y: int = lw.joint.decompose(q).total  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
z: str = lw.evaluation.rejection_curve(u.sum().total, correct=[True]).area  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]

lw.decompose(q, evnts=None)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
lw.Ensemble(probs, clas_names=["a"])  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
lw.Dirichlet(probs, names=["a"])  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
lw.evaluation.rejection_curve(u.total, corect=[True])  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
lw.from_models([], probs, batchsize=3)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
