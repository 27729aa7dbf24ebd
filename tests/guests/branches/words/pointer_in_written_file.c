// Branches go through words of a file that is mapped for reading only, and written by calls: to another function each time. So does code that is mapped for reading and execution.
// rounds: 2 60
#define _GNU_SOURCE
#include "guest.h"
#include <fcntl.h>
#include <sys/mman.h>

enum { PAGE = 4096 };
#define AT 0x20000000

static uint64_t times_three(uint64_t value) { return value * 3; }
static uint64_t and_seven(uint64_t value) { return mix(value, 7); }
static uint64_t looped(uint64_t value)
{
    for (int i = 0; i < 20; i++)
        value = mix(value, i);
    return value;
}

typedef uint64_t function(uint64_t);
static function *const ALL[] = {times_three, and_seven, looped};

// call *word; the word stays where it is.
static uint64_t __attribute__((noinline)) through_word(uint64_t value)
{
    uint64_t result;
    __asm__ volatile("sub $128, %%rsp\n call *%c2\n add $128, %%rsp"
                     : "=a"(result), "+D"(value)
                     : "i"(AT + 64)
                     : "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "cc", "memory");
    return result;
}

int main(int argc, char **argv)
{
    int file = open("data", O_RDWR | O_CREAT | O_TRUNC, 0600), reading = open("data", O_RDONLY);
    REQUIRE(file >= 0 && reading >= 0 && ftruncate(file, 2 * PAGE) == 0);
    int flags[2] = {MAP_SHARED, MAP_PRIVATE};
    uint64_t sum = 1;
    for (int kind = 0; kind < 2; kind++) {
        void *seen = mmap((void *)AT, PAGE, PROT_READ, flags[kind] | MAP_FIXED, reading, 0);
        function *code = mmap(0, PAGE, PROT_READ | PROT_EXEC, flags[kind], reading, PAGE);
        REQUIRE(seen == (void *)AT && code != MAP_FAILED);
        for (long round = 0; round < rounds(argc, argv); round++) {
            uint8_t bytes[] = {0x48, 0x8d, 0x47, round, 0xc3}; // lea rax, [rdi + round]; ret
            REQUIRE(pwrite(file, &ALL[(round + round / 7) % 3], 8, 64) == 8);
            REQUIRE(pwrite(file, bytes, sizeof bytes, PAGE) == sizeof bytes);
            for (int i = 0; i < 30; i++)
                sum = code(through_word(sum));
        }
        REQUIRE(munmap((void *)code, PAGE) == 0);
    }
    REQUIRE(unlink("data") == 0);
    return report("called", sum);
}
