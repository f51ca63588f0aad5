"""Finding the vendors' compilers, and running them."""
import functools
import glob
import os
import re
import shutil
import subprocess
import tempfile

import parsers

FOLDER = os.path.dirname(os.path.abspath(__file__))


class Failed(Exception):
    """The compiler refused the kernel."""


def _run(command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace")
    if done.returncode != 0:
        raise Failed("%s\n%s" % (" ".join(command), done.stdout[-4000:]))
    return done.stdout


def _version(command, pattern):
    found = re.search(pattern, _run(command))
    return found.group(1) if found else "of an unknown version"


# ---- clang, for NVIDIA and AMD --------------------------------------------------------------------------------------

def find_clang(asked=None):
    """The clang that was asked for, or the newest clang-N that has a libclc; None where there is none."""
    if asked:
        return shutil.which(asked)
    found = {}
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        for path in glob.glob(os.path.join(folder, "clang-[0-9]*")):
            number = os.path.basename(path)[len("clang-"):]
            if number.isdigit():
                found[int(number)] = path
    fitting = [n for n in found if find_libclc("nvptx64--nvidiacl.bc", found[n])]
    return found[max(fitting)] if fitting else None


def find_libclc(name, clang):
    """A library of OpenCL's built-in functions. Debian's of any version lies in one place; from LLVM 20 on it is also
    found beside the compiler."""
    beside = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(clang))), "lib", "clc")
    version = re.sub(r"\D", "", os.path.basename(clang))
    for folder in (beside, "/usr/lib/clc", "/usr/share/clc", "/usr/lib/clang/%s/lib/clc" % version):
        if os.path.exists(os.path.join(folder, name)):
            return os.path.join(folder, name)
    return None


def clang_version(clang):
    return "clang " + _version([clang, "--version"], r"clang version (\S+)")


def _clang_command(clang, target, library, options, source, output):
    return [clang, "-x", "cl", "-O3", "--target=" + target, "-nogpulib", "-Xclang", "-mlink-builtin-bitcode", "-Xclang",
            find_libclc(library, clang), *options, "-S", source, "-o", output]


class NvidiaCompiler:
    """clang makes PTX, as NVIDIA's driver does from OpenCL C, and NVIDIA's own assembler makes code of it."""
    vendor = "NVIDIA"
    library = "nvptx64--nvidiacl.bc"

    def __init__(self, clang, ptxas):
        self.clang, self.ptxas = clang, ptxas
        self.version = "%s, ptxas %s" % (clang_version(clang), _version([ptxas, "--version"], r"[Rr]elease .*?V?(\d+\.\d+\.\d+)"))
        self.known = self.supported()

    def supported(self):
        """The architectures that this ptxas assembles for; empty where it does not tell."""
        return set(re.findall(r"sm_\d+", _run([self.ptxas, "--help"])))

    def why_not(self, architecture):
        if self.known and architecture.name not in self.known:
            return "this ptxas does not know it"
        return None

    def compile(self, architecture, kernel, source, folder):
        ptx = os.path.join(folder, "kernel.ptx")
        prelude = ["-include", os.path.join(FOLDER, "prelude_nvidia.clh")]
        _run(_clang_command(self.clang, "nvptx64--", self.library,
                            ["-Xclang", "-target-cpu", "-Xclang", architecture.clang_name or architecture.name,
                             *prelude, *kernel.options], source, ptx))
        # Shared memory of a whole multiprocessor, of which ptxas thinks 48 KB may be static.
        text = _run([self.ptxas, "-v", "-O3", "-arch=" + architecture.name, ptx, "-o", os.devnull])
        return parsers.parse_ptxas(text)


class AmdCompiler:
    """clang is AMD's compiler; its assembly says what it needs."""
    vendor = "AMD"
    library = "amdgcn--amdhsa.bc"

    def __init__(self, clang):
        self.clang = clang
        self.version = clang_version(clang)

    def why_not(self, architecture):
        return None

    def compile(self, architecture, kernel, source, folder):
        assembly = os.path.join(folder, "kernel.s")
        prelude = ["-include", os.path.join(FOLDER, "prelude_amd.clh")]
        _run(_clang_command(self.clang, "amdgcn-amd-amdhsa", self.library,
                            ["-mcpu=" + architecture.name, *prelude, *kernel.options], source, assembly))
        with open(assembly, encoding="utf-8", errors="replace") as file:
            return parsers.parse_amdgcn(file.read())


class IntelCompiler:
    """ocloc is the compiler of Intel's driver."""
    vendor = "Intel"

    def __init__(self, ocloc):
        self.ocloc = ocloc
        self.version = "ocloc " + self._find_version()

    def _find_version(self):
        """Only its query tells, and that as a file in the current folder."""
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([self.ocloc, "query", "OCL_DRIVER_VERSION"], cwd=folder, stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            for path in glob.glob(os.path.join(folder, "*")):
                with open(path, encoding="utf-8", errors="replace") as file:
                    return file.read().strip("\0 \n") or "of an unknown version"
        return "of an unknown version"

    def why_not(self, architecture):
        return None

    def compile(self, architecture, kernel, source, folder):
        text = _run([self.ocloc, "compile", "--format", "zebin", "-device", architecture.name, "-file", source,
                     "-options", " ".join(kernel.options), "-out_dir", folder, "-output", "kernel",
                     "-output_no_suffix"])
        made = [path for path in glob.glob(os.path.join(folder, "kernel*")) if not path.endswith((".spv", ".gen"))]
        for path in made:
            with open(path, "rb") as file:
                info = parsers.elf_section(file.read(), ".ze_info")
            if info is not None:
                return parsers.parse_ocloc(text, info.decode("utf-8", "replace"))
        raise parsers.NotUnderstood("ocloc left no file with a .ze_info section: %s" % text)


def find_ptxas(asked=None):
    for name in [asked] if asked else ["ptxas", "/usr/local/cuda/bin/ptxas"]:
        if shutil.which(name):
            return shutil.which(name)
    return None


@functools.lru_cache(maxsize=None)
def find_compilers(clang=None, ptxas=None, ocloc=None):
    """By vendor: the compiler, or in words what is missing."""
    found = {}
    clang_path, ptxas_path = find_clang(clang), find_ptxas(ptxas)
    ocloc_path = shutil.which(ocloc or "ocloc")
    no_clang = "no clang-N with libclc; Debian's packages are clang-19 and libclc-19"
    if not clang_path:
        found["NVIDIA"] = found["AMD"] = no_clang
    else:
        has_amd = find_libclc(AmdCompiler.library, clang_path)
        found["AMD"] = AmdCompiler(clang_path) if has_amd else "libclc has no " + AmdCompiler.library
        found["NVIDIA"] = (NvidiaCompiler(clang_path, ptxas_path) if ptxas_path else
                           "no ptxas; it is in the CUDA toolkit and in PyPI's nvidia-cuda-nvcc")
    found["Intel"] = IntelCompiler(ocloc_path) if ocloc_path else "no ocloc; Debian's package is intel-opencl-icd"
    return found
