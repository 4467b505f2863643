# Builds the kernels again for levels of x86-64, among which a processor's best is chosen when a program is loaded.
#
#   fl_add_levels(PREFIX name FOLDER build folder SOURCES files LEVELS x86-64-v3 ...)
#
# Adds an object library <name>_kernels_<n> for each level, and sets `fl_level_parts` to them and `fl_level_table` to the file that defines
# fl_builtin_kernels. The functions of a level have names of their own: a header that comes before each file renames those of the .def files and
# of the headers of kernels/. A name that it lacks is defined twice, which the linker refuses.

# For each level: how it is compiled, and what a processor needs.
set(fl_level_flags_x86-64-v3 -march=x86-64-v3)
set(fl_level_needs_x86-64-v3 avx2 bmi2 fma)
set(fl_level_flags_x86-64-v4 -march=x86-64-v4)
set(fl_level_needs_x86-64-v4 avx2 bmi2 fma avx512f avx512bw avx512cd avx512dq avx512vl)
set(fl_level_flags_x86-64-v4+vnni -march=x86-64-v4 -mavx512vnni)
set(fl_level_needs_x86-64-v4+vnni ${fl_level_needs_x86-64-v4} avx512vnni)

function(fl_add_levels)
  cmake_parse_arguments(ARG "" "PREFIX;FOLDER" "SOURCES;LEVELS" ${ARGN})
  get_filename_component(source "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/.." ABSOLUTE)
  set(renamed "")
  file(GLOB definitions CONFIGURE_DEPENDS "${source}/kernels/*.def")
  foreach(definition IN LISTS definitions)
    file(STRINGS "${definition}" rows REGEX "^ *FL_(SIGNED_)?KERNEL")
    foreach(row IN LISTS rows)
      string(REGEX MATCHALL "[ ,]fl_[A-Za-z_0-9]+" names "${row}")
      list(TRANSFORM names REPLACE "^[ ,]" "")
      list(APPEND renamed ${names})
    endforeach()
  endforeach()
  file(GLOB headers CONFIGURE_DEPENDS "${source}/kernels/*.h")
  foreach(header IN LISTS headers)
    file(STRINGS "${header}" lines REGEX "^(extern )?[a-z][a-z0-9_ ]*[ *]fl_[a-z0-9_]+[[(]")
    foreach(line IN LISTS lines)
      if(NOT line MATCHES "^static" AND line MATCHES "[ *](fl_[a-z0-9_]+)[[(]")
        list(APPEND renamed "${CMAKE_MATCH_1}")
      endif()
    endforeach()
  endforeach()
  list(REMOVE_DUPLICATES renamed)
  set(parts "")
  set(declarations "")
  set(choices "")
  set(number 0)
  foreach(level IN LISTS ARG_LEVELS)
    if(NOT DEFINED "fl_level_flags_${level}")
      message(FATAL_ERROR "FLAMBEAU_LEVELS names \"${level}\"; there are x86-64-v3, x86-64-v4 and x86-64-v4+vnni")
    endif()
    math(EXPR number "${number} + 1")
    set(text "/* Written by kernel_levels.cmake. */\n#define FL_BUILTIN_KERNELS fl_kernels_of_level_${number}\n")
    foreach(name IN LISTS renamed)
      string(APPEND text "#define ${name} ${name}_${number}\n")
    endforeach()
    file(CONFIGURE OUTPUT "${ARG_FOLDER}/level_${number}.h" CONTENT "${text}" @ONLY)
    set(part "${ARG_PREFIX}_kernels_${number}")
    add_library(${part} OBJECT ${ARG_SOURCES})
    target_compile_options(${part} PRIVATE ${fl_level_flags_${level}} -include "${ARG_FOLDER}/level_${number}.h")
    list(APPEND parts ${part})
    string(APPEND declarations "const fl_kernel_table *fl_kernels_of_level_${number}(void);\n")
    set(needs ${fl_level_needs_${level}})
    list(TRANSFORM needs REPLACE "(.+)" "__builtin_cpu_supports(\"\\1\")")
    list(JOIN needs " && " needs)
    # Better ones come first.
    string(PREPEND choices "  if (${needs} && index-- == 0) {\n    *name = \"${level}\";\n    return fl_kernels_of_level_${number}();\n  }\n")
  endforeach()
  set(fl_level_table "${ARG_FOLDER}/kernel_levels.c")
  file(CONFIGURE OUTPUT "${fl_level_table}" CONTENT "/* Written by kernel_levels.cmake. */
#include \"core/level.h\"
#include \"flambeau/kernel.h\"

${declarations}const fl_kernel_table *fl_kernels_of_level_0(void);

const fl_kernel_table *fl_kernels_of_level(uint32_t index, const char **level) {
  const char *unread, **const name = level != NULL ? level : &unread;
${choices}  *name = FL_LEVEL;
  return index == 0 ? fl_kernels_of_level_0() : NULL;
}

const fl_kernel_table *fl_builtin_kernels(void) { return fl_kernels_of_level(0, NULL); }
" @ONLY)
  set(fl_level_parts "${parts}" PARENT_SCOPE)
  set(fl_level_table "${fl_level_table}" PARENT_SCOPE)
endfunction()
