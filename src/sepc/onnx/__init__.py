"""Fitted models as ONNX graphs, for programs that cannot run sepc."""

from sepc.onnx.exporting import export

__all__ = ["export"]
