# Checks that the preset `install` builds the library and the command, and only what installing needs.
#
# usage: cmake -D SOURCE=<repository> -D BINARY=<empty folder> -D COMPILER=<c++> -D COMMAND_IS_BUILT=<bool> -P install_preset.cmake
cmake_minimum_required(VERSION 3.25)

execute_process(COMMAND "${CMAKE_COMMAND}" --preset install -B "${BINARY}" "-DCMAKE_CXX_COMPILER=${COMPILER}"
    WORKING_DIRECTORY "${SOURCE}" OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${CMAKE_COMMAND}" --build "${BINARY}" -- -n
    OUTPUT_VARIABLE steps COMMAND_ERROR_IS_FATAL ANY)
foreach(folder tests bench examples)
    if(steps MATCHES "Building CXX object ${folder}/")
        message(FATAL_ERROR "the preset install builds ${folder}/")
    endif()
endforeach()
if(NOT steps MATCHES "Linking CXX [a-z]+ library fusion/")
    message(FATAL_ERROR "the preset install does not build the library:\n${steps}")
endif()
if(COMMAND_IS_BUILT AND NOT steps MATCHES "Linking CXX executable bin/gridfold")
    message(FATAL_ERROR "the preset install does not build the command")
endif()
