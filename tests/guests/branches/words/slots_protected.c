// Calls and jumps through words that can't be written while they are used, and have other values each time that they could be.
// rounds: 4 400
#define _GNU_SOURCE
#include "guest.h"
#include <sys/mman.h>

enum { PAGE = 4096 };
typedef uint64_t function(uint64_t);
__attribute__((aligned(PAGE), section(".data"))) static function *slots[PAGE / 8] = {0};
__asm__(".text\n"
        "calls_slot: sub $8, %rsp\n"
        "call *slots(%rip)\n"
        "add $8, %rsp\n"
        "ret\n"
        "jumps_by_slot: jmp *slots+8(%rip)\n"
        "twice: lea (%rdi, %rdi), %rax\n"
        "ret\n"
        "thrice: lea (%rdi, %rdi, 2), %rax\n"
        "nop\n"
        "ret\n");
function calls_slot, jumps_by_slot, twice, thrice;

int main(int argc, char **argv)
{
    uint64_t sum = 1;
    for (long round = 0; round < rounds(argc, argv); round++) {
        REQUIRE(mprotect(slots, PAGE, PROT_READ | PROT_WRITE) == 0);
        slots[0] = round % 3 ? twice : thrice;
        slots[1] = round % 2 ? twice : thrice;
        // Every fourth time they can be written while they are used.
        if (round % 4 != 3)
            REQUIRE(mprotect(slots, PAGE, PROT_READ) == 0);
        for (int i = 0; i < 50; i++)
            sum = mix(calls_slot(sum) + 1, jumps_by_slot(sum));
    }
    return report("protected words", sum);
}
