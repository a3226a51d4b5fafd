"""Operators that exporters of language models write, at sizes with tails of vectors and blocks."""
import numpy as np

from case_writer import F, H, MS, case


def language_models():
    rng = np.random.default_rng(13)

    def g(*shape, dtype=np.float32):
        return rng.standard_normal(shape).astype(dtype)

    def half(*shape):
        return g(*shape, dtype=np.float16)

    x = 3 * g(2, 5, 37)
    case("ms_gelu", "Gelu", MS, {"x": x}, {"y": F})
    case("ms_gelu_half", "Gelu", MS, {"x": x.astype(np.float16)}, {"y": H})
    case("ms_bias_gelu", "BiasGelu", MS, {"x": x, "bias": g(37)}, {"y": F})
    case("ms_fast_gelu", "FastGelu", MS, {"x": x}, {"y": F})
    case("ms_fast_gelu_bias", "FastGelu", MS, {"x": x, "bias": g(37)}, {"y": F})
    case("ms_quick_gelu", "QuickGelu", MS, {"x": x}, {"y": F})
    case("ms_quick_gelu_alpha", "QuickGelu", MS, {"x": x}, {"y": F}, alpha=0.7)

    def product(name, a, b, **attributes):
        case(name, "FusedMatMul", MS, {"a": g(*a), "b": g(*b)}, {"y": F}, **attributes)

    product("fused_matmul", (2, 3, 5, 7), (7, 9), alpha=0.125)
    product("fused_matmul_a", (2, 3, 7, 5), (3, 7, 9), transA=1, alpha=-2.5)
    product("fused_matmul_b", (2, 3, 5, 7), (2, 1, 9, 7), transB=1, alpha=0.5)
    product("fused_matmul_both", (2, 7, 5), (2, 9, 7), transA=1, transB=1)
    product("fused_matmul_batch_a", (2, 3, 5, 7), (3, 5, 7, 9), transBatchA=1)
    product("fused_matmul_batch_both", (2, 3, 5, 7), (9, 3, 5, 2), transA=1, transB=1,
            transBatchA=1, transBatchB=1, alpha=2.0)

    width = 37
    case("simplified_norm", "SimplifiedLayerNormalization", "", {"x": x, "scale": g(width)},
         {"y": F, "inverse": F}, axis=-1, epsilon=1e-3)
    case("simplified_norm_mixed", "SimplifiedLayerNormalization", "",
         {"x": half(2, 3, width), "scale": g(width)}, {"y": F}, axis=-1, epsilon=1e-5)
    results = {"y": F, "mean": F, "inverse": F, "sum": F}
    shape = (2, 5, width)

    def skip(name, outputs, form="", other=shape, dtype=np.float32, beta=None, **inputs):
        inputs = {"x": g(*shape, dtype=dtype), "skip": g(*other, dtype=dtype),
                  "gamma": g(width, dtype=dtype),
                  **({} if form else {"beta": beta}), **inputs}
        case(name, f"Skip{form}LayerNormalization", MS, inputs, outputs, epsilon=1e-2)

    skip("skip_norm", results, beta=g(width), bias=g(width))
    skip("skip_norm_no_beta", results, beta=None, bias=g(width))
    skip("skip_norm_one_batch", {"y": F}, other=(1, 5, width), beta=g(width))
    skip("skip_norm_no_batch", {"y": F}, other=(5, width), beta=g(width))
    skip("skip_norm_half", {"y": H, "mean": None, "inverse": None, "sum": H}, dtype=np.float16,
         beta=half(width))
    skip("skip_simplified_norm", {"y": F, "mean": None, "inverse": F, "sum": F}, form="Simplified")
    skip("skip_simplified_norm_bias", {"y": F, "mean": None, "inverse": None, "sum": F},
         form="Simplified", bias=g(width))

    def gqa(name, batch, fresh, old, lengths, heads=6, kv=2, size=32, dtype=np.float32,
            extra=None, **attributes):
        kind = F if dtype == np.float32 else H
        angles = np.arange(64)[:, None] / (100.0 ** (np.arange(size // 2) / (size // 2)))[None, :]
        inputs = {"query": g(batch, fresh, heads * size, dtype=dtype),
                  "key": g(batch, fresh, kv * size, dtype=dtype),
                  "value": g(batch, fresh, kv * size, dtype=dtype),
                  "past_key": g(batch, kv, old, size, dtype=dtype),
                  "past_value": g(batch, kv, old, size, dtype=dtype),
                  "seqlens_k": np.array(lengths, np.int32),
                  "total": np.array(max(lengths) + 1, np.int32),
                  "cos": np.cos(angles).astype(dtype), "sin": np.sin(angles).astype(dtype),
                  **(extra or {})}
        case(name, "GroupQueryAttention", MS, inputs,
             {"y": kind, "present_key": kind, "present_value": kind}, num_heads=heads,
             kv_num_heads=kv, do_rotary=1, **attributes)

    gqa("gqa_long_prompt", 1, 37, 0, [36])
    gqa("gqa_long_step", 2, 1, 40, [40, 40])
    # What the cache has behind a sequence's end is nobody's.
    unchecked = ("present_key", "present_value")
    gqa("gqa_ragged_prompt", 2, 9, 0, [8, 4], unchecked=unchecked)
    gqa("gqa_ragged_step", 2, 1, 19, [12, 19], unchecked=unchecked)
    gqa("gqa_chunk", 1, 5, 18, [22])
    gqa("gqa_chunk_window", 1, 5, 18, [22], local_window_size=7)
    gqa("gqa_half", 1, 1, 19, [19], dtype=np.float16)
    gqa("gqa_position_ids", 1, 3, 0, [2], extra={"position_ids": np.array([[4, 5, 9]])})
    gqa("gqa_position_ids_chunk", 1, 3, 5, [7], extra={"position_ids": np.array([[9, 7, 12]])})
    gqa("gqa_bias", 2, 1, 19, [19, 19], extra={"position_ids": None, "bias": g(1, 6, 1, 20)})
    gqa("gqa_sink", 1, 1, 19, [19], extra={"position_ids": None, "bias": None, "sink": g(6)})

    def rotary(name, x, ids, half_size=16, kind=F, **attributes):
        angles = np.arange(64)[:, None] / (100.0 ** (np.arange(half_size) / half_size))[None, :]
        case(name, "RotaryEmbedding", MS,
             {"x": x, "ids": np.array(ids, np.int64), "cos": np.cos(angles).astype(x.dtype),
              "sin": np.sin(angles).astype(x.dtype)}, {"y": kind}, **attributes)

    rotary("ms_rotary_long", g(2, 19, 96), [list(range(19)), list(range(40, 59))])
    rotary("ms_rotary_long_half", half(1, 19, 96), [7], kind=H)
    rotary("ms_rotary_part_4d", g(2, 3, 7, 40), [list(range(7))] * 2, num_heads=3,
           rotary_embedding_dim=32)
    rotary("ms_rotary_part_interleaved", g(2, 7, 120), [list(range(7))] * 2, num_heads=3,
           rotary_embedding_dim=32, interleaved=1)

    def nbits(name, rows, k, n, block, constants=(), **kw):
        blocks = (k + block - 1) // block
        arrays = {"a": g(*rows, k),
                  "b": rng.integers(0, 256, (n, blocks, block // 2)).astype(np.uint8),
                  "scales": 0.1 * g(n, blocks), "zeros": kw.pop("zeros", None), "g_idx": None,
                  "bias": kw.pop("bias", None)}
        while list(arrays.values())[-1] is None:
            arrays.popitem()
        case(name, "MatMulNBits", MS, arrays, {"y": F}, K=k, N=n, block_size=block, bits=4,
             constants=constants, **kw)

    def packed(n, blocks):
        return rng.integers(0, 256, (n, (blocks + 1) // 2)).astype(np.uint8)

    weights = ("b", "scales", "zeros")
    nbits("nbits_step", (1, 1), 160, 33, 32, zeros=packed(33, 5), constants=weights)
    nbits("nbits_rows", (2, 9), 160, 33, 32, constants=("b", "scales"))
    nbits("nbits_odd", (9,), 77, 33, 32, zeros=packed(33, 3), constants=weights)
    nbits("nbits_bias", (2, 3), 77, 17, 16, zeros=packed(17, 5), bias=g(17))
    nbits("nbits_float_zeros", (2, 3), 77, 17, 16,
          zeros=(15 * rng.random((17, 5))).astype(np.float32))

    # The first prompt: ids[0, 0] counts, for every sequence.
    gqa("gqa_position_ids_batch", 2, 3, 0, [2, 2],
        extra={"position_ids": np.array([[4, 5, 9], [11, 3, 1]])})
