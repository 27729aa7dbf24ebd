// Timers of the process and of threads while several compute and wait.
// build plain: -O1 -pthread
// rounds: 0 20
// warned: at least by chance
// totals: vary
#include "guest.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <time.h>

static atomic_long ticks, own_ticks, calls;
static atomic_int stop;

static void tick(int signal)
{
    int before = errno;
    if (signal == SIGALRM)
        ticks++;
    else
        own_ticks++;
    errno = before;
}

static void notify(union sigval value)
{
    calls += value.sival_int;
}

static void *compute(void *number)
{
    uint64_t sum = 0;
    while (!stop)
        for (uint64_t i = 0; i < 1000; i++)
            sum = mix(sum, (uintptr_t)number);
    return (void *)sum;
}

int main(int argc, char **argv)
{
    long wanted = rounds(argc, argv);
    struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, 0);
    sigaction(SIGVTALRM, &action, 0);
    pthread_t threads[2];
    for (uintptr_t i = 0; i < 2; i++)
        REQUIRE(pthread_create(&threads[i], 0, compute, (void *)i) == 0);
    struct itimerval every = {{0, 2000}, {0, 2000}};
    REQUIRE(setitimer(ITIMER_REAL, &every, 0) == 0 && setitimer(ITIMER_VIRTUAL, &every, 0) == 0);
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = notify, .sigev_value.sival_int = 1};
    REQUIRE(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    struct itimerspec often = {{0, 3000000}, {0, 3000000}};
    REQUIRE(timer_settime(timer, 0, &often, 0) == 0);
    struct timespec little = {0, 1000000};
    while (ticks < wanted || own_ticks < wanted || calls < wanted)
        nanosleep(&little, 0);
    timer_delete(timer);
    every = (struct itimerval){{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &every, 0);
    setitimer(ITIMER_VIRTUAL, &every, 0);
    stop = 1;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    puts("ticks came");
    return 0;
}
