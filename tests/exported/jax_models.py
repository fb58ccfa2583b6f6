"""Functions of jax: (function, names of the inputs, shapes whose axes may be names, inputs)."""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import values


def weights(name, *shape):
    return values.normal(name, *shape) / np.sqrt(shape[-1])


def of(function, shapes, **inputs):
    return function, shapes, inputs


def perceptron():
    first, second = weights('jax/first', 6, 16), weights('jax/second', 16, 3)
    return of(lambda x: jax.nn.log_softmax(jax.nn.gelu(x @ first) @ second), [('B', 6)], x=values.normal('jax/x', 5, 6))


def convolution():
    kernel = weights('jax/kernel', 8, 3, 3, 3)

    def call(x):
        y = lax.conv_general_dilated(x, kernel, (2, 2), 'SAME', dimension_numbers=('NCHW', 'OIHW', 'NCHW'))
        return jax.nn.silu(y)
    return of(call, [(2, 3, 12, 12)], x=values.normal('jax/image', 2, 3, 12, 12))


def attention():
    enter = weights('jax/enter', 16, 48)

    def call(x):
        query, key, value = jnp.split(x @ enter, 3, -1)
        scores = jnp.einsum('btd,bsd->bts', query, key) / 4.0
        mask = jnp.tril(jnp.ones((x.shape[1], x.shape[1]), bool))
        return jax.nn.softmax(jnp.where(mask, scores, -1e9), -1) @ value
    return of(call, [(2, 6, 16)], x=values.normal('jax/tokens', 2, 6, 16))


def loops():
    def call(x):
        steps = lax.fori_loop(0, 5, lambda i, y: jnp.tanh(y * 1.1 + i), x)
        final, history = lax.scan(lambda carry, row: (carry * 0.5 + row, jnp.sin(carry)), jnp.zeros(4), x)
        return steps, final, history, lax.while_loop(lambda y: jnp.sum(y) < 100, lambda y: y * 2 + 1, jnp.abs(x))
    return of(call, [(3, 4)], x=values.normal('jax/loops', 3, 4))


def branches():
    def call(x):
        return (lax.cond(jnp.sum(x) > 0, lambda y: y * 2, lambda y: y - 1, x), lax.select(x > 0, x, -x),
                jnp.where(x > 1, 1.0, x))
    return of(call, [(3, 4)], x=values.normal('jax/branches', 3, 4))


def indices():
    table = jnp.array(weights('jax/table', 20, 8))

    def call(ids):
        rows = table[ids]
        moved = lax.dynamic_slice(rows, (0, 1, 2), (2, 3, 4))
        return (rows, moved, jnp.cumsum(rows, axis=1), jnp.sort(rows, axis=-1), jnp.argmax(rows, axis=-1),
                rows.at[0, 1].set(3.0), jnp.take_along_axis(rows, ids[..., None], axis=-1))
    return of(call, [(2, 5)], ids=values.ids('jax/ids', 8, 2, 5).astype(np.int32))


def reductions():
    def call(x):
        return (x.mean((0, 2)), x.std(1), jnp.max(x, -1), jax.nn.logsumexp(x, 1), jnp.linalg.norm(x, axis=-1),
                jnp.prod(x, 0), jnp.any(x > 1, 1))
    return of(call, [('B', 4, 5)], x=values.normal('jax/reductions', 3, 4, 5))


def shapes():
    def call(x):
        return (jnp.pad(x, ((0, 0), (1, 2))), jnp.roll(x, 1, 1), x[:, ::-1], jnp.tile(x, (1, 2)),
                jnp.concatenate([x, x * 2], 1), x.reshape(-1, 2, 3).transpose(0, 2, 1), jnp.clip(jnp.round(x), -1, 1))
    return of(call, [('B', 6)], x=values.normal('jax/shapes', 4, 6))
