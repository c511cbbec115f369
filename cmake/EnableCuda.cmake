# Enables the language CUDA for the benchmarks and interop tests if possible, and then sets GRIDFOLD_CUDA. The library
# itself needs no toolkit.
set(GRIDFOLD_CUDA OFF)
include(CheckLanguage)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER OR NOT CUDAToolkit_FOUND)
    message(STATUS "gridfold: no CUDA compiler was found: the GPU benchmarks and interop tests are not built")
    return()
endif()
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 90)
endif()
enable_language(CUDA)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION) # CMake 3.25.1 does not know that nvcc 12 speaks C++20
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
endif()
set(GRIDFOLD_CUDA ON)
