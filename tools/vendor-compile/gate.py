"""What every kernel must hold to on every GPU."""
import architectures

LEAST_GROUPS = 2
CDNA_LOCAL_BYTES = 32 << 10


def faults(job, used, groups):
    """In words, what is wrong with what a compiler made of a job; empty where nothing is. A portable kernel only has to
    compile and to fit, and only kernels with tiles for GPUs must do without arrays in memory."""
    architecture = job.architecture
    found = []
    if used.local_bytes > architecture.most_local_bytes:
        found.append("local memory: %d of at most %d bytes" % (used.local_bytes, architecture.most_local_bytes))
    if groups < 1:
        found.append("not one work-group of %d fits a compute unit" % job.group)
    if job.is_portable:
        return found
    if used.spills:
        found.append("spills: %d" % used.spills)
    if used.private_bytes and job.is_tiled:
        found.append("private memory: %d bytes" % used.private_bytes)
    if groups < LEAST_GROUPS:
        found.append("occupancy: %d work-groups of %d on a compute unit, not %d" % (groups, job.group, LEAST_GROUPS))
    if isinstance(architecture, architectures.Amd) and architecture.is_cdna:
        if used.local_bytes > CDNA_LOCAL_BYTES:
            found.append("local memory: %d of at most %d bytes on CDNA" % (used.local_bytes, CDNA_LOCAL_BYTES))
        if used.accumulator_copies:
            found.append("copies to and from accumulator registers: %d" % used.accumulator_copies)
    return found
