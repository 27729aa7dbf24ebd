// Writes its code, and words that it jumps by, in memory that can't be written: through the file of its memory.
// rounds: 1 12
#define _GNU_SOURCE
#include "guest.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>

enum { PAGE = 4096 };
typedef uint64_t function(uint64_t);

// One page each, so that nothing else lies in them.
__attribute__((aligned(PAGE), section(".data"))) static function *slots[PAGE / 8] = {0};
__asm__(".text\n"
        ".balign 4096\n"
        "adds: lea 1(%rdi), %rax\n"
        "ret\n"
        "jumps_by_slot: jmp *slots(%rip)\n"
        "twice: lea (%rdi, %rdi), %rax\n"
        "ret\n"
        "thrice: lea (%rdi, %rdi, 2), %rax\n"
        "nop\n"
        "ret\n"
        ".balign 4096\n");
function adds, jumps_by_slot, twice, thrice;

int main(int argc, char **argv)
{
    uint64_t sum = 1;
    slots[0] = twice;
    REQUIRE(mprotect(slots, PAGE, PROT_READ) == 0);
    for (long round = 0; round < rounds(argc, argv); round++) {
        int first = open(round % 2 ? "/proc/thread-self/mem" : "/proc/self/mem", O_RDWR);
        int memory = round % 3 ? dup(first) : first;
        REQUIRE(memory >= 0);
        unsigned char *displacement = (unsigned char *)adds + 3;
        for (int step = 0; step < 20; step++) {
            for (int i = 0; i < 40; i++)
                sum = mix(adds(sum), jumps_by_slot(sum));
            unsigned char byte = round + step;
            function *next = step % 2 ? twice : thrice;
            struct iovec piece = {&next, sizeof next};
            REQUIRE(pwrite(memory, &byte, 1, (off_t)displacement) == 1);
            REQUIRE(lseek(memory, (off_t)slots, SEEK_SET) == (off_t)slots);
            if (step % 3)
                REQUIRE(writev(memory, &piece, 1) == 8);
            else
                REQUIRE(write(memory, &next, 8) == 8);
            REQUIRE(adds(1) == 1 + (uint64_t)(int8_t)byte && slots[0] == next);
        }
        REQUIRE(close(memory) == 0 && (memory == first || close(first) == 0));
    }
    return report("own memory", sum);
}
