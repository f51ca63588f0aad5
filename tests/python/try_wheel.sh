#!/bin/sh
# Usage: try_wheel.sh PYTHON SOURCES FOLDER. Builds the wheel as `pip install SOURCES` does, without network, and runs
# what was installed from it, alone, in FOLDER. PYTHON's environment has scikit-build-core, cmake is the system's.
set -eu
python=$1 sources=$2 folder=$3
rm -rf "$folder"
mkdir -p "$folder/empty"
"$python" -m pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps -w "$folder" "$sources"
"$python" -m pip install --quiet --disable-pip-version-check --no-index --no-deps --target "$folder/installed" \
    "$folder"/oclattn-*.whl
cd "$folder/empty"
unset OCLATTN_LIBRARY
PYTHONPATH=$folder/installed "$python" -B - <<'END'
import pathlib

import numpy as np
import oclattn

package = pathlib.Path(oclattn.__file__).parent
libraries = sorted(path.name for path in package.glob("*.so*"))
assert libraries == ["liboclattn.so", "liboclattn_torch.so"], libraries
assert str(package / "liboclattn.so") in open("/proc/self/maps").read()
q = np.ones((1, 2, 3, 8), np.float32)
assert np.allclose(oclattn.attention(q, q, q), 1)
print("oclattn %s works from its wheel" % oclattn.__version__)
END
PYTHONPATH=$folder/installed "$python" -B -m oclattn demo --out "$folder/pictures"
for picture in heads stages; do
    test -s "$folder/pictures/$picture.png" && test -s "$folder/pictures/$picture.svg"
done
