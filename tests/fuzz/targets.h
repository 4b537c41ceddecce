// SPDX-License-Identifier: BSD-3-Clause
//
// The fuzz targets, one function per boundary where hostile bytes enter. libFuzzer calls them with
// generated inputs. The test `fuzz_targets` calls them with truncated and modified frames, so that
// the builds of all compilers run them. A failed check aborts. Each input is first copied to memory
// of exactly its size.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::fuzz {

/// Passes a frame to Parse, FlowKey and the setters. All offsets must be inside the frame.
void Parser(const uint8_t* data, size_t size);

/// Walks the frame lengths in a pipe. The walk must end within the pipe.
void FrameLengthWalk(const uint8_t* data, size_t size);

/// Passes a frame to both echo engines. Valid checksums must stay valid, two reflections must add
/// two to the first payload byte, a dropped frame must be unchanged, and unrelated bytes must stay
/// unchanged.
void EchoEngines(const uint8_t* data, size_t size);

/// Passes a frame to Neighbor. Its answers must be valid; unanswered frames must stay unchanged.
/// The first byte sets the tailroom and whether checksums are corrected first.
void NeighborEngine(const uint8_t* data, size_t size);

/// Passes a frame to the echo answer, the flow of an ICMP error and the too-big answer of a VIP.
/// Generated frames must be valid and permitted; rejected frames must stay unchanged. The first
/// byte sets the headroom, the MTU and whether checksums are corrected first.
void MaglevMessages(const uint8_t* data, size_t size);

/// Passes a UDP payload to the reader of QUIC connection ids. Bytes after the id must not matter.
void MaglevQuic(const uint8_t* data, size_t size);

/// Passes a MICA datagram to the server and compares the answers with those of a map. Every request
/// must be answered once and correctly, or the datagram must be rejected without effect. The first
/// byte sets the maximum answer length, and selects whether the server trusts hashes and reads
/// across workers.
void KvMica(const uint8_t* data, size_t size);

/// Passes a UDP payload to memcached's ASCII protocol with three workers, each restricted to its
/// partition. The call must end, the reply must not exceed its bound, and the store must still
/// answer. The first byte sets the bound.
void KvMemcachedAscii(const uint8_t* data, size_t size);

/// Like KvMemcachedAscii, with the binary protocol. The reply must consist of complete responses.
void KvMemcachedBinary(const uint8_t* data, size_t size);

/// A byte stream of memcached's protocols. Neither its division into pieces nor the room for
/// answers changes the answers.
void KvMemcachedStream(const uint8_t* data, size_t size);

/// Runs operations on a partition and compares each answer with an oracle. The first byte sets
/// mode, size and hashes; each following pair of bytes is one choice.
void KvStore(const uint8_t* data, size_t size);

/// Reads a snapshot file and compares the items with those of an independent reader of the format.
/// An incomplete file must set nothing, and a complete file must set every item. The first byte
/// selects whether checksums are corrected first.
void KvSnapshot(const uint8_t* data, size_t size);

/// Passes answers to a client of the protocol that the first byte selects. The answers have the ids
/// of the client's requests or arbitrary ids. Every request must end once.
void KvClient(const uint8_t* data, size_t size);

/// Parses answers from the etcd gateway about a range, a watch or a lease, as the first byte
/// selects. Only keys with the prefix and possible leases may be accepted.
void EtcdMessages(const uint8_t* data, size_t size);

/// Reads the first line as a CloudWatch pattern and as a fail2ban expression, and matches both
/// against the other lines. Lines that match must contain the needles.
void LogmonFilter(const uint8_t* data, size_t size);

/// Scans text in chunks that the first byte selects and compares with an oracle that evaluates
/// every filter on every line. The highest bit of the first byte selects insufficient memory.
void LogmonScanner(const uint8_t* data, size_t size);

/// Passes a datagram to the syslog message reader. The text must be at the datagram's end, and the
/// header must lie inside the datagram.
void LogmonSyslog(const uint8_t* data, size_t size);

/// Passes segments of two TCP streams with arbitrary numbers, lengths and flags. The bytes follow
/// from their sequence numbers. Delivered data must be correct, in order, and never joined across a
/// gap. The first byte sets the window, the pool and the first sequence number.
void LogmonTcp(const uint8_t* data, size_t size);

/// Encodes a report derived from the input as IPFIX, and reads the result with a strict decoder.
/// The result must be well-formed, complete, and not longer than its buffer.
void TelemetryIpfix(const uint8_t* data, size_t size);

/// Reads an epoch file. An accepted file must yield the same bytes when it is written again, and
/// must be mergeable and reportable. The first byte selects whether its checksum is corrected
/// first.
void TelemetryEpoch(const uint8_t* data, size_t size);

/// Passes a host's arbitrary messages and outcomes to an agent with the policy that the first byte
/// selects. The agent's accounting must be consistent, and a decision must not overwrite another
/// one.
void SchedAgent(const uint8_t* data, size_t size);

/// Passes a frame with a call through all steps from unmarshalling to the reply. An accepted call
/// must survive marshalling and unmarshalling, and the reply must be valid. The first byte selects
/// whether checksums are corrected first. Also reads the complete input as a reply and as a stream
/// of records.
void RpcCall(const uint8_t* data, size_t size);

/// Compiles the bytes up to the first 0 as a `.x` file, and reads the rest as a value of each of
/// its types. An error must be one line, and a table must be sound.
void RpcLanguage(const uint8_t* data, size_t size);

/// Modifies a signature table and reads a value with it. If the table is still sound, the reader
/// must respect its bounds.
void RpcTable(const uint8_t* data, size_t size);

/// Passes a capture file to the reader, and the result to the writer.
void CaptureReader(const uint8_t* data, size_t size);

/// Reads a stream file for sluice-pktgen. Accepted streams must respect their bounds and produce
/// frames that match their description; others must be rejected with one line per error.
void PktgenStreams(const uint8_t* data, size_t size);

/// Reads a policy graph. The graph must be either rejected with error lines, or applied to a
/// switch, shown and explained. Applying it again must change nothing.
void ChainGraph(const uint8_t* data, size_t size);

/// Reads the header of a gzip member. Its end must depend on the header alone, and shorter inputs
/// must be rejected.
void ChainGzip(const uint8_t* data, size_t size);

/// Sends messages in parts from several senders with arbitrary numbers, lengths and offsets, frames
/// of arbitrary bytes, and answers to arbitrary messages. An accepted message must be complete and
/// from one sender, every message must end, and later messages must fit.
void Messages(const uint8_t* data, size_t size);

}  // namespace sluice::fuzz
