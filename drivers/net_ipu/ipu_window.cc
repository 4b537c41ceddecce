// SPDX-License-Identifier: BSD-3-Clause
//
// The window functions of rte_pmd_ipu.h: one end of a line carrier, and an optional trace. The ends
// of a window in this process find each other by port and back end. A window exists as long as at
// least one end is open.
#include <ethdev_driver.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <utility>
#include <variant>

#include "bar/pci_window.h"
#include "bar/shm_window.h"
#include "bar/window_trace.h"
#include "fabric/window.h"
#include "net_ipu/rte_pmd_ipu.h"

namespace bar = sluice::bar;
namespace fabric = sluice::fabric;

static_assert(RTE_PMD_IPU_CAP_WC == bar::kWindowWriteCombining &&
              RTE_PMD_IPU_CAP_WT == bar::kWindowWriteThrough &&
              RTE_PMD_IPU_CAP_LINE_ATOMIC == bar::kWindowLineAtomic &&
              RTE_PMD_IPU_CAP_NIC_STORES_HOST == bar::kWindowNicStoresHost &&
              RTE_PMD_IPU_CAP_INTERRUPT == bar::kWindowInterrupt &&
              RTE_PMD_IPU_CAP_COHERENT == bar::kWindowCoherent &&
              RTE_PMD_IPU_CAP_STALLED_LOAD == bar::kWindowStalledLoad &&
              RTE_PMD_IPU_CAP_MODELLED == bar::kWindowModelled);
static_assert(RTE_PMD_IPU_OP_POST == int(bar::WindowOperation::kPost) &&
              RTE_PMD_IPU_OP_INTERRUPT == int(bar::WindowOperation::kInterrupt));

namespace {

/// A window in virtual time, with its event queue.
struct VirtualWindow {
  explicit VirtualWindow(uint32_t lines) : pair(queue, Parameters(lines)) {}
  /// Delivers all messages in flight, because the queue must not refer to the pair afterwards.
  ~VirtualWindow() { queue.Run(); }

  static fabric::WindowParameters Parameters(uint32_t lines) {
    fabric::WindowParameters parameters;
    parameters.lines = lines;
    return parameters;
  }

  fabric::EventQueue queue;
  fabric::WindowPair pair;
};

/// State shared by the ends in this process.
struct Window {
  bool open[2] = {};  ///< Indexed by WindowSide.
  uint32_t lines = 0;
  bar::ShmWindow host;  ///< SHM: the host's end, from which the NIC's end is opened.
  std::unique_ptr<VirtualWindow> time;
};

using End = std::variant<bar::ShmWindow, std::unique_ptr<bar::PciWindow>, fabric::HostEnd*,
                         fabric::NicEnd*>;

bar::ShmWindow& Get(bar::ShmWindow& end) { return end; }
template <typename Pointer>
auto& Get(Pointer& end) {
  return *end;
}

std::mutex registry_mutex;
/// Windows by port and back end. registry_mutex guards the map and Window::open.
std::map<std::pair<uint16_t, int>, std::weak_ptr<Window>> registry;

}  // namespace

struct rte_pmd_ipu_window {
  std::shared_ptr<Window> window;  ///< Declared before `end`, which may point into it.
  bar::WindowSide side;
  End end;

  rte_pmd_ipu_trace_entry* entries = nullptr;  ///< Owned by the caller; null without a trace.
  uint32_t capacity = 0;
  uint64_t first = 0;  ///< Number of the first operation that is stored in `entries`.
  bar::WindowEvent event;
  bar::WindowTrace trace{std::span(&event, 1)};

  /// Runs `operation` on the end, and traces it if a trace is active.
  template <typename Operation>
  void Run(Operation&& operation) {
    std::visit(
        [&](auto& held) {
          auto& plain = Get(held);
          if (entries == nullptr) [[likely]] {
            operation(plain);
            return;
          }
          bar::TracedWindow traced(plain, trace, side);
          operation(traced);
          entries[(trace.recorded() - 1 - first) % capacity] = {
              static_cast<rte_pmd_ipu_operation>(event.operation), event.index,
              static_cast<uint32_t>(event.bytes.down), static_cast<uint32_t>(event.bytes.up),
              event.time_ps};
        },
        end);
  }
};

namespace {

bool IsSound(const rte_pmd_ipu_window_conf& conf) {
  if (conf.lines == 0 || conf.lines > bar::kMaxWindowLines) return false;
  switch (conf.backend) {
    case RTE_PMD_IPU_SHM:
    case RTE_PMD_IPU_VIRTUAL:
      return true;
    case RTE_PMD_IPU_BAR:
      return conf.bar != nullptr;
  }
  return false;
}

/// Opens an end of a window in this process. The end must not be open. Returns errno or 0.
int OpenEnd(const rte_pmd_ipu_window_conf& conf, Window& window, rte_pmd_ipu_window& end) {
  switch (conf.backend) {
    case RTE_PMD_IPU_SHM:
      if (!window.host) window.host = bar::ShmWindow::Create(conf.lines, bar::WindowSide::kHost);
      if (!window.host) return errno;
      end.end = conf.nic_side ? window.host.Peer() : window.host;
      return 0;
    case RTE_PMD_IPU_VIRTUAL:
      if (window.time == nullptr) window.time = std::make_unique<VirtualWindow>(conf.lines);
      if (conf.nic_side) {
        end.end = &window.time->pair.nic();
      } else {
        end.end = &window.time->pair.host();
      }
      return 0;
    default: {
      // The BAR does not reveal whether the device can store to host memory.
      auto pci = bar::PciWindow::Open(conf.bar, conf.offset, conf.lines);
      if (pci == nullptr) return errno;
      end.end = std::move(pci);
      return 0;
    }
  }
}

/// Finds or creates the window of `conf` and opens its end. Returns errno or 0.
int OpenShared(uint16_t port, const rte_pmd_ipu_window_conf& conf, rte_pmd_ipu_window& end) {
  const std::scoped_lock lock(registry_mutex);
  std::weak_ptr<Window>& known = registry[{port, conf.backend}];
  std::shared_ptr<Window> window = known.lock();
  if (window == nullptr) {
    window = std::make_shared<Window>();
    window->lines = conf.lines;
  }
  bool& open = window->open[static_cast<int>(end.side)];
  if (open) return EBUSY;
  if (window->lines != conf.lines) return EINVAL;
  if (const int error = OpenEnd(conf, *window, end); error != 0) return error;
  open = true;
  known = window;
  end.window = std::move(window);
  return 0;
}

int OpenFile(const rte_pmd_ipu_window_conf& conf, rte_pmd_ipu_window& end) {
  bar::ShmWindow attached = bar::ShmWindow::Attach(conf.fd, end.side);
  if (!attached) return errno;
  if (attached.lines() != conf.lines) return EINVAL;
  end.end = std::move(attached);
  return 0;
}

bar::Line LineOf(const uint64_t words[8]) {
  bar::Line line;
  std::memcpy(line.word.data(), words, sizeof(line.word));
  return line;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int rte_pmd_ipu_window_open(uint16_t port_id, const rte_pmd_ipu_window_conf* conf,
                            rte_pmd_ipu_window** window) {
  if (!rte_pmd_ipu_supported(port_id)) return -ENOTSUP;
  if (!IsSound(*conf)) return -EINVAL;
  if (conf->backend == RTE_PMD_IPU_BAR && conf->nic_side)
    return -ENOTSUP;  // Only the device can open this end.
  try {
    auto end = std::make_unique<rte_pmd_ipu_window>();
    end->side = conf->nic_side ? bar::WindowSide::kNic : bar::WindowSide::kHost;
    const bool by_file = conf->backend == RTE_PMD_IPU_SHM && conf->fd >= 0;
    const int error = by_file ? OpenFile(*conf, *end) : OpenShared(port_id, *conf, *end);
    if (error != 0) return -error;
    *window = end.release();
    return 0;
  } catch (const std::bad_alloc&) {
    return -ENOMEM;
  }
}

void rte_pmd_ipu_window_close(rte_pmd_ipu_window* window) {
  if (window == nullptr) return;
  const std::scoped_lock lock(registry_mutex);
  if (window->window != nullptr) window->window->open[static_cast<int>(window->side)] = false;
  delete window;
}

uint32_t rte_pmd_ipu_window_capabilities(const rte_pmd_ipu_window* window) {
  return std::visit(
      [](const auto& end) -> uint32_t {
        if constexpr (requires { end.capabilities(); }) {
          return end.capabilities();
        } else {
          return end->capabilities();
        }
      },
      window->end);
}

int rte_pmd_ipu_window_fd(const rte_pmd_ipu_window* window) {
  const auto* const shm = std::get_if<bar::ShmWindow>(&window->end);
  return shm == nullptr ? -1 : shm->fd();
}

void rte_pmd_ipu_window_post(rte_pmd_ipu_window* window, uint32_t line, const uint64_t words[8]) {
  window->Run([&](auto& end) { end.Post(line, LineOf(words)); });
}

uint64_t rte_pmd_ipu_window_peek(rte_pmd_ipu_window* window, uint32_t line) {
  uint64_t word = 0;
  window->Run([&](auto& end) { word = end.Peek(line); });
  return word;
}

bool rte_pmd_ipu_window_poll(rte_pmd_ipu_window* window, uint32_t line, uint64_t words[8]) {
  bar::Line out;
  bool whole = false;
  window->Run([&](auto& end) { whole = end.Poll(line, out); });
  std::memcpy(words, out.word.data(), sizeof(out.word));
  return whole;
}

uint64_t rte_pmd_ipu_window_read(rte_pmd_ipu_window* window, uint32_t line, uint32_t word) {
  uint64_t value = 0;
  window->Run([&](auto& end) { value = end.ReadUncached(line, word); });
  return value;
}

void rte_pmd_ipu_window_flush(rte_pmd_ipu_window* window) {
  window->Run([](auto& end) { end.Flush(); });
}

void rte_pmd_ipu_window_interrupt(rte_pmd_ipu_window* window, uint32_t vector) {
  window->Run([&](auto& end) { end.Interrupt(vector); });
}

void rte_pmd_ipu_window_trace(rte_pmd_ipu_window* window, rte_pmd_ipu_trace_entry* entries,
                              uint32_t capacity) {
  window->entries = capacity == 0 ? nullptr : entries;
  window->capacity = capacity;
  window->first = window->trace.recorded();
}

uint64_t rte_pmd_ipu_window_trace_count(const rte_pmd_ipu_window* window) {
  return window->trace.recorded();
}

}  // extern "C"
#pragma GCC visibility pop
