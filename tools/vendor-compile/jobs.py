"""What is to be compiled: the recorder's answer, put in order."""
import json
import os
import subprocess
from dataclasses import dataclass

import architectures

TYPES = ["f32", "f16", "bf16", "any"]


@dataclass(frozen=True)
class Job:
    """One compilation: a kernel with its options, for one architecture."""
    architecture: architectures.Nvidia  # or Amd, or Intel
    kernel: str
    source: str  # its file
    options: tuple
    group: int
    local_arguments: int
    types: tuple
    head_dims: tuple  # empty: any
    switches: tuple
    by_default: bool

    @property
    def key(self):
        """The columns that name it in the report."""
        return (self.architecture.name, self.kernel, ",".join(self.types),
                ",".join(map(str, self.head_dims)) or "any", ",".join(self.switches))

    @property
    def is_portable(self):
        """Right on any device rather than fast: its private arrays have run-time sizes."""
        return self.kernel.endswith("_portable")

    @property
    def is_tiled(self):
        """Made to be fast on GPUs."""
        return self.kernel.endswith("_gpu")


def record(program, names):
    done = subprocess.run([program, *names], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def _write_sources(sources, folder):
    paths = []
    for index, source in enumerate(sources):
        paths.append(os.path.join(folder, "kernel%d.cl" % index))
        with open(paths[-1], "w", encoding="utf-8") as file:
            file.write(source)
    return paths


def _in_order(values, order):
    return tuple(value for value in order if value in values)


def _name_switches(used, order):
    """In a word, where they are all that the recorder tries."""
    return ("every",) if used == set(order) else _in_order(used, order)


def make_jobs(recorded, folder):
    """The jobs of all recorded devices, each kernel with its options once. Sorted."""
    sources = _write_sources(recorded["sources"], folder)
    made = []
    for name, kernels in recorded["devices"].items():
        groups, order = {}, list(dict.fromkeys(kernel["switches"] for kernel in kernels))
        for kernel in kernels:
            same = (kernel["kernel"], kernel["source"], kernel["options"], kernel["group"], kernel["local_arguments"])
            groups.setdefault(same, []).append(kernel)
        for (kernel, source, options, group, local_arguments), users in groups.items():
            made.append(Job(architecture=architectures.BY_NAME[name], kernel=kernel, source=sources[source],
                            options=tuple(options.split()), group=group, local_arguments=local_arguments,
                            types=_in_order({user["type"] for user in users}, TYPES),
                            head_dims=tuple(sorted({user["head_dim"] for user in users} - {0})),
                            switches=_name_switches({user["switches"] for user in users}, order),
                            by_default=any(user["by_default"] for user in users)))
    order = [architecture.name for architecture in architectures.ARCHITECTURES]
    return sorted(made, key=lambda job: (order.index(job.architecture.name), job.kernel,
                                         [TYPES.index(t) for t in job.types], job.head_dims, job.switches))
