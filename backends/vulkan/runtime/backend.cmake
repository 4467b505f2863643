include(cmake/found_at_load.cmake)
list(APPEND shared vulkan.c)

# The package has the shaders in SPIR-V, where there is a compiler for them.
find_program(FLAMBEAU_GLSLANG NAMES glslangValidator glslang DOC "The compiler of GLSL that makes the shaders of the backend vulkan")
mark_as_advanced(FLAMBEAU_GLSLANG)
if(DEFINED SKBUILD AND FLAMBEAU_GLSLANG)
  set(shaders "${backends}/vulkan/runtime/shaders")
  set(modules "")
  file(GLOB shader_sources CONFIGURE_DEPENDS "${shaders}/*.comp")
  file(GLOB shader_headers CONFIGURE_DEPENDS "${shaders}/*.glsl")
  foreach(shader IN LISTS shader_sources)
    get_filename_component(shader_name "${shader}" NAME_WE)
    # Each for tensors of float32, and for those of float16.
    foreach(variant "" "_f16")
      set(module "${ARG_FOLDER}/spirv/${shader_name}${variant}.spv")
      set(defined "$<$<BOOL:${variant}>:-DHALF>")
      add_custom_command(
        OUTPUT "${module}" COMMAND ${CMAKE_COMMAND} -E make_directory "${ARG_FOLDER}/spirv"
        COMMAND "${FLAMBEAU_GLSLANG}" -V -g0 --quiet --target-env vulkan1.1 ${defined} "${shader}" -o "${module}" DEPENDS "${shader}" ${shader_headers}
        VERBATIM COMMAND_EXPAND_LISTS
      )
      list(APPEND modules "${module}")
    endforeach()
  endforeach()
  add_custom_target(${ARG_PREFIX}_vulkan_shaders ALL DEPENDS ${modules})
  install(FILES ${modules} DESTINATION flambeau/backends/vulkan/spirv)
elseif(DEFINED SKBUILD)
  message(WARNING "glslangValidator is not here: --backend vulkan will compile nothing (Debian: apt-get install glslang-tools)")
endif()
