// A child and its parent have 24 MB of memory in common, and tell each other through pipes that they have stored to a few pages of it, here and there: each looks at what the other
// has stored, works by it, and both read numbers from a file into it. Now and then the child stores while its parent works on other pages, and a string on its way through a pipe
// lies there.
// rounds: 4 40
#define _GNU_SOURCE
#include "guest.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define WORDS (24 << 20 >> 3)
#define AT(n) words[(uint64_t)(n) * 66049 % WORDS]

static volatile uint64_t *words;

static uint64_t work(uint64_t sum, long round, int side)
{
    for (int i = 0; i < 40; i++) {
        uint64_t seen = AT(round * 40 + i * 7 + !side);
        for (int n = seen % 16; n > 0; n--)
            sum = mix(sum, seen);
        AT((round + 1) * 40 + i * 7 + side) = sum;
    }
    return sum;
}

int main(int argc, char **argv)
{
    words = mmap(0, WORDS * 8, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int to[2], from[2], self = open(argv[0], O_RDONLY);
    REQUIRE(words != MAP_FAILED && pipe(to) == 0 && pipe(from) == 0 && self >= 0);
    for (int i = 0; i < WORDS; i += 512)
        words[i] = i;
    char *text = (char *)&words[WORDS - 4096], *number = (char *)&words[WORDS - 8192];
    fflush(stdout);
    pid_t child = fork();
    uint64_t sum = 1;
    long round;
    if (child == 0) {
        close(to[1]);
        while (read(to[0], &round, sizeof round) == sizeof round) {
            sum = work(sum, round, 1);
            REQUIRE(pread(self, number, 64, round * 64) == 64);
            snprintf(text, 64, "round %ld", round);
            REQUIRE(write(from[1], text, 64) == 64);
        }
        _exit(0);
    }
    for (round = 0; round < rounds(argc, argv); round++) {
        char told[64];
        sum = work(sum, round, 0);
        REQUIRE(write(to[1], &round, sizeof round) == sizeof round);
        REQUIRE(read(from[0], told, 64) == 64);
        REQUIRE(atol(told + 6) == round && strcmp(told, text) == 0);
        for (int n = number[3] & 7; n > 0; n--)
            sum = mix(sum, number[n]);
        words[WORDS / 2] = sum;
        REQUIRE(write(from[1], (char *)&words[WORDS / 2], 8) == 8 && read(from[0], told, 8) == 8);
        sum = mix(sum, told[5]);
    }
    close(to[1]);
    int status;
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
    for (int i = 0; i < WORDS; i += 4096)
        sum = mix(sum, words[i]);
    return report("together", sum);
}
