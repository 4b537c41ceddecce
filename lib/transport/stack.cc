// SPDX-License-Identifier: BSD-3-Clause
//
// Stack checks received headers, finds the bucket of a segment, applies the limits and reports
// lwIP's actions. lwIP never calls the user: its callbacks record events, and Stack reports them
// once lwIP has returned, so the user may call any function.
#include "transport/stack.h"

#include <algorithm>
#include <bit>
#include <bitset>
#include <cstring>
#include <unordered_map>
#include <utility>
#include <vector>

#include "packet/bytes.h"
#include "packet/checksum.h"
#include "packet/ethernet.h"
#include "packet/host_address.h"
#include "packet/parse.h"
#include "transport/instance.h"
#include "transport/siphash.h"

namespace sluice::transport {
namespace {

using packet::Load;
using packet::LoadBe16;
using packet::LoadBe32;
using packet::LoadBe64;
using packet::Store;
using packet::StoreBe16;
using packet::StoreBe32;

static_assert(Stack::kWindowBytes == TCP_WINDOW_BYTES && Stack::kSendBytes == TCP_SEND_BYTES &&
              Stack::kTickNs == TCP_TICK_MS * 1'000'000);
static_assert(TCP_HEADROOM >= packet::kEthernetHeaderBytes + packet::kIpv6HeaderBytes);

constexpr uint32_t kNone = TCP_NO_SLOT;
/// A segment in a longer frame cannot be kept (memory.h). No segment that we requested is longer.
constexpr uint32_t kMaxFrameBytes = packet::kEthernetHeaderBytes + TCP_MTU;
/// Maximum number of connections whose handshake is incomplete. A further SYN replaces the oldest
/// of them.
constexpr uint32_t kMaxHalfOpen = 1024;
constexpr uint32_t kDynamicPorts = 16384;  ///< Ports from 49152 on (RFC 6335).
constexpr uint8_t kSyn = 2, kRst = 4, kAck = 16;

/// Returns the address in the form that Peer contains.
packet::Ipv6Address AddressOf(const uint8_t* address, bool is_ipv6) {
  return is_ipv6 ? Load<packet::Ipv6Address>(address)
                 : packet::ToIpv4Mapped(Load<packet::Ipv4Address>(address));
}

bool IsLinkLocal(const packet::Ipv6Address& a) { return a[0] == 0xfe && (a[1] & 0xc0) == 0x80; }

/// Returns whether a segment can come from this address.
bool IsHost(const uint8_t* address, bool is_ipv6) {
  if (!is_ipv6) return packet::IsHost(Load<packet::Ipv4Address>(address));
  // IPv4-compatible addresses, ::a.b.c.d, are deprecated (RFC 4291 section 2.5.5.1).
  const bool is_compatible = LoadBe64(address) == 0 && LoadBe64(address + 8) >> 48 == 0;
  return !is_compatible && packet::IsHost(Load<packet::Ipv6Address>(address));
}

/// A list of connections in the order in which they entered a state.
struct Queue {
  ConnectionId first = kNone, last = kNone;
  uint32_t count = 0;
};

enum class State : uint8_t {
  kFree,
  kHalfOpen,    ///< The user does not know about it yet. In the queue half_open_.
  kConnecting,  ///< By Connect.
  kOpen,
  kEnded,     ///< lwIP has freed it; Closed is due.
  kTimeWait,  ///< Closed was called, but lwIP keeps it. In the queue time_wait_.
};

struct Connection {
  tcp_pcb* pcb = nullptr;
  uint32_t bucket = 0;
  uint32_t generation = 0;  ///< Number of connections that used this slot before.
  ConnectionId next = kNone, previous = kNone;
  State state = State::kFree;
  End end = End::kFinished;
  bool wants_room = false;
  packet::MacAddress mac{};
  Peer peer{};
};

struct AddressHash {
  SipKey key;
  size_t operator()(const packet::Ipv6Address& address) const {
    return SipHash(key, Load<std::array<uint64_t, 2>>(address.data()));
  }
};

}  // namespace

class Stack::Impl {
 public:
  Impl(const StackOptions& options, Events& events, std::unique_ptr<Instance> instance)
      : options_(options),
        events_(events),
        instance_(std::move(instance)),
        tcp_(instance_->tcp()),
        lookup_key_{options.seed, 0x6c6f6f6b75700000},
        sequence_key_{options.seed, 0x73657175656e6365},
        buckets_(std::bit_ceil(options.max_connections)),
        connections_(options.max_connections),
        peers_(0, AddressHash{lookup_key_}) {}

  bool Start();
  ~Impl();

  bool Listen(uint16_t port);
  bool Connect(const Peer& peer, const packet::MacAddress& mac, ConnectionId* id);
  bool Input(const uint8_t* frame, uint32_t bytes);
  void Advance(uint64_t now_ns);

  uint32_t Room(ConnectionId id) const;
  void Write(ConnectionId id, const uint8_t* data, uint32_t bytes);
  void Flush(ConnectionId id) {
    if (tcp_pcb* pcb = OpenPcb(id)) tcp_.flush(pcb);
  }
  void Consume(ConnectionId id, uint32_t bytes) {
    if (tcp_pcb* pcb = OpenPcb(id)) tcp_.consume(pcb, bytes);
  }
  void Finish(ConnectionId id) {
    if (tcp_pcb* pcb = OpenPcb(id)) tcp_.finish(pcb);
  }
  void Abort(ConnectionId id);

  uint32_t connections() const { return open_; }
  const StackCounters& counters() {
    counters_.no_memory = tcp_.no_memory();
    return counters_;
  }

 private:
  /// A received segment with the addresses of its frame.
  struct Segment : tcp_segment {
    uint8_t flags;
    uint32_t sequence;
  };

  bool ReadHeaders(const uint8_t* frame, const packet::Headers& headers, Segment* segment) const;
  bool IsOwn(const uint8_t* address, bool is_ipv6) const {
    return is_ipv6 ? options_.own.Owns(Load<packet::Ipv6Address>(address))
                   : options_.own.Owns(Load<packet::Ipv4Address>(address));
  }
  void Hash(tcp_tuple* tuple) const;
  uint64_t HashWith(const SipKey& key, const uint8_t* local, const uint8_t* remote,
                    uint16_t local_port, uint16_t remote_port, bool is_ipv6) const;
  /// Returns whether to count the connections of each peer address.
  bool LimitsPeers() const { return options_.max_connections_per_peer < options_.max_connections; }
  bool AdmitSyn(const Segment& segment);
  ConnectionId TakeSlot();
  void Report(ConnectionId id, const tcp_events& events);
  void ReportRoom(ConnectionId id);
  void ReportEnded();
  /// Returns null unless the connection is open.
  tcp_pcb* OpenPcb(ConnectionId id) const;
  void Close(ConnectionId id, End end);
  void FreeSlot(ConnectionId id);
  void CountPeer(const packet::Ipv6Address& address, int change);
  void Append(Queue* queue, ConnectionId id);
  void Remove(Queue* queue, ConnectionId id);

  bool Output(uint32_t slot, uint8_t* segment, uint32_t bytes, const uint8_t* local,
              const uint8_t* remote, bool is_ipv6);
  ConnectionId Create(tcp_pcb* pcb);
  void Freed(ConnectionId id, tcp_end end);

  StackOptions options_;
  Events& events_;
  std::unique_ptr<Instance> instance_;
  const tcp_library& tcp_;
  bool started_ = false;
  SipKey lookup_key_, sequence_key_;
  uint32_t buckets_;
  std::bitset<65536> ports_;  ///< Ports passed to Listen.

  std::vector<Connection> connections_;
  std::vector<ConnectionId> free_;  ///< Free slots that were used before.
  uint32_t used_slots_ = 0;         ///< Slots that were used at least once.
  uint32_t open_ = 0;
  Queue half_open_, time_wait_;
  /// Number of connections per peer address, without those in TIME-WAIT. Unused if there is no
  /// limit.
  std::unordered_map<packet::Ipv6Address, uint32_t, AddressHash> peers_;
  std::vector<std::pair<ConnectionId, uint32_t>> ended_;  ///< Each connection with its generation.
  std::vector<ConnectionId> polled_;                      ///< Connections that wait for room.

  const uint8_t* frame_ = nullptr;     ///< The frame passed to Input.
  const Segment* segment_ = nullptr;   ///< Its segment.
  ConnectionId created_ = kNone;       ///< The connection that the segment created.
  uint64_t next_port_ = 0;             ///< Number of ports that Connect has tried.
  uint64_t now_ns_ = 0, tick_ns_ = 0;  ///< Time, and time of the last tick.
  bool has_time_ = false;
  StackCounters counters_;
};

// ---- Start and end ----

bool Stack::Impl::Start() {
  tcp_upcalls calls{};
  calls.user = this;
  calls.output = [](void* self, uint32_t slot, uint8_t* segment, uint32_t bytes,
                    const uint8_t* local, const uint8_t* remote, int is_ipv6, int retransmitted) {
    Impl& impl = *static_cast<Impl*>(self);
    if (!impl.Output(slot, segment, bytes, local, remote, is_ipv6 != 0)) return 0;
    impl.counters_.retransmitted += retransmitted != 0;
    return 1;
  };
  calls.create = [](void* self, tcp_pcb* pcb) { return static_cast<Impl*>(self)->Create(pcb); };
  calls.freed = [](void* self, uint32_t slot, tcp_end end) {
    static_cast<Impl*>(self)->Freed(slot, end);
  };
  calls.poll = [](void* self, uint32_t slot) {
    Impl& impl = *static_cast<Impl*>(self);
    if (impl.connections_[slot].wants_room) impl.polled_.push_back(slot);
  };
  calls.initial_sequence = [](void* self, const uint8_t* local, const uint8_t* remote,
                              uint16_t local_port, uint16_t remote_port, int is_ipv6) {
    // RFC 6528: a clock with a period of 4 us, plus a hash that differs between tuples.
    const Impl& impl = *static_cast<Impl*>(self);
    return static_cast<uint32_t>(impl.now_ns_ / 4000 + impl.HashWith(impl.sequence_key_, local,
                                                                     remote, local_port,
                                                                     remote_port, is_ipv6 != 0));
  };
  started_ = tcp_.start(&calls, options_.max_connections, buckets_, options_.window_bytes) != 0;
  return started_;
}

Stack::Impl::~Impl() {
  if (!started_) return;
  for (ConnectionId id = 0; id < used_slots_; ++id) {
    if (tcp_pcb* pcb = connections_[id].pcb) tcp_.abort(pcb, connections_[id].bucket);
  }
  tcp_.stop();
}

bool Stack::Impl::Listen(uint16_t port) {
  if (port == 0 || !tcp_.listen(port)) return false;
  ports_.set(port);
  return true;
}

// ---- Slots and queues ----

void Stack::Impl::Append(Queue* queue, ConnectionId id) {
  Connection& connection = connections_[id];
  connection.previous = queue->last;
  connection.next = kNone;
  (queue->last == kNone ? queue->first : connections_[queue->last].next) = id;
  queue->last = id;
  ++queue->count;
}

void Stack::Impl::Remove(Queue* queue, ConnectionId id) {
  const Connection& connection = connections_[id];
  (connection.previous == kNone ? queue->first : connections_[connection.previous].next) =
      connection.next;
  (connection.next == kNone ? queue->last : connections_[connection.next].previous) =
      connection.previous;
  --queue->count;
}

/// Returns a slot for a new connection, or kNone. If no slot is free, ends the oldest connection in
/// TIME-WAIT or, if there is none, the oldest one whose handshake is incomplete.
ConnectionId Stack::Impl::TakeSlot() {
  if (free_.empty() && used_slots_ == options_.max_connections) {
    const ConnectionId oldest = time_wait_.count != 0 ? time_wait_.first : half_open_.first;
    if (oldest == kNone) return kNone;
    if (oldest == half_open_.first) ++counters_.refused;
    tcp_.forget(connections_[oldest].pcb, connections_[oldest].bucket);
  }
  if (free_.empty()) return used_slots_++;
  const ConnectionId id = free_.back();
  free_.pop_back();
  return id;
}

void Stack::Impl::FreeSlot(ConnectionId id) {
  Connection& connection = connections_[id];
  connection.state = State::kFree;
  connection.wants_room = false;
  ++connection.generation;
  free_.push_back(id);
}

void Stack::Impl::CountPeer(const packet::Ipv6Address& address, int change) {
  if (!LimitsPeers()) return;
  const auto entry = peers_.try_emplace(address, 0).first;
  entry->second += static_cast<uint32_t>(change);
  if (entry->second == 0) peers_.erase(entry);
}

/// Reports the end of a connection that lwIP has freed or that is in TIME-WAIT.
void Stack::Impl::Close(ConnectionId id, End end) {
  Connection& connection = connections_[id];
  if (connection.pcb == nullptr) {
    FreeSlot(id);
  } else {
    connection.state = State::kTimeWait;
    connection.wants_room = false;
    Append(&time_wait_, id);
  }
  counters_.CountEnd(end);
  events_.Closed(id, end);
}

void Stack::Impl::ReportEnded() {
  while (!ended_.empty()) {
    const auto [id, generation] = ended_.back();
    ended_.pop_back();
    const Connection& connection = connections_[id];
    if (connection.generation == generation && connection.state == State::kEnded) {
      Close(id, connection.end);
    }
  }
}

// ---- Calls from lwIP ----

/// Writes the headers in front of a segment, and sends the frame.
bool Stack::Impl::Output(uint32_t slot, uint8_t* segment, uint32_t bytes, const uint8_t* local,
                         const uint8_t* remote, bool is_ipv6) {
  const uint32_t ip_bytes = is_ipv6 ? packet::kIpv6HeaderBytes : packet::kIpv4MinHeaderBytes;
  uint8_t* const ip = segment - ip_bytes;
  uint8_t* const frame = ip - packet::kEthernetHeaderBytes;
  std::memcpy(frame, slot != kNone ? connections_[slot].mac.data() : frame_ + 6, 6);
  Store(frame + 6, options_.own.mac());
  uint64_t sum;
  if (is_ipv6) {
    StoreBe16(frame + 12, packet::kEtherTypeIpv6);
    StoreBe32(ip, 0x60000000);
    StoreBe16(ip + 4, static_cast<uint16_t>(bytes));
    ip[6] = packet::kProtocolTcp;
    ip[7] = 64;
    std::memcpy(ip + 8, local, 16);
    std::memcpy(ip + 24, remote, 16);
    sum = packet::PseudoHeaderSumIpv6(ip, packet::kProtocolTcp, bytes);
  } else {
    StoreBe16(frame + 12, packet::kEtherTypeIpv4);
    StoreBe32(ip, 0x45000000 | (ip_bytes + bytes));
    StoreBe32(ip + 4, 0x00004000);  // Do not fragment; the identification is then unused.
    StoreBe32(ip + 8, 64u << 24 | packet::kProtocolTcp << 16);
    std::memcpy(ip + 12, local, 4);
    std::memcpy(ip + 16, remote, 4);
    Store(ip + 10, packet::FinishChecksum(packet::SumBytes(ip, ip_bytes)));
    sum = packet::PseudoHeaderSumIpv4(ip, packet::kProtocolTcp, static_cast<uint16_t>(bytes));
  }
  Store<uint16_t>(segment + 16, 0);
  Store(segment + 16, packet::FinishChecksum(packet::SumBytes(segment, bytes, sum)));
  if (!events_.Output(frame, packet::kEthernetHeaderBytes + ip_bytes + bytes)) {
    ++counters_.output_failed;
    return false;
  }
  ++counters_.tx_segments;
  return true;
}

ConnectionId Stack::Impl::Create(tcp_pcb* pcb) {
  const ConnectionId id = std::exchange(created_, kNone);
  Connection& connection = connections_[id];
  const tcp_tuple& tuple = segment_->tuple;
  connection.pcb = pcb;
  connection.bucket = tuple.bucket;
  connection.state = State::kHalfOpen;
  connection.mac = Load<packet::MacAddress>(frame_ + 6);
  connection.peer = {AddressOf(tuple.remote, tuple.is_ipv6), tuple.remote_port, tuple.local_port};
  Append(&half_open_, id);
  CountPeer(connection.peer.address, 1);
  return id;
}

void Stack::Impl::Freed(ConnectionId id, tcp_end end) {
  Connection& connection = connections_[id];
  connection.pcb = nullptr;
  if (connection.state == State::kTimeWait) {
    Remove(&time_wait_, id);
    return FreeSlot(id);
  }
  CountPeer(connection.peer.address, -1);
  if (connection.state == State::kHalfOpen) {
    Remove(&half_open_, id);
    return FreeSlot(id);
  }
  open_ -= connection.state == State::kOpen;
  connection.state = State::kEnded;
  connection.end = end == TCP_END_FINISHED ? End::kFinished
                   : end == TCP_END_RESET  ? End::kReset
                                           : End::kTimedOut;
  ended_.emplace_back(id, connection.generation);
}

// ---- Input ----

uint64_t Stack::Impl::HashWith(const SipKey& key, const uint8_t* local, const uint8_t* remote,
                               uint16_t local_port, uint16_t remote_port, bool is_ipv6) const {
  const uint64_t ports = uint64_t{local_port} << 16 | remote_port;
  if (!is_ipv6) {
    const uint64_t words[] = {uint64_t{Load<uint32_t>(local)} << 32 | Load<uint32_t>(remote),
                              ports};
    return SipHash(key, words);
  }
  const uint64_t words[] = {Load<uint64_t>(local), Load<uint64_t>(local + 8),
                            Load<uint64_t>(remote), Load<uint64_t>(remote + 8), ports};
  return SipHash(key, words);
}

void Stack::Impl::Hash(tcp_tuple* tuple) const {
  const uint64_t hash = HashWith(lookup_key_, tuple->local, tuple->remote, tuple->local_port,
                                 tuple->remote_port, tuple->is_ipv6);
  tuple->bucket = static_cast<uint32_t>(hash) & (buckets_ - 1);
}

/// Returns false unless the frame is a complete TCP segment from a unicast address to an own
/// address.
bool Stack::Impl::ReadHeaders(const uint8_t* frame, const packet::Headers& headers,
                              Segment* segment) const {
  if (headers.error != packet::ParseError::kNone || headers.vlan_tags != 0 || !headers.IsIp() ||
      headers.protocol != packet::kProtocolTcp || headers.IsFragment() || headers.source_routed ||
      !options_.own.IsOurMac(frame) || !packet::IsHostMac(frame + 6)) {
    return false;
  }
  const bool is_ipv6 = headers.IsIpv6();
  const uint8_t* remote = frame + headers.l3 + (is_ipv6 ? 8 : 12);
  const uint8_t* local = frame + headers.l3 + (is_ipv6 ? 24 : 16);
  if (!IsOwn(local, is_ipv6) || IsOwn(remote, is_ipv6) || !IsHost(remote, is_ipv6)) return false;
  const uint8_t* bytes = frame + headers.l4;
  segment->tuple = {local, remote, LoadBe16(bytes + 2), LoadBe16(bytes), is_ipv6, 0};
  segment->bytes = bytes;
  segment->header_bytes = headers.payload - headers.l4;
  segment->data_bytes = headers.payload_bytes;
  segment->flags = bytes[13];
  segment->sequence = LoadBe32(bytes + 4);
  segment->refuse_syn = false;
  return true;
}

bool Stack::Impl::Input(const uint8_t* frame, uint32_t bytes) {
  const packet::Headers headers = packet::Parse(frame, bytes);
  Segment segment;
  if (!ReadHeaders(frame, headers, &segment)) {
    counters_.bad_segments += headers.error == packet::ParseError::kTcpTruncated ||
                              headers.error == packet::ParseError::kTcpHeaderLength;
    return false;
  }
  Hash(&segment.tuple);
  ConnectionId id = tcp_.find(&segment.tuple);
  if (id == kNone && !ports_[segment.tuple.local_port]) return false;
  ++counters_.rx_segments;
  const uint32_t segment_bytes = segment.header_bytes + segment.data_bytes;
  const uint64_t sum =
      headers.IsIpv6()
          ? packet::PseudoHeaderSumIpv6(frame + headers.l3, packet::kProtocolTcp, segment_bytes)
          : packet::PseudoHeaderSumIpv4(frame + headers.l3, packet::kProtocolTcp,
                                        static_cast<uint16_t>(segment_bytes));
  if (headers.end > kMaxFrameBytes ||
      (!headers.IsIpv6() &&
       !packet::ChecksumHolds(packet::SumBytes(frame + headers.l3, headers.l4 - headers.l3))) ||
      !packet::ChecksumHolds(packet::SumBytes(segment.bytes, segment_bytes, sum))) {
    ++counters_.bad_segments;
    return true;
  }
  const bool is_syn = (segment.flags & (kSyn | kAck | kRst)) == kSyn;
  // RFC 1122 section 4.2.2.13: a newer SYN ends TIME-WAIT.
  if (is_syn && id != kNone && connections_[id].state == State::kTimeWait &&
      ports_[segment.tuple.local_port] && tcp_.is_newer(connections_[id].pcb, segment.sequence)) {
    tcp_.forget(connections_[id].pcb, connections_[id].bucket);
    id = kNone;
  }
  if (is_syn && id == kNone && !AdmitSyn(segment)) {
    segment.refuse_syn = true;
    ++counters_.refused;
  }
  if (id == kNone) id = created_;

  frame_ = frame;
  segment_ = &segment;
  tcp_events events;
  tcp_.input(&segment, &events);
  if (created_ != kNone) free_.push_back(std::exchange(created_, kNone));  // There was no memory.
  if (id != kNone) {
    Report(id, events);
    tcp_.release(events.data);
    tcp_.end_input(connections_[id].pcb);
    ReportEnded();
  }
  return true;
}

/// Reserves a slot for the connection that a SYN opens. Returns false if a limit has been reached.
bool Stack::Impl::AdmitSyn(const Segment& segment) {
  if (LimitsPeers()) {
    const auto peer = peers_.find(AddressOf(segment.tuple.remote, segment.tuple.is_ipv6));
    const uint32_t connections = peer != peers_.end() ? peer->second : 0;
    if (connections >= options_.max_connections_per_peer) return false;
  }
  if (half_open_.count >= kMaxHalfOpen) {
    ++counters_.refused;
    tcp_.forget(connections_[half_open_.first].pcb, connections_[half_open_.first].bucket);
  }
  created_ = TakeSlot();
  return created_ != kNone;
}

/// Reports the changes that a segment caused. In each call, the user may end the connection.
void Stack::Impl::Report(ConnectionId id, const tcp_events& events) {
  Connection& connection = connections_[id];
  const uint32_t generation = connection.generation;
  const auto is_current = [&] {
    return connection.generation == generation &&
           (connection.state == State::kOpen || connection.state == State::kEnded);
  };
  if (events.opened && connection.pcb != nullptr) {
    if (connection.state == State::kHalfOpen) Remove(&half_open_, id);
    connection.state = State::kOpen;
    ++open_;
    const bool accepted = events_.Opened(id, connection.peer);
    ++(accepted ? counters_.opened : counters_.refused);
    if (!accepted && is_current()) {
      if (connection.pcb != nullptr) tcp_.abort(connection.pcb, connection.bucket);
      FreeSlot(id);
    }
  }
  const uint8_t* bytes;
  uint32_t size;
  for (pbuf* data = events.data; data != nullptr && is_current();) {
    data = tcp_.part(data, &bytes, &size);
    if (size != 0) events_.Received(id, bytes, size);
  }
  if (events.half_closed && is_current()) events_.HalfClosed(id);
  if (events.acknowledged && is_current()) ReportRoom(id);
  if (is_current() && connection.pcb != nullptr && tcp_.is_time_wait(connection.pcb)) {
    --open_;
    CountPeer(connection.peer.address, -1);
    Close(id, End::kFinished);
  }
}

/// Reports room that the user is waiting for. If the peer allows less than half of a send buffer to
/// be used (by tiny segments, or because memory is short), reports the room once the buffer is
/// empty.
void Stack::Impl::ReportRoom(ConnectionId id) {
  Connection& connection = connections_[id];
  if (!connection.wants_room || connection.pcb == nullptr) return;
  const uint32_t room = Room(id);
  if (room >= kSendBytes / 2 || (room != 0 && tcp_.all_acknowledged(connection.pcb))) {
    connection.wants_room = false;
    events_.RoomFreed(id);
  }
}

// ---- Time ----

void Stack::Impl::Advance(uint64_t now_ns) {
  if (now_ns < now_ns_) return;
  now_ns_ = now_ns;
  if (!std::exchange(has_time_, true)) tick_ns_ = now_ns;
  while (now_ns - tick_ns_ >= kTickNs) {
    if (free_.size() == used_slots_) {  // Without connections, no timers run.
      tick_ns_ = now_ns;
      break;
    }
    tick_ns_ += kTickNs;
    tcp_.tick();
    ReportEnded();
    while (!polled_.empty()) {
      const ConnectionId id = polled_.back();
      polled_.pop_back();
      ReportRoom(id);
    }
  }
}

// ---- Calls by the user ----

bool Stack::Impl::Connect(const Peer& peer, const packet::MacAddress& mac, ConnectionId* id) {
  const bool is_ipv6 = !packet::IsIpv4Mapped(peer.address);
  const uint8_t* local = nullptr;
  if (!is_ipv6 && !options_.own.ipv4().empty()) local = options_.own.ipv4()[0].data();
  for (const packet::Ipv6Address& own : options_.own.ipv6()) {
    if (!is_ipv6 || local != nullptr || IsLinkLocal(own) != IsLinkLocal(peer.address)) continue;
    local = own.data();
  }
  if (local == nullptr) return false;
  const uint8_t* remote = peer.address.data() + (is_ipv6 ? 0 : packet::kIpv4Mapped.size());
  tcp_tuple tuple = {local, remote, peer.local_port, peer.port, is_ipv6, 0};
  // Random ports in the dynamic range (RFC 6056 section 3.3.1).
  for (uint32_t tries = 0;; ++tries) {
    if (tries == (peer.local_port == 0 ? kDynamicPorts : 1)) return false;
    if (peer.local_port == 0) {
      const uint64_t words[] = {now_ns_, next_port_++};
      tuple.local_port = static_cast<uint16_t>(65536 - kDynamicPorts +
                                               SipHash(sequence_key_, words) % kDynamicPorts);
      if (ports_[tuple.local_port]) continue;
    }
    Hash(&tuple);
    if (tcp_.find(&tuple) == kNone) break;
  }
  const ConnectionId slot = TakeSlot();
  if (slot == kNone) return false;
  Connection& connection = connections_[slot];
  connection.mac = mac;
  connection.bucket = tuple.bucket;
  connection.peer = {peer.address, peer.port, tuple.local_port};
  connection.pcb = tcp_.connect(&tuple, slot);
  if (connection.pcb == nullptr) {
    FreeSlot(slot);
    return false;
  }
  connection.state = State::kConnecting;
  CountPeer(peer.address, 1);
  if (id != nullptr) *id = slot;
  return true;
}

tcp_pcb* Stack::Impl::OpenPcb(ConnectionId id) const {
  return connections_[id].state == State::kOpen ? connections_[id].pcb : nullptr;
}

uint32_t Stack::Impl::Room(ConnectionId id) const {
  const tcp_pcb* pcb = OpenPcb(id);
  return pcb != nullptr ? tcp_.room(pcb) : 0;
}

void Stack::Impl::Write(ConnectionId id, const uint8_t* data, uint32_t bytes) {
  tcp_pcb* pcb = OpenPcb(id);
  if (pcb == nullptr) return;
  if (bytes != 0 && !tcp_.write(pcb, data, bytes)) return Abort(id);
  if (Room(id) < kSendBytes / 2) connections_[id].wants_room = true;
}

void Stack::Impl::Abort(ConnectionId id) {
  Connection& connection = connections_[id];
  if (connection.state == State::kOpen || connection.state == State::kConnecting) {
    tcp_.abort(connection.pcb, connection.bucket);
    Close(id, End::kAborted);
  } else if (connection.state == State::kEnded) {
    Close(id, connection.end);
  }
}

// ---- Stack ----

Stack::Stack(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Stack::~Stack() = default;

bool Stack::Available() { return Instance::Available(); }

std::unique_ptr<Stack> Stack::Create(const StackOptions& options, Events& events,
                                     std::string* error) {
  if (options.max_connections == 0 || options.max_connections > kMaxConnections) {
    *error = "the number of connections must be 1 to " + std::to_string(kMaxConnections);
    return nullptr;
  }
  if (options.window_bytes < kMinWindowBytes || options.window_bytes > kWindowBytes) {
    *error = "the window must be " + std::to_string(kMinWindowBytes) + " to " +
             std::to_string(kWindowBytes) + " bytes";
    return nullptr;
  }
  std::unique_ptr<Instance> instance = Instance::Load(error);
  if (instance == nullptr) return nullptr;
  auto impl = std::make_unique<Impl>(options, events, std::move(instance));
  if (!impl->Start()) {
    *error = "no memory for " + std::to_string(options.max_connections) + " connections";
    return nullptr;
  }
  return std::unique_ptr<Stack>(new Stack(std::move(impl)));
}

bool Stack::Listen(uint16_t port) { return impl_->Listen(port); }
bool Stack::Connect(const Peer& peer, const packet::MacAddress& mac, ConnectionId* id) {
  return impl_->Connect(peer, mac, id);
}
bool Stack::Input(const uint8_t* frame, uint32_t bytes) { return impl_->Input(frame, bytes); }
void Stack::Advance(uint64_t now_ns) { impl_->Advance(now_ns); }
uint32_t Stack::Room(ConnectionId id) const { return impl_->Room(id); }
void Stack::Write(ConnectionId id, const uint8_t* data, uint32_t bytes) {
  impl_->Write(id, data, bytes);
}
void Stack::Flush(ConnectionId id) { impl_->Flush(id); }
void Stack::Consume(ConnectionId id, uint32_t bytes) { impl_->Consume(id, bytes); }
void Stack::Finish(ConnectionId id) { impl_->Finish(id); }
void Stack::Abort(ConnectionId id) { impl_->Abort(id); }
uint32_t Stack::connections() const { return impl_->connections(); }
const StackCounters& Stack::counters() const { return impl_->counters(); }

}  // namespace sluice::transport
