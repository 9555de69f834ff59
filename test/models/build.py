"""Models for tests: small ones of the usual architectures, and the light models of the onnx package."""

from .builder import ModelBuilder, example_inputs, in_halves, onnx_type, rng
from .light import LIGHT_MODELS, light_case, seeded_light_model
from .small import SMALL_MODELS, decoder, lstm, mlp, mobilenet, resnet, transformer, unet, wide_lstm

__all__ = [
    "LIGHT_MODELS",
    "SMALL_MODELS",
    "ModelBuilder",
    "decoder",
    "example_inputs",
    "in_halves",
    "light_case",
    "lstm",
    "mlp",
    "mobilenet",
    "onnx_type",
    "resnet",
    "rng",
    "seeded_light_model",
    "transformer",
    "unet",
    "wide_lstm",
]
