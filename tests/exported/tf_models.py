"""Functions of TensorFlow: each gives (function, named inputs); an axis of the first extent is exported without one."""
import numpy as np


def weights(*shape):
    return (np.random.standard_normal(shape) / np.sqrt(np.prod(shape[:-1]))).astype(np.float32)


def noise(*shape):
    return np.random.standard_normal(shape).astype(np.float32)


def convolutions():
    """Channels last: a strided convolution, depthwise and pointwise ones, padding by hand, pooling."""
    import tensorflow as tf
    first, depth, point, dense = weights(3, 3, 3, 8), weights(3, 3, 8, 1), weights(1, 1, 8, 12), weights(12, 5)
    scale, shift, mean, spread = np.abs(noise(12)) + 0.5, noise(12), noise(12), np.abs(noise(12)) + 0.5

    def network(x):
        x = tf.nn.relu6(tf.nn.conv2d(tf.pad(x, [[0, 0], [0, 1], [0, 1], [0, 0]]), first, 2, 'VALID'))
        x = tf.nn.depthwise_conv2d(x, depth, [1, 1, 1, 1], 'SAME')
        x = tf.nn.conv2d(tf.nn.swish(x), point, 1, 'SAME')
        x = tf.nn.batch_normalization(x, mean, spread, shift, scale, 1e-3)
        x = tf.nn.max_pool2d(tf.nn.leaky_relu(x, 0.1), 3, 2, 'SAME')
        return tf.nn.softmax(tf.linalg.matmul(tf.reduce_mean(x, [1, 2]), dense))
    return network, {'x': noise(2, 16, 12, 3)}


def encoder():
    """Embeddings, attention by einsum, layer norms of reductions, gelu by erf: tf2onnx does not know the Erfc of tf.nn.gelu."""
    import tensorflow as tf
    words, places = weights(40, 16) * 4, weights(6, 16) * 4
    maps = [weights(16, 2, 8) for _ in range(3)]
    out, wide, narrow = weights(2, 8, 16), weights(16, 32), weights(32, 16)

    def norm(x):
        mean, variance = tf.nn.moments(x, [-1], keepdims=True)
        return (x - mean) * tf.math.rsqrt(variance + 1e-5)

    def network(ids, mask):
        x = tf.gather(words, ids) + places[tf.newaxis]
        q, k, v = (tf.einsum('bld,dhe->blhe', x, one) for one in maps)
        scores = tf.einsum('bqhe,bkhe->bhqk', q, k) / np.float32(np.sqrt(8))
        scores += (1.0 - tf.cast(mask, tf.float32))[:, tf.newaxis, tf.newaxis] * np.float32(-1e9)
        x = norm(x + tf.einsum('bqhe,hed->bqd', tf.einsum('bhqk,bkhe->bqhe', tf.nn.softmax(scores), v), out))
        y = x @ wide
        return norm(x + (y * (1 + tf.math.erf(y / np.float32(np.sqrt(2)))) / 2) @ narrow)
    ids = np.random.randint(0, 40, (3, 6)).astype(np.int32)
    return network, {'ids': ids, 'mask': np.tri(3, 6, 3).astype(np.int32)}


def recurrent():
    """A cell in a while loop that collects its states in a TensorArray."""
    import tensorflow as tf
    into, back = weights(4, 24), weights(6, 24)

    def network(x):
        steps = tf.shape(x)[1]
        state = cell = tf.zeros([tf.shape(x)[0], 6])
        states = tf.TensorArray(tf.float32, steps)
        _, _, _, states = tf.while_loop(lambda i, *_: i < steps, lambda i, state, cell, states: step(
            i, x[:, i], state, cell, states), [0, state, cell, states])
        return tf.transpose(states.stack(), [1, 0, 2])

    def step(i, x, state, cell, states):
        gate, new, keep, show = tf.split(tf.linalg.matmul(x, into) + tf.linalg.matmul(state, back), 4, 1)
        cell = tf.sigmoid(keep) * cell + tf.sigmoid(gate) * tf.tanh(new)
        state = tf.sigmoid(show) * tf.tanh(cell)
        return i + 1, state, cell, states.write(i, state)
    return network, {'x': noise(3, 7, 4)}


def images():
    """Resizes both ways, crops by slices with strides, transposed convolution, depth to space."""
    import tensorflow as tf
    kernel = weights(3, 3, 4, 3)

    def network(x):
        large = tf.image.resize(x, [13, 17], 'bilinear')
        near = tf.image.resize(x[:, 1:-1, ::2], [6, 9], 'nearest')
        up = tf.nn.conv2d_transpose(x, kernel, [tf.shape(x)[0], 12, 16, 4], 2, 'SAME')
        return large, near, tf.nn.depth_to_space(up, 2)
    return network, {'x': noise(2, 6, 8, 3)}


def indices():
    """Gathers, scatters, top values, sorting, masks, one-hot, segments."""
    import tensorflow as tf

    def network(x, at):
        top, where = tf.math.top_k(x, 3)
        taken = tf.gather_nd(x, tf.stack([tf.range(tf.shape(x)[0]), at], 1))
        put = tf.tensor_scatter_nd_update(x, tf.stack([tf.range(tf.shape(x)[0]), at], 1), taken * 2)
        near = tf.where(tf.abs(put) > 0.5, put, tf.zeros_like(put))
        return top, where, near, tf.one_hot(at, 5, 2.0, -1.0), tf.cumsum(x, 1, exclusive=True), tf.argmax(x, 1)
    return network, {'x': noise(4, 9), 'at': np.array([3, 0, 8, 5], np.int32)}


def quantized():
    """Fake quantization, which becomes QuantizeLinear and DequantizeLinear."""
    import tensorflow as tf
    kernel = tf.quantization.fake_quant_with_min_max_args(weights(6, 5), -1, 1, narrow_range=True).numpy()

    def network(x):
        x = tf.quantization.fake_quant_with_min_max_args(x, -3, 3)
        return tf.nn.relu(tf.linalg.matmul(x, kernel))
    return network, {'x': noise(4, 6)}
