"""Half the bytes for what is stored in fp32: the file has fp16, the session computes in fp32.

Large constants are written in half precision with a cast behind each, which ONNX Runtime carries
out once, when the model is opened. A weight changes by at most 0.05 %, a tenth of what eight bits
do to it.
"""

from __future__ import annotations

import numpy as np

__all__ = ["halved_model"]

LARGE = 1024
"""Numbers in a constant from which on it is worth a cast."""


def halved_model(model: bytes) -> bytes:
    """The same model with its large fp32 constants stored in fp16.

    One with a number that fp16 cannot hold stays as it is.
    """
    import onnx
    from onnx import helper, numpy_helper

    graph_model = onnx.load_model_from_string(model)
    graph = graph_model.graph
    casts = []
    for place, constant in enumerate(graph.initializer):
        if constant.data_type != onnx.TensorProto.FLOAT:
            continue
        numbers = numpy_helper.to_array(constant)
        with np.errstate(over="ignore"):
            half = numbers.astype(np.float16)
        if numbers.size < LARGE or not np.isfinite(half).all():
            continue
        stored = f"{constant.name}/half"
        casts.append(helper.make_node("Cast", [stored], [constant.name], to=onnx.TensorProto.FLOAT))
        graph.initializer[place].CopyFrom(numpy_helper.from_array(half, stored))
    nodes = [*casts, *graph.node]
    del graph.node[:]
    graph.node.extend(nodes)
    data: bytes = graph_model.SerializeToString()
    return data
