# gridfold_library(<layer>): the target gridfold_<layer>, called gridfold::<layer> in this project and in installations. Its
# include path is its own include/ and those of the layers it links: an include against the layering does not compile.
function(gridfold_library layer)
    add_library(gridfold_${layer})
    add_library(gridfold::${layer} ALIAS gridfold_${layer})
    set_target_properties(gridfold_${layer} PROPERTIES
        EXPORT_NAME ${layer}
        DEFINE_SYMBOL "" # nobody asks: the compiler's cache then serves shared and static libraries alike
        LINKER_LANGUAGE CXX
        VERSION ${PROJECT_VERSION}
        SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
        INTERFACE_HEADER_SETS_TO_VERIFY HEADERS)
    target_compile_features(gridfold_${layer} PUBLIC cxx_std_20)
endfunction()

# gridfold_headers(<layer> [TEXT] <file>…): headers of a layer, by path under its include/. TEXT: headers that do not
# compile alone (.def tables, .cuh device text).
function(gridfold_headers layer)
    cmake_parse_arguments(PARSE_ARGV 1 arg "TEXT" "" "")
    set(set_name HEADERS)
    if(arg_TEXT)
        set(set_name text)
    endif()
    list(TRANSFORM arg_UNPARSED_ARGUMENTS PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/include/")
    target_sources(gridfold_${layer} PUBLIC FILE_SET ${set_name} TYPE HEADERS
        BASE_DIRS "${CMAKE_CURRENT_SOURCE_DIR}/include" FILES ${arg_UNPARSED_ARGUMENTS})
endfunction()
