# gridfold_test(<name> SOURCES <file>… [LIBRARIES <target>…] [NVRTC] [WHOLE | EMULATED] [LONG] [TIMEOUT <seconds>])
#
# A GoogleTest binary, bin/<name>, that links gridfold::gridfold and may include the layers' internal headers and those
# under tests/. The name's suffix is the device that its tests run on (docs/testing.md), and becomes their label: cpu, cuda,
# emulated. Tests of no device are labelled nvrtc if they need NVRTC (the option says so), else pure. A source with a suffix
# is built only into binaries with the same one.
#
# Each test is a ctest entry, "<name>.<suite>.<test>". WHOLE makes the binary one entry, for tests with an expensive start (a
# CUDA context, NVRTC). EMULATED: only gridfold_emulated_test() runs it. An entry is reported as skipped if all its tests
# were. Entries with a TIMEOUT start first. LONG: the binary, and its run on the emulated device, exist only with
# GRIDFOLD_LONG_TESTS, which scripts/test sets with --all.
include(GoogleTest)
option(GRIDFOLD_LONG_TESTS "Also build and run the tests that take long" ON)
# Most of the time of tests on the emulated device goes to compiling kernels. Builds with the same compiler for kernels may
# share a cache.
set(GRIDFOLD_EMULATOR_COMPILER "${CMAKE_CXX_COMPILER}" CACHE FILEPATH "Compiles kernels for the emulator")
set(GRIDFOLD_EMULATED_CACHE "${CMAKE_BINARY_DIR}/emulated/cache" CACHE PATH "Compiled kernels of the emulated device")

# Sets <variable> to the device in the suffix of a binary's or a source's name, or to nothing.
function(gridfold_device_suffix variable name)
    string(REGEX MATCH "_(cpu|cuda|emulated)_test$" suffix "${name}")
    set(${variable} "${CMAKE_MATCH_1}" PARENT_SCOPE)
endfunction()

# Tests run for a moment and compile for minutes: optimised like the library, they would take gcc a third more time, and
# clang with sanitizers three times as much as with -O0, as its preset asks.
set(GRIDFOLD_TEST_OPTIMISATION "$<$<CONFIG:Release>:-O1>" CACHE STRING "Optimisation of the tests")
mark_as_advanced(GRIDFOLD_TEST_OPTIMISATION)

# How tests are compiled, and what they may include and link.
function(gridfold_test_properties target)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${GRIDFOLD_TEST_OPTIMISATION}>)
    target_link_libraries(${target} PRIVATE gridfold::gridfold ${ARGN} GTest::gtest_main fmt::fmt Boost::headers)
    target_include_directories(${target} PRIVATE
        "${PROJECT_SOURCE_DIR}/tests"
        "${PROJECT_SOURCE_DIR}/core/src" "${PROJECT_SOURCE_DIR}/npy/src" "${PROJECT_SOURCE_DIR}/ops/src" "${PROJECT_SOURCE_DIR}/fusion/src")
endfunction()

function(gridfold_test name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "NVRTC;WHOLE;EMULATED;LONG" "TIMEOUT" "SOURCES;LIBRARIES")
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "gridfold_test(${name}) has unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
    endif()
    gridfold_device_suffix(label ${name})
    foreach(source IN LISTS arg_SOURCES)
        cmake_path(GET source STEM stem)
        gridfold_device_suffix(device ${stem})
        if(device AND NOT device STREQUAL label)
            message(FATAL_ERROR "the tests of ${source} run on the device ${device}, and its binary is named ${name}: "
                "name it <subject>_${device}_test")
        endif()
    endforeach()
    if(arg_NVRTC AND label)
        message(FATAL_ERROR "${name} has the suffix of a device and the option NVRTC: give it one of them")
    elseif(arg_NVRTC)
        set(label nvrtc)
    elseif(NOT label)
        set(label pure)
    endif()
    set(cost "${arg_TIMEOUT}") # those with a TIMEOUT start first
    if(NOT arg_TIMEOUT)
        set(arg_TIMEOUT 600)
        set(cost 0)
    endif()
    add_executable(${name} ${arg_SOURCES})
    gridfold_test_properties(${name} ${arg_LIBRARIES})
    if(arg_LONG AND NOT GRIDFOLD_LONG_TESTS)
        set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
        set_property(GLOBAL APPEND PROPERTY gridfold_long_tests_left_out ${name})
    endif()
    if(arg_LONG AND NOT GRIDFOLD_LONG_TESTS)
        return()
    endif()
    if(arg_EMULATED)
        gridfold_emulated_test(${name})
    elseif(arg_WHOLE)
        add_test(NAME ${name} COMMAND ${name})
        set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT ${arg_TIMEOUT} COST ${cost}
            SKIP_REGULAR_EXPRESSION
            "\\[  PASSED  \\] 0 tests\\.\n\\[  SKIPPED \\] [0-9]+ tests?, listed below:\n(\\[  SKIPPED \\] [^\n]*\n)+$")
    else()
        gtest_discover_tests(${name} TEST_PREFIX "${name}." NO_PRETTY_VALUES DISCOVERY_TIMEOUT 60
            PROPERTIES LABELS ${label} TIMEOUT ${arg_TIMEOUT} COST ${cost})
    endif()
endfunction()

# gridfold_emulated_test(<name> [<argument>…])
#
# Runs all tests of the binary <name> on the emulated device: a CUDA driver and compiler that execute kernels on the host
# (tests/emulator/device). For <subject>_cuda_test this is one more ctest entry, <subject>_emulated_test.
function(gridfold_emulated_test name)
    string(REGEX REPLACE "_cuda_test$" "_emulated_test" entry ${name})
    if(NOT entry MATCHES "_emulated_test$")
        message(FATAL_ERROR "the tests of ${name} run on the emulated device: name it <subject>_cuda_test or <subject>_emulated_test")
    endif()
    get_property(left_out GLOBAL PROPERTY gridfold_long_tests_left_out)
    if(name IN_LIST left_out)
        return()
    endif()
    add_dependencies(${name} gridfold_emulated_device)
    set(folder "${CMAKE_BINARY_DIR}/emulated")
    add_test(NAME ${entry} COMMAND ${name} ${ARGN})
    set_tests_properties(${entry} PROPERTIES LABELS emulated TIMEOUT 600 COST 100
        FAIL_REGULAR_EXPRESSION "PASSED  . 0 tests" # the device was not found, and all were skipped
        ENVIRONMENT "GRIDFOLD_CACHE_DIR=${GRIDFOLD_EMULATED_CACHE}"
        ENVIRONMENT_MODIFICATION "LD_LIBRARY_PATH=path_list_prepend:${folder};GRIDFOLD_NVRTC=unset:")
endfunction()

# gridfold_tests_of_each_device(<subject> SOURCES <file>… [CUDA_SOURCES <file>…] [LIBRARIES <target>…] [LONG] [TIMEOUT <seconds>])
#
# The same tests, compiled once, as <subject>_cpu_test and <subject>_cuda_test (WHOLE), which also runs on the emulated device.
# tests/device/device_under_test.hpp tells them their device. CUDA_SOURCES, LONG and TIMEOUT are for <subject>_cuda_test.
function(gridfold_tests_of_each_device subject)
    cmake_parse_arguments(PARSE_ARGV 1 arg "LONG" "TIMEOUT" "SOURCES;CUDA_SOURCES;LIBRARIES")
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "gridfold_tests_of_each_device(${subject}) has unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
    endif()
    foreach(source IN LISTS arg_SOURCES)
        cmake_path(GET source STEM stem)
        gridfold_device_suffix(device ${stem})
        if(device)
            message(FATAL_ERROR "the tests of ${source} run on the device ${device} alone: name it without the suffix")
        endif()
    endforeach()
    add_library(${subject}_tests OBJECT ${arg_SOURCES})
    gridfold_test_properties(${subject}_tests ${arg_LIBRARIES})
    set(cuda_options WHOLE)
    if(arg_LONG)
        list(APPEND cuda_options LONG)
    endif()
    if(arg_TIMEOUT)
        list(APPEND cuda_options TIMEOUT ${arg_TIMEOUT})
    endif()
    gridfold_test(${subject}_cpu_test LIBRARIES ${arg_LIBRARIES}
        SOURCES $<TARGET_OBJECTS:${subject}_tests> "${PROJECT_SOURCE_DIR}/tests/device/cpu.cpp")
    gridfold_test(${subject}_cuda_test LIBRARIES ${arg_LIBRARIES} ${cuda_options}
        SOURCES $<TARGET_OBJECTS:${subject}_tests> "${PROJECT_SOURCE_DIR}/tests/device/cuda.cpp" ${arg_CUDA_SOURCES})
    gridfold_emulated_test(${subject}_cuda_test)
endfunction()

# gridfold_without_sanitizers(<file>…): files that instantiate many kernels of users' reductions, which take a sanitizer's
# compiler minutes. own_ops_test and operands_test check such kernels. Device functions are inlined there: the linker could
# take their copies, without checks, for those of other files.
function(gridfold_without_sanitizers)
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "-fno-sanitize=all;-UGRIDFOLD_FN")
endfunction()
