"""Fitted models as ONNX graphs, for programs without Python of ours."""

from sepc.onnx.exporting import export

__all__ = ["export"]
