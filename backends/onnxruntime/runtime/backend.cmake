include(cmake/found_at_load.cmake)
