// All of gridfold's public interface.
#pragma once

#include <gridfold/core/error.hpp>
#include <gridfold/core/stream.hpp>
#include <gridfold/core/view.hpp>
#include <gridfold/fusion/executable.hpp>
#include <gridfold/fusion/fuse.hpp>
#include <gridfold/ops/expr.hpp>
#include <gridfold/ops/graph.hpp>
