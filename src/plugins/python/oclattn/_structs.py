"""The structs and constants of oclattn.h, in ctypes. A test holds them to what a C compiler says of the header."""
import ctypes as c

F32, F16, BF16 = 1, 2, 3

DEFAULT_SCALE, CAUSAL, MASK, BIAS = 1 << 0, 1 << 1, 1 << 2, 1 << 3
ALIBI, SINKS, Q_LENS, KV_LENS = 1 << 5, 1 << 6, 1 << 7, 1 << 8

ALIGN_UNSET, ALIGN_TOP_LEFT, ALIGN_BOTTOM_RIGHT, ALIGN_OFFSET = 0, 1, 2, 3
PROBABILITIES = 4

MHA_CROSS, MHA_WEIGHTS_OUT_IN = 1 << 0, 1 << 1
MHA_B_Q, MHA_B_K, MHA_B_V, MHA_B_HEAD = 1 << 2, 1 << 3, 1 << 4, 1 << 5

OK, INVALID_ARGUMENT, UNSUPPORTED, NO_DEVICE, OUT_OF_MEMORY, BUILD_FAILED, OPENCL_ERROR = range(7)


class Error(c.Structure):
    _fields_ = [("status", c.c_int), ("cl_code", c.c_int32), ("message", c.c_char * 2048)]


class ContextOptions(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("device", c.c_char_p), ("cache_dir", c.c_char_p), ("log_level", c.c_int),
                ("log", c.c_void_p), ("log_user", c.c_void_p)]


class DeviceInfo(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("platform_index", c.c_int32), ("device_index", c.c_int32),
                ("name", c.c_char * 128), ("vendor", c.c_char * 128), ("platform", c.c_char * 128),
                ("driver", c.c_char * 128), ("type", c.c_uint64), ("compute_units", c.c_uint32),
                ("global_memory_bytes", c.c_uint64), ("max_allocation_bytes", c.c_uint64),
                ("local_memory_bytes", c.c_uint64), ("max_work_group_size", c.c_uint64),
                ("host_unified_memory", c.c_int32), ("has_fp16", c.c_int32), ("has_fp64", c.c_int32),
                ("has_subgroups", c.c_int32), ("alias_of", c.c_int32)]


class Tensor(c.Structure):
    _fields_ = [("buffer", c.c_void_p), ("offset", c.c_int64), ("strides", c.POINTER(c.c_int64))]


class ScoreOptions(c.Structure):
    _fields_ = [("flags", c.c_uint32), ("align", c.c_int), ("scale", c.c_float), ("softcap", c.c_float),
                ("window_left", c.c_int64), ("window_right", c.c_int64), ("bias_type", c.c_int),
                ("reserved_type", c.c_uint32), ("mask_strides", c.c_int64 * 4), ("bias_strides", c.c_int64 * 4),
                ("mask_kv_len", c.c_int64), ("bias_kv_len", c.c_int64), ("q_rows", c.c_int64), ("kv_rows", c.c_int64),
                ("reserved", c.c_int64 * 6)]


class ScoreInputs(c.Structure):
    _fields_ = [("mask", Tensor), ("bias", Tensor), ("bias_scale", Tensor), ("alibi_slopes", Tensor),
                ("sinks", Tensor), ("q_lens", Tensor), ("kv_lens", Tensor), ("q_starts", Tensor),
                ("kv_starts", Tensor), ("offsets", Tensor), ("reserved", Tensor * 4)]


class AttentionDesc(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("q_type", c.c_int), ("k_type", c.c_int), ("v_type", c.c_int),
                ("o_type", c.c_int), ("batch", c.c_int64), ("q_heads", c.c_int64), ("kv_heads", c.c_int64),
                ("q_len", c.c_int64), ("kv_len", c.c_int64), ("head_dim", c.c_int64), ("v_dim", c.c_int64),
                ("q_strides", c.c_int64 * 3), ("k_strides", c.c_int64 * 3), ("v_strides", c.c_int64 * 3),
                ("o_strides", c.c_int64 * 3), ("want_lse", c.c_int32), ("scores_kind", c.c_int),
                ("lse_strides", c.c_int64 * 3), ("scores_strides", c.c_int64 * 3), ("kv_chunk", c.c_int64),
                ("variant", c.c_char_p), ("score", ScoreOptions)]


class AttentionArgs(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("q", Tensor), ("k", Tensor), ("v", Tensor), ("o", Tensor),
                ("lse", Tensor), ("scores", Tensor), ("score", ScoreInputs), ("q_len", c.c_int64),
                ("kv_len", c.c_int64), ("workspace", c.c_void_p)]


class MhaDesc(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("flags", c.c_uint32), ("x_type", c.c_int), ("w_type", c.c_int),
                ("y_type", c.c_int), ("batch", c.c_int64), ("q_len", c.c_int64), ("kv_len", c.c_int64),
                ("d_model", c.c_int64), ("kv_width", c.c_int64), ("n_heads", c.c_int64), ("n_kv_heads", c.c_int64),
                ("head_dim", c.c_int64), ("v_dim", c.c_int64), ("x_strides", c.c_int64 * 2),
                ("kv_strides", c.c_int64 * 2), ("y_strides", c.c_int64 * 2), ("projection_variant", c.c_char_p),
                ("attention_variant", c.c_char_p), ("score", ScoreOptions)]


class MhaWeightsArgs(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("w_q", Tensor), ("w_k", Tensor), ("w_v", Tensor), ("w_head", Tensor),
                ("b_q", Tensor), ("b_k", Tensor), ("b_v", Tensor), ("b_head", Tensor)]


class MhaArgs(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("x", Tensor), ("kv", Tensor), ("y", Tensor), ("weights", c.c_void_p),
                ("score", ScoreInputs), ("workspace", c.c_void_p)]


INIT_FUNCTIONS = {
    ContextOptions: "oclattn_context_options_init",
    DeviceInfo: "oclattn_device_info_init",
    AttentionDesc: "oclattn_attention_desc_init",
    AttentionArgs: "oclattn_attention_args_init",
    MhaDesc: "oclattn_mha_desc_init",
    MhaWeightsArgs: "oclattn_mha_weights_args_init",
    MhaArgs: "oclattn_mha_args_init",
}
