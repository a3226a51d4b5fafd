"""Operators between 8-bit tensors. 8-bit results are to be the same to the level. The scales are
random: results that lie between two levels, which ONNX Runtime's sums of products rounded to floats
put on either side, don't occur. The softmax's scale is 1 / 256 as ONNX Runtime's tools write it (it
takes the whole part of its inverse), and is not reached by i8's probability of 1, which overflows
there."""
import os
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, quantize_static

from case_writer import F, I8, MS, U8, build, case, write


def qlinear():
    rng = np.random.default_rng(17)

    def q(dtype, *shape):
        info = np.iinfo(dtype)
        return np.array(rng.integers(info.min, info.max + 1, shape), dtype)

    def scale(*shape, about=0.02):
        return np.array(about * (0.75 + 0.5 * rng.random(shape)), np.float32)

    def zero(dtype, *shape):
        return np.array(q(dtype, *shape) // 4 + (96 if dtype == np.uint8 else 0), dtype)

    u8, i8 = np.uint8, np.int8
    kinds = {"": (u8, U8), "_signed": (i8, I8)}

    for suffix, (t, kind) in kinds.items():
        every = np.arange(np.iinfo(t).min, np.iinfo(t).max + 1).astype(t).reshape(8, 32)
        for op in ("Add", "Mul"):
            case(f"qlinear_{op.lower()}{suffix}", f"QLinear{op}", MS,
                 {"a": q(t, 2, 3, 37), "a_scale": scale(), "a_zero": zero(t),
                  "b": q(t, 3, 1), "b_scale": scale(), "b_zero": zero(t),
                  "y_scale": scale(about=0.04), "y_zero": zero(t)}, {"y": kind})
        case(f"qlinear_sigmoid{suffix}", "QLinearSigmoid", MS,
             {"x": every, "x_scale": scale(about=0.05), "x_zero": zero(t),
              "y_scale": scale(about=0.01), "y_zero": zero(t)}, {"y": kind})
        case(f"qlinear_leaky_relu{suffix}", "QLinearLeakyRelu", MS,
             {"x": every, "x_scale": scale(), "x_zero": zero(t), "y_scale": scale(),
              "y_zero": zero(t)}, {"y": kind}, alpha=0.3)
        case(f"qlinear_where{suffix}", "QLinearWhere", MS,
             {"condition": rng.random((2, 1, 37)) < 0.5, "a": q(t, 2, 3, 37), "a_scale": scale(),
              "a_zero": zero(t), "b": q(t, 3, 1), "b_scale": scale(), "b_zero": zero(t),
              "y_scale": scale(), "y_zero": zero(t)}, {"y": kind})
        case(f"qlinear_softmax{suffix}", "QLinearSoftmax", MS,
             {"x": q(t, 3, 5, 7), "x_scale": scale(about=0.01), "x_zero": zero(t),
              "y_scale": np.array(1 / 256, np.float32),
              "y_zero": np.array(np.iinfo(t).min, t)}, {"y": kind}, axis=1, opset=13)
        case(f"qlinear_reduce_mean{suffix}", "QLinearReduceMean", MS,
             {"x": q(t, 3, 19, 7), "x_scale": scale(), "x_zero": zero(t),
              "y_scale": scale(about=0.005), "y_zero": zero(t)}, {"y": kind}, axes=[0, 2],
             keepdims=0,
             reference=[helper.make_node("DequantizeLinear", ["x", "x_scale", "x_zero"], ["f"]),
                        helper.make_node("ReduceMean", ["f"], ["m"], axes=[0, 2], keepdims=0),
                        helper.make_node("QuantizeLinear", ["m", "y_scale", "y_zero"], ["y"])])
        case(f"ms_quantize{suffix}", "QuantizeLinear", MS,
             {"x": rng.standard_normal((3, 37)).astype(np.float32), "scale": scale(3),
              "zero": zero(t, 3)}, {"y": kind}, axis=0)
        case(f"ms_dequantize{suffix}", "DequantizeLinear", MS,
             {"x": q(t, 3, 37), "scale": scale(37), "zero": zero(t, 37)}, {"y": F}, axis=1)
    case("qlinear_leaky_relu_no_zeros", "QLinearLeakyRelu", MS,
         {"x": q(i8, 5, 7), "x_scale": scale(), "x_zero": None, "y_scale": scale(),
          "y_zero": zero(i8)}, {"y": I8})
    case("qlinear_softmax_joined", "QLinearSoftmax", MS,
         {"x": q(u8, 3, 5, 7), "x_scale": scale(), "x_zero": zero(u8),
          "y_scale": np.array(1 / 256, np.float32), "y_zero": np.array(0, u8)}, {"y": U8},
         axis=1, opset=11)
    case("ms_quantize_16", "QuantizeLinear", MS,
         {"x": rng.standard_normal((3, 37)).astype(np.float32), "scale": scale(about=1e-4),
          "zero": np.array(1000, np.uint16)}, {"y": TensorProto.UINT16})
    case("ms_quantize_from_half", "QuantizeLinear", MS,
         {"x": rng.standard_normal((3, 37)).astype(np.float16),
          "scale": np.array(0.03, np.float16), "zero": zero(u8)}, {"y": U8})
    case("ms_dequantize_32", "DequantizeLinear", MS,
         {"x": rng.integers(-9999, 9999, (3, 37)).astype(np.int32), "scale": scale()}, {"y": F})

    same, other = scale(), zero(u8)
    case("qlinear_concat", "QLinearConcat", MS,
         {"y_scale": same, "y_zero": other, "a": q(u8, 2, 3, 5), "a_scale": same, "a_zero": other,
          "b": q(u8, 2, 4, 5), "b_scale": scale(1), "b_zero": zero(u8, 1), "c": q(u8, 2, 1, 5),
          "c_scale": scale(about=0.04), "c_zero": zero(u8)}, {"y": U8}, axis=1)
    case("qlinear_concat_signed", "QLinearConcat", MS,
         {"y_scale": scale(), "y_zero": zero(i8), "a": q(i8, 2, 3), "a_scale": scale(),
          "a_zero": zero(i8), "b": q(i8, 2, 9), "b_scale": scale(), "b_zero": zero(i8)},
         {"y": I8}, axis=-1)

    def pool(name, op, x, t, factor=0.5, **attributes):
        case(f"qlinear_{name}", f"QLinear{op}", MS,
             {"x": q(t, *x), "x_scale": scale(), "x_zero": zero(t),
              "y_scale": scale(about=0.02 * factor), "y_zero": zero(t)},
             {"y": U8 if t == u8 else I8}, **attributes)

    pool("global_average", "GlobalAveragePool", (2, 5, 7, 9), u8, 0.2)
    pool("global_average_last", "GlobalAveragePool", (2, 7, 9, 5), i8, 0.2, channels_last=1)
    pool("average_pool", "AveragePool", (2, 3, 9, 11), u8, kernel_shape=[2, 3], strides=[2, 2])
    pool("average_pool_pads", "AveragePool", (2, 3, 9, 11), u8, kernel_shape=[3, 3],
         strides=[2, 1], pads=[1, 0, 1, 2])
    pool("average_pool_ceil", "AveragePool", (2, 3, 9, 12), i8, kernel_shape=[3, 2],
         strides=[2, 2], ceil_mode=1)
    pool("average_pool_include", "AveragePool", (2, 3, 9, 11), i8, kernel_shape=[3, 3],
         pads=[1, 1, 1, 1], count_include_pad=1)
    pool("average_pool_last", "AveragePool", (2, 9, 11, 3), u8, kernel_shape=[2, 2],
         strides=[2, 2], channels_last=1)
    pool("average_pool_1d", "AveragePool", (2, 3, 37), u8, kernel_shape=[4], strides=[3])
    pool("average_pool_3d", "AveragePool", (1, 2, 5, 6, 7), u8, kernel_shape=[2, 2, 2],
         auto_pad="SAME_UPPER")

    def gemm(name, a, b, at, bt, columns=0, bias=None, result=None, **attributes):
        wide = (columns,) if columns else ()
        inputs = {"a": q(at, *a), "a_scale": scale(), "a_zero": zero(at), "b": q(bt, *b),
                  "b_scale": scale(*wide), "b_zero": zero(bt, *wide), "bias": bias}
        if result is not None:
            inputs.update({"y_scale": scale(about=0.2), "y_zero": zero(at)})
        while list(inputs.values())[-1] is None:
            inputs.popitem()
        case(name, "QGemm", MS, inputs, {"y": F if result is None else result}, **attributes)

    def bias(*shape):
        return rng.integers(-9999, 9999, shape).astype(np.int32)

    gemm("qgemm", (5, 19), (19, 33), u8, u8, bias=bias(33), result=U8)
    gemm("qgemm_columns", (5, 19), (33, 19), u8, i8, columns=33, bias=bias(33), result=U8,
         transB=1, constants=("b", "b_scale", "b_zero", "bias"))
    gemm("qgemm_signed", (19, 5), (19, 33), i8, i8, bias=bias(5, 1), result=I8, transA=1,
         alpha=0.5)
    gemm("qgemm_no_bias", (5, 19), (19, 33), u8, i8, result=U8)
    gemm("qgemm_floats", (5, 19), (19, 33), u8, i8, columns=33, bias=bias(5, 33))


def quantised_network():
    """A network as ONNX Runtime's tool quantises it, calibrated with what it is then run with."""
    rng = np.random.default_rng(19)
    x = rng.standard_normal((2, 3, 9, 11)).astype(np.float32)
    weights = {"kernel": (4, 3, 3, 3), "offset": (4,), "w": (5, 8), "bias": (5,)}
    weights = {n: rng.standard_normal(s).astype(np.float32) for n, s in weights.items()}
    nodes = [helper.make_node(op, i.split(), [o], name=o, **kw) for op, i, o, kw in (
        ("Conv", "x kernel offset", "a", dict(pads=[1, 1, 1, 1])), ("LeakyRelu", "a", "b", {}),
        ("AveragePool", "b", "c", dict(kernel_shape=[2, 2], strides=[2, 2])),
        ("Sigmoid", "c", "d", {}), ("Mul", "c d", "e", {}), ("Concat", "e d", "f", dict(axis=1)),
        ("Add", "f f", "g", {}), ("GlobalAveragePool", "g", "h", {}),
        ("Flatten", "h", "i", {}), ("Gemm", "i w bias", "j", dict(transB=1)),
        ("Softmax", "j", "y", {}))]

    class Once(CalibrationDataReader):
        feeds = iter([{"x": x}])

        def get_next(self):
            return next(self.feeds, None)

    with tempfile.TemporaryDirectory() as folder:
        source, target = os.path.join(folder, "source.onnx"), os.path.join(folder, "target.onnx")
        onnx.save(build("network", nodes, {"x": x, **weights}, {"y": F}, constants=weights), source)
        quantize_static(source, target, Once(), quant_format=QuantFormat.QOperator,
                        per_channel=True)
        model = onnx.load(target)
    write("quantised_network", model, {"x": x}, model)
