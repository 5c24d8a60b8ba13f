"""How uncertainty is computed fast; what is computed is written in `labelwise.decomposition` and
`labelwise.joint`.

`compute` chooses the way. `kernel` is the native kernel for ensembles in main memory, `host` brings
those of PyTorch and JAX to it, `blocks` cuts every other distribution into blocks of instances: one
after another (NumPy), or tasks that run later (Dask). This folder is the only performance-motivated
code in the package.
"""
