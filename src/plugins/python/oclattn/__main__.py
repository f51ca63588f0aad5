"""python -m oclattn: devices, and a demo that computes a trained layer and draws what its heads look at.

Exit codes: 0 done, 1 wrong result, 2 usage or bad input, 3 no such device, 4 driver error.
"""
import argparse
import pathlib
import sys
from typing import Any, Dict, List, Optional

import numpy as np

from . import MultiHeadAttention, __version__, devices
from ._errors import InvalidArgumentError, NoDeviceError, OclattnError, UnsupportedError
from ._stages import explain
from ._weights import read_file

TOLERANCE = 1e-4


def sample_path() -> pathlib.Path:
    """The sample layer: in the package, or where the package is run from its sources, among the tests' data."""
    here = pathlib.Path(__file__).resolve().parent
    inside = here / "data" / "minilm_layer0.safetensors"
    return inside if inside.exists() else here.parents[3] / "tests" / "data" / inside.name


def demo(arguments: argparse.Namespace) -> int:
    from . import plot
    layer = MultiHeadAttention.from_safetensors(arguments.weights, arguments.prefix, n_heads=arguments.heads,
                                                device=arguments.device)
    tensors = read_file(arguments.weights, arguments.prefix)[0]
    x = tensors.get("H", np.random.default_rng(0).standard_normal((16, layer.d_model)).astype(np.float32))
    print(explain(layer, x))
    if not report_error(layer(x), tensors):
        return 1
    folder = pathlib.Path(arguments.out)
    folder.mkdir(parents=True, exist_ok=True)
    for name, picture in (("heads", plot.heads(layer, x)), ("stages", plot.stages(layer, x))):
        files = [folder / (name + ending) for ending in (".png", ".svg")]
        picture.save(*files)
        print("wrote %s and %s" % tuple(files))
    return 0


def report_error(result: Any, tensors: Dict[str, Any]) -> bool:
    """Whether F(H) is what the file says, where it says anything."""
    if "F" not in tensors:
        return True
    error = float(np.abs(np.asarray(result, np.float64) - tensors["F"]).max())
    right = error <= TOLERANCE
    print("F(H) against the file's F: max |error| %.3g: %s" % (error, "right" if right else "WRONG"))
    return right


def list_devices(arguments: argparse.Namespace) -> int:
    found = devices()
    for device in found:
        print("%s  %s, %s, driver %s" % (device, device.kind, device.vendor, device.driver))
    if not found:
        print("oclattn: no OpenCL device; PoCL (Debian's pocl-opencl-icd) gives one on any CPU", file=sys.stderr)
    return 0 if found else 3


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser("python -m oclattn", description="Multi-head attention on any OpenCL device.")
    made.add_argument("--version", action="version", version="oclattn " + __version__)
    commands = made.add_subparsers(title="commands", required=True, metavar="COMMAND")
    listing = commands.add_parser("devices", help="list the OpenCL devices")
    listing.set_defaults(run=list_devices)
    drawing = commands.add_parser("demo", help="compute a trained layer on a real sentence, and draw it",
                                  description="Writes heads.png, heads.svg, stages.png and stages.svg.")
    drawing.add_argument("--out", default=".", metavar="DIR", help="where pictures go (default: here)")
    drawing.add_argument("--weights", default=sample_path(), metavar="FILE",
                         help=".safetensors of another layer; a tensor H is its input, else random numbers are")
    drawing.add_argument("--prefix", default="", help="what the names of its tensors begin with")
    drawing.add_argument("--heads", type=int, metavar="N", help="how many heads it has, where the file does not say")
    drawing.add_argument("--device", metavar="SPEC", help="\"gpu\", \"cpu\", \"P:D\", or a part of a name")
    drawing.set_defaults(run=demo)
    return made


def exit_code(error: Exception) -> int:
    if isinstance(error, NoDeviceError):
        return 3
    bad_input = isinstance(error, (InvalidArgumentError, UnsupportedError)) or not isinstance(error, OclattnError)
    return 2 if bad_input else 4


def main(arguments: Optional[List[str]] = None) -> int:
    chosen = parser().parse_args(arguments)
    try:
        return chosen.run(chosen)
    except (OclattnError, OSError, ImportError) as error:
        print("oclattn: %s" % error, file=sys.stderr)
        return exit_code(error)


if __name__ == "__main__":
    sys.exit(main())
