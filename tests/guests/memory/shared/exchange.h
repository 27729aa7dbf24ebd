// Two processes that have words in common, and tell each other through pipes that they have stored to a few of them. The parent sees them a second time, for reading. Before that
// it starts a program by posix_spawn.
#define _GNU_SOURCE
#include "guest.h"
#include <spawn.h>
#include <sys/wait.h>

#define WORDS (2 << 20 >> 3)
#define PLACE(n) ((uint64_t)(n) * 66049 % WORDS)

static volatile uint64_t *words;
static const volatile uint64_t *seen;

static uint64_t work(uint64_t sum, long round, int side)
{
    for (int i = 0; i < 40; i++) {
        uint64_t word = seen[PLACE(round * 40 + i * 7 + !side)];
        for (int n = word % 16; n > 0; n--)
            sum = mix(sum, word);
        words[PLACE((round + 1) * 40 + i * 7 + side)] = sum;
    }
    return sum;
}

// What the parent has seen at last. `words` and `seen` are there.
static uint64_t exchange(long count)
{
    int to[2], from[2], status;
    REQUIRE(pipe(to) == 0 && pipe(from) == 0);
    for (int i = 0; i < WORDS; i += 512)
        words[i] = i;
    fflush(stdout);
    pid_t child = fork();
    uint64_t sum = 1;
    long round;
    if (child == 0) {
        close(to[1]);
        while (read(to[0], &round, sizeof round) == sizeof round) {
            sum = work(sum, round, 1);
            REQUIRE(write(from[1], &sum, sizeof sum) == sizeof sum);
        }
        _exit(0);
    }
    pid_t program;
    char *arguments[] = { "true", 0 }, *nothing[] = { 0 };
    REQUIRE(posix_spawn(&program, "/bin/true", 0, 0, arguments, nothing) == 0);
    REQUIRE(waitpid(program, &status, 0) == program && status == 0);
    for (round = 0; round < count; round++) {
        uint64_t told;
        sum = work(sum, round, 0);
        REQUIRE(write(to[1], &round, sizeof round) == sizeof round);
        REQUIRE(read(from[0], &told, sizeof told) == sizeof told);
        sum = mix(sum, told);
    }
    close(to[1]);
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
    for (int i = 0; i < WORDS; i += 4096)
        sum = mix(sum, seen[i]);
    return sum;
}
