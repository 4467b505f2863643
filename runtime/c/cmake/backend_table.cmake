# Writes one C file with the table of the backends that the library is built with.
#
#   fl_write_backend_table(OUTPUT file NAMES a b ...)
#
# The runtime part of a backend `a` defines `const fl_backend fl_backend_a`.

function(fl_write_backend_table)
  cmake_parse_arguments(ARG "" "OUTPUT" "NAMES" ${ARGN})
  list(SORT ARG_NAMES)
  set(declarations "")
  set(entries "")
  foreach(name IN LISTS ARG_NAMES)
    string(APPEND declarations "extern const fl_backend fl_backend_${name};\n")
    string(APPEND entries "    &fl_backend_${name},\n")
  endforeach()
  list(LENGTH ARG_NAMES count)
  set(text "/* Written by backend_table.cmake. */\n#include \"flambeau/backend.h\"\n\n${declarations}\n")
  if(entries)
    string(APPEND text "static const fl_backend *const backends[] = {\n${entries}};\n\n")
    set(value "backends")
  else()
    set(value "NULL")
  endif()
  string(APPEND text "const fl_backend *const *fl_builtin_backends(size_t *count) {\n  if (count != NULL) {\n    *count = ${count};\n  }\n  return ${value};\n}\n")
  file(CONFIGURE OUTPUT "${ARG_OUTPUT}" CONTENT "${text}" @ONLY)
endfunction()
