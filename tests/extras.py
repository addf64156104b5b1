"""Whether an extra is installed, told without loading it: each worker collects what others run.

Where numpy is loaded, hypothesis sets its generator anew before each example, too.
"""

import importlib.util

import pytest


def require(*modules, reason="the extra `onnx` is not installed"):
    """Skip a module of tests because of `reason`, unless all `modules` can be had."""
    if any(importlib.util.find_spec(name) is None for name in modules):
        pytest.skip(reason, allow_module_level=True)
