#include "clblast_tiles.h"

#include "tile_rules.h"

/* Work-groups and local memory of CLBlast's own parameters: those of most devices in its database are no larger. */
enum { DATABASE_WORK_GROUP = 256, DATABASE_LOCAL_BYTES = 16 * 1024 };

/* The kernels around the product, which bring matrices into its form: modest sizes that any device takes. */
enum {
    COPY_DIM = 8,
    COPY_VECTOR = 4,
    TRANSPOSE_DIM = 8,
    TRANSPOSE_VECTOR = 4,
    PAD_TRANSPOSE_TILE = 8,
    PAD_TRANSPOSE_WORK = 4,
    AROUND_WORK_GROUP = 64,
    /* tile[TRA_WPT * TRA_DIM][TRA_DIM] of vectors of TRA_WPT floats */
    AROUND_LOCAL_BYTES = 4 * (TRANSPOSE_VECTOR * TRANSPOSE_DIM) * TRANSPOSE_DIM * TRANSPOSE_VECTOR
};

static bool is_power_of_two(int value, const char *name, text *why) {
    if ((value & (value - 1)) != 0) {
        text_format(why, "%s, %d, is not a power of two", name, value);
        return false;
    }
    return true;
}

static bool check_vectors(const clblast_tiles *t, text *why) {
    return is_power_of_two(t->vwm, "vwm", why) && is_power_of_two(t->vwn, "vwn", why) &&
           is_power_of_two(t->vwmd, "vwmd", why) && is_power_of_two(t->vwnd, "vwnd", why);
}

static bool check_indirect(const clblast_tiles *t, text *why) {
    const int items = t->mdimc * t->ndimc;
    return tile_divides(t->kwi, t->kwg, "kwi", "kwg", why) &&
           tile_divides(t->mdimc * t->vwm, t->mwg, "mdimc x vwm", "mwg", why) &&
           tile_divides(t->ndimc * t->vwn, t->nwg, "ndimc x vwn", "nwg", why) &&
           tile_divides(t->mdima * t->vwm, t->mwg, "mdima x vwm", "mwg", why) &&
           tile_divides(t->ndimb * t->vwn, t->nwg, "ndimb x vwn", "nwg", why) &&
           tile_divides(t->mdima, items, "mdima", "mdimc x ndimc", why) &&
           tile_divides(t->ndimb, items, "ndimb", "mdimc x ndimc", why) &&
           tile_divides(items / t->mdima, t->kwg, "mdimc x ndimc / mdima", "kwg", why) &&
           tile_divides(items / t->ndimb, t->kwg, "mdimc x ndimc / ndimb", "kwg", why);
}

static bool check_direct(const clblast_tiles *t, text *why) {
    const int items = t->mdimcd * t->ndimcd;
    return tile_divides(t->kwid, t->wgd, "kwid", "wgd", why) &&
           tile_divides(t->mdimcd * t->vwmd, t->wgd, "mdimcd x vwmd", "wgd", why) &&
           tile_divides(t->ndimcd * t->vwnd, t->wgd, "ndimcd x vwnd", "wgd", why) &&
           tile_divides(t->mdimad * t->vwmd, t->wgd, "mdimad x vwmd", "wgd", why) &&
           tile_divides(t->ndimbd * t->vwnd, t->wgd, "ndimbd x vwnd", "wgd", why) &&
           tile_divides(t->mdimad, items, "mdimad", "mdimcd x ndimcd", why) &&
           tile_divides(t->ndimbd, items, "ndimbd", "mdimcd x ndimcd", why) &&
           tile_divides(items / t->mdimad, t->wgd, "mdimcd x ndimcd / mdimad", "wgd", why) &&
           tile_divides(items / t->ndimbd, t->wgd, "mdimcd x ndimcd / ndimbd", "wgd", why);
}

bool clblast_tiles_check(const clblast_tiles *tiles, text *why) {
    return check_vectors(tiles, why) && check_indirect(tiles, why) && check_direct(tiles, why);
}

static int larger(int a, int b) {
    return a > b ? a : b;
}

clblast_need clblast_tiles_need(const clblast_tiles *t) {
    if (t->overrides == 0) {
        return (clblast_need){.work_group = DATABASE_WORK_GROUP, .local_bytes = DATABASE_LOCAL_BYTES};
    }
    const int float_bytes = 4;
    const int indirect = float_bytes * t->kwg * (t->sa * t->mwg + t->sb * t->nwg);
    const int direct = float_bytes * t->wgd * (2 * t->wgd + t->pada + t->padb);
    const int items = larger(AROUND_WORK_GROUP, larger(t->mdimc * t->ndimc, t->mdimcd * t->ndimcd));
    return (clblast_need){.work_group = (size_t)items,
                          .local_bytes = (cl_ulong)larger(AROUND_LOCAL_BYTES, larger(indirect, direct))};
}

static void add(clblast_kernel *kernel, const char *name, int value) {
    kernel->names[kernel->count] = name;
    kernel->values[kernel->count++] = (size_t)value;
}

static void list_indirect(const clblast_tiles *t, clblast_kernel *kernel) {
    *kernel = (clblast_kernel){.name = "Xgemm"};
    add(kernel, "GEMMK", 0);
    add(kernel, "KREG", 1);
    add(kernel, "KWG", t->kwg);
    add(kernel, "KWI", t->kwi);
    add(kernel, "MDIMA", t->mdima);
    add(kernel, "MDIMC", t->mdimc);
    add(kernel, "MWG", t->mwg);
    add(kernel, "NDIMB", t->ndimb);
    add(kernel, "NDIMC", t->ndimc);
    add(kernel, "NWG", t->nwg);
    add(kernel, "SA", t->sa);
    add(kernel, "SB", t->sb);
    add(kernel, "STRM", t->strm);
    add(kernel, "STRN", t->strn);
    add(kernel, "VWM", t->vwm);
    add(kernel, "VWN", t->vwn);
}

static void list_direct(const clblast_tiles *t, clblast_kernel *kernel) {
    *kernel = (clblast_kernel){.name = "XgemmDirect"};
    add(kernel, "KWID", t->kwid);
    add(kernel, "MDIMAD", t->mdimad);
    add(kernel, "MDIMCD", t->mdimcd);
    add(kernel, "NDIMBD", t->ndimbd);
    add(kernel, "NDIMCD", t->ndimcd);
    add(kernel, "PADA", t->pada);
    add(kernel, "PADB", t->padb);
    add(kernel, "VWMD", t->vwmd);
    add(kernel, "VWND", t->vwnd);
    add(kernel, "WGD", t->wgd);
}

static void list_around(clblast_kernel kernels[4]) {
    kernels[0] = (clblast_kernel){
        "Copy", 4, {"COPY_DIMX", "COPY_DIMY", "COPY_VW", "COPY_WPT"}, {COPY_DIM, COPY_DIM, COPY_VECTOR, 1}};
    kernels[1] =
        (clblast_kernel){"Pad", 4, {"PAD_DIMX", "PAD_DIMY", "PAD_WPTX", "PAD_WPTY"}, {COPY_DIM, COPY_DIM, 1, 1}};
    kernels[2] = (clblast_kernel){
        "Transpose", 4, {"TRA_DIM", "TRA_PAD", "TRA_SHUFFLE", "TRA_WPT"}, {TRANSPOSE_DIM, 0, 0, TRANSPOSE_VECTOR}};
    kernels[3] = (clblast_kernel){
        "Padtranspose", 3, {"PADTRA_PAD", "PADTRA_TILE", "PADTRA_WPT"}, {0, PAD_TRANSPOSE_TILE, PAD_TRANSPOSE_WORK}};
}

void clblast_tiles_list(const clblast_tiles *tiles, clblast_kernel kernels[CLBLAST_KERNELS]) {
    list_indirect(tiles, &kernels[0]);
    list_direct(tiles, &kernels[1]);
    kernels[2] = (clblast_kernel){"GemmRoutine", 1, {"XGEMM_MIN_INDIRECT_SIZE"}, {(size_t)tiles->min_indirect_size}};
    list_around(&kernels[3]);
}
