/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernel's types and functions that threads.bpf.c uses, reduced to the members that it uses.
 * libbpf relocates accesses to the running kernel's layout (CO-RE). */
#pragma once

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;

/* linux/bpf.h */
enum {
  BPF_MAP_TYPE_HASH = 1,
  BPF_MAP_TYPE_ARRAY = 2,
  BPF_MAP_TYPE_RINGBUF = 27,
};
struct bpf_timer {
  __u64 opaque[2];
} __attribute__((aligned(8)));

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct cpumask {
  unsigned long bits[1];
};

struct task_struct {
  int pid;
  unsigned int flags;
  int static_prio;
  const struct cpumask* cpus_ptr;
};

struct scx_exit_info {
  const char* reason;
  char* msg;
};

#pragma clang attribute pop

/* The operations that threads.bpf.c implements; libbpf finds them by name. */
struct sched_ext_ops {
  __s32 (*select_cpu)(struct task_struct* p, __s32 prev_cpu, __u64 wake_flags);
  void (*enqueue)(struct task_struct* p, __u64 enq_flags);
  void (*dispatch)(__s32 cpu, struct task_struct* prev);
  void (*running)(struct task_struct* p);
  void (*stopping)(struct task_struct* p, bool runnable);
  void (*quiescent)(struct task_struct* p, __u64 deq_flags);
  void (*set_cpumask)(struct task_struct* p, const struct cpumask* cpumask);
  void (*enable)(struct task_struct* p);
  void (*disable)(struct task_struct* p);
  __s32 (*init)(void);
  void (*exit)(struct scx_exit_info* info);
  __u64 flags;
  char name[128];
};

enum {
  PF_EXITING = 0x4,           /* linux/sched.h */
  NICE_0_PRIO = 120,          /* static_prio of nice 0 */
  SCX_OPS_SWITCH_PARTIAL = 8, /* kernel/sched/ext_internal.h */
  SCX_KICK_IDLE = 1,
  SCX_KICK_PREEMPT = 2,
};
#define SCX_SLICE_DFL 20000000ULL
#define SCX_DSQ_GLOBAL ((1ULL << 63) | 1)

struct bpf_iter_scx_dsq {
  __u64 opaque[6];
};

#define KFUNC extern __attribute__((section(".ksyms")))
KFUNC __s32 scx_bpf_create_dsq(__u64 dsq_id, __s32 node);
KFUNC void scx_bpf_dsq_insert(struct task_struct* p, __u64 dsq_id, __u64 slice, __u64 enq_flags);
KFUNC bool scx_bpf_dsq_move_to_local(__u64 dsq_id);
KFUNC bool scx_bpf_dsq_move(struct bpf_iter_scx_dsq* it, struct task_struct* p, __u64 dsq_id,
                            __u64 enq_flags);
KFUNC __s32 scx_bpf_dsq_nr_queued(__u64 dsq_id);
KFUNC void scx_bpf_kick_cpu(__s32 cpu, __u64 flags);
KFUNC __s32 scx_bpf_pick_idle_cpu(const struct cpumask* cpus_allowed, __u64 flags);
KFUNC __s32 scx_bpf_task_cpu(const struct task_struct* p);
KFUNC int bpf_iter_scx_dsq_new(struct bpf_iter_scx_dsq* it, __u64 dsq_id, __u64 flags);
KFUNC struct task_struct* bpf_iter_scx_dsq_next(struct bpf_iter_scx_dsq* it);
KFUNC void bpf_iter_scx_dsq_destroy(struct bpf_iter_scx_dsq* it);
KFUNC void bpf_rcu_read_lock(void);
KFUNC void bpf_rcu_read_unlock(void);
