// SPDX-License-Identifier: BSD-3-Clause
#include "worker.h"

#include <rte_cycles.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <mutex>
#include <span>

namespace sluice::sched {
namespace {

using engine::sched::kNoTask;
using packet::Datagram;

constexpr uint64_t kTickNs = 1'000'000;
constexpr uint64_t kPublishNs = 200'000'000;
constexpr uint32_t kMadeAtOnce = 32;  // Limits the number of requests made at once, so that tasks
                                      // are not delayed for long.
// Maximum time to wait for a slow agent at the end of a cell or of the run.
constexpr uint64_t kAgentsPatienceNs = 200'000'000;
// Time after which a run ends with an error even though some tasks have never been scheduled.
constexpr uint64_t kDrainNs = 20'000'000'000;

Worker::DropReason ReasonOf(Datagram::Kind kind) {
  switch (kind) {
    case Datagram::Kind::kFragment:
      return Worker::kFragment;
    case Datagram::Kind::kOptions:
      return Worker::kOptions;
    case Datagram::Kind::kBadChecksum:
      return Worker::kBadChecksum;
    default:
      return Worker::kMalformed;
  }
}

Worker::DropReason ReasonOf(Fault fault) {
  switch (fault) {
    case Fault::kMagic:
      return Worker::kMagic;
    case Fault::kVersion:
      return Worker::kVersion;
    case Fault::kClass:
      return Worker::kClass;
    case Fault::kFlags:
      return Worker::kFlags;
    case Fault::kService:
      return Worker::kService;
    default:
      return Worker::kLength;
  }
}

uint32_t Clamped(uint64_t ns) { return static_cast<uint32_t>(std::min<uint64_t>(ns, UINT32_MAX)); }

}  // namespace

Worker::Worker(Play& play, uint32_t number, const WorkerOptions& options)
    : play_(play),
      stage_(&play.stage()),
      cpu_(static_cast<CpuId>(number)),
      options_(options),
      clock_(play.clock()),
      poll_cycles_(clock_.Cycles(options.poll_ns)),
      processor_(options.runaway_ns == 0 ? 0 : clock_.Cycles(options.runaway_ns), clock_.hz()) {}

void Worker::Enter() {
  processor_.Enter();
  play_.processors()[cpu_].store(&processor_, std::memory_order_release);
  const uint64_t now = rte_rdtsc();
  BeginWorkload(now);
  if (play_.several()) cell_end_ = now + clock_.Cycles(static_cast<uint64_t>(play_.cell_s() * 1e9));
}

void Worker::Leave() {
  play_.Leave();
  Drain(true);
  if (cpu_ == 0) stage_->Dismiss();  // The agent interrupts processors, which are destroyed soon.
  if (!over_) {
    Publish(true);
    stage_->End();
  }
  play_.processors()[cpu_].store(nullptr, std::memory_order_release);
  processor_.Leave();
}

packet::Verdict Worker::Process(packet::Frame& frame, uint64_t /*now*/) {
  const Datagram datagram = Datagram::In(frame.data, frame.length);
  if (datagram.kind == Datagram::Kind::kOther) return packet::kPass;
  if (datagram.kind != Datagram::Kind::kUdp) return packet::Drop(ReasonOf(datagram.kind));
  if (datagram.port != options_.port) return packet::kPass;
  Request request;
  const Fault fault =
      Read(std::span(frame.data + datagram.payload, datagram.payload_bytes), request);
  if (fault != Fault::kNone) return packet::Drop(ReasonOf(fault));
  Task* const task = Accept(request, NowNs());
  if (task == nullptr) return packet::Drop(kTooMany);
  task->answers = true;
  task->way_back.Note(frame.data, datagram);
  return Submit(*task) ? packet::kConsume : packet::Drop(kTooMany);
}

Task* Worker::Accept(const Request& request, uint64_t due_ns) {
  Task* task = nullptr;
  {
    const std::scoped_lock lock(stage_->lock());
    task = stage_->pool().Allocate();
  }
  if (task == nullptr) {
    ++figures_.refused;
    return nullptr;
  }
  task->request = request;
  task->answers = false;
  task->cut = false;
  task->due_ns = due_ns;
  task->work_cycles = clock_.Cycles(request.service_ns);
  task->fiber.Start(&Task::Body, task);
  return task;
}

bool Worker::Submit(Task& task) {
  const std::scoped_lock lock(stage_->lock());
  const Gtid gtid = stage_->kernel().Create({.task_class = task.request.task_class}, NowNs());
  if (gtid == kNoTask) {
    stage_->pool().Give(task);
    ++figures_.refused;
    return false;
  }
  stage_->pool().Name(task, gtid);
  ++figures_.requests;
  submitted_ = true;
  if (current_ == nullptr && wished_ == 0) wished_ = rte_rdtsc();
  return true;
}

void Worker::MakeRequests() {
  const uint64_t now_ns = NowNs();
  for (uint32_t i = 0; i < kMadeAtOnce && workload_->due_ns() <= now_ns; ++i) {
    const uint64_t due_ns = workload_->due_ns();
    if (Task* const task = Accept(workload_->Pop(), due_ns); task != nullptr) Submit(*task);
  }
}

void Worker::AtRest(uint64_t now) {
  if (over_) return;
  if (workload_) MakeRequests();
  Turn();
  if (now >= next_tick_) Tick(now);
  if (cell_end_ != 0 && now >= cell_end_) NextCell();
}

void Worker::Turn() {
  const uint64_t end = rte_rdtsc() + poll_cycles_;
  do {
    bool wanted = false;
    {
      const std::scoped_lock lock(stage_->lock());
      if (submitted_) stage_->host().Forward();
      submitted_ = false;
      wanted = stage_->host().Look(cpu_, NowNs());
      // Other CPUs have received all the tasks that this CPU waited for.
      if (current_ == nullptr && stage_->waiting() == 0) wished_ = 0;
    }
    if (wanted) Switch(current_ == nullptr ? Reason::kIdle : Reason::kPreempt);
    if (current_ == nullptr) return;
    const uint64_t begin = rte_rdtsc();
    const Processor::Ended ended = processor_.Run(current_->fiber, end);
    figures_.busy_cycles += rte_rdtsc() - begin;
    switch (ended) {
      case Processor::Ended::kDone:
        Switch(Reason::kExit);
        break;
      case Processor::Ended::kCut:
        current_->cut = true;
        ++figures_.cuts;
        break;
      case Processor::Ended::kPaused:
        break;
    }
  } while (rte_rdtsc() < end);
}

void Worker::Switch(Reason reason) {
  Task* const last = current_;
  const uint64_t begin = rte_rdtsc();
  {
    const std::scoped_lock lock(stage_->lock());
    if (last != nullptr) stage_->Left();
    if (reason == Reason::kExit && stage_->waiting() > 1) wished_ = begin;
    stage_->host().BeginSwitch(cpu_, reason, NowNs());
  }
  // Answers before EndSwitch, while the decision may be in transit.
  if (reason == Reason::kExit) Answer(*last);
  Gtid chosen = kNoTask;
  {
    const std::scoped_lock lock(stage_->lock());
    if (reason == Reason::kExit) stage_->pool().Give(*last);
    chosen = stage_->host().EndSwitch(cpu_, NowNs());
    current_ = chosen > kNoTask ? stage_->pool().Find(chosen) : nullptr;
    if (current_ != nullptr) stage_->Arrived();
  }
  if (current_ == nullptr) return;
  if (reason == Reason::kPreempt && current_ != last) ++figures_.preemptions;
  ++figures_.switches;
  if (wished_ == 0) return;
  figures_.decision.Record(clock_.Nanoseconds(rte_rdtsc() - wished_));
  wished_ = 0;
}

void Worker::Answer(Task& task) {
  const uint64_t spent_ns = NowNs() - task.due_ns;
  figures_.latency[task.request.task_class != kShortClass].Record(spent_ns);
  ++figures_.answered;
  if (!task.answers) return;
  const uint64_t ran_ns = clock_.Nanoseconds(task.ran_cycles);
  std::array<uint8_t, ReturnPath::kMaxFrame> frame;
  const uint32_t length = task.way_back.Frame(
      {.id = task.request.id,
       .ran_ns = Clamped(ran_ns),
       .waited_ns = Clamped(spent_ns - std::min(spent_ns, ran_ns)),
       .flags = static_cast<uint16_t>(task.request.flags | (task.cut ? kCut : 0)),
       .task_class = task.request.task_class},
      frame);
  outbox_.Send(frame.data(), length);  // If the outbox is full, the interface counts the drop.
}

void Worker::Tick(uint64_t now) {
  next_tick_ = now + clock_.Cycles(kTickNs);
  if (cpu_ == 0) {
    const std::scoped_lock lock(stage_->lock());
    stage_->host().Tick(NowNs());
  }
  if (now < next_publish_ || !Publish(false)) return;
  next_publish_ = now + clock_.Cycles(kPublishNs);
}

bool Worker::Publish(bool last) {
  if (!last && cpu_ != 0) return play_.board().Publish(cpu_, figures_, nullptr, last);
  HostFigures host;
  {
    const std::scoped_lock lock(stage_->lock());
    host = stage_->host_figures();
  }
  return play_.board().Publish(cpu_, figures_, &host, last);
}

bool Worker::Drain(bool for_good) {
  const uint64_t begin = rte_rdtsc();
  bool dismissed = cpu_ != 0;  // CPU 0 dismisses the agent for all workers.
  for (uint64_t now = begin; now - begin < clock_.Cycles(kDrainNs); now = rte_rdtsc()) {
    {
      const std::scoped_lock lock(stage_->lock());
      if (stage_->pool().in_use() == 0 && (!for_good || play_.AllLeft())) return true;
    }
    if (!dismissed && now - begin > clock_.Cycles(kAgentsPatienceNs)) {
      stage_->Dismiss();
      dismissed = true;
    }
    Turn();
    if (now >= next_tick_) Tick(now);
  }
  return false;
}

void Worker::NextCell() {
  if (!Drain(false)) {  // The next kernel would not know the remaining tasks, so the run ends here.
    cell_end_ = 0;
    kill(getpid(), SIGTERM);
    return;
  }
  Publish(true);
  figures_ = {};
  wished_ = 0;
  const Play::Next next = play_.Advance();
  if (options_.text != nullptr && next != Play::Next::kAgain) {
    std::fprintf(options_.text, "%s\n", TableRow(play_.board().results().back()).c_str());
    std::fflush(options_.text);
  }
  if (next == Play::Next::kNone) {
    over_ = true;
    kill(getpid(), SIGTERM);  // Ends the run like a user request, so that the totals are printed.
    return;
  }
  stage_ = &play_.stage();
  const uint64_t now = rte_rdtsc();
  cell_end_ = now + clock_.Cycles(static_cast<uint64_t>(play_.cell_s() * 1e9));
  BeginWorkload(now);
}

void Worker::BeginWorkload(uint64_t now) {
  if (!options_.own) return;
  WorkloadOptions own = *options_.own;
  own.seed += cpu_;
  workload_.emplace(own, clock_.Nanoseconds(now));
}

}  // namespace sluice::sched
