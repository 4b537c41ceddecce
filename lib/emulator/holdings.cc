// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/holdings.h"

#include <iterator>
#include <utility>

#include "emulator/message.h"

namespace sluice::emulator {

bool MemoryFiles::Find(const rte_memseg_list& list, uint64_t begin, uint64_t end,
                       std::map<uint64_t, Piece>* found) {
  bool complete = true;
  for (uint64_t bus = begin; bus < end; bus += list.page_sz) {
    const rte_memseg* const segment =
        rte_mem_virt2memseg(reinterpret_cast<const void*>(bus), &list);
    size_t offset = 0;
    const int fd = segment != nullptr ? rte_memseg_get_fd_thread_unsafe(segment) : -1;
    if (fd < 0 || rte_memseg_get_fd_offset_thread_unsafe(segment, &offset) != 0) {
      complete = false;
      continue;
    }
    if (!found->empty()) {
      auto& [last_bus, last] = *std::prev(found->end());
      if (last.fd == fd && last_bus + last.bytes == bus && last.offset + last.bytes == offset) {
        last.bytes += list.page_sz;
        continue;
      }
    }
    (*found)[bus] = {list.page_sz, offset, list.addr_64, list.len, fd};
  }
  return complete;
}

bool MemoryFiles::Holds(uint64_t bus, const Piece& piece) const {
  auto old = pieces_.upper_bound(bus);
  if (old == pieces_.begin()) return false;
  --old;
  return bus - old->first < old->second.bytes &&
         piece.bytes <= old->second.bytes - (bus - old->first);
}

void MemoryFiles::Erase(uint64_t begin, uint64_t end) {
  auto piece = pieces_.upper_bound(begin);
  if (piece != pieces_.begin() &&
      std::prev(piece)->first + std::prev(piece)->second.bytes > begin) {
    --piece;
  }
  while (piece != pieces_.end() && piece->first < end) {
    const uint64_t bus = piece->first;
    const Piece old = piece->second;
    piece = pieces_.erase(piece);
    if (bus < begin) {
      pieces_[bus] = old;
      pieces_[bus].bytes = begin - bus;
    }
    if (bus + old.bytes > end) {
      Piece& rest = pieces_[end] = old;
      rest.bytes = bus + old.bytes - end;
      rest.offset += end - bus;
    }
  }
}

bool Holdings::Send(Connection& connection, uint64_t bus, const MemoryFiles::Piece& piece,
                    std::string* error) {
  Request request;
  request.kind = Kind::kMemory;
  request.bus = bus;
  request.bytes = piece.bytes;
  request.offset = piece.offset;
  request.area_bus = piece.area_bus;
  request.area_bytes = piece.area_bytes;
  Reply reply;
  return connection.Ask(request, piece.fd, &reply, nullptr, error);
}

bool Holdings::Send(Connection& connection, uint64_t bus, const Ring& ring, std::string* error) {
  Request request;
  request.kind = Kind::kMap;
  request.bus = bus;
  request.bytes = ring.bytes;
  request.offset = ring.offset;
  if (ring.mirrored) request.flags |= kMirrored;
  if (ring.external) request.flags |= kExternal;
  SetText(request.name, ring.name);
  Reply reply;
  return connection.Ask(request, ring.fd, &reply, nullptr, error);
}

bool Holdings::HandOver(Connection& connection, std::string* error) {
  for (const auto& [bus, piece] : files_.pieces()) {
    if (!Send(connection, bus, piece, error)) return false;
  }
  for (const std::string& name : dropped_names_) {
    Request request;
    request.kind = Kind::kUnmap;
    SetText(request.name, name);
    Reply reply;  // It is also acceptable that the device does not know the name.
    if (!connection.Ask(request, -1, &reply, nullptr, error) && !connection.good()) return false;
  }
  dropped_names_.clear();
  for (const auto& [bus, ring] : rings_) {
    if (!Send(connection, bus, ring, error)) return false;
  }
  return true;
}

bool Holdings::AddMemory(Connection* connection, const rte_memseg_list& list, uint64_t begin,
                         uint64_t end, std::string* error) {
  bool sent = true;
  const bool complete =
      files_.Insert(list, begin, end, [&](uint64_t bus, const MemoryFiles::Piece& piece) {
        if (connection != nullptr) sent &= Send(*connection, bus, piece, error);
      });
  if (!complete) {
    *error =
        "some of DPDK's memory is not backed by a file that the device can map; use hugepages or "
        "--no-huge, without external heaps";
  }
  return sent && complete;
}

void Holdings::RemoveMemory(Connection* connection, uint64_t begin, uint64_t end) {
  files_.Erase(begin, end);
  if (connection == nullptr) return;
  Request request;
  request.kind = Kind::kForget;
  request.bus = begin;
  request.bytes = end - begin;
  Reply reply;
  std::string ignored;  // A device that does not have this memory may reject the request.
  connection->Ask(request, -1, &reply, nullptr, &ignored);
}

bool Holdings::Map(Connection* connection, const bar::RingMemory& memory, std::string_view name,
                   std::string* error) {
  const auto bus = reinterpret_cast<uint64_t>(memory.data());
  if (!memory || name.size() >= kNameBytes) {
    *error = "the memory is missing, or its name has more than 31 characters";
    return false;
  }
  if (connection == nullptr || rings_.contains(bus)) {
    *error = connection == nullptr ? "the device is not connected" : "the memory is mapped already";
    return false;
  }
  Ring ring{memory.bytes(), memory.mirrored(), memory.fd(), std::string(name)};
  if (!Send(*connection, bus, ring, error)) return false;
  rings_[bus] = std::move(ring);
  return true;
}

void Holdings::Unmap(Connection* connection, const bar::RingMemory& memory) {
  Remove(connection, reinterpret_cast<uint64_t>(memory.data()));
}

void Holdings::Remove(Connection* connection, uint64_t bus) {
  const auto ring = rings_.find(bus);
  if (ring == rings_.end()) return;
  const std::string name = ring->second.name;
  rings_.erase(ring);
  if (connection != nullptr) {
    Request request;
    request.kind = Kind::kUnmap;
    request.bus = bus;
    SetText(request.name, name);
    Reply reply;
    std::string ignored;
    if (connection->Ask(request, -1, &reply, nullptr, &ignored)) return;
  }
  if (!name.empty()) dropped_names_.push_back(name);
}

bool Holdings::HasExternal(uint64_t begin, uint64_t bytes) const {
  const auto external = externals_.find(begin);
  return external != externals_.end() && external->second.bytes == bytes;
}

bool Holdings::MapExternal(Connection* connection, uint64_t begin, uint64_t bytes,
                           std::vector<MappedPart> parts, std::string* error) {
  if (connection == nullptr) {
    *error = "the device is not connected";
    return false;
  }
  External mapped{bytes, {}};
  for (MappedPart& part : parts) {
    Ring ring{part.bytes, false, part.file.fd(), {}, true, part.offset, std::move(part.file)};
    if (rings_.contains(part.begin) || !Send(*connection, part.begin, ring, error)) {
      if (error->empty()) *error = "part of the memory is mapped already";
      for (const uint64_t bus : mapped.parts) Remove(connection, bus);
      return false;
    }
    rings_[part.begin] = std::move(ring);
    mapped.parts.push_back(part.begin);
  }
  externals_[begin] = std::move(mapped);
  return true;
}

bool Holdings::UnmapExternal(Connection* connection, uint64_t begin, uint64_t bytes) {
  if (!HasExternal(begin, bytes)) return false;
  for (const uint64_t bus : externals_[begin].parts) Remove(connection, bus);
  externals_.erase(begin);
  return true;
}

}  // namespace sluice::emulator
