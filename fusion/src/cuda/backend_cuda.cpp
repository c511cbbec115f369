// The CUDA backend: builds plans for one device.
#include <mutex>

#include <fmt/format.h>

#include <gridfold/core/device.hpp>
#include <gridfold/fusion/backend.hpp>

#include "cuda/loaded_plan.hpp"
#include "cuda/runner.hpp"

namespace gf {
namespace {

class CudaBuild final : public Build {
public:
    CudaBuild(std::shared_ptr<const cuda::LoadedPlan> loaded, const BuildOptions& options)
        : loaded_(std::move(loaded)), options_(options) {}

    std::unique_ptr<Runner> runner() const override {
        return cuda::on_device_of(*loaded_, [&] { return cuda::make_runner(loaded_); });
    }

    std::unique_ptr<Runner> many_runner() const override {
        return cuda::on_device_of(*loaded_, [&] {
            const std::lock_guard lock(mutex_);
            if (!loaded_for_many_)
                loaded_for_many_ =
                    cuda::load_plan(loaded_->plan, loaded_->device, options_, cuda::Problems::many, loaded_->health);
            return cuda::make_runner(loaded_for_many_);
        });
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
    BuildOptions options_;
    mutable std::mutex mutex_;
    mutable std::shared_ptr<const cuda::LoadedPlan> loaded_for_many_;
};

} // namespace

std::shared_ptr<const Build> build_cuda(std::shared_ptr<const Plan> plan, int ordinal, const BuildOptions& options) {
    return std::make_shared<CudaBuild>(cuda::load_plan(std::move(plan), ordinal, options), options);
}

} // namespace gf
