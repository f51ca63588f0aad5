"""Attention nodes of ONNX Runtime on OpenCL devices, through oclattn. Needs onnxruntime 1.23 or newer, of any build.

    import onnxruntime, oclattn_onnxruntime

    options = onnxruntime.SessionOptions()
    options.add_provider_for_devices(oclattn_onnxruntime.register(), {})
    session = onnxruntime.InferenceSession("model.onnx", options)

The dictionary takes the plugin's options, as text: "device" (OCLATTN_DEVICE's words), "cache_folder", "log_level"
and "min_size".
"""
import os
import pathlib

__version__ = "0.1.0"
__all__ = ["get_library_path", "get_ep_name", "get_ep_names", "register", "unregister"]

_EP_NAME = "OclattnExecutionProvider"
_LIBRARY = "liboclattn_onnxruntime.so"


def get_library_path():
    """The plugin's library, as register_execution_provider_library wants it: absolute. OCLATTN_ONNXRUNTIME_LIBRARY in
    the environment names another one."""
    path = pathlib.Path(os.environ.get("OCLATTN_ONNXRUNTIME_LIBRARY") or pathlib.Path(__file__).with_name(_LIBRARY))
    if not path.is_file():
        raise FileNotFoundError("%s is missing; install the package with pip, or set OCLATTN_ONNXRUNTIME_LIBRARY to a "
                                "%s that was built" % (path, _LIBRARY))
    return str(path.resolve())


def get_ep_name():
    """The name of the execution provider."""
    return _EP_NAME


def get_ep_names():
    """The names of all execution providers in the library: there is one."""
    return [_EP_NAME]


def _devices(onnxruntime):
    return [device for device in onnxruntime.get_ep_devices() if device.ep_name == _EP_NAME]


def register():
    """Makes the execution provider known to onnxruntime, once, and returns the devices that
    SessionOptions.add_provider_for_devices takes."""
    import onnxruntime
    if not hasattr(onnxruntime, "register_execution_provider_library"):
        raise RuntimeError("onnxruntime %s has no plug-in execution providers; 1.23 or newer has them" %
                           onnxruntime.__version__)
    if not _devices(onnxruntime):
        onnxruntime.register_execution_provider_library(_EP_NAME, get_library_path())
    devices = _devices(onnxruntime)
    if not devices:
        raise RuntimeError("onnxruntime %s offers %s no hardware device to stand for" %
                           (onnxruntime.__version__, _EP_NAME))
    return devices


def unregister():
    """Takes it back, after every session that uses it is gone."""
    import onnxruntime
    onnxruntime.unregister_execution_provider_library(_EP_NAME)
