// SPDX-License-Identifier: BSD-3-Clause
#include "inputs.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <utility>

#include "bar/tlp.h"
#include "device/switch/pipeline.h"

namespace sluice::simulation {
namespace {

constexpr std::string_view kEstimate = "estimate";
constexpr std::string_view kCritique = "Borrill 2026, quoting Wave (ASPLOS'25)";
constexpr std::string_view kGhost = "ghOSt, SOSP'21, cited from memory";
constexpr std::string_view kEnso = "Ensō, OSDI'23";
constexpr std::string_view kNagare = "Nagare's proposal, 2024: its example";
constexpr std::string_view kLauberhorn = "Lauberhorn's authors, measured on Enzian";
constexpr std::string_view kE810 = "DPDK's E810 driver: its default";
constexpr std::string_view kExperiment = "this experiment";

struct Unit {
  std::string_view suffix;
  double picoseconds;
};
constexpr Unit kUnits[] = {{"ms", 1e9}, {"us", 1e6}, {"ns", 1e3}, {"ps", 1}};

}  // namespace

std::vector<NamedInput> NamesOf(Inputs& i) {
  fabric::Costs& c = i.costs;
  return {
      {"pcie_oneway", "link", &c.pcie_oneway, "Hou et al., NSDI'24, quoted by Nagare", "",
       "250ns to 700ns"},
      {"mmio_read_uncached", "reads", &c.mmio_read_uncached, kCritique, "W1"},
      {"mmio_read_cached", "reads", &c.mmio_read_cached, kEstimate, "", "1ns to 4ns"},
      {"mmio_write_uncached", "stores", &c.mmio_write_uncached, kEstimate, "", "25ns to 100ns"},
      {"mmio_write_line", "stores", &c.mmio_write_line, kEstimate, "", "60ns to 100ns"},
      {"msix_send", "MSI-X", &c.msix_send, kEstimate, "", "35ns to 140ns"},
      {"msix_receive", "MSI-X", &c.msix_receive, kEstimate, "", "175ns to 700ns"},
      {"msix_dispatch", "MSI-X", &c.msix_dispatch, kCritique, "W2"},
      {"decision_to_msix_sent", "MSI-X", &c.decision_to_msix_sent, kCritique, "W3"},
      {"host_cached_line", "host memory", &c.host_cached_line, kEstimate, "", "20ns to 70ns"},
      {"nic_memory", "NIC memory", &c.nic_memory, kEstimate, "", "50ns to 200ns"},
      {"nic_cached_line", "NIC memory", &c.nic_cached_line, kEstimate, "", "15ns to 60ns"},
      {"nic_write_line", "NIC memory", &c.nic_write_line, kEstimate, "", "40ns to 160ns"},
      {"context_switch", "switch", &c.context_switch, kCritique, "W5", "3.3us to 4us"},
      {"context_switch_before", "switch", &c.context_switch_before, kEstimate, "", "0ns to 3.3us"},
      {"agent_decision", "agent", &c.agent_decision, kCritique, "W6a"},
      {"fast_decision", "agent", &i.fast_decision, kEstimate, "", "300ns to 1117ns"},
      {"coherent_line", "on-host", &c.coherent_line, kEstimate, "", "40ns to 60ns"},
      {"host_interrupt", "on-host", &c.host_interrupt, kGhost, "", "550ns to 2200ns"},
      {"offerer_validates", "agent", &i.offerer_validates, kEstimate, ""},
      {"pcie_generation", "link", &i.link.generation, "a first-generation IPU", "", "3 4 5"},
      {"pcie_lanes", "link", &i.link.lanes, "a first-generation IPU", "", "8 16"},
      {"fpga_generation", "FPGA's link", &i.fpga_link.generation, kEnso, ""},
      {"fpga_lanes", "FPGA's link", &i.fpga_link.lanes, kEnso, ""},
      {"fpga_payload", "FPGA's link", &i.fpga_link.maximum_payload, kEstimate, "", "128 256 512"},
      {"rx_descriptor", "rings", &i.rings.rx_descriptor, kE810, ""},
      {"tx_descriptor", "rings", &i.rings.tx_descriptor, kE810, ""},
      {"descriptors_fetched", "rings", &i.rings.fetch, kEstimate, "", "64 128 256 512"},
      {"doorbell_burst", "rings", &i.rings.burst, "Ensō's evaluation: bursts of its baseline", ""},
      {"tx_report", "rings", &i.rings.tx_report, kE810, ""},
      {"nic_buffers", "frames", &i.nic_buffers, kEstimate, "", "256 to 4096"},
      {"frames_per_notification", "pipes", &i.frames_per_notification, kEstimate, "E1c",
       "128 256 512"},
      {"packet_time", "worker", &i.packet_time, kEstimate, "F5a", "14.3ns to 15.1ns"},
      {"line_time", "worker", &i.line_time, "cycles of streaming's worker at 3.1 GHz", "",
       "2.5ns to 10ns"},
      {"mica_request", "worker", &i.mica_request, kEstimate, "K1a"},
      {"pipes_per_worker", "pipes", &i.pipes_per_worker, kEnso, "", "1 to 32"},
      {"echo_frames", "frames", &i.echo_frames, kExperiment, ""},
      {"switch_stages", "PCIe switch", &i.switch_stages, kNagare, ""},
      {"switch_cycles", "PCIe switch", &i.switch_cycles, kNagare, ""},
      {"switch_megahertz", "PCIe switch", &i.switch_megahertz, kNagare, ""},
      {"chain_message", "chain", &i.chain_message, kExperiment, ""},
      {"slow_stage", "chain", &i.slow_stage, kExperiment, ""},
      {"service", "requests", &i.service, kExperiment, "", "5us to 50us"},
      {"gap_cpus", "requests", &i.gap_cpus, kExperiment, "", "4 to 16"},
      {"agent_bound_cpus", "requests", &i.agent_bound_cpus, kExperiment, "", "8 to 32"},
      {"workers_per_cpu", "requests", &i.workers_per_cpu, kExperiment, "", "2 to 8"},
      {"get_time", "requests", &i.get_time, kGhost, "", "5us to 20us"},
      {"range_time", "requests", &i.range_time, kGhost, "", "5ms to 20ms"},
      {"range_share", "requests", &i.range_share, "ghOSt's experiment", "", "0.0025 to 0.01"},
      {"load", "requests", &i.load, "row W14", "", "0.3 to 0.9"},
      {"slice", "requests", &i.slice, "ghOSt's experiment", "", "5us to 100us"},
      {"shinjuku_cpus", "requests", &i.shinjuku_cpus, "ghOSt's experiment", "", "4 to 16"},
      {"shinjuku_workers", "requests", &i.shinjuku_workers, "ghOSt's experiment", "", "100 to 400"},
      {"try_again", "lines", &i.try_again, "Lauberhorn, HOTOS'25, section 5", "L1"},
      {"interconnect_rtt", "lines", &i.interconnect_rtt, kLauberhorn, "L3a"},
      {"pcie_rtt", "lines", &i.pcie_rtt, kLauberhorn, "L3b"},
      {"lines_in_first", "lines", &i.lines_in_first, kLauberhorn, "L4a"},
      {"lines_in_each", "lines", &i.lines_in_each, kLauberhorn, "L4a"},
      {"lines_out_first", "lines", &i.lines_out_first, kLauberhorn, "L4c"},
      {"lines_out_each", "lines", &i.lines_out_each, kLauberhorn, "L4c"},
      {"stores_out_first", "programmed I/O", &i.stores_out_first, kLauberhorn, "L4e"},
      {"stores_out_each", "programmed I/O", &i.stores_out_each, kLauberhorn, "L4e"},
      {"loads_in_each", "programmed I/O", &i.loads_in_each, kLauberhorn, "L4f"},
      {"dma_in_first", "lines", &i.dma_in_first, kLauberhorn, "L5"},
      {"rpc_decode", "calls", &i.rpc_decode, kEstimate, "", "50ns to 200ns"},
      {"rpc_jump", "calls", &i.rpc_jump, kEstimate, "", "10ns to 40ns"},
      {"switch_process", "calls", &i.switch_process, kEstimate, "", "600ns to 2400ns"},
      {"kernel_call", "calls", &i.kernel_call, kEstimate, "", "2us to 8us"},
      {"reallocate", "calls", &i.reallocate, "Shenango, NSDI'19, cited from memory", "",
       "1us to 20us"},
      {"poll_slice", "calls", &i.poll_slice, "Linux, eight CPUs", "", "750us to 6ms"},
      {"handler", "calls", &i.handler, kExperiment, "", "1us to 50us"},
      {"hot_for", "calls", &i.hot_for, kExperiment, "", "100us to 10ms"},
      {"rpc_cores", "calls", &i.rpc_cores, kExperiment, "", "2 to 8"},
      {"rpc_load", "calls", &i.rpc_load, kExperiment, "", "0.1 to 0.7"},
      {"rpc_calls", "calls", &i.rpc_calls, kExperiment, ""},
      {"change_rate", "changes", &i.change_rate, kExperiment, ""},
      {"freeze_change_rate", "changes", &i.freeze_change_rate, kExperiment, "", "5000 to 80000"},
      {"watchdog", "watchdog", &i.watchdog, kCritique, "W8"},
      {"watchdog_tick", "watchdog", &i.watchdog_tick, kExperiment, ""},
      {"link_window", "links", &i.link_window, "suspect_us of rte_pmd_ipu.h", "", "100us to 100ms"},
      {"silent_rounds", "EC_Link", &i.silent_rounds, "EC_Link's source, 2018", ""},
      {"requests", "requests", &i.requests, kExperiment, ""},
      {"seed", "requests", &i.seed, kExperiment, "", "1 to 5"},
  };
}

std::string Print(const NamedInput& input) {
  char text[40];
  if (const auto* number = std::get_if<uint32_t*>(&input.value)) {
    std::snprintf(text, sizeof text, "%u", **number);
  } else if (const auto* real = std::get_if<double*>(&input.value)) {
    std::snprintf(text, sizeof text, "%g", **real);
  } else {
    const auto time = static_cast<double>(*std::get<Picoseconds*>(input.value));
    if (input.name == "seed") {
      std::snprintf(text, sizeof text, "%.0f", time);
      return text;
    }
    for (const Unit& unit : kUnits) {
      if (time < unit.picoseconds && unit.picoseconds > 1) continue;
      std::snprintf(text, sizeof text, "%.15g%s", time / unit.picoseconds, unit.suffix.data());
      break;
    }
  }
  return text;
}

bool Parse(std::string_view text, NamedInput& input) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number) || number < 0 || number > 1e15) return false;
  const std::string_view suffix(end, text.data() + text.size());
  if (auto* const real = std::get_if<double*>(&input.value)) {
    **real = number;
    return suffix.empty();
  }
  if (auto* const count = std::get_if<uint32_t*>(&input.value)) {
    if (!suffix.empty() || number != std::floor(number) || number > 1e9) return false;
    **count = static_cast<uint32_t>(number);
    return true;
  }
  Picoseconds& time = *std::get<Picoseconds*>(input.value);
  if (input.name == "seed") {
    time = static_cast<Picoseconds>(number);
    return suffix.empty();
  }
  for (const Unit& unit : kUnits) {
    if (suffix != unit.suffix || number * unit.picoseconds > 1e15) continue;
    time = static_cast<Picoseconds>(std::llround(number * unit.picoseconds));
    return true;
  }
  return false;
}

std::string ProblemOf(const Inputs& inputs) {
  for (const auto& [link, name] : {std::pair(inputs.link, "pcie"), {inputs.fpga_link, "fpga"}}) {
    if (bar::TlpRate(link.generation, link.lanes, link.maximum_payload) == 0) {
      return std::string(name) + "_generation: give 3 to 5; " + name + "_lanes: give 8 or 16; " +
             name + "_payload: give 128, 256 or 512";
    }
  }
  const PacketRings& rings = inputs.rings;
  if (rings.rx_descriptor == 0 || rings.tx_descriptor == 0 || rings.fetch == 0 ||
      rings.fetch % rings.rx_descriptor != 0 || rings.fetch % rings.tx_descriptor != 0)
    return "descriptors_fetched: give a multiple of rx_descriptor and of tx_descriptor, in bytes";
  if (rings.burst == 0 || rings.tx_report == 0 || inputs.nic_buffers == 0)
    return "doorbell_burst, tx_report, nic_buffers: give at least 1";
  if (inputs.frames_per_notification == 0) return "frames_per_notification: give at least 1";
  if (inputs.pipes_per_worker == 0) return "pipes_per_worker: give at least 1";
  if (inputs.switch_stages < device::pcie_switch::kStageCount || inputs.switch_stages > 1000)
    return "switch_stages: give 6 to 1000";
  if (inputs.switch_cycles > 1000) return "switch_cycles: give at most 1000";
  if (inputs.switch_megahertz == 0) return "switch_megahertz: give at least 1";
  if (inputs.chain_message == 0 || inputs.chain_message > kMostChainMessage)
    return "chain_message: give 1 to " + std::to_string(kMostChainMessage);
  if (inputs.echo_frames < kLeastEchoFrames) {
    return "echo_frames: give at least " + std::to_string(kLeastEchoFrames);
  }

  if (inputs.rpc_calls < kLeastRpcCalls) {
    return "rpc_calls: give at least " + std::to_string(kLeastRpcCalls);
  }
  if (inputs.rpc_cores == 0 || inputs.rpc_cores > kMostRpcCores) {
    return "rpc_cores: give 1 to " + std::to_string(kMostRpcCores);
  }
  return {};
}

}  // namespace sluice::simulation
