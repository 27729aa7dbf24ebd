// Signals to single threads: each has its own mask and its own alternate stack, on which its handlers run.
// build plain: -O1 -pthread
// rounds: 0 12
// warned: at least by chance
// totals: vary
#include "guest.h"
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>

enum { THREADS = 4, STACK = 64 << 10 };

static pthread_t threads[THREADS];
static char stacks[THREADS][STACK];
static atomic_long got[THREADS], blocked_got[THREADS];
static _Thread_local volatile int self;
static atomic_int stop;
static sem_t ready, done;

static int is_on(const char *stack, const void *here)
{
    return (const char *)here >= stack && (const char *)here < stack + STACK;
}

static void handler(int signal, siginfo_t *info, void *context)
{
    char here;
    REQUIRE(pthread_equal(pthread_self(), threads[self]) && is_on(stacks[self], &here) && info->si_pid == getpid());
    sigset_t mask;
    pthread_sigmask(0, 0, &mask);
    REQUIRE(sigismember(&mask, signal) == 1 && sigismember(&mask, SIGURG) == (self == 2));
    if (signal == SIGUSR1) {
        got[self]++;
        sem_post(&done);
    } else {
        blocked_got[self]++;
    }
}

static void *thread(void *number)
{
    self = (uintptr_t)number;
    stack_t stack = {.ss_sp = stacks[self], .ss_size = STACK};
    REQUIRE(sigaltstack(&stack, 0) == 0);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    if (self == 2)
        sigaddset(&set, SIGURG);
    pthread_sigmask(SIG_BLOCK, &set, 0);
    sem_post(&ready);
    volatile uint64_t sum = 0;
    while (!stop) // the handler comes anywhere in here
        sum = mix(sum, self);
    REQUIRE(blocked_got[self] == 0);
    sigset_t pending;
    sigpending(&pending);
    REQUIRE(sigismember(&pending, SIGUSR2) == (self % 2 == 1));
    sigdelset(&set, SIGURG);
    pthread_sigmask(SIG_UNBLOCK, &set, 0);
    REQUIRE(blocked_got[self] == self % 2);
    stack_t now;
    REQUIRE(sigaltstack(0, &now) == 0 && now.ss_sp == stacks[self] && now.ss_flags == 0);
    return 0;
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigaction(SIGUSR1, &action, 0);
    sigaction(SIGUSR2, &action, 0);
    sem_init(&ready, 0, 0);
    sem_init(&done, 0, 0);
    for (uintptr_t i = 0; i < THREADS; i++) {
        REQUIRE(pthread_create(&threads[i], 0, thread, (void *)i) == 0);
        while (sem_wait(&ready)) {}
    }
    long all = rounds(argc, argv) + THREADS;
    for (long round = 0; round < all; round++) {
        REQUIRE(pthread_kill(threads[round % THREADS], SIGUSR1) == 0);
        if (round % THREADS % 2 == 1)
            REQUIRE(pthread_kill(threads[round % THREADS], SIGUSR2) == 0);
        while (sem_wait(&done)) {}
    }
    stop = 1;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], 0);
        printf("%d: %ld %ld\n", i, (long)got[i], (long)blocked_got[i]);
    }
    return 0;
}
