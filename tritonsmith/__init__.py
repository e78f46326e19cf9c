"""The shared vocabulary of tritonsmith: spec, dtypes, config.pbtxt, repository, errors. No torch, no TensorRT."""

__version__ = "0.1.0"
