#include "tile_rules.h"

bool tile_divides(int part, int whole, const char *part_name, const char *whole_name, text *why) {
    if (whole % part != 0) {
        text_format(why, "%s, %d, is not a multiple of %s, %d", whole_name, whole, part_name, part);
        return false;
    }
    return true;
}
