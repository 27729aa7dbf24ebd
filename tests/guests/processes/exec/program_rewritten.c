// Executes a copy of itself and, once that has become another program, writes to its file: nobody executes it any more.
// (Not after a child that executed it: whoever reads the maps of a process in /proc holds its program a moment longer, natively as well.)
// rounds: 0 3
#define _GNU_SOURCE
#include "guest.h"
#include <fcntl.h>

static void copy(const char *path)
{
    static char bytes[1 << 20];
    int from = open("/proc/self/exe", O_RDONLY), to = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0700);
    REQUIRE(from >= 0 && to >= 0);
    for (ssize_t len; (len = read(from, bytes, sizeof bytes)) > 0;)
        REQUIRE(write(to, bytes, len) == len);
    REQUIRE(close(from) == 0 && close(to) == 0);
}

static uint64_t work(void)
{
    uint64_t sum = 1;
    for (int i = 0; i < 2000000; i++)
        sum = mix(sum, i);
    return sum;
}

int main(int argc, char **argv)
{
    // The arguments: rounds to go, and what is to be done in this one: the file and where this program came from.
    long left = rounds(argc, argv);
    if (argc < 4) {
        if (left == 0)
            return report("written", 0);
        char path[] = "/tmp/superpin-rewritten-........", number[32], own[4096] = "";
        // Each process id is as long as another, so that totals repeat.
        for (int i = 0; i < 8; i++)
            *strchr(path, '.') = 'a' + (getpid() >> 4 * i & 15);
        snprintf(number, sizeof number, "%ld", left);
        REQUIRE(readlink("/proc/self/exe", own, sizeof own - 1) > 0);
        copy(path);
        execl(path, path, number, path, own, "executed", (char *)0);
        return 99;
    }
    if (argc == 5) {
        // The copy: goes back to the original.
        REQUIRE(work() != 0);
        execl(argv[3], argv[3], argv[1], argv[2], argv[3], (char *)0);
        return 99;
    }
    int file = open(argv[2], O_WRONLY);
    REQUIRE(file >= 0 && close(file) == 0);
    REQUIRE(truncate(argv[2], 0) == 0);
    REQUIRE(unlink(argv[2]) == 0);
    char number[32];
    snprintf(number, sizeof number, "%ld", left - 1);
    execl(argv[3], argv[3], number, (char *)0);
    return 99;
}
