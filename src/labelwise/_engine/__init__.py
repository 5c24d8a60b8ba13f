"""How uncertainty is computed fast; what is computed is written in `labelwise.decomposition` and `labelwise.joint`.

`kernel` is the native kernel for NumPy ensembles, with `numpy_twin` where it could not be built; `members` hands ensembles to it;
`instances` cuts every other distribution into blocks of instances: one after another (NumPy), or tasks that run later (Dask).
This folder is the only performance-motivated code in the package.
"""
