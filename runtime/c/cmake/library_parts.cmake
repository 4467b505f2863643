# Makes the parts of a library that depend on what programs need: its backends and its kernels. flambeau_generate.cmake makes libraries of them
# beside that of CMakeLists.txt.
#
#   fl_add_parts(PREFIX name FOLDER build folder GROUPS names KERNELS operators DTYPES all | names BACKENDS all | names [LEVELS names])
#
# Adds the object libraries <name>_backends and <name>_kernels, and one for each level of the instruction set; `fl_parts` are all of them. Sets
# `fl_chosen_count` to the number of kernels, and `fl_backend_libraries` to what the backends are linked with.
include("${CMAKE_CURRENT_LIST_DIR}/backend_table.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/kernel_levels.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/kernel_table.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/reached_sources.cmake")

function(fl_add_parts)
  cmake_parse_arguments(ARG "" "PREFIX;FOLDER" "GROUPS;KERNELS;DTYPES;BACKENDS;LEVELS" ${ARGN})
  get_filename_component(source "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/.." ABSOLUTE)

  # Each folder of backends/ may have a runtime/, whose <name>.c defines fl_backend_<name>.
  set(backends "${source}/../../backends")
  if(ARG_BACKENDS STREQUAL "all")
    file(GLOB found CONFIGURE_DEPENDS RELATIVE "${backends}" "${backends}/*/runtime/*.c")
    list(TRANSFORM found REPLACE "/.*" "")
    list(REMOVE_DUPLICATES found)
  else()
    set(found ${ARG_BACKENDS})
  endif()
  # A runtime/backend.cmake may say that the backend cannot be built here (`is_possible`), with what it is linked (`libraries`), and
  # which files of library/ it uses (`shared`).
  set(backend_sources "")
  set(backend_libraries "")
  set(built "")
  foreach(name IN LISTS found)
    set(is_possible ON)
    set(shared "")
    set(libraries "")
    include("${backends}/${name}/runtime/backend.cmake" OPTIONAL)
    string(TOUPPER "FLAMBEAU_BACKEND_${name}" wanted)
    option(${wanted} "Build the backend ${name}, where FLAMBEAU_BACKENDS has it" ${is_possible})
    if(NOT ${wanted})
      continue()
    endif()
    list(APPEND built ${name})
    list(APPEND backend_libraries ${libraries})
    file(GLOB sources CONFIGURE_DEPENDS "${backends}/${name}/runtime/*.c")
    if(NOT sources)
      message(FATAL_ERROR "FLAMBEAU_BACKENDS names \"${name}\", but there is no backends/${name}/runtime")
    endif()
    list(APPEND backend_sources ${sources})
    list(TRANSFORM shared PREPEND "${source}/library/")
    list(APPEND backend_sources ${shared})
  endforeach()
  list(REMOVE_DUPLICATES backend_sources)
  fl_write_backend_table(OUTPUT "${ARG_FOLDER}/backend_table.c" NAMES ${built})
  add_library(${ARG_PREFIX}_backends OBJECT ${backend_sources} "${ARG_FOLDER}/backend_table.c")

  # A family is a .def and a .c of one name, that of the file of its operators' rows; what several share is in a .c beside a header.
  file(GLOB definitions CONFIGURE_DEPENDS "${source}/kernels/*.def")
  file(GLOB kernel_sources CONFIGURE_DEPENDS "${source}/kernels/*.c")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${definitions})
  fl_write_kernel_table(OUTPUT "${ARG_FOLDER}/kernel_table.c" DEFINITIONS ${definitions} GROUPS ${ARG_GROUPS} ONLY ${ARG_KERNELS})
  fl_write_left_out("${ARG_FOLDER}/left_out.c" "${fl_left_out}")
  if(NOT ARG_GROUPS STREQUAL "all")
    fl_reached_sources(
      RESULT kernel_sources FOLDER "${source}/kernels" SOURCES ${kernel_sources} DEFINITIONS ${fl_chosen_definitions}
      FUNCTIONS ${fl_chosen_functions} STARTS ${backend_sources}
    )
  endif()
  add_library(${ARG_PREFIX}_kernels OBJECT ${kernel_sources} "${ARG_FOLDER}/kernel_table.c" "${ARG_FOLDER}/left_out.c")
  set(kernel_parts ${ARG_PREFIX}_kernels)
  if(ARG_LEVELS)
    fl_add_levels(
      PREFIX ${ARG_PREFIX} FOLDER "${ARG_FOLDER}" SOURCES ${kernel_sources} "${ARG_FOLDER}/kernel_table.c" LEVELS ${ARG_LEVELS}
    )
    list(APPEND kernel_parts ${fl_level_parts})
    target_sources(${ARG_PREFIX}_kernels PRIVATE "${fl_level_table}")
    target_compile_definitions(${ARG_PREFIX}_kernels PRIVATE FL_BUILTIN_KERNELS=fl_kernels_of_level_0)
  endif()
  fl_dtype_mask(mask ${ARG_DTYPES})
  foreach(part IN LISTS kernel_parts)
    if(mask)
      target_compile_definitions(${part} PRIVATE FL_DTYPES=${mask}u)
    endif()
  endforeach()

  get_target_property(is_shared fl_core POSITION_INDEPENDENT_CODE)
  foreach(part ${ARG_PREFIX}_backends ${kernel_parts})
    target_link_libraries(${part} PRIVATE fl_options)
    # Nothing reads errno or the floating-point flags; with them, sqrt and comparisons would not vectorise.
    target_compile_options(${part} PRIVATE -fno-math-errno -fno-trapping-math)
    set_target_properties(${part} PROPERTIES C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF C_VISIBILITY_PRESET hidden
                                             POSITION_INDEPENDENT_CODE ${is_shared})
  endforeach()
  set(fl_backend_libraries "${backend_libraries}" PARENT_SCOPE)
  set(fl_chosen_count "${fl_chosen_count}" PARENT_SCOPE)
  set(fl_parts ${ARG_PREFIX}_backends ${kernel_parts} PARENT_SCOPE)
endfunction()

# Stores the element types as the compiler gets them, a bit for the number of each; empty for all.
function(fl_dtype_mask result)
  set(mask 0)
  set(known "")
  file(STRINGS "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../include/flambeau/scalar_types.def" rows REGEX "^FL_[A-Z0-9_]+_TYPE\\(.*, [0-9]+, [0-9]+,")
  foreach(row IN LISTS rows)
    if(row MATCHES "\\([A-Z0-9_]+, ([0-9]+), [0-9]+, [^,]+, [^,]+, ([a-z0-9_]+)," AND CMAKE_MATCH_2 IN_LIST ARGN)
      math(EXPR mask "${mask} | (1 << ${CMAKE_MATCH_1})" OUTPUT_FORMAT HEXADECIMAL)
    endif()
    list(APPEND known "${CMAKE_MATCH_2}")
  endforeach()
  foreach(name IN LISTS ARGN)
    if(NOT name IN_LIST known AND NOT name STREQUAL "all")
      list(JOIN known ", " names)
      message(FATAL_ERROR "FLAMBEAU_DTYPES names \"${name}\"; the element types are ${names}, and all")
    endif()
  endforeach()
  if(mask EQUAL 0 OR "all" IN_LIST ARGN)
    set(mask "")
  endif()
  set(${result} "${mask}" PARENT_SCOPE)
endfunction()
