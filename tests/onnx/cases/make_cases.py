"""Makes the cases beside this file: models of operators that the format's own conformance data
doesn't cover, with the outputs of ONNX Runtime. Needs onnx and onnxruntime; run it to add cases,
the test reads what is committed.

Left out is where ONNX Runtime departs from the operator's text or from the reference of the
format: LOGISTIC of a regressor of one target, labels of trees whose leaves leave classes out, and
the scores of a linear classifier that makes two classes of one (but for LOGISTIC). One thread: the
state of DynamicQuantizeLSTM is quantised as a whole then, and by parts of the batch with more."""
import sys

import numpy as np

sys.dont_write_bytecode = True  # every folder here is a case
import language_model_cases
import qlinear_cases
from case_writer import F, H, I, ML, MS, case

RNG = np.random.default_rng(7)


def f(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def microsoft():
    def mha(name, outputs={"y": F}, key=(2, 5, 12), **kw):
        inputs = {"query": f(2, 3, 12), "key": f(*key), "value": f(*key)}
        attributes = {"num_heads": 3}
        for n in ("bias", "key_padding_mask", "attention_bias", "past_key", "past_value"):
            inputs[n] = kw.pop(n, None)
        attributes.update(kw)
        while list(inputs.values())[-1] is None:
            inputs.popitem()
        case(name, "MultiHeadAttention", MS, inputs, outputs, **attributes)

    mha("mha_plain")
    mha("mha_bias", bias=f(36))
    mha("mha_scale", scale=0.3)
    mha("mha_mask_2d", key_padding_mask=np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32))
    mha("mha_mask_1d", key_padding_mask=np.array([3, 5], np.int32))
    mha("mha_attention_bias", attention_bias=f(1, 3, 3, 5))
    mha("mha_causal", key=(2, 3, 12), unidirectional=1)
    mha("mha_past", key=(2, 3, 12), past_key=f(2, 3, 4, 4), past_value=f(2, 3, 4, 4),
        outputs={"y": F, "present_key": F, "present_value": F})

    def attention(name, outputs={"y": F}, **kw):
        inputs = {"x": f(2, 4, 6), "weights": f(6, 24), "bias": f(24)}
        attributes = {"num_heads": 2}
        for n in ("mask_index", "past", "attention_bias"):
            inputs[n] = kw.pop(n, None)
        attributes.update(kw)
        while list(inputs.values())[-1] is None:
            inputs.popitem()
        case(name, "Attention", MS, inputs, outputs, **attributes)

    attention("ms_attention_plain")
    attention("ms_attention_causal", unidirectional=1)
    attention("ms_attention_mask", mask_index=np.array([[1, 1, 1, 0], [1, 1, 0, 0]], np.int32))
    attention("ms_attention_lengths", mask_index=np.array([2, 4], np.int32))
    attention("ms_attention_bias", attention_bias=f(1, 2, 4, 4))
    attention("ms_attention_past", past=f(2, 2, 2, 3, 4), outputs={"y": F, "present": F},
              unidirectional=1)

    def gqa(name, batch, fresh, old, total, lengths, packed=False, **attributes):
        heads, kv, size = 4, 2, 16
        inputs = {"query": f(batch, fresh, (heads + 2 * kv if packed else heads) * size),
                  "key": None if packed else f(batch, fresh, kv * size),
                  "value": None if packed else f(batch, fresh, kv * size),
                  "past_key": f(batch, kv, old, size), "past_value": f(batch, kv, old, size),
                  "seqlens_k": np.array(lengths, np.int32),
                  "total": np.array(total, np.int32)}
        if attributes.get("do_rotary"):
            angles = np.arange(32)[:, None] / (3.0 ** np.arange(8))[None, :]
            inputs["cos"] = np.cos(angles).astype(np.float32)
            inputs["sin"] = np.sin(angles).astype(np.float32)
        case(name, "GroupQueryAttention", MS, inputs,
             {"y": F, "present_key": F, "present_value": F}, num_heads=heads, kv_num_heads=kv,
             **attributes)

    gqa("gqa_prompt", 2, 5, 0, 5, [4, 4])
    gqa("gqa_step", 2, 1, 6, 7, [6, 6])
    gqa("gqa_rotary", 1, 1, 6, 7, [6], do_rotary=1)
    gqa("gqa_rotary_prompt", 1, 5, 0, 5, [4], do_rotary=1)
    gqa("gqa_rotary_interleaved", 1, 5, 0, 5, [4], do_rotary=1, rotary_interleaved=1)
    gqa("gqa_packed", 1, 1, 6, 7, [6], packed=True, do_rotary=1)
    gqa("gqa_window", 1, 1, 6, 7, [6], local_window_size=3)
    gqa("gqa_softcap", 1, 5, 0, 5, [4], softcap=0.7)
    gqa("gqa_smooth", 1, 5, 0, 5, [4], smooth_softmax=1)
    gqa("gqa_scale", 1, 5, 0, 5, [4], scale=0.2)

    def rotary(name, x, ids, **attributes):
        case(name, "RotaryEmbedding", MS,
             {"x": x, "ids": np.array(ids, np.int64), "cos": f(9, 4), "sin": f(9, 4)}, {"y": F},
             **attributes)

    rotary("ms_rotary", f(2, 3, 16), [[0, 1, 2], [5, 6, 7]])
    rotary("ms_rotary_start", f(2, 3, 16), [4])
    rotary("ms_rotary_interleaved", f(2, 3, 16), [[0, 1, 2], [5, 6, 7]], interleaved=1)
    rotary("ms_rotary_4d", f(2, 2, 3, 8), [[0, 1, 2], [5, 6, 7]])
    rotary("ms_rotary_part", f(2, 3, 24), [[0, 1, 2], [5, 6, 7]], num_heads=2,
           rotary_embedding_dim=8)


def trees():
    # Two trees of depth 2 and 1 over 3 features.
    nodes = dict(nodes_treeids=[0, 0, 0, 0, 0, 1, 1, 1], nodes_nodeids=[0, 1, 2, 3, 4, 0, 1, 2],
                 nodes_featureids=[0, 1, 0, 0, 0, 2, 0, 0],
                 nodes_values=[0.1, -0.3, 0, 0, 0, 0.2, 0, 0],
                 nodes_truenodeids=[1, 2, 0, 0, 0, 1, 0, 0],
                 nodes_falsenodeids=[4, 3, 0, 0, 0, 2, 0, 0],
                 nodes_modes=["BRANCH_LEQ", "BRANCH_LT", "LEAF", "LEAF", "LEAF", "BRANCH_GT",
                              "LEAF", "LEAF"],
                 nodes_missing_value_tracks_true=[1, 0, 0, 0, 0, 0, 0, 0])
    x = f(9, 3)
    x[2, 0] = np.nan

    def regressor(name, targets, data=x, **attributes):
        n = 5 * targets
        case(name, "TreeEnsembleRegressor", ML, {"x": data}, {"y": F}, n_targets=targets,
             target_treeids=[0, 0, 0, 1, 1] * targets, target_nodeids=[2, 3, 4, 1, 2] * targets,
             target_ids=[t for t in range(targets) for _ in range(5)],
             target_weights=[float(v) for v in f(n)], **nodes, **attributes)

    regressor("trees_one", 1)
    regressor("trees_two", 2, base_values=[0.5, -1.0])
    regressor("trees_average", 2, aggregate_function="AVERAGE")
    regressor("trees_min", 1, aggregate_function="MIN")
    regressor("trees_max", 2, aggregate_function="MAX")
    regressor("trees_softmax_zero", 2, post_transform="SOFTMAX_ZERO")
    regressor("trees_double", 1, data=x.astype(np.float64))

    def classifier(name, classes, ids, weights, **attributes):
        case(name, "TreeEnsembleClassifier", ML, {"x": x}, {"label": I, "scores": F},
             class_treeids=[0, 0, 0, 1, 1], class_nodeids=[2, 3, 4, 1, 2], class_ids=ids,
             class_weights=weights, classlabels_int64s=classes, **nodes, **attributes)

    mixed, positive = [0.3, -0.8, 1.2, -0.4, 0.6], [0.3, 0.1, 0.2, 0.4, 0.6]
    classifier("trees_binary_mixed", [5, 7], [0] * 5, mixed)
    classifier("trees_binary_logistic", [5, 7], [0] * 5, mixed, post_transform="LOGISTIC")
    classifier("trees_binary_positive", [5, 7], [0] * 5, positive)
    classifier("trees_binary_base", [5, 7], [0] * 5, mixed, base_values=[0.3],
               post_transform="LOGISTIC")
    # Every leaf has all classes.
    leaves = dict(class_treeids=[0] * 9 + [1] * 6,
                  class_nodeids=[2] * 3 + [3] * 3 + [4] * 3 + [1] * 3 + [2] * 3,
                  class_ids=[0, 1, 2] * 5, class_weights=[float(v) for v in f(15)],
                  classlabels_int64s=[5, 7, 9])
    for transform in ("NONE", "SOFTMAX"):
        case(f"trees_three_{transform.lower()}", "TreeEnsembleClassifier", ML, {"x": x},
             {"label": I, "scores": F}, post_transform=transform, **leaves, **nodes)


def linear():
    x = f(7, 3)

    def weights(n):
        return [float(v) for v in f(n)]

    case("linear_regressor", "LinearRegressor", ML, {"x": x}, {"y": F}, targets=2,
         coefficients=weights(6), intercepts=weights(2))
    for transform in ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"):
        case(f"linear_three_{transform.lower()}", "LinearClassifier", ML, {"x": x},
             {"label": I, "scores": F}, classlabels_ints=[4, 6, 9], coefficients=weights(9),
             intercepts=weights(3), post_transform=transform)
    case("linear_two", "LinearClassifier", ML, {"x": x}, {"label": I, "scores": F},
         classlabels_ints=[4, 6], coefficients=weights(3), intercepts=weights(1),
         post_transform="LOGISTIC")
    for kernel in ("LINEAR", "RBF", "POLY", "SIGMOID"):
        case(f"svm_regressor_{kernel.lower()}", "SVMRegressor", ML, {"x": x}, {"y": F},
             kernel_type=kernel, kernel_params=[0.4, 0.1, 3.0], n_supports=4,
             support_vectors=weights(12), coefficients=weights(4), rho=[0.2])
    case("svm_one_class", "SVMRegressor", ML, {"x": x}, {"y": F}, kernel_type="RBF",
         kernel_params=[0.4, 0.1, 3.0], n_supports=4, support_vectors=weights(12),
         coefficients=weights(4), rho=[0.2], one_class=1)
    case("svm_three", "SVMClassifier", ML, {"x": x}, {"label": I, "scores": F},
         classlabels_ints=[3, 4, 8], kernel_type="RBF", kernel_params=[0.4, 0.1, 3.0],
         vectors_per_class=[2, 1, 2], support_vectors=weights(15), coefficients=weights(10),
         rho=weights(3))
    case("svm_two", "SVMClassifier", ML, {"x": x}, {"label": I, "scores": F},
         classlabels_ints=[3, 4], kernel_type="RBF", kernel_params=[0.4, 0.1, 3.0],
         vectors_per_class=[2, 1], support_vectors=weights(9), coefficients=weights(3), rho=[0.1])
    case("svm_linear", "SVMClassifier", ML, {"x": x}, {"label": I, "scores": F},
         classlabels_ints=[3, 4, 8], coefficients=weights(9), rho=[0.1],
         kernel_params=[0.4, 0.1, 3.0], kernel_type="LINEAR")


def features():
    x = f(4, 3)
    case("scaler", "Scaler", ML, {"x": x}, {"y": F}, offset=[0.1, 0.2, 0.3], scale=[2.0, 3.0, 4.0])
    for norm in ("MAX", "L1", "L2"):
        case(f"normalizer_{norm.lower()}", "Normalizer", ML, {"x": x}, {"y": F}, norm=norm)
    nan = x.copy()
    nan[1, 2] = nan[3, 0] = np.nan
    case("imputer", "Imputer", ML, {"x": nan}, {"y": F}, imputed_value_floats=[1.0, 2.0, 3.0],
         replaced_value_float=float("nan"))
    case("one_hot_encoder", "OneHotEncoder", ML, {"x": np.array([3, 5, 4, 9], np.int64)}, {"y": F},
         cats_int64s=[3, 4, 5])
    case("feature_vectorizer", "FeatureVectorizer", ML, {"a": f(3, 2), "b": f(3, 1)}, {"y": F},
         inputdimensions=[2, 1])
    case("label_encoder", "LabelEncoder", ML, {"x": np.array([[3, 5], [4, 9]], np.int64)},
         {"y": F}, keys_int64s=[3, 4, 5], values_floats=[0.5, 1.5, 2.5], default_float=-1.0)


def quantised():
    rng = np.random.default_rng(11)

    def g(*shape):
        return rng.standard_normal(shape).astype(np.float32)

    def q(dtype, *shape):
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max + 1, shape).astype(dtype)

    def lstm(name, directions, dtype, per_column, steps=5, batch=2, inputs=7, hidden=3, **kw):
        """hidden is odd; X is [steps, batch, inputs]."""
        wide = 4 * hidden
        scales = (directions, wide) if per_column else (directions,)

        def scale():
            return (0.002 + 0.004 * rng.random(scales)).astype(np.float32)

        def zero():
            z = q(dtype, directions)
            return np.repeat(z[:, None], wide, 1) if per_column else z
        arrays = {"x": g(steps, batch, inputs), "w": q(dtype, directions, inputs, wide),
                  "r": q(dtype, directions, hidden, wide), "b": g(directions, 2 * wide),
                  "lengths": kw.pop("lengths", None), "h0": g(directions, batch, hidden),
                  "c0": g(directions, batch, hidden), "p": kw.pop("p", None),
                  "w_scale": scale(), "w_zero": zero(), "r_scale": scale(), "r_zero": zero()}
        case(name, "DynamicQuantizeLSTM", MS, arrays, {"y": F, "h": F, "c": F},
             hidden_size=hidden, **kw)

    lstm("dq_lstm", 1, np.int8, False)
    lstm("dq_lstm_bidirectional", 2, np.int8, False, direction="bidirectional")
    lstm("dq_lstm_columns", 1, np.uint8, True, direction="reverse")
    lstm("dq_lstm_peepholes", 1, np.uint8, False, p=g(1, 9))

    def nbits(name, k, n, block, zeros, bits=4, dtype=np.float32, **kw):
        blocks, per_byte = (k + block - 1) // block, 8 // bits
        # The tool that makes such models leaves zeros behind the end of the last block.
        arrays = {"a": g(2, 3, k).astype(dtype), "b": q(np.uint8, n, blocks, block // per_byte),
                  "scales": (0.1 * g(n * blocks)).astype(dtype)}
        if zeros == "packed":
            arrays["zeros"] = q(np.uint8, n * ((blocks + per_byte - 1) // per_byte))
        elif zeros == "floats":
            arrays["zeros"] = (16 * rng.random(n * blocks)).astype(dtype)
        case(name, "MatMulNBits", MS, arrays, {"y": F if dtype == np.float32 else H},
             K=k, N=n, block_size=block, bits=bits, **kw)

    nbits("nbits_symmetric", 48, 5, 16, None)
    nbits("nbits_zeros", 96, 5, 32, "packed")  # 3 blocks: half of each row's last byte is unused
    nbits("nbits_tail", 41, 7, 16, "packed")
    nbits("nbits_8", 40, 3, 16, "packed", bits=8)
    nbits("nbits_half", 64, 3, 32, "packed", dtype=np.float16)

    a, b = g(3, 4, 8), q(np.int8, 8, 5)
    scale, columns = np.float32(0.01), (0.01 * rng.random(5) + 0.01).astype(np.float32)
    case("dq_matmul", "DynamicQuantizeMatMul", MS,
         {"a": a, "b": b, "scale": np.array([scale]), "zero": np.array([3], np.int8), "bias": g(5)},
         {"y": F})
    case("dq_matmul_columns", "DynamicQuantizeMatMul", MS,
         {"a": a, "b": b, "scale": columns, "zero": None, "bias": None}, {"y": F})
    case("integer_to_float", "MatMulIntegerToFloat", MS,
         {"a": q(np.uint8, 3, 8), "b": b, "a_scale": np.array(0.02, np.float32),
          "b_scale": columns, "a_zero": np.array(100, np.uint8), "b_zero": np.zeros(5, np.int8),
          "bias": g(5)}, {"y": F})


microsoft()
trees()
linear()
features()
quantised()
language_model_cases.language_models()
qlinear_cases.qlinear()
qlinear_cases.quantised_network()
