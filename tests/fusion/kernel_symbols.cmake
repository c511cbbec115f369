# cmake -DNM=… -DSET=avx2 "-DOBJECTS=a.o|b.o" -P kernel_symbols.cmake
#
# Fails if an object defines a symbol outside of gf::cpu::<SET>: files compiled for different instruction sets would share
# it, and the linker could give code for a wider set to a machine that has none of it.
string(LENGTH "${SET}" length)
set(inside "^_Z(GV)?Z*NK?2gf3cpu${length}${SET}")
string(REPLACE "|" ";" OBJECTS "${OBJECTS}")
set(found 0)
foreach(object IN LISTS OBJECTS)
    execute_process(COMMAND "${NM}" --defined-only --extern-only --format=posix "${object}"
        OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
    string(REGEX MATCHALL "[^\n]+" symbols "${symbols}")
    foreach(symbol IN LISTS symbols)
        math(EXPR found "${found} + 1")
        if(NOT symbol MATCHES "${inside}")
            message(SEND_ERROR "${object} defines ${symbol}, outside of gf::cpu::${SET}")
        endif()
    endforeach()
endforeach()
if(found EQUAL 0)
    message(SEND_ERROR "no symbol was found in: ${OBJECTS}")
endif()
