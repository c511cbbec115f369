# Checks the directions inside fusion: plan ← passes, host_kernels; plan, host_kernels ← cpu; plan ← cuda; all ← front. A
# pass includes no backend, and a backend no pass.
#
# usage: cmake -D SOURCE=<fusion/src> -P fusion_directions.cmake
cmake_minimum_required(VERSION 3.25)

set(of_plan plan)
set(of_host_kernels host_kernels)
set(of_passes plan host_kernels passes)
set(of_cpu plan host_kernels cpu)
set(of_cuda plan cuda)
set(of_front plan host_kernels passes cpu cuda front)

set(wrong "")
foreach(part plan host_kernels passes cpu cuda front)
    file(GLOB files "${SOURCE}/${part}/*.hpp" "${SOURCE}/${part}/*.cpp")
    if(NOT files)
        message(FATAL_ERROR "${SOURCE}/${part} has no source")
    endif()
    foreach(file IN LISTS files)
        file(STRINGS "${file}" includes REGEX "^#include \"")
        foreach(line IN LISTS includes)
            string(REGEX MATCH "\"([a-z_]+)/[^\"]+\"" named "${line}")
            if(NOT named)
                string(APPEND wrong "${file}: ${line}: name the folder, as in \"plan/verify.hpp\"\n")
            elseif(NOT CMAKE_MATCH_1 IN_LIST of_${part})
                string(APPEND wrong "${file}: ${line}: ${part} may include from: ${of_${part}}\n")
            endif()
        endforeach()
    endforeach()
endforeach()
if(wrong)
    message(FATAL_ERROR "${wrong}")
endif()
