// A timer whose signals come in the midst of the program's code.
#pragma once
#include "guest.h"
#include <signal.h>
#include <sys/time.h>

enum { OFTEN = 1000, VERY_OFTEN = 100 };

static volatile sig_atomic_t ticks;

static inline __attribute__((unused)) void tick(int signal)
{
    ticks += signal == SIGALRM;
}

static inline __attribute__((unused)) void handles(int signal, int flags, void (*handler)(int))
{
    struct sigaction action = {.sa_flags = flags, .sa_handler = handler};
    REQUIRE(sigaction(signal, &action, 0) == 0);
}

static inline __attribute__((unused)) void every(long microseconds)
{
    struct itimerval interval = {{0, microseconds}, {0, microseconds}};
    REQUIRE(setitimer(ITIMER_REAL, &interval, 0) == 0);
}
