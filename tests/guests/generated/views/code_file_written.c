// A file is written whose code is mapped and has been executed: pages that aren't this process's own show the new code at once.
// kept: by chance
// rounds: 1 12
#define _GNU_SOURCE
#include "guest.h"
#include <fcntl.h>
#include <sys/mman.h>

enum { PAGE = 4096, TIMES = 500 };

/* A function that returns `value`, after as many instructions. */
static void function(unsigned char *code, int value)
{
    memset(code, 0x90, value);
    const unsigned char end[] = {0xb8, value, 0, 0, 0, 0xc3};
    memcpy(code + value, end, sizeof end);
}

static void write_function(int fd, int value)
{
    unsigned char code[PAGE] = {0};
    function(code, value);
    REQUIRE(pwrite(fd, code, PAGE, 0) == PAGE);
}

static uint64_t called(void *code)
{
    uint64_t sum = 0;
    for (int n = 0; n < TIMES; n++)
        sum += ((int (*)(void))code)();
    return sum;
}

static void *mapped(int fd, int protection, int kind)
{
    void *at = mmap(0, PAGE, protection, kind, fd, 0);
    REQUIRE(at != MAP_FAILED);
    return at;
}

int main(int argc, char **argv)
{
    uint64_t sum = 1, times = rounds(argc, argv);
    for (uint64_t round = 0; round < times; round++) {
        /* Open for writing before it is mapped, by the descriptor that is mapped. */
        int fd = open("code", O_RDWR | O_CREAT, 0700);
        REQUIRE(fd >= 0);
        write_function(fd, 3);
        void *code = mapped(fd, PROT_READ | PROT_EXEC, MAP_PRIVATE);
        sum = mix(sum, called(code));
        write_function(fd, 5);
        sum = mix(sum, called(code));
        REQUIRE(munmap(code, PAGE) == 0 && close(fd) == 0);

        /* Opened for writing after it has been executed. */
        int reading = open("code", O_RDONLY);
        REQUIRE(reading >= 0);
        code = mapped(reading, PROT_READ | PROT_EXEC, MAP_PRIVATE);
        sum = mix(sum, called(code));
        fd = open("code", O_WRONLY);
        REQUIRE(fd >= 0);
        write_function(fd, 9);
        sum = mix(sum, called(code));
        REQUIRE(munmap(code, PAGE) == 0 && close(fd) == 0 && close(reading) == 0 && unlink("code") == 0);
    }
    return report("written", sum);
}
