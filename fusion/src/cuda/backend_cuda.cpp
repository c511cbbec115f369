// The CUDA backend: builds plans for one device.
#include <fmt/format.h>

#include <gridfold/core/device.hpp>
#include <gridfold/fusion/backend.hpp>

#include "cuda/device_side.hpp"
#include "cuda/loaded_plan.hpp"
#include "cuda/runner.hpp"

namespace gf {
namespace {

std::shared_ptr<const cuda::LoadedPlan> load_for_one(const cuda::PlanLoader& loader) {
    Bound nothing;
    nothing.count = 0; // kernels for aligned arrays
    return loader.load(cuda::Problems::one, choose_schedules(loader, cuda::Problems::one, nothing, cuda::Joins::all));
}

class CudaBuild final : public Build {
public:
    explicit CudaBuild(std::shared_ptr<const cuda::PlanLoader> loader)
        : loader_(std::move(loader)), loaded_(load_for_one(*loader_)) {}

    std::unique_ptr<Runner> runner() const override { return make_runner(cuda::Problems::one); }
    std::unique_ptr<Runner> many_runner() const override { return make_runner(cuda::Problems::many); }

    std::vector<SweepFacts> facts() const override {
        std::vector<SweepFacts> facts;
        for (const auto& kernel : loaded_->kernels)
            facts.push_back({kernel->emitted.source, kernel->facts.registers, kernel->facts.local_bytes,
                             kernel->emitted.schedule.threads, kernel->was_cached});
        return facts;
    }

    std::string device() const override {
        const std::vector<Device> all = devices();
        const auto ordinal = static_cast<std::size_t>(loaded_->device);
        return fmt::format("cuda:{} ({})", ordinal, ordinal < all.size() ? all[ordinal].name : "lost");
    }

private:
    std::unique_ptr<Runner> make_runner(cuda::Problems problems) const {
        return cuda::on_device_of(*loader_, [&] { return cuda::make_runner(loader_, problems); });
    }

    std::shared_ptr<const cuda::PlanLoader> loader_;
    std::shared_ptr<const cuda::LoadedPlan> loaded_; // for one problem
};

} // namespace

std::shared_ptr<const Build> build_cuda(std::shared_ptr<const Plan> plan, int ordinal, const BuildOptions& options) {
    return std::make_shared<CudaBuild>(std::make_shared<const cuda::PlanLoader>(std::move(plan), ordinal, options));
}

} // namespace gf
