include(cmake/found_at_load.cmake)
list(APPEND shared vulkan.c)
