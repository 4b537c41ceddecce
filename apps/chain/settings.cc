// SPDX-License-Identifier: BSD-3-Clause
#include "settings.h"

#include <gflags/gflags.h>

#include <string>

#include "engine/chain/deployment.h"
#include "host/flag_text.h"
#include "push_control.h"
#include "stage_kinds.h"

DEFINE_string(iface, "",
              "Run the variant that receives messages in frames and accepts EAL arguments: "
              "packetized, streaming, bilateral or coherent; --iface=packetized --help lists its "
              "flags");
DEFINE_bool(dot, false, "Print the graph for Graphviz, and exit");
DEFINE_string(explain, "", "Print the path of this flow, such as udp:5000, and exit");
DEFINE_string(list, "", "Print this list as JSON and exit: stages, traffic or interfaces");
DEFINE_uint64(seed, 1, "Seed of the messages");
DEFINE_double(duration_s, 0, "Seconds to run (0: until SIGINT or SIGTERM, or --messages)");
DEFINE_double(stats_period_s, 1, "Seconds between statistics lines (0: none)");
DEFINE_string(json, "", "Write the final report to this file; - for standard output");

namespace sluice::chain_app {
namespace {

using engine::chain::FlowMatch;
using engine::chain::ParseFlow;

/// Returns an explanation of how the switch handles a flow once the graph is applied.
std::string Explanation(const Settings& settings, FlowMatch flow, std::string* error) {
  SwitchRunner runner(settings.roles.root, false);
  PushControl control(runner);
  *error = control.Apply(settings.graph, nullptr);
  return error->empty() ? control.deployment().Explain(flow) : "";
}

/// If a flag requests information instead of a run, prints it, sets `exit_code` and returns true.
bool Show(const Settings& settings, int* exit_code) {
  *exit_code = 0;
  if (FLAGS_dot) {
    std::fputs(engine::chain::Dot(settings.graph).c_str(), stdout);
    return true;
  }
  if (FLAGS_explain.empty()) return false;
  const auto flow = ParseFlow(FLAGS_explain);
  std::string error = flow ? "" : "give a flow, such as udp:5000";
  std::string text;
  if (flow) text = Explanation(settings, *flow, &error);
  if (!error.empty()) {
    std::fprintf(stderr, "%s\n", host::FlagComplaint("explain", error).c_str());
    *exit_code = 2;
  }
  std::fputs(text.c_str(), stdout);
  return true;
}

bool ShowList(int* exit_code) {
  if (FLAGS_list.empty()) return false;
  *exit_code = FLAGS_list == "stages" || FLAGS_list == "traffic" ? 0 : 2;
  if (*exit_code != 0) {
    std::fprintf(stderr, "%s\n",
                 host::FlagComplaint("list", "give stages, traffic or interfaces").c_str());
  } else {
    std::fputs((FLAGS_list == "stages" ? ListStages() : ListTraffic()).c_str(), stdout);
  }
  return true;
}

}  // namespace

std::optional<Settings> ReadSettings(int argc, char** argv, int* exit_code) {
  if (!host::ParseFlags(
          argc, argv,
          "sluice-chain: accelerators that push messages to each other through a programmable "
          "switch",
          SLUICE_VERSION, exit_code) ||
      ShowList(exit_code)) {
    return std::nullopt;
  }
  Settings settings;
  std::string error = host::RunFlagsComplaint();
  if (error.empty()) error = ReadChainFlags(&settings);
  if (!error.empty()) {
    std::fprintf(stderr, "%s\n", error.c_str());
    *exit_code = 2;
    return std::nullopt;
  }
  if (Show(settings, exit_code)) return std::nullopt;
  static_cast<host::RunSettings&>(settings) = host::ReadRunFlags();
  settings.seed = FLAGS_seed;
  return settings;
}

}  // namespace sluice::chain_app
