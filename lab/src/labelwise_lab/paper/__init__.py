"""The paper's experiments, each a small module that says what is trained, measured and drawn;
``labelwise-lab reproduce`` runs them.

========== ============================================================ ==========================
module     what                                                         where in the paper
========== ============================================================ ==========================
`gallery`  the most uncertain instances, label by label                 Figs. 1 and 5
`arc`      accuracy–rejection curves                                    Fig. 3, Appendix C.2
`ood`      out-of-distribution detection                                Table 1
`holdout`  new data for the class with the highest EU, with controls    Table 2, Appendix C.3
`artifact` what preprocessing alone does to an AUROC                    the last column of Table 1
`losses`   six losses compared                                          an open question there
`human`    aleatoric uncertainty against people's votes                 not in the paper
========== ============================================================ ==========================
"""

__all__ = ["arc", "artifact", "gallery", "holdout", "human", "losses", "ood"]
