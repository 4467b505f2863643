# The adapter finds the XNNPACK library when a program is loaded: it is compiled wherever there is dlopen, and needs nothing of XNNPACK.
include(CheckSymbolExists)
set(CMAKE_REQUIRED_LIBRARIES ${CMAKE_DL_LIBS})
check_symbol_exists(dlopen dlfcn.h has_dlopen)
unset(CMAKE_REQUIRED_LIBRARIES)
set(is_possible ${has_dlopen})
set(libraries ${CMAKE_DL_LIBS})
