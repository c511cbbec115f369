// Device names and the choice of "auto".
#include "front/choose_device.hpp"

#include <charconv>
#include <optional>

#include <fmt/format.h>

#include <gridfold/core/device.hpp>

namespace gf::detail {
namespace {

constexpr int first_device = 0; // the CUDA device of "cuda" and "auto"

/// The ordinal of "cuda" or "cuda:1"; empty for another name.
std::optional<int> cuda_ordinal(std::string_view device) {
    constexpr std::string_view cuda = "cuda", numbered = "cuda:";
    if (device == cuda) return first_device;
    if (!device.starts_with(numbered)) return {};
    const char* const begin = device.data() + numbered.size();
    const char* const end = device.data() + device.size();
    unsigned short ordinal = 0;
    const auto [stop, error] = std::from_chars(begin, end, ordinal);
    if (error != std::errc() || stop != end) return {};
    return ordinal;
}

void check_present(int ordinal) {
    if (const std::string reason = cuda_unavailable_reason(); !reason.empty())
        throw DeviceError(fmt::format(
            "device cuda:{} was asked for, but CUDA cannot be used: {}; choose \"auto\" or \"cpu\"", ordinal, reason));
    const auto count = devices().size();
    if (static_cast<std::size_t>(ordinal) >= count)
        throw DeviceError(fmt::format(
            "device cuda:{} was asked for, but this process sees {} CUDA device{}, numbered from 0; choose one of "
            "them, or \"auto\"",
            ordinal, count, count == 1 ? "" : "s"));
}

ChosenBuild build_on_best(const std::shared_ptr<const Plan>& plan, const BuildOptions& options) {
    std::string reason = cuda_unavailable_reason();
    if (reason.empty()) {
        try {
            return {build_cuda(plan, first_device, options), {first_device}, "auto: CUDA can be used"};
        } catch (const DeviceError& error) {
            reason = error.what();
        }
    }
    return {build_cpu(plan, options), {}, fmt::format("auto: CUDA cannot be used: {}", reason)};
}

} // namespace

ChosenBuild build_for(std::string_view device, const std::shared_ptr<const Plan>& plan, const BuildOptions& options) {
    constexpr const char* by_name = "asked for by name";
    if (device == "auto") return build_on_best(plan, options);
    if (device == "cpu") return {build_cpu(plan, options), {}, by_name};
    const auto ordinal = cuda_ordinal(device);
    if (!ordinal)
        throw InvalidOption(fmt::format("the device is \"{}\"", device),
                            "a device is \"auto\", \"cpu\", \"cuda\" or \"cuda:<number>\"", "choose one of these");
    check_present(*ordinal);
    return {build_cuda(plan, *ordinal, options), {*ordinal}, by_name};
}

} // namespace gf::detail
