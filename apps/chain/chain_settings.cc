// SPDX-License-Identifier: BSD-3-Clause
#include "chain_settings.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <charconv>

#include "config/json_reader.h"
#include "default_graph.h"
#include "engine/chain/reader.h"
#include "host/flag_text.h"
#include "host/sibling.h"
#include "nic.h"
#include "stage_kinds.h"

DEFINE_string(graph, "",
              "File of the policy graph: stages and routing rules; empty: a built-in graph that "
              "decrypts and classifies images. SIGHUP reads the file again");
DEFINE_string(through, "switch",
              "Transport between devices: switch (devices push) or cpu (the CPU mediates)");
DEFINE_string(traffic, "",
              "Traffic: KIND[:OPTIONS], see --list=traffic; empty: images with the built-in graph, "
              "pattern with --graph");
DEFINE_string(flow, "",
              "Flows of the messages, comma-separated, such as udp:5000; empty: the first flow of "
              "each chain");
DEFINE_uint32(outstanding, 64, "Maximum number of messages in flight per flow");
DEFINE_uint64(messages, 0, "Number of messages to send per flow before the run ends (0: no limit)");
DEFINE_double(timeout_ms, 2000, "Milliseconds after which an unanswered message counts as lost");
DEFINE_bool(processes, false, "Run each stage as a separate process and restart it when it dies");
DEFINE_string(kill, "",
              "DEVICE:MS, with --processes: kill the stage of this device every MS milliseconds");
DEFINE_double(hang_ms, 0,
              "With --processes: kill a stage that hangs for this many milliseconds (0: never)");

namespace sluice::chain_app {
namespace {

using engine::chain::FlowMatch;
using engine::chain::ParseFlow;

/// Reads the list of flows into `settings`. Returns an error message, or an empty string.
std::string ReadFlows(ChainSettings* settings) {
  const std::string& text = FLAGS_flow;
  for (size_t at = 0; !text.empty() && at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    const std::string word = text.substr(at, comma - at);
    const auto flow = ParseFlow(word);
    if (!flow || flow->protocol == 0 || flow->port == 0)
      return "give flows such as udp:5000, separated by commas";
    if (engine::chain::ChainOf(settings->graph, *flow) == nullptr)
      return word + ": no chain of the graph accepts this flow: give another flow";
    settings->flows.push_back(*flow);
    at = comma + 1;
  }
  if (text.empty())
    for (const auto& chain : settings->graph.chains) settings->flows.push_back(chain.flows.front());
  return settings->flows.size() <= kMaxFlows ? "" : "give at most 16 flows";
}

std::string ReadKill(ChainSettings* settings) {
  if (FLAGS_kill.empty()) return "";
  const size_t colon = FLAGS_kill.rfind(':');
  const std::string device = FLAGS_kill.substr(0, colon);
  uint64_t ms = 0;
  if (colon != std::string::npos) {
    const char* const end = FLAGS_kill.data() + FLAGS_kill.size();
    const auto [stop, fault] = std::from_chars(FLAGS_kill.data() + colon + 1, end, ms);
    if (fault != std::errc() || stop != end) ms = 0;
  }
  if (ms == 0 || ms > 3'600'000) return "give DEVICE:MS, with 1 to 3600000 milliseconds";
  if (!FLAGS_processes) return "requires --processes: threads cannot be killed";
  for (const StageSpec& stage : settings->roles.stages) {
    if (stage.device != device) continue;
    settings->kill = device;
    settings->kill_ns = ms * 1'000'000;
    return "";
  }
  return device + ": the graph has no stage on such a device: give another device";
}

/// Checks early that the traffic can be created. Returns an error message, or an empty string.
std::string ReadTraffic(ChainSettings* settings) {
  std::string text = FLAGS_traffic;
  if (text.empty()) text = FLAGS_graph.empty() ? "images" : "pattern";
  std::string error;
  settings->traffic = FindTraffic(text, &settings->traffic_options, &error);
  return error;
}

std::string CheckNumbers() {
  std::string complaint;
  const auto within = [&](double value, double least, double most, const char* flag,
                          const char* fix) {
    if (!(value >= least && value <= most) && complaint.empty())
      complaint = host::FlagComplaint(flag, fix);
  };
  within(FLAGS_outstanding, 1, 4096, "outstanding", "give 1 to 4096");
  within(FLAGS_timeout_ms, 1, 60'000, "timeout_ms", "give 1 to 60000");
  within(FLAGS_hang_ms, 0, 60'000, "hang_ms", "give 0 to 60000");
  within(FLAGS_hang_ms, 0, FLAGS_processes ? 60'000 : 0, "hang_ms",
         "requires --processes: threads cannot be killed");
  return complaint;
}

}  // namespace

std::string ReadChainFlags(ChainSettings* settings) {
  const auto complain = [](const char* flag, const std::string& fix) {
    return fix.empty() ? "" : host::FlagComplaint(flag, fix);
  };
  std::string fault = CheckNumbers();
  if (!fault.empty()) return fault;
  if (FLAGS_through != "switch" && FLAGS_through != "cpu")
    return complain("through", "give switch or cpu");
  std::vector<std::string> errors;
  auto graph = ReadGraphFile(FLAGS_graph, &errors);
  if (!graph) {
    const std::string more =
        errors.size() > 1 ? " (and " + std::to_string(errors.size() - 1) + " more)" : "";
    return complain("graph", errors.front() + more);
  }
  settings->graph = *std::move(graph);
  auto roles = RolesOf(settings->graph, &fault);
  if (!roles) return complain("graph", fault);
  settings->roles = *std::move(roles);
  if (fault = complain("flow", ReadFlows(settings)); !fault.empty()) return fault;
  if (fault = complain("kill", ReadKill(settings)); !fault.empty()) return fault;
  if (fault = complain("traffic", ReadTraffic(settings)); !fault.empty()) return fault;
  settings->graph_file = FLAGS_graph;
  settings->through_cpu = FLAGS_through == "cpu";
  settings->outstanding = FLAGS_outstanding;
  settings->messages = FLAGS_messages;
  settings->timeout_ns = static_cast<uint64_t>(FLAGS_timeout_ms * 1e6);
  settings->hang_ns = static_cast<uint64_t>(FLAGS_hang_ms * 1e6);
  if (FLAGS_processes) settings->stage_program = Beside("sluice-chain-stage");
  return "";
}

std::optional<engine::chain::Graph> ReadGraphFile(const std::string& path,
                                                  std::vector<std::string>* errors) {
  const auto text = path.empty() ? std::optional<std::string>(kDefaultGraph)
                                 : config::ReadFile(path, errors, engine::chain::kMaxGraphBytes);
  return text ? engine::chain::ReadGraph(*text, errors) : std::nullopt;
}

std::string Beside(const std::string& program) {
  return host::Sibling(program, SLUICE_CHAIN_LIBDIR);
}

}  // namespace sluice::chain_app
