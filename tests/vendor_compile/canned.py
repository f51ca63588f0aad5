"""What the compilers print for one kernel, in the words of several of their versions."""

PTXAS = """ptxas info    : 0 bytes gmem, 1552 bytes cmem[3]
ptxas info    : Compiling entry function 'attention' for 'sm_80'
ptxas info    : Function properties for attention
    %(stack)d bytes stack frame, %(spill)d bytes spill stores, %(spill)d bytes spill loads
ptxas info    : Used 96 registers, used 1 barriers, %(local)d bytes smem, 1024 bytes cmem[0], 16 bytes cmem[2]
ptxas info    : Compile time = 262.994 ms
"""
# CUDA 10: no "used N barriers", static and dynamic shared memory apart, no stack size on the last line.
PTXAS_OLD = """ptxas info    : Compiling entry function 'attention' for 'sm_75'
ptxas info    : Function properties for attention
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 255 registers, 26624+0 bytes smem, 392 bytes cmem[0]
"""
PTXAS_NO_LOCAL = """ptxas info    : Compiling entry function 'merge' for 'sm_90'
ptxas info    : Function properties for merge
    176 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 34 registers, used 0 barriers, 176 bytes cumulative stack size
"""

AMDGCN = """	.text
attention:
	s_load_dwordx4 s[0:3], s[4:5], 0x0
%(copies)s	s_endpgm
; NumVgprs: 999
	.amdgpu_metadata
---
amdhsa.kernels:
  - .agpr_count:     0
    .args:
      - .address_space:  global
        .offset:         0
        .size:           8
        .value_kind:     global_buffer
    .group_segment_fixed_size: %(local)d
    .kernarg_segment_size: 928
    .max_flat_workgroup_size: 256
    .name:           attention
    .private_segment_fixed_size: %(stack)d
    .sgpr_count:     50
    .sgpr_spill_count: 7
    .vgpr_count:     118
    .vgpr_spill_count: %(spill)d
    .wavefront_size: %(wave)d
...
	.end_amdgpu_metadata
"""

OCLOC_SPILLED = """
warning: kernel attention  compiled SIMD16 allocated 128 regs and spilled around 23

Build succeeded.
"""
OCLOC_QUIET = "Build succeeded.\n"

ZE_INFO = """---
version:         '1.20'
kernels:
  - name:            attention
    execution_env:
      barrier_count:   1
      grf_count:       128
      required_work_group_size: [ 64, 1, 1 ]
      simd_size:       16
      slm_size:        %(local)d
    payload_arguments:
      - arg_type:        private_base_stateless
        offset:          704
        size:            8
    per_thread_payload_arguments:
      - arg_type:        local_id
        size:            192
%(buffers)skernels_misc_info:
  - name:            attention
    args_info:
      - index:           0
        size:            77
...
"""
ZE_BUFFERS_OF_ITEM = """    per_thread_memory_buffers:
      - type:            global
        usage:           private_space
        size:            256
        is_simt_thread:  true
"""
ZE_BUFFERS_OF_THREAD = """    per_thread_memory_buffers:
      - type:            scratch
        usage:           single_space
        size:            8192
"""


def elf(section, content):
    """A 64-bit ELF file with that section, and those that it cannot do without."""
    names = b"\0" + section.encode() + b"\0.names\0"
    header_size, entry_size = 64, 64
    content_at = header_size
    names_at = content_at + len(content)
    table_at = names_at + len(names)

    def entry(name, offset, size):
        return (name.to_bytes(4, "little") + bytes(20) + offset.to_bytes(8, "little") + size.to_bytes(8, "little") +
                bytes(24))

    header = (b"\x7fELF\x02\x01\x01" + bytes(33) + table_at.to_bytes(8, "little") + bytes(10) +
              entry_size.to_bytes(2, "little") + (3).to_bytes(2, "little") + (2).to_bytes(2, "little"))
    return (header + content + names + entry(0, 0, 0) + entry(1, content_at, len(content)) +
            entry(2 + len(section), names_at, len(names)))
