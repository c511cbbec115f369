# Tests the code of the README and docs/. Each ```cpp block is a program that is built with the tests and must return 0; each
# ```sh block with commands as "$ gridfold …" lines is run, and must print the text that the page shows below them.
file(GLOB pages CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/README.md" "${PROJECT_SOURCE_DIR}/docs/*.md")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${pages}")
foreach(page IN LISTS pages)
    cmake_path(GET page STEM name)
    string(TOLOWER "${name}" name)
    file(READ "${page}" rest)
    set(number 0)
    while(TRUE)
        string(FIND "${rest}" "\n```cpp\n" begin)
        if(begin EQUAL -1)
            break()
        endif()
        math(EXPR begin "${begin} + 8")
        string(SUBSTRING "${rest}" ${begin} -1 rest)
        string(FIND "${rest}" "\n```\n" end)
        string(SUBSTRING "${rest}" 0 ${end} program)
        math(EXPR number "${number} + 1")
        set(target ${name}_${number})
        file(CONFIGURE OUTPUT ${target}.cpp CONTENT "${program}\n" @ONLY)
        add_executable(${target} "${CMAKE_CURRENT_BINARY_DIR}/${target}.cpp")
        target_link_libraries(${target} PRIVATE gridfold::gridfold)
        add_test(NAME package.${target} COMMAND ${target})
        set_tests_properties(package.${target} PROPERTIES LABELS "cpu;package")
    endwhile()

    file(READ "${page}" text)
    if(TARGET gridfold AND text MATCHES "\n\\$ gridfold ")
        add_test(NAME package.${name}_commands
            COMMAND bash "${CMAKE_CURRENT_SOURCE_DIR}/shown_commands" "${page}" "$<TARGET_FILE_DIR:gridfold>"
            WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
        set_tests_properties(package.${name}_commands PROPERTIES LABELS "cpu;package")
    endif()
endforeach()

# No page links or names a missing file.
add_test(NAME package.links COMMAND "${CMAKE_COMMAND}" -D "ROOT=${PROJECT_SOURCE_DIR}" -D "PAGES=${pages}" -P "${CMAKE_CURRENT_SOURCE_DIR}/links.cmake")
set_tests_properties(package.links PROPERTIES LABELS "cpu;package")
