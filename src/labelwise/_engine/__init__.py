"""How uncertainty is computed fast; what is computed is written in `labelwise.decomposition` and
`labelwise.joint`.

`compute` asks a distribution for its kernel (`Distribution.fast`): `ensembles` and `dirichlet`.
`kernel` is the native kernel for ensembles in main memory, `host` brings those of PyTorch and JAX
to it. `blocks` cuts everything else into blocks of instances: one after another (NumPy), or tasks
that run later (Dask). This folder is the only performance-motivated
code in the package.
"""
