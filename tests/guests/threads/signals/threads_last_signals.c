// Signals to the process that come while threads end: none is lost, and none goes to a thread that blocks it.
// build plain: -O1 -pthread
// rounds: 0 600
// totals: vary
#define _GNU_SOURCE
#include "guest.h"
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>

static atomic_long handled, values;
static __thread volatile int is_open;

static void handler(int signal, siginfo_t *info, void *context)
{
    REQUIRE(is_open && signal == SIGRTMIN + 1 && context);
    handled++;
    values += info->si_value.sival_int;
}

static void open_signals(int how)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN + 1);
    is_open = 1;
    pthread_sigmask(how, &set, 0);
}

// Ends without the library's help, which would block all signals first.
static void *ends(void *opens)
{
    if (opens)
        open_signals(SIG_UNBLOCK);
    for (volatile int i = 0; i < 300; i++) {}
    syscall(SYS_exit, 0);
    return 0;
}

static void *sends(void *count)
{
    for (long i = 0; i < (long)(uintptr_t)count; i++) {
        while (sigqueue(getpid(), SIGRTMIN + 1, (union sigval){i}) == -1)
            REQUIRE(errno == EAGAIN);
        if (i % 8 == 0)
            sched_yield();
    }
    return 0;
}

int main(int argc, char **argv)
{
    long all = rounds(argc, argv);
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    sigaction(SIGRTMIN + 1, &action, 0);
    open_signals(SIG_BLOCK);
    is_open = 0;
    pthread_t sending, thread;
    REQUIRE(pthread_create(&sending, 0, sends, (void *)all) == 0);
    for (long i = 0; i < all; i++) {
        REQUIRE(pthread_create(&thread, 0, ends, (void *)(i % 3 ? 1 : 0L)) == 0);
        if (i % 4 == 0)
            pthread_join(thread, 0);
        else
            pthread_detach(thread);
    }
    pthread_join(sending, 0);
    open_signals(SIG_UNBLOCK);
    while (handled < all)
        usleep(100);
    printf("%ld %ld\n", (long)handled, (long)values);
    fflush(stdout);
    _exit(0);
}
