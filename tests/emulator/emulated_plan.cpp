// Packs the arguments that emit_cuda.hpp describes, and launches.
#include "emulated_plan.hpp"

#include <stdexcept>

#include <fmt/format.h>

#include "cuda/host_words.hpp"

namespace gf::emulator {

namespace {

constexpr std::size_t scalar_words = 2, host_words = 3; // of 64 bits, as emit_cuda.hpp says

std::int64_t product_of(const std::vector<int>& dims, const Bound& bound) {
    std::int64_t product = 1;
    for (int dim : dims) product *= bound.extents[static_cast<std::size_t>(dim)];
    return product;
}

std::int64_t stride_of(const Array& array, int dim, const Bound& bound) {
    std::int64_t stride = 1;
    for (auto d = array.dims.rbegin(); d != array.dims.rend() && *d != dim; ++d)
        stride *= bound.extents[static_cast<std::size_t>(*d)];
    return stride;
}

constexpr u64 beyond_workspace = 0x6e6f7468696e6721; // no tag that a test reaches

} // namespace

std::vector<cuda::Kernel> kernels_of(const Plan& plan) {
    std::vector<cuda::Kernel> kernels;
    for (int sweep = 0; sweep < static_cast<int>(plan.sweeps.size()); ++sweep)
        kernels.push_back(cuda::emit_cuda(plan, sweep));
    return kernels;
}

EmulatedPlan::EmulatedPlan(const Plan& plan, std::vector<cuda::Kernel> kernels, const HostModule& module,
                           std::size_t first_entry)
    : plan_(plan), kernels_(std::move(kernels)), module_(module), first_entry_(first_entry) {
    for (const cuda::Kernel& kernel : kernels_) {
        workspaces_.emplace_back(cuda::workspace_bytes(kernel) / sizeof(u64), 0);
        workspaces_.back().push_back(beyond_workspace);
    }
}

void EmulatedPlan::set_launches(std::uint32_t launches) {
    launches_ = launches;
    for (std::vector<u64>& workspace : workspaces_) workspace[0] = launches;
}

std::vector<ScalarResult> EmulatedPlan::run(const Bound& bound, Order order, std::uint64_t seed) {
    ++launches_;
    std::vector<std::unique_ptr<std::byte[]>> temporaries;
    std::vector<void*> arrays;
    for (std::size_t i = 0; i < plan_.arrays.size(); ++i) {
        const Array& array = plan_.arrays[i];
        if (array.role == ArrayRole::temporary)
            temporaries.push_back(std::make_unique<std::byte[]>(
                static_cast<std::size_t>(product_of(array.dims, bound)) * size_of(array.type)));
        arrays.push_back(array.role == ArrayRole::temporary ? temporaries.back().get() : bound.arrays[i].address);
    }
    std::vector<u64> scalars(scalar_words * plan_.scalars.size(), 0), host(host_words * plan_.scalars.size(), 0);

    for (std::size_t s = 0; s < kernels_.size(); ++s) {
        const cuda::Kernel& kernel = kernels_[s];
        const std::int64_t elements = product_of(plan_.sweeps[s].dims, bound);
        std::vector<u64> values; // 8 bytes each, of which a kernel reads as many as its parameter has
        for (const cuda::KernelParameter& parameter : kernel.parameters) {
            const auto n = static_cast<std::size_t>(parameter.number);
            const auto pointer = [](const void* p) { return reinterpret_cast<u64>(p); };
            switch (parameter.kind) {
            case cuda::ParameterKind::array: values.push_back(pointer(arrays[n])); break;
            case cuda::ParameterKind::parameter: values.push_back(bound.parameters[n]); break;
            case cuda::ParameterKind::elements: values.push_back(static_cast<u64>(elements)); break;
            case cuda::ParameterKind::extent: values.push_back(static_cast<u64>(bound.extents[n])); break;
            case cuda::ParameterKind::stride:
                values.push_back(static_cast<u64>(stride_of(plan_.arrays[n], parameter.dim, bound)));
                break;
            case cuda::ParameterKind::scalars: values.push_back(pointer(scalars.data())); break;
            case cuda::ParameterKind::workspace: values.push_back(pointer(workspaces_[s].data())); break;
            case cuda::ParameterKind::host: values.push_back(pointer(host.data())); break;
            }
        }
        std::vector<void*> arguments;
        for (u64& value : values) arguments.push_back(&value);
        launch(module_.entry(first_entry_ + s), arguments.data(), static_cast<u32>(cuda::grid(kernel, elements)),
               static_cast<u32>(kernel.threads), order, seed);
    }

    for (const std::vector<u64>& workspace : workspaces_)
        if (workspace.back() != beyond_workspace) throw std::runtime_error("a kernel wrote beyond its workspace");

    std::vector<ScalarResult> results;
    for (std::size_t i = 0; i < plan_.scalars.size(); ++i) {
        results.push_back({scalars[scalar_words * i], scalars[scalar_words * i + 1] != 0});
        const u64* words = &host[host_words * i];
        for (std::size_t w = 0; w < host_words; ++w)
            if (words[w] >> 32 != cuda::tag_of(launches_))
                throw std::runtime_error(fmt::format("scalar {}: the host's word {} is of launch {}, not {}", i, w,
                                                     words[w] >> 32, cuda::tag_of(launches_)));
        const u64 bits = (words[1] << 32) | (words[0] & 0xffffffffu);
        if (bits != results.back().bits || ((words[2] & 0xffffffffu) != 0) != results.back().empty)
            throw std::runtime_error(fmt::format("scalar {}: the host's words and device memory differ", i));
    }
    return results;
}

} // namespace gf::emulator
