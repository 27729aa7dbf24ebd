// Code in a private mapping of a file, all of which can be written to, is rewritten: what follows a jump into it overwrites the flags at first,
// and reads them later.
// options: -engine no-counter-register
// rounds: 5 60
#include "guest.h"
#include <fcntl.h>
#include <sys/mman.h>

#define PAGE 4096
#define START 0x700000000000
typedef long compare(long a, long b);

static const unsigned char zero[7] = {0x31, 0xc0, 0xc3};                               // xor eax, eax; ret
static const unsigned char below[7] = {0x0f, 0x92, 0xc0, 0x0f, 0xb6, 0xc0, 0xc3};       // setb al; movzx eax, al; ret
// cmp rdi, rsi; jumps to the next instruction, so that a trace ends before the last one; lea rdx, [rdi + rsi]; jmp
static const unsigned char compares[] = {0x48, 0x39, 0xf7, 0xeb, 0, 0xeb, 0, 0xeb, 0, 0xeb, 0, 0xeb, 0, 0xeb, 0, 0xeb, 0, 0xeb, 0,
                                         0x48, 0x8d, 0x14, 0x37, 0xe9};

int main(int argc, char **argv)
{
    int file = open(argv[0], O_RDONLY);
    REQUIRE(file >= 0);
    uint64_t sum = 0;
    for (long round = 0; round < rounds(argc, argv); round++) {
        unsigned char *code = mmap((void *)START, 2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_FIXED_NOREPLACE, file, 0);
        REQUIRE(code == (void *)START);
        unsigned char *first = code + 64, *second = code + PAGE;
        memcpy(code, zero, sizeof zero);
        memcpy(second, zero, sizeof zero);
        memcpy(first, compares, sizeof compares);
        int distance = second - (first + sizeof compares + 4);
        memcpy(first + sizeof compares, &distance, 4);
        // Both pages are executed before the mappings are asked for anew, and the comparison after that.
        sum = mix(sum, ((compare *)code)(1, 2) + ((compare *)second)(1, 2) + round + 1);
        void *other = mmap(0, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        REQUIRE(((compare *)first)(round, round + 1) == 0);
        memcpy(second, below, sizeof below);
        REQUIRE(((compare *)first)(round, round + 1) == 1);
        REQUIRE(((compare *)first)(round + 1, round) == 0);
        REQUIRE(munmap(other, PAGE) == 0 && munmap(code, 2 * PAGE) == 0);
    }
    return report("file code", sum);
}
