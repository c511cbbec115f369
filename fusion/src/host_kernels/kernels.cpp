#include "host_kernels/kernels.hpp"

#include <array>
#include <cstdlib>

#if defined(GRIDFOLD_CPU_EXTENSIONS)
#include <cpuid.h>
#endif

#include <fmt/format.h>

#include <gridfold/core/error.hpp>

namespace gf::cpu {

// The functions that the files compiled for an instruction set define, in that set's namespace.
#define GRIDFOLD_KERNELS(set)                                                          \
    namespace set {                                                                    \
    MapKernel map_kernel(int map, int compute);                                        \
    MapKernel map_kernel_by_scalar(int map, int compute);                              \
    ConvertKernel cast_kernel(int from, int to);                                       \
    ConvertKernel round_kernel(int from, int to);                                      \
    const FoldKernels* fold_kernels(int monoid, int element, int accumulator);         \
    const BlockKernels* block_kernels(int monoid, int element, int accumulator);       \
    const JointKernels* joint_kernels(int element, bool extremes, bool counts);        \
    const JointKernels* joint_kernels_of_comparison(int map, int compute);             \
    const PositionKernels* position_kernels(int monoid, int element, int accumulator); \
    RowValueKernel row_value_kernel(int map, int compute);                             \
    StreamKernel stream_kernel();                                                      \
    }
GRIDFOLD_KERNELS(baseline)
#if defined(GRIDFOLD_CPU_EXTENSIONS)
GRIDFOLD_KERNELS(avx2)
GRIDFOLD_KERNELS(avx512)
#endif
#undef GRIDFOLD_KERNELS
namespace baseline {
FinalizeKernel finalize_kernel(int reduction, int element, int accumulator, int result);
} // namespace baseline

namespace {

struct Tables {
    MapKernel (*map)(int, int);
    MapKernel (*map_by_scalar)(int, int);
    ConvertKernel (*cast)(int, int);
    ConvertKernel (*round)(int, int);
    const FoldKernels* (*fold)(int, int, int);
    const BlockKernels* (*block)(int, int, int);
    const JointKernels* (*joint)(int, bool, bool);
    const JointKernels* (*joint_of_comparison)(int, int);
    const PositionKernels* (*position)(int, int, int);
    RowValueKernel (*row_value)(int, int);
    StreamKernel (*stream)();
};

#define GRIDFOLD_TABLES(set)                                                                                 \
    Tables {                                                                                                 \
        set::map_kernel, set::map_kernel_by_scalar, set::cast_kernel, set::round_kernel, set::fold_kernels,  \
            set::block_kernels, set::joint_kernels, set::joint_kernels_of_comparison, set::position_kernels, \
            set::row_value_kernel, set::stream_kernel                                                        \
    }
Tables tables([[maybe_unused]] InstructionSet set) {
#if defined(GRIDFOLD_CPU_EXTENSIONS)
    switch (set) {
    case InstructionSet::avx512: return GRIDFOLD_TABLES(avx512);
    case InstructionSet::avx2: return GRIDFOLD_TABLES(avx2);
    case InstructionSet::baseline: break;
    }
#endif
    return GRIDFOLD_TABLES(baseline);
}
#undef GRIDFOLD_TABLES

constexpr int number(DType type) { return static_cast<int>(type); }

#if defined(GRIDFOLD_CPU_EXTENSIONS)
/// clang's __builtin_cpu_supports does not know this extension.
bool has_f16c() {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
#endif

} // namespace

std::string_view to_text(InstructionSet set) {
    switch (set) {
    case InstructionSet::baseline: return "baseline";
    case InstructionSet::avx2: return "AVX2";
    case InstructionSet::avx512: return "AVX-512";
    }
    return "";
}

bool has(InstructionSet set) {
    switch (set) {
    case InstructionSet::baseline: return true;
#if defined(GRIDFOLD_CPU_EXTENSIONS)
    // The extensions that the files are compiled for.
    case InstructionSet::avx2:
        return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 && has_f16c();
    case InstructionSet::avx512:
        return has(InstructionSet::avx2) && __builtin_cpu_supports("avx512f") != 0 &&
               __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
               __builtin_cpu_supports("avx512vl") != 0;
#else
    case InstructionSet::avx2:
    case InstructionSet::avx512: return false;
#endif
    }
    return false;
}

InstructionSet chosen_instruction_set() {
    const char* name = std::getenv("GRIDFOLD_CPU");
    if (name == nullptr || *name == '\0') {
        if (has(InstructionSet::avx512)) return InstructionSet::avx512;
        return has(InstructionSet::avx2) ? InstructionSet::avx2 : InstructionSet::baseline;
    }
    const std::string_view wanted = name;
    InstructionSet set = InstructionSet::baseline;
    if (wanted == "avx2")
        set = InstructionSet::avx2;
    else if (wanted == "avx512")
        set = InstructionSet::avx512;
    else if (wanted != "baseline")
        throw InvalidOption(fmt::format("GRIDFOLD_CPU={}", wanted), "it names an instruction set",
                            "set it to baseline, avx2 or avx512, or unset it");
    if (!has(set))
        throw InvalidOption(fmt::format("GRIDFOLD_CPU={}", wanted),
                            fmt::format("this machine, or this build, has no {}", to_text(set)), "unset it");
    return set;
}

MapKernel map_kernel(const MapOp& row, DType compute, InstructionSet set) {
    if (row.user_kernels != nullptr) return (*row.user_kernels)[static_cast<std::size_t>(compute)];
    return tables(set).map(row.builtin, number(compute));
}

MapKernel map_kernel_by_scalar(const MapOp& row, DType compute, InstructionSet set) {
    return row.builtin < 0 ? nullptr : tables(set).map_by_scalar(row.builtin, number(compute));
}

RowValueKernel row_value_kernel(const MapOp& row, DType compute, InstructionSet set) {
    return row.builtin < 0 ? nullptr : tables(set).row_value(row.builtin, number(compute));
}

ConvertKernel cast_kernel(DType from, DType to, InstructionSet set) {
    return tables(set).cast(number(from), number(to));
}

ConvertKernel round_kernel(DType from, DType to, InstructionSet set) {
    return tables(set).round(number(from), number(to));
}

const FoldKernels* fold_kernels(const MonoidOp& row, DType element, DType accumulator, InstructionSet set) {
    if (row.user_kernels != nullptr) return row.user_kernels(element, accumulator, set);
    return tables(set).fold(row.builtin, number(element), number(accumulator));
}

const BlockKernels* block_kernels(const MonoidOp& row, DType element, DType accumulator, InstructionSet set) {
    return row.builtin < 0 ? nullptr : tables(set).block(row.builtin, number(element), number(accumulator));
}

const JointKernels* joint_kernels(DType element, bool extremes, bool counts, InstructionSet set) {
    return tables(set).joint(number(element), extremes, counts);
}

const JointKernels* joint_kernels_of_comparison(const MapOp& row, DType compute, InstructionSet set) {
    return row.builtin < 0 ? nullptr : tables(set).joint_of_comparison(row.builtin, number(compute));
}

const PositionKernels* position_kernels(const MonoidOp& row, DType element, DType accumulator, InstructionSet set) {
    if (row.user_positions != nullptr) return row.user_positions(element, accumulator);
    return tables(set).position(row.builtin, number(element), number(accumulator));
}

StreamKernel stream_kernel(InstructionSet set) { return tables(set).stream(); }

FinalizeKernel finalize_kernel(const ReduceOp& row, DType element, DType accumulator, DType result) {
    if (row.builtin < 0) return nullptr;
    return baseline::finalize_kernel(row.builtin, number(element), number(accumulator), number(result));
}

} // namespace gf::cpu
