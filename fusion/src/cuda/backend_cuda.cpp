// The CUDA backend: builds a plan for one device.
#include <fmt/format.h>

#include <gridfold/core/device.hpp>
#include <gridfold/fusion/backend.hpp>

#include "cuda/loaded_plan.hpp"

namespace gf {
namespace {

class CudaBuild final : public Build {
public:
    explicit CudaBuild(std::shared_ptr<const cuda::LoadedPlan> loaded) : loaded_(std::move(loaded)) {}

    std::unique_ptr<Runner> runner() const override {
        loaded_->health.check();
        try {
            return cuda::make_runner(loaded_);
        } catch (const DeviceError& error) {
            loaded_->health.note(error);
            throw;
        }
    }

    std::vector<SweepFacts> facts() const override {
        std::vector<SweepFacts> facts;
        for (const cuda::LoadedKernel& kernel : loaded_->kernels)
            facts.push_back({kernel.emitted.source, kernel.facts.registers, kernel.facts.local_bytes,
                             kernel.emitted.threads, kernel.was_cached});
        return facts;
    }

    std::string device() const override {
        const std::vector<Device> all = devices();
        const auto ordinal = static_cast<std::size_t>(loaded_->device);
        return fmt::format("cuda:{} ({})", ordinal, ordinal < all.size() ? all[ordinal].name : "lost");
    }

private:
    std::shared_ptr<const cuda::LoadedPlan> loaded_;
};

} // namespace

std::shared_ptr<const Build> build_cuda(std::shared_ptr<const Plan> plan, int ordinal, const BuildOptions& options) {
    return std::make_shared<CudaBuild>(cuda::load_plan(std::move(plan), ordinal, options));
}

} // namespace gf
