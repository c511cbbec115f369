// The commands of the tool. Each returns the text for stdout, and throws if it fails.
#pragma once

#include <string>
#include <vector>

#include <gridfold/fusion/executable.hpp>

namespace gf::tool {

/// The devices, and the reasons why others cannot be used.
std::string list_devices();

enum class Explain { words, text, dot, source, full_source };
std::string explain(const std::string& graph, const Options& options, Explain as);

struct RunArguments {
    std::string graph;
    std::vector<std::string> inputs;  ///< name=value
    std::vector<std::string> outputs; ///< name=path.npy
    Options options;
    bool many = false; ///< the inputs hold many problems
    bool json = false;
    bool time = false; ///< also prints the times of compiling and running to stderr
};
std::string run(const RunArguments& arguments);

} // namespace gf::tool
