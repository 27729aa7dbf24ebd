// Signals come faster than a slice can be begun: a timer's, before handlers that make calls and others, and a row of queued ones. The program
// gets on, and gets them in order, also where it waits for them.
// rounds: 0 40000
// totals: vary
// children: vary
#include "guest.h"
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

enum { QUEUED = 40 };

static volatile sig_atomic_t ticks, calls, last;
static void tick(int signal) { ticks += signal == SIGALRM; }

static void tick_with_call(int signal)
{
    calls += getppid() > 0;
    tick(signal);
}

static void queued(int signal, siginfo_t *info, void *context)
{
    REQUIRE(signal == SIGRTMIN && context != 0);
    REQUIRE(info->si_value.sival_int == last + 1);
    last++;
}

static uint64_t work(long rounds, uint64_t sum)
{
    for (volatile long i = 0; i < rounds; i++)
        for (int k = 0; k < 50; k++)
            sum = mix(sum, i);
    return sum;
}

static void storm(long microseconds)
{
    struct itimerval every = {{0, microseconds}, {0, microseconds}};
    REQUIRE(setitimer(ITIMER_REAL, &every, 0) == 0);
}

int main(int argc, char **argv)
{
    long amount = rounds(argc, argv);
    signal(SIGALRM, tick);
    storm(100);
    uint64_t sum = work(amount, 1);
    storm(0);
    REQUIRE(ticks >= 1);

    signal(SIGALRM, tick_with_call);
    storm(100);
    sum = work(amount, sum);
    for (int i = 0; i < 20; i++)
        REQUIRE(getppid() > 0);
    storm(0);
    REQUIRE(calls >= 1);

    sigset_t none;
    sigemptyset(&none);
    struct sigaction action = {.sa_flags = SA_SIGINFO, .sa_sigaction = queued};
    sigaction(SIGRTMIN, &action, 0);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        for (int i = 1; i <= QUEUED; i++)
            REQUIRE(sigqueue(getppid(), SIGRTMIN, (union sigval){.sival_int = i}) == 0);
        _exit(0);
    }
    sum = work(amount, sum);
    while (last < QUEUED)
        usleep(1000);
    int status;
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
    return report("got on", sum);
}
