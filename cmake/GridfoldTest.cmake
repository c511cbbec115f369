# gridfold_test(<name> LABELS <label>… SOURCES <file>… [LIBRARIES <target>…] [WHOLE | EMULATED] [LONG] [TIMEOUT <seconds>])
#
# A GoogleTest binary, bin/<name>, that links gridfold::gridfold and may include the layers' internal headers and those
# under tests/. Labels say what it needs: pure, cpu, nvrtc, emulator, gpu, package. Sanitizer builds omit tests labelled
# slow. Each test is a ctest entry, "<name>.<suite>.<test>". WHOLE makes the binary one entry, for tests with an expensive
# start (a CUDA context, NVRTC). EMULATED: only gridfold_emulated_test() runs it. An entry is reported as skipped if all its
# tests were. Entries with a TIMEOUT start first. LONG: the binary, and its run on the emulated device, exist only with
# GRIDFOLD_LONG_TESTS, which scripts/test sets with --all.
include(GoogleTest)
option(GRIDFOLD_LONG_TESTS "Also build and run the tests that take long" ON)

function(gridfold_test name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "WHOLE;EMULATED;LONG" "TIMEOUT" "LABELS;SOURCES;LIBRARIES")
    if(NOT arg_TIMEOUT)
        set(arg_TIMEOUT 300)
    endif()
    add_executable(${name} ${arg_SOURCES})
    if(arg_LONG AND NOT GRIDFOLD_LONG_TESTS)
        set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
        set_property(GLOBAL APPEND PROPERTY gridfold_long_tests_left_out ${name})
    endif()
    # Optimising tests like the library would take a third more compile time.
    target_compile_options(${name} PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O1>)
    target_link_libraries(${name} PRIVATE
        gridfold::gridfold ${arg_LIBRARIES} GTest::gtest_main fmt::fmt Boost::headers)
    target_include_directories(${name} PRIVATE
        "${PROJECT_SOURCE_DIR}/tests"
        "${PROJECT_SOURCE_DIR}/core/src" "${PROJECT_SOURCE_DIR}/npy/src" "${PROJECT_SOURCE_DIR}/ops/src" "${PROJECT_SOURCE_DIR}/fusion/src")
    if(arg_LONG AND NOT GRIDFOLD_LONG_TESTS)
        return()
    endif()
    if(arg_EMULATED)
        gridfold_emulated_test(${name})
    elseif(arg_WHOLE)
        add_test(NAME ${name} COMMAND ${name})
        set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT} COST ${arg_TIMEOUT}
            SKIP_REGULAR_EXPRESSION
            "\\[  PASSED  \\] 0 tests\\.\n\\[  SKIPPED \\] [0-9]+ tests?, listed below:\n(\\[  SKIPPED \\] [^\n]*\n)+$")
    else()
        gtest_discover_tests(${name} TEST_PREFIX "${name}." NO_PRETTY_VALUES DISCOVERY_TIMEOUT 60
            PROPERTIES TIMEOUT ${arg_TIMEOUT} COST ${arg_TIMEOUT})
        # gtest_discover_tests() takes no list as a property's value: ctest reads this after the discovered tests.
        set(labels "${CMAKE_CURRENT_BINARY_DIR}/${name}_labels.cmake")
        file(WRITE "${labels}"
            "set_tests_properties(\${${name}_TESTS} PROPERTIES LABELS \"${arg_LABELS}\")\n")
        set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${labels}")
    endif()
endfunction()

# gridfold_emulated_test(<name> [<argument>…])
#
# Runs all tests of the binary <name> on the emulated device, as one more ctest entry: a CUDA driver and compiler that
# execute kernels on the host (tests/emulator/device). The entry of <subject>_cuda is <subject>_emulated; that of any other
# binary is "<name>.emulated".
function(gridfold_emulated_test name)
    get_property(left_out GLOBAL PROPERTY gridfold_long_tests_left_out)
    if(name IN_LIST left_out)
        return()
    endif()
    add_dependencies(${name} gridfold_emulated_device)
    set(folder "${CMAKE_BINARY_DIR}/emulated")
    set(entry ${name}.emulated)
    if(name MATCHES "^(.+)_cuda$")
        set(entry ${CMAKE_MATCH_1}_emulated)
    endif()
    add_test(NAME ${entry} COMMAND ${name} ${ARGN})
    set_tests_properties(${entry} PROPERTIES LABELS emulator TIMEOUT 600 COST 100
        FAIL_REGULAR_EXPRESSION "PASSED  . 0 tests" # the device was not found, and all were skipped
        ENVIRONMENT "GRIDFOLD_CACHE_DIR=${folder}/cache"
        ENVIRONMENT_MODIFICATION "LD_LIBRARY_PATH=path_list_prepend:${folder};GRIDFOLD_NVRTC=unset:")
endfunction()
