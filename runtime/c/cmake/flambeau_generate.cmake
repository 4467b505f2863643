# Links a program with a runtime that has only what some programs need.
#
#   flambeau_generate(TARGET app PROGRAMS model.pte ... [OWN_KERNELS operator names])
#
# The command `flambeau kernels`, on this machine, lists the kernels, element types and backends of the programs when CMake runs, and again after a
# program has changed. The library <app>_flambeau is made of their sources, for the machine that the project is built for. OWN_KERNELS are operators whose
# kernels the application registers.
include("${CMAKE_CURRENT_LIST_DIR}/library_parts.cmake")

# Adds the parts that every library has, unless they are there already: with the sources comes a library without a kernel, which nothing links.
function(fl_add_core)
  if(NOT TARGET fl_core)
    set(FLAMBEAU_GROUPS none)
    set(FLAMBEAU_KERNELS "")
    set(FLAMBEAU_BACKENDS "")
    set(FLAMBEAU_TESTS OFF)
    set(FLAMBEAU_WERROR OFF)
    add_subdirectory("${CMAKE_CURRENT_FUNCTION_LIST_DIR}/.." "${CMAKE_BINARY_DIR}/flambeau_runtime" EXCLUDE_FROM_ALL)
  endif()
endfunction()

function(flambeau_generate)
  cmake_parse_arguments(ARG "" "TARGET" "PROGRAMS;OWN_KERNELS" ${ARGN})
  if(ARG_UNPARSED_ARGUMENTS OR NOT ARG_TARGET OR NOT ARG_PROGRAMS)
    message(FATAL_ERROR "flambeau_generate takes TARGET name PROGRAMS files [OWN_KERNELS operators], not: ${ARGN}")
  endif()
  if(NOT TARGET "${ARG_TARGET}")
    message(FATAL_ERROR "flambeau_generate: there is no target ${ARG_TARGET} yet: call it after add_executable")
  endif()
  # An installation has the command beside it; a source tree, in .venv.
  get_filename_component(source "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/.." ABSOLUTE)
  find_program(
    FLAMBEAU_COMMAND flambeau HINTS "${source}/../../../../../../bin" "${source}/../../.venv/bin" NO_CMAKE_FIND_ROOT_PATH
    DOC "The command flambeau of this machine, which lists what programs need"
  )
  if(NOT FLAMBEAU_COMMAND)
    message(FATAL_ERROR "flambeau_generate runs the command flambeau, and finds none: pip install flambeau, or name it by FLAMBEAU_COMMAND")
  endif()
  set(programs "")
  foreach(program IN LISTS ARG_PROGRAMS)
    get_filename_component(program "${program}" ABSOLUTE)
    list(APPEND programs "${program}")
  endforeach()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${programs})
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${ARG_TARGET}_flambeau")
  set(own ${ARG_OWN_KERNELS})
  list(TRANSFORM own PREPEND "--own=")
  file(MAKE_DIRECTORY "${folder}")
  execute_process(
    COMMAND ${FLAMBEAU_COMMAND} kernels --format cmake --output "${folder}/selection.cmake" ${own} ${programs}
    RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE why
  )
  if(failed)
    string(REGEX REPLACE "^error: |\n$" "" why "${why}")
    message(FATAL_ERROR "flambeau_generate(TARGET ${ARG_TARGET}): ${why}")
  endif()
  include("${folder}/selection.cmake")
  set(groups ${FLAMBEAU_GROUPS})
  set(kernels ${FLAMBEAU_KERNELS})
  set(dtypes ${FLAMBEAU_DTYPES})
  set(backends ${FLAMBEAU_BACKENDS})
  fl_add_core()
  set(library "${ARG_TARGET}_flambeau")
  fl_add_parts(PREFIX ${library} FOLDER "${folder}" GROUPS ${groups} KERNELS ${kernels} DTYPES ${dtypes} BACKENDS ${backends})
  message(STATUS "flambeau: ${fl_chosen_count} kernels for ${ARG_TARGET}")
  set(objects "")
  foreach(part fl_core fl_events fl_emitted fl_threads ${library}_kernels ${library}_backends)
    if(TARGET ${part})
      list(APPEND objects $<TARGET_OBJECTS:${part}>)
    endif()
  endforeach()
  # A project without a build type gets kernels as fast as one with Release.
  target_compile_options(${library}_kernels PRIVATE $<$<CONFIG:>:-O3>)
  add_library(${library} STATIC ${objects})
  target_include_directories(${library} PUBLIC "${source}/include")
  target_link_libraries(${library} PUBLIC m ${fl_backend_libraries} ${CMAKE_THREAD_LIBS_INIT})
  target_link_libraries(${ARG_TARGET} PRIVATE ${library})
  target_link_options(${library} INTERFACE $<IF:$<PLATFORM_ID:Darwin>,-Wl$<COMMA>-dead_strip,-Wl$<COMMA>--gc-sections>)
endfunction()
