// SPDX-License-Identifier: BSD-3-Clause
//
// Rows for requests that are delivered in cache lines. The protocol's properties (its bound, the
// number of lines) are measured on the implementation; times are modelled.
#include <algorithm>
#include <cstdint>

#include "bar/tlp.h"
#include "coherent/host_end.h"
#include "coherent/nic_end.h"
#include "pages.h"
#include "paper_rows.h"
#include "simulation/rpc/serving.h"

namespace sluice::simulation {
namespace {

using coherent::Pair;

double Microseconds(Picoseconds time) { return static_cast<double>(time) * 1e-6; }
uint64_t Pieces(uint64_t bytes, uint32_t size) { return (bytes + size - 1) / size; }

/// Number of line pairs that is sufficient for one core, however long calls last.
constexpr uint32_t kManyPairs = 16;

/// Both ends of an endpoint.
class Couple {
 public:
  explicit Couple(const coherent::NicOptions& options = {})
      : pages_(coherent::Geometry().Bytes()),
        laid_out_(coherent::EndpointMemory::Format(pages_.span(), coherent::Geometry())),
        nic(laid_out_, options, 0),
        host(laid_out_, coherent::WaitMethod::kPause) {}

 private:
  Pages pages_;
  coherent::EndpointMemory laid_out_;

 public:
  coherent::NicEnd nic;
  coherent::HostEnd host;
};

/// Returns the time after which the NIC answers a load with TRYAGAIN if it has no request.
double TryAgainMs(Picoseconds try_again) {
  Couple couple({.try_again_ns = static_cast<uint64_t>(try_again / 1000)});
  couple.host.Wait(0);
  for (uint64_t now = 0; now < 1'000'000'000; now += 1000) {
    if (couple.nic.Look(Pair::kReceive, now) == coherent::Seen::kTriedAgain) {
      return static_cast<double>(now) * 1e-6;
    }
  }
  return 0;
}

/// Returns the number of control lines transferred per call if the arguments and the results each
/// fit into one line.
double LinesOfCall() {
  constexpr uint32_t kCalls = 1000;
  constexpr uint32_t kArguments = 40;
  Couple couple;
  for (uint32_t i = 0; i < kCalls; ++i) {
    couple.host.Wait(0);
    couple.nic.Look(Pair::kReceive, 0);
    couple.nic.Deliver(Pair::kReceive, {.kind = coherent::Kind::kRequest, .length = kArguments}, 0,
                       i);
    couple.host.Wait(0);
    couple.host.Return({.kind = coherent::Kind::kReply, .length = kArguments});
  }
  couple.host.Wait(0);
  couple.nic.Look(Pair::kReceive, 0);
  const coherent::NicCounters& counters = couple.nic.counters(Pair::kReceive);
  return static_cast<double>(counters.delivered + counters.replied) / kCalls;
}

}  // namespace

std::vector<Row> Experiments::CoherentRows() const {
  const auto lines_in = [this](uint64_t bytes) {
    return inputs_.lines_in_first + inputs_.lines_in_each * Pieces(bytes, coherent::kLineBytes);
  };
  const auto lines_out = [this](uint64_t bytes) {
    return inputs_.lines_out_first + inputs_.lines_out_each * Pieces(bytes, coherent::kLineBytes);
  };
  const auto crossing = [&] {
    const auto rate = static_cast<double>(bar::TlpRate(
        inputs_.fpga_link.generation, inputs_.fpga_link.lanes, inputs_.fpga_link.maximum_payload));
    uint64_t bytes = coherent::kLineBytes;
    while (bytes < 1 << 20 &&
           lines_in(bytes) < inputs_.dma_in_first + static_cast<Picoseconds>(
                                                        static_cast<double>(bytes) * 8e12 / rate)) {
      bytes += coherent::kLineBytes;
    }
    return static_cast<double>(bytes) / 1024;
  };
  const auto play = [this](ServingHost host, uint32_t cores, uint32_t services, Picoseconds handler,
                           double load, uint32_t pairs = 1) {
    return PlayServing({.host = host,
                        .costs = {.interconnect_rtt = inputs_.interconnect_rtt,
                                  .pcie_oneway = inputs_.costs.pcie_oneway,
                                  .interrupt = inputs_.costs.MsixEndToEnd(),
                                  .host_line = inputs_.costs.host_cached_line,
                                  .store = inputs_.costs.mmio_write_uncached,
                                  .decode = inputs_.rpc_decode,
                                  .jump = inputs_.rpc_jump,
                                  .switch_process = inputs_.switch_process,
                                  .kernel_call = inputs_.kernel_call,
                                  .reallocate = inputs_.reallocate,
                                  .slice = inputs_.poll_slice},
                        .cores = cores,
                        .services = services,
                        .pairs = pairs,
                        .handler = handler,
                        .load = load,
                        .hot_for = inputs_.hot_for,
                        .calls = inputs_.rpc_calls,
                        .seed = inputs_.seed});
  };
  using enum ServingHost;
  const Names calls = {"rpc_decode", "rpc_jump", "interconnect_rtt", "rpc_calls", "seed"};
  const Names by_dma = calls + Names{"pcie_oneway", "host_cached_line", "mmio_write_uncached"};
  const Names by_kernel = calls + Names{"pcie_oneway",   "msix_send",      "msix_receive",
                                        "msix_dispatch", "switch_process", "kernel_call"};
  const Names many = {"handler", "hot_for", "rpc_cores", "switch_process"};
  const Names rounds = {"poll_slice"};
  const auto median = [&](ServingHost host, double load, uint32_t pairs = 1) {
    return Microseconds(play(host, 1, 1, 0, load, pairs).Percentile(0.5));
  };
  // Calls per second that one pair of lines can carry. Loads are fractions of this rate.
  const double pair_carries = 1e12 / (2 * static_cast<double>(inputs_.interconnect_rtt));
  const auto polling_carries = [&] {
    const Picoseconds work = inputs_.costs.host_cached_line + inputs_.rpc_decode +
                             inputs_.rpc_jump + inputs_.costs.mmio_write_uncached;
    return 1e12 / static_cast<double>(work);
  };
  const auto faster_up_to = [&] {
    constexpr double kSteps = 20;
    double step = 0;
    while (step + 1 < kSteps &&
           median(kCoherent, (step + 1) / kSteps) <= median(kPolling, (step + 1) / kSteps)) {
      ++step;
    }
    return step / kSteps * pair_carries;
  };

  std::vector<Row> rows = {
      {"L1",
       "time until the NIC answers a load without a request",
       TryAgainMs(inputs_.try_again),
       "ms",
       {"try_again"},
       {}},
      {"L2", "lines transferred for a call of 40 bytes", LinesOfCall(), "", {}, {}},
      {"L3a",
       "round trip of a line that the NIC owns",
       fabric::ToNanoseconds(inputs_.interconnect_rtt),
       "ns",
       {"interconnect_rtt"},
       {}},
      {"L3b",
       "round trip across PCIe",
       fabric::ToNanoseconds(inputs_.pcie_rtt),
       "ns",
       {"pcie_rtt"},
       {}},
      {"L4a",
       "1536 bytes to a core, in lines",
       Microseconds(lines_in(1536)),
       "us",
       {"lines_in_first", "lines_in_each"},
       {}},
      {"L4b",
       "9600 bytes to a core, in lines",
       Microseconds(lines_in(9600)),
       "us",
       {"lines_in_first", "lines_in_each"},
       {}},
      {"L4c",
       "1536 bytes from a core, in lines",
       Microseconds(lines_out(1536)),
       "us",
       {"lines_out_first", "lines_out_each"},
       {}},
      {"L4d",
       "4096 bytes from a core, in lines",
       Microseconds(lines_out(4096)),
       "us",
       {"lines_out_first", "lines_out_each"},
       {}},
      {"L4e",
       "1536 bytes from a core, by stores across PCIe",
       Microseconds(inputs_.stores_out_first + inputs_.stores_out_each * Pieces(1536, 64)),
       "us",
       {"stores_out_first", "stores_out_each"},
       {}},
      {"L4f",
       "1536 bytes to a core, by loads across PCIe",
       Microseconds(inputs_.loads_in_each * Pieces(1536, 64)),
       "us",
       {"loads_in_each"},
       {}},
      {"L5",
       "message size above which DMA is faster than lines, KiB",
       crossing(),
       "",
       {"lines_in_first", "lines_in_each", "dma_in_first", "fpga_generation", "fpga_lanes",
        "fpga_payload"},
       {}},
      {"L6a",
       "median of an empty call at a tenth of the capacity of a pair of lines, coherent, modelled",
       median(kCoherent, 0.1),
       "us",
       calls,
       {}},
      {"L6b",
       "median of an empty call at the same load, a process that polls, modelled",
       median(kPolling, 0.1),
       "us",
       by_dma,
       {}},
      {"L6c",
       "median of an empty call at the same load, the kernel's sockets, modelled",
       median(kKernel, 0.1),
       "us",
       by_kernel,
       {}},
      {"L6d",
       "ratio of medians, polling to coherent, at nine tenths of the capacity of a pair of lines, "
       "modelled",
       median(kPolling, 0.9) / median(kCoherent, 0.9),
       "",
       by_dma,
       {}},
      {"L6g",
       "ratio of medians, polling to coherent, at a tenth of the capacity of a pair of lines, "
       "modelled",
       median(kPolling, 0.1) / median(kCoherent, 0.1),
       "",
       by_dma,
       {}},
      {"L6e",
       "calls per second up to which coherent is not slower than polling, modelled",
       faster_up_to(),
       "1/s",
       by_dma,
       {}},
      {"L6f",
       "ratio of medians, polling to coherent with 16 pairs of lines per core (not built), at nine "
       "tenths of polling's capacity, modelled",
       median(kPolling, 0.9 * polling_carries() / pair_carries) /
           median(kCoherent, 0.9 * polling_carries() / pair_carries, kManyPairs),
       "",
       by_dma,
       {}},
  };

  // Services share cores, and the set of popular services changes over time.
  const auto share = [&](char times_name, uint32_t times) {
    const auto id = [times_name](char letter) { return std::string("L8") + times_name + letter; };
    const std::string what = std::to_string(times) + " services per core, ";
    const auto run = [&](ServingHost host) {
      return play(host, inputs_.rpc_cores, inputs_.rpc_cores * times, inputs_.handler,
                  inputs_.rpc_load);
    };
    const ServingResults coherent = run(kCoherent), polling = run(kPolling), kernel = run(kKernel),
                         given = run(kReallocating);
    const auto p99 = [](const ServingResults& results) {
      return Microseconds(results.Percentile(0.99));
    };
    const Names mix = many + Names{"rpc_load", "rpc_decode", "rpc_jump", "rpc_calls", "seed"};
    const Names lines = mix + Names{"interconnect_rtt"};
    const Names polls =
        mix + rounds + Names{"pcie_oneway", "host_cached_line", "mmio_write_uncached"};
    const Names sockets =
        mix + rounds +
        Names{"pcie_oneway", "msix_send", "msix_receive", "msix_dispatch", "kernel_call"};
    const Names reallocated = polls + Names{"reallocate"};
    rows.insert(
        rows.end(),
        {
            {id('a'), what + "99th percentile, coherent, modelled", p99(coherent), "us", lines, {}},
            {id('b'),
             what + "99th percentile, processes that poll, modelled",
             p99(polling),
             "us",
             polls,
             {}},
            {id('c'),
             what + "99th percentile, the kernel's sockets, modelled",
             p99(kernel),
             "us",
             sockets,
             {}},
            {id('d'),
             what + "calls answered per second, coherent, modelled",
             coherent.calls_per_second,
             "1/s",
             lines,
             {}},
            {id('e'),
             what + "calls answered per second, processes that poll, modelled",
             polling.calls_per_second,
             "1/s",
             polls,
             {}},
            {id('f'),
             what + "calls answered per second, the kernel's sockets, modelled",
             kernel.calls_per_second,
             "1/s",
             sockets,
             {}},
            {id('g'),
             what + "unsuccessful polls per call, coherent, modelled",
             coherent.idle_looks,
             "",
             lines,
             {}},
            {id('h'),
             what + "unsuccessful polls per call, processes that poll, modelled",
             polling.idle_looks,
             "",
             polls,
             {}},
            {id('i'),
             what + "ratio of 99th percentiles, polling to coherent, modelled",
             p99(polling) / p99(coherent),
             "",
             lines + polls,
             {}},
            {id('j'),
             what + "ratio of 99th percentiles, sockets to coherent, modelled",
             p99(kernel) / p99(coherent),
             "",
             lines + sockets,
             {}},
            {id('k'),
             what + "99th percentile, a core that reallocates the others, modelled",
             p99(given),
             "us",
             reallocated,
             {}},
            {id('l'),
             what + "ratio of 99th percentiles, reallocating core to coherent, modelled",
             p99(given) / p99(coherent),
             "",
             lines + reallocated,
             {}},
        });
  };
  share('m', 2);
  share('n', 8);
  return rows;
}

}  // namespace sluice::simulation
