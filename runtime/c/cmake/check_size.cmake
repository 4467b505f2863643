# Fails when LIBRARY holds more than LIMIT bytes of code and constant data.
execute_process(COMMAND size -t "${LIBRARY}" OUTPUT_VARIABLE table COMMAND_ERROR_IS_FATAL ANY)
if(NOT table MATCHES "\n *([0-9]+)[^\n]*TOTALS")
  message(FATAL_ERROR "size printed no total:\n${table}")
endif()
if(CMAKE_MATCH_1 GREATER LIMIT)
  message(FATAL_ERROR "the core has ${CMAKE_MATCH_1} bytes, more than ${LIMIT}:\n${table}")
endif()
message("${CMAKE_MATCH_1} bytes")
