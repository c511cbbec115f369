# What the README shows is true. Each ```cpp block is a program that is built with the tests and must return 0; each
# ```sh block that shows commands as "$ gridfold …" lines is run, and must print what the README shows below them.
set(readme "${PROJECT_SOURCE_DIR}/README.md")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${readme}")
file(READ "${readme}" rest)

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
    set(name readme_${number})
    file(CONFIGURE OUTPUT ${name}.cpp CONTENT "${program}\n" @ONLY)
    add_executable(${name} "${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp")
    target_link_libraries(${name} PRIVATE gridfold::gridfold)
    add_test(NAME package.${name} COMMAND ${name})
    set_tests_properties(package.${name} PROPERTIES LABELS "cpu;package")
endwhile()

if(TARGET gridfold)
    add_test(NAME package.readme_commands
        COMMAND bash "${CMAKE_CURRENT_SOURCE_DIR}/readme_commands" "${readme}" "$<TARGET_FILE_DIR:gridfold>"
        WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
    set_tests_properties(package.readme_commands PROPERTIES LABELS "cpu;package")
endif()
