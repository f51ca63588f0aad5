# Writes the C file OUTPUT with the table of kernel sources that sources.h declares, from the files INPUTS.
# The text travels as hexadecimal bytes: quotes, backslashes, semicolons and brackets never meet CMake's list rules.
#     cmake -DOUTPUT=kernel_sources.c "-DINPUTS=cl/a.cl;cl/b.clh" -P embed.cmake
cmake_minimum_required(VERSION 3.18)

set(bytes_per_line "0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,")
set(texts "")
set(rows "")
set(count 0)
list(SORT INPUTS)
foreach(input IN LISTS INPUTS)
  get_filename_component(name "${input}" NAME)
  file(READ "${input}" hex HEX)
  string(LENGTH "${hex}" digits)
  math(EXPR length "${digits} / 2")
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
  string(REGEX REPLACE "(${bytes_per_line})" "\\1\n" bytes "${bytes}")
  string(APPEND texts "static const unsigned char text_${count}[] = {\n${bytes}0};\n\n")
  string(APPEND rows "    {\"${name}\", text_${count}, ${length}},\n")
  math(EXPR count "${count} + 1")
endforeach()

file(WRITE "${OUTPUT}" "/* Generated from cl/ by embed.cmake. */
#include \"${CMAKE_CURRENT_LIST_DIR}/sources.h\"

${texts}const kernel_source kernel_sources[] = {
${rows}    {NULL, NULL, 0},
};
")
