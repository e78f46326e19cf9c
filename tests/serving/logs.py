"""Pieces of logs that Triton 2.51 really wrote, for the tests that read them."""

from __future__ import annotations

LOADED = """\
I1201 16:06:00.543385 7013 model_lifecycle.cc:472] "loading: good:1"
I1201 16:06:02.336041 7013 model_lifecycle.cc:839] "successfully loaded 'good'"
"""

LOADING = """\
I1201 16:06:00.543385 7013 model_lifecycle.cc:472] "loading: slow:1"
I1201 16:06:02.191201 7013 python_be.cc:2249] "TRITONBACKEND_ModelInstanceInitialize: slow_0_0 (CPU device 0)"
"""

TEXT_PROTO = """\
[libprotobuf ERROR /build/google/protobuf/text_format.cc:337] Error parsing text-format inference.ModelConfig: \
2:9: Message type "inference.ModelConfig" has no field named "nonsense".
E1201 16:06:00.543288 7013 model_repository_manager.cc:1460] "Poll failed for model directory 'textproto': failed to \
read text proto from /models/textproto/config.pbtxt"
"""

MISMATCH = """\
E1201 16:06:00.542884 7013 model_repository_manager.cc:1460] "Poll failed for model directory 'mismatch': unexpected \
directory name 'mismatch' for model 'other', directory name must equal model name"
"""

NO_VERSION = """\
E1201 16:06:00.544935 7013 model_repository_manager.cc:724] "failed to load model 'noversion': at least one version \
must be available under the version policy of model 'noversion'"
"""

TRACEBACK = (
    "E1201 16:06:00.661298 7013 model_lifecycle.cc:642] \"failed to load 'raises' version 1: Internal: "
    r'ValueError: bad "weights"\nsecond line\n\nAt:\n'
    r"  /venv/lib/python3.11/site-packages/lib/core.py(10): check\n"
    r"  /models/raises/1/model.py(6): inner\n  /models/raises/1/model.py(8): initialize\n"
    '"\n'
    "I1201 16:06:00.661336 7013 model_lifecycle.cc:777] \"failed to load 'raises'\"\n"
)

STUB_DIED = """\
E1201 16:06:03.267935 7013 backend_model.cc:692] "ERROR: Failed to create instance: Stub process 'exits_0_0' is not \
healthy."
E1201 16:06:03.268049 7013 model_lifecycle.cc:642] "failed to load 'exits' version 1: Internal: Stub process \
'exits_0_0' is not healthy."
"""

NO_GPU = """\
E1201 16:06:00.544655 7013 model_lifecycle.cc:642] "failed to load 'gpu' version 1: Invalid argument: instance group \
gpu_0 of model gpu has kind KIND_GPU but no GPUs are available"
"""

STATUS_TABLE = """\
I1201 16:06:03.268219 7013 server.cc:674]
+-------+---------+--------+
| Model | Version | Status |
+-------+---------+--------+
| good  | 1       | READY  |
+-------+---------+--------+
"""

GAVE_UP = "error: creating server: Internal - failed to load all models\n"

PORT_TAKEN = """\
E1201 16:08:58.332045 7951 main.cc:257] "failed to start HTTP service: Unavailable - Socket '127.0.0.1:8000' already \
in use "
"""

ABORTED = """\
terminate called after throwing an instance of 'std::length_error'
  what():  basic_string::_M_replace_aux
"""
