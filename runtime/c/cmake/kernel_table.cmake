# Writes one C file that holds the kernels of the .def files, sorted by operator name.
#
#   fl_write_kernel_table(OUTPUT file DEFINITIONS a.def b.def ... GROUPS all | names [ONLY operator names])
#
# The first row of a .def file is FL_GROUP(nn), the group of its kernels. Each other row is one line:
# FL_KERNEL("aten::add.out", add_out, add_scratch | NULL, "iinww"), whose last part says what each argument is and what the kernel does with it, as
# include/flambeau/kernel.h has it. FL_SIGNED_KERNEL says beside this that the kernel computes with integers as signed ones of 64 bits, or orders
# them so: the compiler calls it with no uint64.
# The table has the kernels of the groups and those that ONLY names; a name that no file has is an error. Sets `fl_chosen_definitions` to the .def
# files that have a kernel of the table, `fl_chosen_functions` to the functions of its kernels, `fl_chosen_count` to the number of these, and
# `fl_groups` to the groups that there are. `fl_left_out` are the groups that are not in GROUPS, if it names some, each followed by its kernels that are not in the table
# and an empty string, as the elements of C strings.

function(fl_write_kernel_table)
  cmake_parse_arguments(ARG "" "OUTPUT" "DEFINITIONS;GROUPS;ONLY" ${ARGN})
  set(names "")
  set(unchosen "")
  set(chosen "")
  set(groups "")
  foreach(definition IN LISTS ARG_DEFINITIONS)
    file(STRINGS "${definition}" lines REGEX "^ *FL_(GROUP|KERNEL|SIGNED_KERNEL)")
    set(group "")
    foreach(line IN LISTS lines)
      if(line MATCHES "^ *FL_GROUP\\(([a-z_]+)\\)")
        set(group "${CMAKE_MATCH_1}")
        list(APPEND groups "${group}")
        continue()
      endif()
      if(NOT line MATCHES "^ *FL_(SIGNED_)?KERNEL\\( *\"([^\"]+)\" *, *([A-Za-z_0-9]+) *, *([A-Za-z_0-9]+) *, *\"([itwnsvrclbdkoITNCLBDKOW]+[*]?)\" *\\)")
        message(FATAL_ERROR "${definition}: not a row FL_KERNEL(\"name\", run, scratch or NULL, \"access\"): ${line}")
      endif()
      set(name "${CMAKE_MATCH_2}")
      if(NOT group)
        message(FATAL_ERROR "${definition}: no row FL_GROUP(name) comes before \"${name}\"")
      endif()
      if(name IN_LIST names OR name IN_LIST unchosen)
        message(FATAL_ERROR "${definition}: a second row for \"${name}\"")
      endif()
      if(NOT ARG_GROUPS STREQUAL "all" AND NOT group IN_LIST ARG_GROUPS AND NOT name IN_LIST ARG_ONLY)
        list(APPEND unchosen "${name}")
        list(APPEND "unchosen_${group}" "${name}")
        continue()
      endif()
      list(APPEND names "${name}")
      list(APPEND chosen "${definition}")
      set("run_${name}" "${CMAKE_MATCH_3}")
      set("scratch_${name}" "${CMAKE_MATCH_4}")
      set("access_${name}" "${CMAKE_MATCH_5}")
    endforeach()
  endforeach()
  list(REMOVE_DUPLICATES groups)
  foreach(name IN LISTS ARG_ONLY)
    if(NOT name IN_LIST names)
      message(FATAL_ERROR "FLAMBEAU_KERNELS names \"${name}\", which no .def file has")
    endif()
  endforeach()
  foreach(name IN LISTS ARG_GROUPS)
    if(NOT name IN_LIST groups AND NOT name STREQUAL "all")
      list(JOIN groups ", " known)
      message(FATAL_ERROR "FLAMBEAU_GROUPS names \"${name}\", which no .def file has; there are ${known}")
    endif()
  endforeach()
  set(left_out "")
  if(ARG_GROUPS)
    foreach(group IN LISTS groups)
      if(unchosen_${group})
        list(JOIN unchosen_${group} "\\0\"\n    \"" operators)
        string(APPEND left_out "    \"${group}\\0\"\n    \"${operators}\\0\"\n    \"\\0\"\n")
      endif()
    endforeach()
  endif()
  set(fl_left_out "${left_out}" PARENT_SCOPE)
  set(fl_groups "${groups}" PARENT_SCOPE)

  list(SORT names COMPARE STRING CASE SENSITIVE)
  set(runs "")
  set(scratches "")
  set(rows "")
  foreach(name IN LISTS names)
    list(APPEND runs "${run_${name}}")
    if(NOT "${scratch_${name}}" STREQUAL "NULL")
      list(APPEND scratches "${scratch_${name}}")
    endif()
    string(APPEND rows "  {\"${name}\", ${run_${name}}, ${scratch_${name}}, \"${access_${name}}\"},\n")
  endforeach()
  set(declarations "")
  list(REMOVE_DUPLICATES runs)
  list(REMOVE_DUPLICATES chosen)
  set(fl_chosen_definitions "${chosen}" PARENT_SCOPE)
  foreach(run IN LISTS runs)
    string(APPEND declarations "fl_status ${run}(fl_context *context, fl_value *const *args, size_t count);\n")
  endforeach()
  list(REMOVE_DUPLICATES scratches)
  set(fl_chosen_functions ${runs} ${scratches} PARENT_SCOPE)
  foreach(scratch IN LISTS scratches)
    string(APPEND declarations "size_t ${scratch}(fl_value *const *args, size_t count);\n")
  endforeach()
  list(LENGTH names count)
  set(text "/* Written by kernel_table.cmake. */\n#include \"core/level.h\"\n#include \"flambeau/kernel.h\"\n\n${declarations}\n")
  if(rows)
    string(APPEND text "static const fl_kernel kernels[] = {\n${rows}};\n\nstatic const fl_kernel_table table = {kernels, ${count}};\n")
  else()
    string(APPEND text "static const fl_kernel_table table = {NULL, 0};\n")
  endif()
  string(APPEND text "\n#ifdef FL_BUILTIN_KERNELS /* there are levels */\nconst fl_kernel_table *FL_BUILTIN_KERNELS(void);\n"
                     "const fl_kernel_table *FL_BUILTIN_KERNELS(void) { return &table; }\n#else\n"
                     "const fl_kernel_table *fl_builtin_kernels(void) { return &table; }\n"
                     "const fl_kernel_table *fl_kernels_of_level(uint32_t index, const char **level) {\n"
                     "  if (level != NULL) {\n    *level = FL_LEVEL;\n  }\n  return index == 0 ? &table : NULL;\n}\n#endif\n")
  file(CONFIGURE OUTPUT "${ARG_OUTPUT}" CONTENT "${text}" @ONLY)
  set(fl_chosen_count "${count}" PARENT_SCOPE)
endfunction()

# Writes the C file that says which kernels the groups have that were left out: `left_out` is fl_left_out of a table.
function(fl_write_left_out output left_out)
  file(CONFIGURE OUTPUT "${output}" CONTENT "/* Written by kernel_table.cmake. */
#include \"core/internal.h\"

const char fl_left_out_kernels[] =
${left_out}    \"\";
" @ONLY)
endfunction()
