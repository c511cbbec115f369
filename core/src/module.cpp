#include <gridfold/core/module.hpp>

#include "driver/release.hpp"

namespace gf {

using driver::check;

void detail::release(int device, CUmod_st* module) noexcept {
    driver::release_on(device, [&](const driver::Table& cu) { return cu.module_unload(module); });
}

Module::Module(int device, const std::string& image) {
    const CurrentDevice current(device);
    CUmod_st* module = nullptr;
    check(driver::table().module_load(&module, image.c_str()));
    module_ = {device, module};
}

KernelView Module::kernel(const std::string& name) const {
    const CurrentDevice current(module_.device());
    KernelView kernel;
    check(driver::table().module_get_function(&kernel.function, module_.get(), name.c_str()));
    return kernel;
}

KernelFacts facts_of(KernelView kernel, int device) {
    const CurrentDevice current(device);
    const auto ask = [&](int attribute) {
        int value = 0;
        check(driver::table().func_get_attribute(&value, attribute, kernel.function));
        return value;
    };
    return {ask(driver::function_registers), ask(driver::function_local_bytes)};
}

void allow_shared_bytes(KernelView kernel, int device, int bytes) {
    const CurrentDevice current(device);
    check(driver::table().func_set_attribute(kernel.function, driver::function_shared_bytes, bytes));
}

bool allow_cluster(KernelView kernel, int device, int blocks, int threads, int shared_bytes) {
    const CurrentDevice current(device);
    const driver::Table& cu = driver::table();
    constexpr int portable = 8; // more need to be asked for
    if (blocks > portable) check(cu.func_set_attribute(kernel.function, driver::function_large_clusters, 1));
    const driver::LaunchConfig config{unsigned(blocks), 1,       1, unsigned(threads), 1, 1, unsigned(shared_bytes),
                                      nullptr,          nullptr, 0};
    int active = 0;
    const driver::Outcome outcome = cu.most_active_clusters(&active, kernel.function, &config);
    if (outcome.code == driver::invalid_cluster_size) return false;
    check(outcome);
    return active > 0;
}

int resident_blocks(KernelView kernel, int device, int threads, int shared_bytes) {
    const CurrentDevice current(device);
    int blocks = 0;
    check(driver::table().most_active_blocks(&blocks, kernel.function, threads, std::size_t(shared_bytes)));
    return blocks;
}

void launch(const Launch& what, StreamView stream) {
    driver::LaunchAttribute attribute{what.cooperative ? driver::launch_cooperative : driver::launch_overlapping,
                                      {1, {}}};
    const driver::LaunchConfig config{what.blocks,
                                      1,
                                      1,
                                      what.threads,
                                      1,
                                      1,
                                      what.shared_bytes,
                                      stream.get(),
                                      &attribute,
                                      what.cooperative || what.may_overlap ? 1u : 0u};
    check(driver::table().launch_kernel(&config, what.kernel.function, what.parameters, nullptr));
}

bool kernels_may_overlap(const Device& device) {
    // Needs Hopper; drivers capture such launches since CUDA 12.3.
    return device.capability_major >= 9 && driver::loaded_version() >= 12030;
}

} // namespace gf
