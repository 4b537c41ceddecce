// SPDX-License-Identifier: BSD-3-Clause
//
// What the fuzzers drive, one function for each boundary where hostile bytes
// enter: libFuzzer calls them with what it invents, and the test `fuzz_targets`
// with known frames cut and bent, so that every compiler's build runs them. A
// broken promise aborts; the bytes given are copied to exactly sized memory first.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::fuzz {

/// A frame through Parse, FlowKey and the setters: what is found lies inside.
void Parser(const uint8_t* data, size_t size);

/// A pipe's bytes through the frame length walk: it ends, inside.
void FrameLengthWalk(const uint8_t* data, size_t size);

/// A frame through both echo engines: valid checksums stay valid, twice is plus
/// two, a drop changes nothing, untouched bytes stay.
void EchoEngines(const uint8_t* data, size_t size);

/// A frame through Neighbor: its answers are valid, what is not answered stays. The
/// first byte sets the tailroom, and whether checksums are made right first.
void NeighborEngine(const uint8_t* data, size_t size);

/// A frame through the echo answer, the flow of an ICMP error and the too-big answer of a VIP:
/// what is made is valid and may be sent, what is refused stays. The first byte sets the headroom
/// and the MTU, and whether checksums are made right first.
void MaglevMessages(const uint8_t* data, size_t size);

/// A UDP payload through the reader of QUIC's connection ids: bytes behind do not matter.
void MaglevQuic(const uint8_t* data, size_t size);

/// A datagram of MICA's through the server, against a map: every request is answered, once and
/// rightly, or the datagram is refused and nothing done. The first byte sets the longest answer,
/// and whether the server believes hashes and reads across workers.
void KvMica(const uint8_t* data, size_t size);

/// A UDP payload through memcached's ASCII protocol, of three workers that may only read what is
/// theirs: it ends, the reply keeps to its bound, and the store still answers. The first byte sets
/// the bound.
void KvMemcachedAscii(const uint8_t* data, size_t size);

/// The same through the binary protocol: the reply is whole responses.
void KvMemcachedBinary(const uint8_t* data, size_t size);

/// Operations on a partition, each answer compared with an oracle's. The first byte sets mode, size
/// and hashes, every two more make a choice.
void KvStore(const uint8_t* data, size_t size);

/// A snapshot's file, beside a reader that knows the format alone: what is not whole sets nothing,
/// what is whole sets every item. The first byte says whether checksums are made right first.
void KvSnapshot(const uint8_t* data, size_t size);

/// What a client hears, of the protocol that the first byte chooses, with the ids of its requests
/// or any: every request ends once.
void KvClient(const uint8_t* data, size_t size);

/// What etcd's gateway says to a range, to a watch or about a lease, as the first byte chooses:
/// only keys of the prefix are believed, and leases that there can be.
void EtcdMessages(const uint8_t* data, size_t size);

/// A pattern, up to the first line end, as one of CloudWatch's and as an expression of fail2ban's;
/// and lines that both are asked about: which match have the needles.
void LogmonFilter(const uint8_t* data, size_t size);

/// Text through the scanner in chunks that the first byte chooses, beside an oracle that asks every
/// filter about every line; with its highest bit, in too little memory.
void LogmonScanner(const uint8_t* data, size_t size);

/// A datagram through the reader of syslog messages: the text is its end, the header lies inside.
void LogmonSyslog(const uint8_t* data, size_t size);

/// Segments of two TCP streams whose bytes follow from their sequence numbers, with any numbers,
/// lengths and flags: what is delivered is right, in order, and never joined across a gap. The
/// first byte sets window, pool and first number.
void LogmonTcp(const uint8_t* data, size_t size);

/// A report made of the bytes through the IPFIX encoder, and what it makes through a strict
/// decoder: well-formed, complete, and within its room.
void TelemetryIpfix(const uint8_t* data, size_t size);

/// The file of an epoch: what is taken is written as the same bytes, merged and reported. The first
/// byte says whether its checksum is made right first.
void TelemetryEpoch(const uint8_t* data, size_t size);

/// Messages and outcomes of a host that keeps to nothing, to an agent of the policy that the first
/// byte chooses: its account holds, and no decision is made over another.
void SchedAgent(const uint8_t* data, size_t size);

/// A frame with a call, through unmarshalling and to its reply: what is accepted is written again
/// and read again, and the reply is valid. The first byte says whether checksums are made right
/// first. The whole input as a reply and as a stream of records, too.
void RpcCall(const uint8_t* data, size_t size);

/// A `.x` file up to the first 0, and what follows as a value of each of its types: an error is one
/// line, a table is sound.
void RpcLanguage(const uint8_t* data, size_t size);

/// Changes of a signature table, and a value: what is still sound keeps to its bounds.
void RpcTable(const uint8_t* data, size_t size);

/// A capture file through the reader, and what was read through the writer.
void CaptureReader(const uint8_t* data, size_t size);

/// A file of streams for sluice-pktgen: what is accepted keeps to its bounds, and its frames are
/// what they say they are; what is not is refused in lines.
void PktgenStreams(const uint8_t* data, size_t size);

/// Text through the reader of policy graphs: refused in lines, or applied to a switch, shown and
/// explained; and once more, which changes nothing.
void ChainGraph(const uint8_t* data, size_t size);

/// A member of gzip's through the reader of its header: where it ends depends on the header alone,
/// and of nothing shorter.
void ChainGzip(const uint8_t* data, size_t size);

/// Messages in parts from several senders, with any numbers, lengths and offsets, frames of any
/// bytes, and answers to any message: what is taken is whole and of one sender, every message has
/// an ending, and there is room for others behind it.
void Messages(const uint8_t* data, size_t size);

}  // namespace sluice::fuzz
