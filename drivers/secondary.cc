// SPDX-License-Identifier: BSD-3-Clause
#include "secondary.h"

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_log.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "dpdk/release.h"

namespace sluice::drivers {
namespace {

enum class Subject : uint32_t {
  kLink,
  kInfo,
  kStats,
  kResetStats,
  kXstats,
  kXstatNames,
  kResetXstats,
  kPromiscuousOn,
  kPromiscuousOff,
  kAllMulticastOn,
  kAllMulticastOff,
};

struct Question {
  Subject subject;
  char port[RTE_ETH_NAME_MAX_LEN];
};
static_assert(sizeof(Question) <= RTE_MP_MAX_PARAM_LEN);

/// Reply to a question. The attached file has `bytes` bytes.
struct Answer {
  int32_t result;  ///< Result of the operation; −EAGAIN means retry.
  uint32_t bytes;
};

/// Answer to kStats.
struct Stats {
  rte_eth_stats port;
  dpdk::QueueStats queues;
};

uint32_t LogType() {
  static const int type = rte_log_register_type_and_pick_level("pmd.net.sluice", RTE_LOG_NOTICE);
  return static_cast<uint32_t>(type);
}

const char* channel_of_driver = nullptr;
std::mutex answer_mutex;

// ------------------------------------------------------------------- primary

using Bytes = std::vector<uint8_t>;

/// Resizes `bytes` to `count` zeroed values of type T, and returns the first one.
template <typename T>
T* Make(Bytes& bytes, size_t count) {
  bytes.assign(count * sizeof(T), 0);
  return reinterpret_cast<T*>(bytes.data());
}

/// Collects a list from a driver whose function returns the required size if the array is too
/// small: `list(dev, values, count)` has the semantics of xstats_get.
template <typename T, typename List>
int Collect(rte_eth_dev* dev, List list, Bytes* bytes) {
  if (list == nullptr) return -ENOTSUP;
  const int count = list(dev, nullptr, 0);
  if (count <= 0) return count;
  const int filled = list(dev, Make<T>(*bytes, count), count);
  if (filled != count) bytes->clear();
  return filled;
}

int Call(rte_eth_dev* dev, int (*operation)(rte_eth_dev*)) {
  return operation != nullptr ? operation(dev) : -ENOTSUP;
}

int Find(rte_eth_dev* dev, Subject subject, Bytes* bytes) {
  const eth_dev_ops& ops = *dev->dev_ops;
  switch (subject) {
    case Subject::kLink:
      return ops.link_update != nullptr ? ops.link_update(dev, 0) : -ENOTSUP;
    case Subject::kInfo:
      return rte_eth_dev_info_get(dev->data->port_id, Make<rte_eth_dev_info>(*bytes, 1));
    case Subject::kStats: {
      if (ops.stats_get == nullptr) return -ENOTSUP;
      auto* const stats = Make<Stats>(*bytes, 1);
      return dpdk::CallStatsGet(dev, &stats->port, &stats->queues);
    }
    case Subject::kResetStats:
      return Call(dev, ops.stats_reset);
    case Subject::kXstats:
      return Collect<rte_eth_xstat>(dev, ops.xstats_get, bytes);
    case Subject::kXstatNames:
      return Collect<rte_eth_xstat_name>(dev, ops.xstats_get_names, bytes);
    case Subject::kResetXstats:
      return Call(dev, ops.xstats_reset);
    case Subject::kPromiscuousOn:
      return Call(dev, ops.promiscuous_enable);
    case Subject::kPromiscuousOff:
      return Call(dev, ops.promiscuous_disable);
    case Subject::kAllMulticastOn:
      return Call(dev, ops.allmulticast_enable);
    case Subject::kAllMulticastOff:
      return Call(dev, ops.allmulticast_disable);
  }
  return -EINVAL;
}

Answer AnswerTo(const rte_mp_msg& message, Bytes* bytes) {
  Question question;
  if (message.len_param != sizeof(question)) return {-EINVAL, 0};
  std::memcpy(&question, message.param, sizeof(question));
  question.port[sizeof(question.port) - 1] = '\0';
  // Must not block, because the thread that holds the lock may be waiting for this thread.
  const std::unique_lock lock(answer_mutex, std::try_to_lock);
  if (!lock) return {-EAGAIN, 0};
  rte_eth_dev* const dev = rte_eth_dev_allocated(question.port);
  if (dev == nullptr || dev->dev_ops == nullptr) return {-ENODEV, 0};
  if (dev->data->dev_private == nullptr) return {-ENODEV, 0};  // The port was closed.
  const int result = Find(dev, question.subject, bytes);
  return {result, static_cast<uint32_t>(bytes->size())};
}

/// Returns a file descriptor of a file that contains `bytes`, or −1.
int FileOf(const Bytes& bytes) {
  const int fd = memfd_create("answer", MFD_CLOEXEC);
  if (fd >= 0 && write(fd, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
    close(fd);
    return -1;
  }
  return fd;
}

/// Runs on EAL's thread for multi-process messages.
int OnQuestion(const rte_mp_msg* message, const void* peer) {
  for (int i = 0; i < message->num_fds; ++i) close(message->fds[i]);
  Bytes bytes;
  Answer answer = AnswerTo(*message, &bytes);
  rte_mp_msg reply{};
  std::snprintf(reply.name, sizeof(reply.name), "%s", message->name);
  if (!bytes.empty()) {
    reply.fds[0] = FileOf(bytes);
    reply.num_fds = reply.fds[0] >= 0 ? 1 : 0;
    if (reply.num_fds == 0) answer = {-ENOMEM, 0};
  }
  reply.len_param = sizeof(answer);
  std::memcpy(reply.param, &answer, sizeof(answer));
  const int sent = rte_mp_reply(&reply, static_cast<const char*>(peer));
  if (reply.num_fds != 0) close(reply.fds[0]);
  return sent;
}

// ----------------------------------------------------------------- secondary

/// Sends one request and waits up to 5 s for the answer. Returns false if there is no valid answer,
/// for example because the primary process has ended or does not support the request.
bool AskOnce(const Question& question, Answer* answer, Bytes* bytes) {
  rte_mp_msg request{};
  std::snprintf(request.name, sizeof(request.name), "%s", channel_of_driver);
  request.len_param = sizeof(question);
  std::memcpy(request.param, &question, sizeof(question));
  struct rte_mp_reply replies {};  // `rte_mp_reply` is also a function.
  const timespec patience = {5, 0};
  // EAL rejects a second request on a channel while one is pending.
  static std::mutex one_at_a_time;
  const std::scoped_lock lock(one_at_a_time);
  if (rte_mp_request_sync(&request, &replies, &patience) != 0) return false;
  bool sound = false;
  if (replies.nb_received == 1) {
    const rte_mp_msg& reply = replies.msgs[0];
    sound = reply.len_param == sizeof(*answer);
    if (sound) std::memcpy(answer, reply.param, sizeof(*answer));
    if (sound && answer->bytes != 0) {
      bytes->resize(answer->bytes);
      sound = reply.num_fds == 1 && pread(reply.fds[0], bytes->data(), bytes->size(), 0) ==
                                        static_cast<ssize_t>(bytes->size());
    }
    for (int i = 0; i < reply.num_fds; ++i) close(reply.fds[i]);
  }
  std::free(replies.msgs);
  return sound;
}

/// Sends a request until the result is not -EAGAIN, at most kTries times. Returns the operation's
/// result, or -EIO if there is no valid answer. Stores the values that the operation returned.
template <typename T = uint8_t>
int Ask(const rte_eth_dev* dev, Subject subject, std::vector<T>* values = nullptr) {
  constexpr int kTries = 100;
  Question question{subject, {}};
  std::snprintf(question.port, sizeof(question.port), "%s", dev->data->name);
  Answer answer{-EAGAIN, 0};
  Bytes bytes;
  for (int i = 0; i < kTries && answer.result == -EAGAIN; ++i) {
    if (i != 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (!AskOnce(question, &answer, &bytes)) return -EIO;
  }
  if (values != nullptr) {
    if (bytes.size() % sizeof(T) != 0) return -EIO;
    values->resize(bytes.size() / sizeof(T));
    if (!bytes.empty()) std::memcpy(values->data(), bytes.data(), bytes.size());
  }
  return answer.result;
}

/// Requests one value.
template <typename T>
int AskFor(const rte_eth_dev* dev, Subject subject, T* value) {
  std::vector<T> values;
  const int result = Ask(dev, subject, &values);
  if (result != 0) return result;
  if (values.size() != 1) return -EIO;
  *value = values[0];
  return 0;
}

/// Requests a list, with the semantics of xstats_get and xstats_get_names.
template <typename T>
int AskForList(const rte_eth_dev* dev, Subject subject, T* list, unsigned capacity) {
  std::vector<T> values;
  const int result = Ask(dev, subject, &values);
  if (result < 0) return result;
  if (list != nullptr && values.size() <= capacity) std::copy(values.begin(), values.end(), list);
  return static_cast<int>(values.size());
}

int GetInfo(rte_eth_dev* dev, rte_eth_dev_info* info) {
  const int result = AskFor(dev, Subject::kInfo, info);
  // Replaces pointers that are valid only in the primary process; ethdev sets the others.
  info->device = dev->device;
  info->switch_info.name = nullptr;
  return result;
}

int GetStats(rte_eth_dev* dev, rte_eth_stats* stats, dpdk::QueueStats* queues) {
  Stats answer;
  const int result = AskFor(dev, Subject::kStats, &answer);
  if (result != 0) return result;
  if (queues != nullptr) *queues = answer.queues;
  *stats = answer.port;
  return 0;
}

/// Requests an operation that returns only its result code.
template <Subject kSubject>
int Request(rte_eth_dev* dev) {
  return Ask(dev, kSubject);
}

int Close(rte_eth_dev*) { return 0; }

/// For each port, the message that its burst functions log once; null afterwards.
std::array<std::atomic<const char*>, RTE_MAX_ETHPORTS> refusals;

uint16_t Refuse(uint16_t port) {
  if (const char* const refusal = refusals[port].exchange(nullptr)) {
    rte_log(RTE_LOG_ERR, LogType(), "%s: %s\n", rte_eth_devices[port].data->name, refusal);
  }
  return 0;
}

/// Replaces a queue. A burst function gets only this pointer, so it identifies the port.
struct NoQueue {
  uint16_t port;
};
std::array<NoQueue, RTE_MAX_ETHPORTS> no_queue;
std::array<std::array<void*, RTE_MAX_QUEUES_PER_PORT>, RTE_MAX_ETHPORTS> no_queues;

uint16_t RefuseRx(void* queue, rte_mbuf**, uint16_t) {
  return Refuse(static_cast<NoQueue*>(queue)->port);
}
uint16_t RefuseTx(void* queue, rte_mbuf**, uint16_t) {
  return Refuse(static_cast<NoQueue*>(queue)->port);
}

}  // namespace

void AnswerSecondaries(const char* channel) {
  static std::once_flag once;
  std::call_once(once, [&] {
    channel_of_driver = channel;
    if (rte_mp_action_register(channel, OnQuestion) != 0 && rte_errno != ENOTSUP) {
      rte_log(RTE_LOG_WARNING, LogType(), "%s: cannot answer secondary processes: %s\n", channel,
              rte_strerror(rte_errno));
    }
  });
}

std::mutex& AnswerMutex() { return answer_mutex; }

eth_dev_ops SecondaryOps() {
  eth_dev_ops ops{};
  ops.dev_close = Close;
  ops.dev_infos_get = GetInfo;
  ops.link_update = [](rte_eth_dev* dev, int) { return Ask(dev, Subject::kLink); };
  ops.stats_get = dpdk::kStatsGet<GetStats>;
  ops.stats_reset = Request<Subject::kResetStats>;
  ops.xstats_reset = Request<Subject::kResetXstats>;
  ops.promiscuous_enable = Request<Subject::kPromiscuousOn>;
  ops.promiscuous_disable = Request<Subject::kPromiscuousOff>;
  ops.allmulticast_enable = Request<Subject::kAllMulticastOn>;
  ops.allmulticast_disable = Request<Subject::kAllMulticastOff>;
  ops.xstats_get = [](rte_eth_dev* dev, rte_eth_xstat* values, unsigned capacity) {
    return AskForList(dev, Subject::kXstats, values, capacity);
  };
  ops.xstats_get_names = [](rte_eth_dev* dev, rte_eth_xstat_name* names, unsigned capacity) {
    return AskForList(dev, Subject::kXstatNames, names, capacity);
  };
  return ops;
}

rte_eth_dev* AttachSecondary(const char* channel, const char* name, rte_device* device,
                             const eth_dev_ops* ops, const char* refusal) {
  channel_of_driver = channel;
  rte_eth_dev* const dev = rte_eth_dev_attach_secondary(name);
  if (dev == nullptr) return nullptr;
  dev->device = device;
  dev->dev_ops = ops;
  dev->rx_pkt_burst = RefuseRx;
  dev->tx_pkt_burst = RefuseTx;
  refusals[dev->data->port_id].store(refusal);
  return dev;
}

void FinishSecondary(rte_eth_dev* dev) {
  rte_eth_dev_probing_finish(dev);
  if (dev->rx_pkt_burst != RefuseRx) return;
  // Queue pointers refer to the primary's heap or are null, so this process cannot use them.
  const uint16_t port = dev->data->port_id;
  no_queue[port].port = port;
  no_queues[port].fill(&no_queue[port]);
  rte_eth_fp_ops[port].rxq.data = rte_eth_fp_ops[port].txq.data = no_queues[port].data();
}

int RemoveSecondary(const char* name) {
  rte_eth_dev* const dev = rte_eth_dev_allocated(name);
  if (dev == nullptr || dev->dev_ops == nullptr) return 0;
  dev->dev_ops->dev_close(dev);
  return rte_eth_dev_release_port(dev);
}

}  // namespace sluice::drivers
