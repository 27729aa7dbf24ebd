// A timer that ticks faster than a translated handler runs: the program gets on in its own code, with calls that wait and calls that don't, and what it sends itself
// comes at once.
// native: may hang
// rounds: 3 60
// totals: vary
#include "guest.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>

enum { MICROSECONDS = 10 };

static volatile sig_atomic_t ticks, sent, nested;

static void tick(int signal)
{
    ticks += signal == SIGALRM;
}

static void of_own(int signal)
{
    sent += signal == SIGUSR1;
}

// What is sent in a handler that blocks it comes when that returns.
static void sends(int signal)
{
    int before = sent;
    REQUIRE(signal == SIGUSR2 && kill(getpid(), SIGUSR1) == 0);
    nested += sent == before;
}

static void every(long microseconds)
{
    struct itimerval interval = {{0, microseconds}, {0, microseconds}};
    REQUIRE(setitimer(ITIMER_REAL, &interval, 0) == 0);
}

int main(int argc, char **argv)
{
    long amount = rounds(argc, argv);
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    struct sigaction action = {.sa_handler = tick};
    sigaction(SIGALRM, &action, 0);
    action.sa_handler = of_own;
    sigaction(SIGUSR1, &action, 0);
    action.sa_handler = sends;
    sigaddset(&action.sa_mask, SIGUSR1);
    sigaction(SIGUSR2, &action, 0);

    for (long i = 0; i < amount; i++) {
        every(MICROSECONDS);
        every(0);
    }

    // Its own code.
    every(MICROSECONDS);
    uint64_t sum = 1;
    for (volatile long i = 0; i < amount * 50; i++)
        sum = mix(sum, i);

    // Calls that wait for the signal.
    sigset_t none;
    sigemptyset(&none);
    for (long i = 0; i < amount; i++) {
        REQUIRE(pause() == -1 && errno == EINTR);
        REQUIRE(sigsuspend(&none) == -1 && errno == EINTR);
        char byte;
        REQUIRE(read(ends[0], &byte, 1) == -1 && errno == EINTR);
        struct timespec second = {1, 0};
        REQUIRE(nanosleep(&second, 0) == -1 && errno == EINTR);
    }
    REQUIRE(ticks >= 4 * amount);

    // Calls that don't wait, and what the program sends itself.
    for (long i = 0; i < amount; i++) {
        char byte = i;
        REQUIRE(write(ends[1], &byte, 1) == 1 && read(ends[0], &byte, 1) == 1 && byte == (char)i);
        sigset_t waiting;
        REQUIRE(sigpending(&waiting) == 0 && !sigismember(&waiting, SIGALRM));
        int before = sent;
        REQUIRE(kill(getpid(), SIGUSR1) == 0 && sent == before + 1);
        REQUIRE(kill(getpid(), SIGUSR2) == 0 && sent == before + 2 && nested == i + 1);
    }
    every(0);
    sigset_t waiting;
    REQUIRE(sigpending(&waiting) == 0 && !sigismember(&waiting, SIGALRM));
    return report("got on", sum);
}
