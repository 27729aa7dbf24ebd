// Two processes write a file that both have mapped, in turns and at the same time, each in pages of its own.
// rounds: 1 8
#define _GNU_SOURCE
#include "guest.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { PAGES = 8, PAGE = 4096 };

static volatile uint64_t *words;
static int file;

static void put(int page, uint64_t value)
{
    for (int i = 0; i < 6; i++)
        REQUIRE(pwrite(file, &value, 8, page * PAGE + i * 512) == 8);
}

static uint64_t look(uint64_t sum, int first)
{
    for (int page = first; page < PAGES; page += 2)
        for (int i = 0; i < 6; i++)
            for (uint64_t n = words[page * 512 + i * 64] % 50; n > 0; n--)
                sum = mix(sum, n);
    return sum;
}

int main(int argc, char **argv)
{
    int to[2], from[2];
    uint64_t sum = 1;
    file = open("data", O_RDWR | O_CREAT | O_TRUNC, 0600);
    REQUIRE(file >= 0 && ftruncate(file, PAGES * PAGE) == 0 && pipe(to) == 0 && pipe(from) == 0);
    words = mmap(0, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    REQUIRE(words != MAP_FAILED);
    // Alone at first.
    for (int turn = 0; turn < 12; turn++) {
        put(turn % 2, mix(sum, turn));
        sum = look(sum, turn % 2);
    }
    pid_t child = fork();
    if (child == 0) {
        uint64_t value;
        close(to[1]);
        while (read(to[0], &value, 8) == 8) {
            for (int page = 1; page < PAGES; page += 2)
                put(page, mix(value, page));
            if (write(from[1], "x", 1) != 1)
                _exit(9);
        }
        _exit(0);
    }
    for (long round = 0; round < rounds(argc, argv); round++) {
        char byte;
        REQUIRE(write(to[1], &sum, 8) == 8);
        for (int page = 0; page < PAGES; page += 2)
            put(page, mix(sum, page));
        REQUIRE(read(from[0], &byte, 1) == 1);
        // Both are done, and from here on what is shown is known.
        put(0, mix(sum, round));
        sum = look(look(sum, 0), 1);
    }
    close(to[1]);
    int status;
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
    return report("both", sum);
}
