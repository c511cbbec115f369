// All of gridfold's public interface, except dag.hpp (the graph as a Boost.Graph), which needs Boost.
#pragma once

#include <gridfold/core/buffer.hpp>
#include <gridfold/core/device.hpp>
#include <gridfold/core/error.hpp>
#include <gridfold/core/memory_resource.hpp>
#include <gridfold/core/stream.hpp>
#include <gridfold/core/version.hpp>
#include <gridfold/core/view.hpp>
#include <gridfold/fusion/eval.hpp>
#include <gridfold/fusion/executable.hpp>
#include <gridfold/fusion/fuse.hpp>
#include <gridfold/fusion/results.hpp>
#include <gridfold/ops/batched.hpp>
#include <gridfold/ops/dot.hpp>
#include <gridfold/ops/expr.hpp>
#include <gridfold/ops/graph.hpp>
#include <gridfold/ops/op_macros.hpp>
#include <gridfold/ops/text.hpp>
