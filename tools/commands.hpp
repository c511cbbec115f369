// The commands of the tool. Each returns what goes to stdout, and throws where it fails.
#pragma once

#include <string>
#include <vector>

#include <gridfold/fusion/executable.hpp>

namespace gf::tool {

/// What there is to run on, and why not where it is not.
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
    bool time = false; ///< also says on stderr how long compiling and running took
};
std::string run(const RunArguments& arguments);

} // namespace gf::tool
