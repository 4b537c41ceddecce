// SPDX-License-Identifier: BSD-3-Clause
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <span>

#include "base/monotonic_clock.h"
#include "sched_ext/layout.h"
#include "sched_ext/thread_kernel.h"

namespace sluice::sched_ext {

/// The compiled threads.bpf.c; empty if the build had no compiler for BPF.
extern const std::span<const unsigned char> kThreadsProgram;

namespace {

using engine::sched::Gtid;
using engine::sched::MessageType;
using engine::sched::Status;

constexpr Status StatusOf(uint32_t code) {
  return static_cast<Status>(static_cast<int64_t>(Status::kComplete) + code);
}
constexpr bool Is(int number, MessageType type) { return number == static_cast<int>(type); }

static_assert(Is(kBpfDead, MessageType::kTaskDead) && Is(kBpfBlocked, MessageType::kTaskBlocked) &&
              Is(kBpfWakeup, MessageType::kTaskWakeup) && Is(kBpfNew, MessageType::kTaskNew) &&
              Is(kBpfPreempt, MessageType::kTaskPreempt) &&
              Is(kBpfDeparted, MessageType::kTaskDeparted) &&
              Is(kBpfAffinityChanged, MessageType::kTaskAffinityChanged) &&
              Is(kBpfOnCpu, MessageType::kTaskOnCpu) &&
              kBpfWasLatched == engine::sched::kWasLatched);
static_assert(StatusOf(kBpfComplete) == Status::kComplete &&
              StatusOf(kBpfTargetOnCpu) == Status::kTargetOnCpu &&
              StatusOf(kBpfTargetStale) == Status::kTargetStale &&
              StatusOf(kBpfTargetNotFound) == Status::kTargetNotFound &&
              StatusOf(kBpfTargetNotRunnable) == Status::kTargetNotRunnable &&
              StatusOf(kBpfCpuUnavailable) == Status::kCpuUnavailable &&
              StatusOf(kBpfNotPermitted) == Status::kNotPermitted &&
              StatusOf(kBpfInvalidCpu) == Status::kInvalidCpu &&
              StatusOf(kBpfNoAgent) == Status::kNoAgent);
static_assert(kBpfMaxCpus == engine::sched::kMaxCpus);
static_assert(sizeof(bpf_item) == sizeof(offload::Item));

// Constants of linux/bpf.h that older headers lack.
constexpr uint32_t kLinkFlag = 1u << 13;                       // BPF_F_LINK
constexpr auto kStructOps = static_cast<bpf_attach_type>(44);  // BPF_STRUCT_OPS

constexpr char kSchedulerMap[] = "scheduler";
constexpr char kStateMap[] = ".data.state";
constexpr char kKernelState[] = "/sys/kernel/sched_ext/state";

uint32_t BarrierOf(uint64_t word) { return static_cast<uint32_t>(word >> 32); }
CpuId CpuOf(uint64_t word) { return static_cast<CpuId>(word >> 8); }
uint32_t PhaseOf(uint64_t word) { return word & 0xff; }

uint32_t FlagsOf(uint64_t word) {
  uint32_t flags = engine::sched::kStatusInUse;
  switch (PhaseOf(word)) {
    case kPhaseRunnable:
      return flags | engine::sched::kStatusRunnable;
    case kPhaseDecided:
      return flags | engine::sched::kStatusRunnable | engine::sched::kStatusLatched;
    case kPhaseOnCpu:
      return flags | engine::sched::kStatusRunnable | engine::sched::kStatusOnCpu;
    default:
      return flags;
  }
}

// The first warning of libbpf since the last start, for error lines.
std::string warning;

int Note(libbpf_print_level level, const char* format, va_list arguments) {
  if (level != LIBBPF_WARN || !warning.empty()) return 0;
  char text[512];
  std::vsnprintf(text, sizeof(text), format, arguments);
  warning = text;
  warning.resize(std::min(warning.size(), warning.find('\n')));
  return 0;
}

class BpfKernel final : public ThreadKernel {
 public:
  ~BpfKernel() override {
    // The kernel's own scheduler takes over when the link is closed.
    if (link_fd_ >= 0) close(link_fd_);
    bpf_link__destroy(link_);
    ring_buffer__free(ring_);
    if (state_ != nullptr) munmap(state_, sizeof(bpf_state));
    bpf_object__close(object_);
  }

  /// Returns false and sets errno on an error.
  bool Start(const ThreadKernelOptions& options);

  int event_fd() const override { return ring_buffer__epoll_fd(ring_); }
  void Receive(std::vector<offload::Item>& events) override {
    received_ = &events;
    ring_buffer__consume(ring_);
  }
  Verdict Decide(CpuId cpu, const Transaction& decision) override;
  Outcome Recall(CpuId cpu, const Transaction& decision) override;
  void Attach() override { std::atomic_ref(state_->attached).store(base::MonotonicNs()); }
  bool attached() const override { return std::atomic_ref(state_->attached).load() != 0; }
  std::vector<ThreadId> Threads() const override;
  std::optional<Description> Describe(ThreadId id) const override;
  ThreadCounters counters() const override;
  std::string end_reason() const override {
    if (std::atomic_ref(state_->ended).load() == 0) return "";
    return std::string(state_->reason, strnlen(state_->reason, sizeof(state_->reason)));
  }

 private:
  bool Load(const ThreadKernelOptions& options);
  bool Link();
  bool Find(ThreadId id, bpf_thread& out) const {
    return bpf_map_lookup_elem(threads_fd_, &id, &out) == 0;
  }
  Outcome Describe(CpuId cpu, Gtid gtid, Status status) const;

  bpf_object* object_ = nullptr;
  bpf_link* link_ = nullptr;
  int link_fd_ = -1;
  ring_buffer* ring_ = nullptr;
  bpf_state* state_ = nullptr;
  int threads_fd_ = -1;
  size_t max_threads_ = 0;
  int decide_fd_ = -1;
  std::vector<offload::Item>* received_ = nullptr;
};

bool BpfKernel::Load(const ThreadKernelOptions& options) {
  bpf_object_open_opts open{};
  open.sz = sizeof(open);
  open.object_name = "sluice";
  object_ = bpf_object__open_mem(kThreadsProgram.data(), kThreadsProgram.size(), &open);
  if (object_ == nullptr) return false;
  bpf_program__set_flags(bpf_object__find_program_by_name(object_, "init"), BPF_F_SLEEPABLE);
  bpf_map* const scheduler = bpf_object__find_map_by_name(object_, kSchedulerMap);
  bpf_map__set_map_flags(scheduler, bpf_map__map_flags(scheduler) | kLinkFlag);
  bpf_map* const threads = bpf_object__find_map_by_name(object_, "threads");
  bpf_map__set_max_entries(threads, options.max_threads);
  max_threads_ = options.max_threads;
  bpf_map* const state = bpf_object__find_map_by_name(object_, kStateMap);
  bpf_state initial{};
  initial.fallback_ns = options.fallback;
  initial.cpus = options.cpus;
  initial.dry_run = options.dry_run;
  if (bpf_map__set_initial_value(state, &initial, sizeof(initial)) != 0 ||
      bpf_object__load(object_) != 0) {
    return false;
  }
  void* const mapped =
      mmap(nullptr, sizeof(bpf_state), PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(state), 0);
  if (mapped == MAP_FAILED) return false;
  state_ = static_cast<bpf_state*>(mapped);
  threads_fd_ = bpf_map__fd(threads);
  decide_fd_ = bpf_program__fd(bpf_object__find_program_by_name(object_, "decide"));
  return true;
}

bool BpfKernel::Link() {
  bpf_map* const scheduler = bpf_object__find_map_by_name(object_, kSchedulerMap);
  link_ = bpf_map__attach_struct_ops(scheduler);
  if (link_ == nullptr) return false;
#if LIBBPF_MAJOR_VERSION == 1 && LIBBPF_MINOR_VERSION < 2
  // This libbpf only fills the map; the scheduler starts when it is linked.
  link_fd_ = bpf_link_create(bpf_map__fd(scheduler), 0, kStructOps, nullptr);
  if (link_fd_ < 0) return false;
#endif
  return true;
}

bool BpfKernel::Start(const ThreadKernelOptions& options) {
  if (!Load(options)) return false;
  const auto add = [](void* self, void* data, size_t bytes) {
    offload::Item item;
    if (bytes != sizeof(item)) return 0;
    std::memcpy(&item, data, sizeof(item));
    static_cast<BpfKernel*>(self)->received_->push_back(item);
    return 0;
  };
  ring_ = ring_buffer__new(bpf_object__find_map_fd_by_name(object_, "events"), add, this, nullptr);
  return ring_ != nullptr && Link();
}

Outcome BpfKernel::Describe(CpuId cpu, Gtid gtid, Status status) const {
  Outcome outcome{.status = status, .gtid = gtid};
  bpf_thread thread;
  if (Find(ThreadOf(gtid), thread) && thread.gtid == static_cast<uint64_t>(gtid)) {
    outcome.task_barrier = BarrierOf(thread.word);
    outcome.task_flags = FlagsOf(thread.word);
  }
  if (cpu < state_->cpus) {
    outcome.cpu_seqnum = state_->cpu[cpu].seqnum;
    outcome.current = static_cast<Gtid>(state_->cpu[cpu].current);
  }
  return outcome;
}

Verdict BpfKernel::Decide(CpuId cpu, const Transaction& decision) {
  using namespace engine::sched;
  const auto refuse = [&](Status status) {
    return Verdict{.outcome = Describe(cpu, decision.gtid, status)};
  };
  if (decision.version != kAbiVersion) return refuse(Status::kUnsupportedVersion);
  if (decision.cpu != cpu) return refuse(Status::kInvalidCpu);
  if ((decision.run_flags & ~kDoNotPreempt) != 0 || decision.commit_flags != 0 ||
      decision.sync_group != 0) {
    return refuse(Status::kInvalidFlags);
  }
  if (decision.gtid <= kNoTask) return refuse(Status::kInvalidTarget);

  bpf_decision asked{};
  asked.gtid = static_cast<uint64_t>(decision.gtid);
  asked.barrier = decision.task_barrier;
  asked.cpu = cpu;
  asked.do_not_preempt = (decision.run_flags & kDoNotPreempt) != 0;
  bpf_test_run_opts run{};
  run.sz = sizeof(run);
  run.ctx_in = &asked;  // The program writes its results here, too.
  run.ctx_size_in = sizeof(asked);
  if (bpf_prog_test_run_opts(decide_fd_, &run) != 0) return refuse(Status::kCpuUnavailable);
  return {.outcome = {.status = StatusOf(asked.status),
                      .task_barrier = BarrierOf(asked.word),
                      .task_flags = asked.word != 0 ? FlagsOf(asked.word) : 0,
                      .cpu_seqnum = asked.cpu_seqnum,
                      .gtid = decision.gtid,
                      .current = static_cast<Gtid>(asked.current),
                      .time = asked.time_ns},
          .age = asked.age_ns};
}

Outcome BpfKernel::Recall(CpuId cpu, const Transaction& decision) {
  return Describe(cpu, decision.gtid, Status::kAborted);
}

std::vector<ThreadId> BpfKernel::Threads() const {
  std::vector<ThreadId> ids;
  ThreadId id = 0;
  const void* last = nullptr;
  // If the kernel removes the thread `id` meanwhile, the map is read from its start again.
  while (ids.size() < 2 * max_threads_ && bpf_map_get_next_key(threads_fd_, last, &id) == 0) {
    ids.push_back(id);
    last = &id;
  }
  std::ranges::sort(ids);
  const auto repeated = std::ranges::unique(ids);
  ids.erase(repeated.begin(), repeated.end());
  return ids;
}

std::optional<Description> BpfKernel::Describe(ThreadId id) const {
  bpf_thread thread;
  if (!Find(id, thread)) return std::nullopt;
  const uint32_t phase = PhaseOf(thread.word);
  Description found;
  found.created = {.type = MessageType::kTaskNew,
                   .cpu = CpuOf(thread.word),
                   .seqnum = BarrierOf(thread.word),
                   .gtid = static_cast<Gtid>(thread.gtid),
                   .runtime = thread.runtime,
                   .flags = phase == kPhaseRunnable ? engine::sched::kRunnable : uint8_t{0},
                   .task_class = static_cast<uint8_t>(thread.task_class),
                   .affinity = thread.affinity};
  if (phase == kPhaseDecided || phase == kPhaseOnCpu) {
    found.place = found.created;
    found.place->type = MessageType::kTaskOnCpu;
    if (phase == kPhaseDecided) found.place->flags = engine::sched::kWasLatched;
  }
  return found;
}

ThreadCounters BpfKernel::counters() const {
  const auto read = [](uint64_t& counter) {
    return std::atomic_ref(counter).load(std::memory_order_relaxed);
  };
  return {.threads = read(state_->threads),
          .events = read(state_->events),
          .events_lost = read(state_->events_lost),
          .fallbacks = read(state_->fallbacks),
          .local_choices = read(state_->local_choices),
          .abandoned = read(state_->abandoned),
          .unmanaged = read(state_->unmanaged)};
}

}  // namespace

std::unique_ptr<ThreadKernel> StartThreadKernel(const ThreadKernelOptions& options,
                                                std::string* error) {
  if (kThreadsProgram.empty()) {
    *error = "the build had no clang for BPF: install clang, and build again";
    return nullptr;
  }
  if (access(kKernelState, F_OK) != 0) {
    *error = "this kernel has no sched_ext: boot Linux 6.13 or newer with CONFIG_SCHED_CLASS_EXT";
    return nullptr;
  }
  libbpf_set_print(Note);
  warning.clear();
  auto kernel = std::make_unique<BpfKernel>();
  if (kernel->Start(options)) return kernel;
  switch (errno) {
    case EPERM:
      *error = "no permission to load BPF programs: run as root";
      break;
    case EBUSY:
      *error = std::string("another scheduler of sched_ext runs: end it first (") + kKernelState +
               " must be disabled)";
      break;
    default:
      *error = std::string("this kernel rejects the scheduler: ") + std::strerror(errno) +
               (warning.empty() ? "" : " (" + warning + ")") +
               ": use a kernel of the tested releases (docs/offload.md)";
  }
  return nullptr;
}

}  // namespace sluice::sched_ext
