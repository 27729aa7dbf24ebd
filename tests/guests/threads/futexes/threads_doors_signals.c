// Threads that hand on to each other over and over while signals come to those who wait, from each other and from a timer: each signal that a thread was sent runs its handler
// there, and is there before the next.
// build plain: -O1 -pthread
// rounds: 150 300
// totals: vary
// order: varies
#include "doors.h"
#include <sys/time.h>

static int numbers[DOORS];
static uint32_t taken[DOORS];
static volatile int ticks;
static long work;
static __thread int place = -1;

static void take_signal(int signal, siginfo_t *info, void *context)
{
    (void)context;
    REQUIRE(signal == SIGUSR1 && info->si_code == SI_TKILL && info->si_pid == getpid());
    REQUIRE(place >= 0);
    __atomic_add_fetch(&taken[place], 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &taken[place], FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, 0, 0, 0);
}

static void tick(int signal)
{
    ticks += signal == SIGALRM;
}

static void *go_round(void *number)
{
    uintptr_t self = (uintptr_t)number, next = (self + 1) % DOORS;
    uint32_t sent = 0;
    place = self;
    numbers[self] = syscall(SYS_gettid);
    live(&alive[self]);
    for (long round = 0; round < work; round++) {
        wait_at(self);
        if (round % 41 == 7) {
            // It waits at its door, or is on its way there.
            REQUIRE(syscall(SYS_tgkill, getpid(), numbers[next], SIGUSR1) == 0);
            sent++;
            uint32_t seen;
            while ((seen = __atomic_load_n(&taken[next], __ATOMIC_ACQUIRE)) < sent)
                syscall(SYS_futex, &taken[next], FUTEX_WAIT | FUTEX_PRIVATE_FLAG, seen, 0, 0, 0);
            REQUIRE(seen == sent);
        }
        open_door(next);
    }
    // Nobody is sent a signal who has ended.
    wait_at(self);
    open_door(next);
    return end_thread(0);
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_sigaction = take_signal, .sa_flags = SA_SIGINFO}, ticking = {.sa_handler = tick, .sa_flags = SA_RESTART};
    struct itimerval timer = {{0, 3000}, {0, 3000}};
    uint64_t sum = 0;
    work = rounds(argc, argv);
    REQUIRE(sigaction(SIGUSR1, &action, 0) == 0 && sigaction(SIGALRM, &ticking, 0) == 0);
    REQUIRE(setitimer(ITIMER_REAL, &timer, 0) == 0);
    start_all(go_round);
    for (int i = 0; i < DOORS; i++)
        while (!__atomic_load_n(&numbers[i], __ATOMIC_ACQUIRE))
            sched_yield();
    go();
    for (int i = 0; i < DOORS; i++)
        sum = mix(sum, taken[i]);
    return report("doors and signals", sum);
}
