// Threads that go round in a ring: each waits at its door until the one before opens it. Hardly anything but hand-overs takes place.
#pragma once
#define _GNU_SOURCE
#include "../threads.h"
#include <signal.h>

enum { DOORS = 4 };

static uint32_t doors[DOORS];

static inline void wait_at(int door)
{
    // Somebody else's wake, or a handler, is no opening.
    while (!__atomic_load_n(&doors[door], __ATOMIC_ACQUIRE))
        syscall(SYS_futex, &doors[door], FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 0, 0, 0, 0);
    __atomic_store_n(&doors[door], 0, __ATOMIC_RELAXED);
}

static inline void open_door(int door)
{
    __atomic_store_n(&doors[door], 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &doors[door], FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, 0, 0, 0);
}

// Somebody may wait for its end before it has begun.
static inline void start_alive(void *(*function)(void *), long number, int *alive)
{
    *alive = 1;
    start(function, number);
}

static int alive[DOORS];

static inline void start_all(void *(*function)(void *))
{
    for (int i = 0; i < DOORS; i++)
        start_alive(function, i, &alive[i]);
}

// The first door is opened, and all go round until they have ended.
static inline void go(void)
{
    open_door(0);
    for (int i = 0; i < DOORS; i++)
        wait_for_end(&alive[i]);
}
