"""The report that is kept in the repository: one line for each kernel as compiled, after the compilers' versions."""

TITLE = "# Registers, spills, private and local memory of the kernels, as the vendors' compilers say. Written by"
LEGEND = """#
# switches: plain, causal, mask, bias, full (nearly every option at once), decode (one query), decode-gqa (four heads share
# K and V), scores (probabilities as output), or every one of them; what stands on one line compiles to the same code.
# group: work-items of a work-group; regs: registers of a work-item (Intel: of a thread); spill: bytes (NVIDIA), registers
# (AMD), or as the compiler counts (Intel); private: bytes of arrays and spills in memory, of a work-item; local: bytes of a
# work-group; acc: copies to and from accumulator registers; wide: work-items of a sub-group; groups: work-groups that fit
# a compute unit (NVIDIA: multiprocessor; AMD: compute unit, RDNA: two of them; Intel: Xe-core or dual subslice).
"""
HEAD = ("arch", "kernel", "type", "head_dim", "switches", "group", "regs", "spill", "private", "local", "acc", "wide",
        "groups")
WIDTHS = (7, 22, 12, 10, 0, 6, 5, 6, 8, 6, 4, 5, 7)
KEY_COLUMNS = 5
VERSION = "# %s: %s"


def line(job, used, groups):
    numbers = (job.group, used.registers, used.spills, used.private_bytes, used.local_bytes, used.accumulator_copies,
               used.sub_group, groups)
    return columns([*job.key, *map(str, numbers)])


def columns(values):
    """Numbers to the right, the rest to the left; switches come last, since they may be many."""
    key = "  ".join(value.ljust(width) for value, width in zip(values[:KEY_COLUMNS - 1], WIDTHS))
    numbers = " ".join(value.rjust(width) for value, width in zip(values[KEY_COLUMNS:], WIDTHS[KEY_COLUMNS:]))
    return "%s %s  %s" % (key, numbers, values[KEY_COLUMNS - 1])


def write(path, versions, lines):
    with open(path, "w", encoding="utf-8") as file:
        file.write("%s\n# tools/vendor-compile/run.sh --update, with\n" % TITLE)
        for vendor, version in versions.items():
            file.write(VERSION % (vendor, version) + "\n")
        file.write(LEGEND + columns(list(HEAD)) + "\n" + "".join(text + "\n" for text in lines))


def read(path):
    """The versions by vendor, and the lines."""
    versions, lines = {}, []
    with open(path, encoding="utf-8") as file:
        for text in file.read().splitlines():
            vendor, colon, version = text[2:].partition(": ")
            if text.startswith("#") and colon and vendor in ("NVIDIA", "AMD", "Intel"):
                versions[vendor] = version
            elif text and not text.startswith(("#", "arch ")):
                lines.append(text)
    return versions, lines


def key_of(text):
    """What names a line: all but its numbers."""
    words = text.split()
    return (*words[:KEY_COLUMNS - 1], *words[KEY_COLUMNS - 1 + len(HEAD) - KEY_COLUMNS:])


def differences(kept, made, compiled):
    """Lines that a reader of a diff would see. `compiled`: the architectures that were compiled; `made`: some or all of
    their lines."""
    kept_by_key = {key_of(text): text for text in kept}
    found = []
    for text in made:
        if kept_by_key.get(key_of(text)) != text:
            if key_of(text) in kept_by_key:
                found.append("- " + kept_by_key[key_of(text)])
            found.append("+ " + text)
    if compiled is not None:
        made_keys = set(map(key_of, made))
        found += ["- " + text for text in kept if text.split()[0] in compiled and key_of(text) not in made_keys]
    return found
