// Threads whose number of instructions doesn't depend on when they run: each wait is one system call, whether it has to wait or not.
#pragma once
#include "guest.h"
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>

// Without errno: setting it takes instructions.
static inline __attribute__((unused)) long call(long number, long a, long b, long c, long d, long e, long f)
{
    register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
    __asm__ volatile("syscall" : "+a"(number) : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
    return number;
}

static inline __attribute__((unused)) void start(void *(*function)(void *), long number)
{
    pthread_t thread;
    REQUIRE(pthread_create(&thread, 0, function, (void *)number) == 0);
}

// The calling thread is alive until the kernel says that it isn't. To be called before anybody waits for that.
static inline __attribute__((unused)) void live(int *alive)
{
    *alive = 1;
    call(SYS_set_tid_address, (long)alive, 0, 0, 0, 0, 0);
}

static inline __attribute__((unused)) void wait_for_end(int *alive)
{
    call(SYS_futex, (long)alive, FUTEX_WAIT, 1, 0, 0, 0);
    REQUIRE(*(volatile int *)alive == 0);
}

// Ends the calling thread alone.
static inline __attribute__((unused)) void *end_thread(int status)
{
    call(SYS_exit, status, 0, 0, 0, 0, 0);
    return 0;
}

static inline __attribute__((unused)) void give(const int *pipe, uint64_t value)
{
    REQUIRE(call(SYS_write, pipe[1], (long)&value, sizeof value, 0, 0, 0) == sizeof value);
}

static inline __attribute__((unused)) uint64_t take(const int *pipe)
{
    uint64_t value;
    REQUIRE(call(SYS_read, pipe[0], (long)&value, sizeof value, 0, 0, 0) == sizeof value);
    return value;
}
