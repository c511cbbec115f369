# gridfold_embed_text(<target> <header> <file>…): compiles the text of each file into the target. For a/b/warp.cuh, the
# function std::string_view gf::detail::warp_text(), which <header> declares, returns the text without its
# `#pragma once` line and without its `// defect: …` comments (tests/seeded/catalogue.txt). An edited file is embedded
# again by the next build.
#
# The same file is the script that writes one such .cpp: cmake -DHEADER=… -DINPUT=… -DOUTPUT=… -P EmbedText.cmake
if(NOT CMAKE_SCRIPT_MODE_FILE)
    set(GRIDFOLD_EMBED_SCRIPT "${CMAKE_CURRENT_LIST_FILE}")

    function(gridfold_embed_text target header)
        foreach(file IN LISTS ARGN)
            cmake_path(GET file STEM name)
            set(input "${CMAKE_CURRENT_SOURCE_DIR}/${file}")
            set(output "${CMAKE_CURRENT_BINARY_DIR}/${name}_text.cpp")
            add_custom_command(OUTPUT "${output}"
                COMMAND "${CMAKE_COMMAND}" "-DHEADER=${header}" "-DINPUT=${input}" "-DOUTPUT=${output}"
                        -P "${GRIDFOLD_EMBED_SCRIPT}"
                DEPENDS "${input}" "${GRIDFOLD_EMBED_SCRIPT}"
                COMMENT "Embedding ${file}"
                VERBATIM)
            target_sources(${target} PRIVATE "${output}")
        endforeach()
    endfunction()
    return()
endif()

cmake_path(GET INPUT STEM name)
cmake_path(GET INPUT FILENAME filename)
file(READ "${INPUT}" text)
string(REPLACE "#pragma once\n" "" text "${text}")
string(REGEX REPLACE " *// defect: [^\n]*" "" text "${text}")
string(FIND "${text}" ")gridfold_text\"" clash)
string(LENGTH "${text}" length)
if(NOT clash EQUAL -1)
    message(FATAL_ERROR "${INPUT} holds the delimiter of the literal that it is embedded in: )gridfold_text\"")
elseif(length GREATER 65000)
    message(FATAL_ERROR "${INPUT} has ${length} characters; compilers promise string literals of 65,536: split the file")
endif()
file(WRITE "${OUTPUT}" "// Generated from ${filename}.
#include <${HEADER}>

namespace gf::detail {

std::string_view ${name}_text() {
    return R\"gridfold_text(${text})gridfold_text\";
}

} // namespace gf::detail
")
