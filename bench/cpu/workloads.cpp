#include "workloads.hpp"

namespace bench::cpu {

std::string_view to_text(Workload workload) {
    switch (workload) {
    case Workload::sum: return "sum";
    case Workload::cubes: return "cubes";
    case Workload::five: return "five";
    case Workload::dozen: return "dozen";
    case Workload::zscore: return "zscore";
    case Workload::log1p_zscore: return "log1p_zscore";
    case Workload::range: return "range";
    case Workload::built_in_range: return "built_in_range";
    case Workload::many: return "many";
    }
    return "";
}

std::string_view to_text(Type type) {
    switch (type) {
    case Type::i8: return "i8";
    case Type::i32: return "i32";
    case Type::i64: return "i64";
    case Type::f16: return "f16";
    case Type::f32: return "f32";
    case Type::f64: return "f64";
    }
    return "";
}

std::size_t size_of(Type type) {
    switch (type) {
    case Type::i8: return 1;
    case Type::f16: return 2;
    case Type::i32:
    case Type::f32: return 4;
    case Type::i64:
    case Type::f64: return 8;
    }
    return 0;
}

} // namespace bench::cpu
