# For the backend.cmake of an adapter to a library that it finds when a program is loaded: it is compiled wherever there is dlopen, and needs
# nothing of the library.
include(CheckSymbolExists)
set(CMAKE_REQUIRED_LIBRARIES ${CMAKE_DL_LIBS})
check_symbol_exists(dlopen dlfcn.h has_dlopen)
unset(CMAKE_REQUIRED_LIBRARIES)
set(is_possible ${has_dlopen})
set(shared library.c)
if(has_dlopen)
  find_package(Threads REQUIRED)
  set(libraries ${CMAKE_DL_LIBS} ${CMAKE_THREAD_LIBS_INIT})
endif()
