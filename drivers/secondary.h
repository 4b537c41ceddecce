// SPDX-License-Identifier: BSD-3-Clause
//
// Ports in secondary processes. These see ethdev's data of a port, which is shared memory; its
// device, and what the driver keeps on its heap, are the primary process's. So they ask that one
// over rte_mp. The answer is a file that comes with the reply: most are longer than a message.
//
// Each driver has a copy of this, with a channel of its own.
#pragma once

#include <ethdev_driver.h>

#include <mutex>

namespace sluice::drivers {

/// Primary process: answers what secondary ones ask about this driver's ports, from now on; further
/// calls have no effect. Without secondary processes (--in-memory) nobody asks. `channel`: the
/// driver's, at most 63 characters; outlives the process.
void AnswerSecondaries(const char* channel);

/// Held by whoever takes a port's memory away, so that no answer is read from it meanwhile. A port
/// whose dev_private is null answers nothing.
std::mutex& AnswerMutex();

/// Secondary process: what every port can do there: tell of link, statistics and capabilities.
/// Closing ends the port in this process alone.
eth_dev_ops SecondaryOps();

/// Secondary process: the primary's port of that name, with `ops`, which outlive it, and bursts
/// that receive and send nothing: the first one says `refusal` behind the port's name. Null, and
/// the reason is logged, if there is none. The caller may give it other bursts; then comes
/// FinishSecondary.
rte_eth_dev* AttachSecondary(const char* channel, const char* name, rte_device* device,
                             const eth_dev_ops* ops, const char* refusal);
/// Applications see the port from now on.
void FinishSecondary(rte_eth_dev* dev);
/// The bus device is removed from this process. 0, also if the port was closed before.
int RemoveSecondary(const char* name);

}  // namespace sluice::drivers
