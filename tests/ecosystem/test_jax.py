"""Keras on JAX, and flax networks as functions."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest
from flax import linen, nnx

import labelwise as lw


def test_keras(data):
    x, y = data
    models = []
    for seed in range(2):
        keras.utils.set_random_seed(seed)
        layers = [
            keras.layers.Dense(8, activation="relu"),
            keras.layers.Dropout(0.5),
            keras.layers.Dense(3, activation="softmax"),
        ]
        model = keras.Sequential([keras.Input((5,)), *layers])
        model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
        model.fit(x, y, epochs=1, verbose=0)
        models.append(model)
    q = lw.from_models(models, x, batch_size=64, class_names=["ant", "bee", "cat"])
    np.testing.assert_allclose(
        q.probs, np.stack([m.predict(x, verbose=0) for m in models]), atol=1e-5
    )
    logits = keras.Sequential([keras.Input((5,)), keras.layers.Dense(3)])
    with pytest.raises(ValueError, match="activation='softmax' for logits"):
        lw.from_models([logits], x)
    assert lw.from_models([logits], x, activation="softmax").probs.shape == (1, 200, 3)
    one = keras.Sequential([keras.Input((5,)), keras.layers.Dense(1, activation="sigmoid")])
    np.testing.assert_allclose(
        lw.from_models([one], x).probs[0, :, 1:], one.predict(x, verbose=0), atol=1e-5
    )


def test_flax(data):
    x = data[0]
    net = linen.Dense(3)
    parameters = [net.init(jax.random.key(i), jnp.asarray(x)) for i in range(2)]
    q = lw.from_models(
        [lambda x, p=p: net.apply(p, x) for p in parameters], x, activation="softmax"
    )
    expected = np.stack([jax.nn.softmax(net.apply(p, jnp.asarray(x))) for p in parameters])
    np.testing.assert_allclose(q.probs, expected, atol=1e-6)
    modules = [nnx.Linear(5, 3, rngs=nnx.Rngs(i)) for i in range(2)]
    q = lw.from_models(modules, jnp.asarray(x), activation="softmax")
    np.testing.assert_allclose(q.probs[0], jax.nn.softmax(modules[0](jnp.asarray(x))), atol=1e-6)
