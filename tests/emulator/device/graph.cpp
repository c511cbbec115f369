#include "graph.hpp"

#include <algorithm>
#include <random>

namespace gf::emulator {

namespace {
thread_local bool destroying = false;
}

bool in_destroy() { return destroying; }

void UserObject::release(UserObject* object, unsigned count) {
    {
        const std::lock_guard lock(Device::the().mutex);
        if ((object->references -= count) != 0) return;
        --Device::the().control.objects;
    }
    destroying = true;
    object->destroy(object->pointer);
    destroying = false;
    delete object;
}

Ownership::Ownership(const Ownership& other) : objects(other.objects) {
    const std::lock_guard lock(Device::the().mutex);
    for (UserObject* object : objects) ++object->references;
}

Ownership::~Ownership() {
    for (UserObject* object : objects) UserObject::release(object, 1);
}

Exec::Exec(const Graph& graph) : owned_(std::make_shared<Ownership>(graph.owned)) {
    for (const auto& node : graph.nodes) nodes_.push_back(node.get());
    for (const auto& node : graph.nodes) {
        Step step{node->call, {}};
        for (const Node* earlier : node->after)
            step.after.push_back(static_cast<std::size_t>(std::ranges::find(nodes_, earlier) - nodes_.begin()));
        steps_.push_back(std::move(step));
    }
}

int Exec::update(const Node* node, KernelCall call) {
    const auto found = std::ranges::find(nodes_, node);
    if (found == nodes_.end()) return invalid_value;
    steps_[static_cast<std::size_t>(found - nodes_.begin())].call = std::move(call);
    return 0;
}

void Exec::launch(const Stream* stream) {
    last_ = Device::the().queue.push(stream, Run{steps_, owned_, ++launches_}, last_);
}

void Exec::Run::operator()() const {
    std::mt19937_64 random(seed);
    std::vector<bool> done(steps.size());
    for (std::size_t n = 0; n < steps.size(); ++n) {
        std::vector<std::size_t> ready;
        for (std::size_t i = 0; i < steps.size(); ++i)
            if (!done[i] && std::ranges::all_of(steps[i].after, [&](std::size_t earlier) { return done[earlier]; }))
                ready.push_back(i);
        const std::size_t next = ready[random() % ready.size()];
        Device::the().execute(steps[next].call);
        done[next] = true;
    }
}

} // namespace gf::emulator
