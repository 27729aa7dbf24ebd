// Code that reads its own address: a call to the next instruction and a pop, also with a jump to what was popped.
// build pie: -O1
// build static: -O1 -static
// rounds: 50 700000
#include "guest.h"

uint64_t differs(void), jumps(uint64_t times), call_to_itself(uint64_t depth);

__asm__(".text\n"
        // How far what was popped is from the label: 0.
        "differs:\n"
        "    call 1f\n"
        "1:  pop %rax\n"
        "    lea 1b(%rip), %rdx\n"
        "    sub %rdx, %rax\n"
        "    ret\n"
        // Data is found by the popped address, then the address itself is jumped to.
        "jumps:\n"
        "    xor %eax, %eax\n"
        "    call 1f\n"
        "1:  pop %rdx\n"
        "2:  add 3f - 1b(%rdx), %rax\n"
        "    dec %rdi\n"
        "    jz 4f\n"
        "    lea 2b - 1b(%rdx), %rcx\n"
        "    jmp *%rcx\n"
        "3:  .quad 12345\n"
        "4:  ret\n"
        // Calls to the next instruction that are returned from: what follows is executed again for each.
        "call_to_itself:\n"
        "    xor %eax, %eax\n"
        "    call 1f\n"
        "1:  call 2f\n"
        "2:  call 3f\n"
        "3:  add %rdi, %rax\n"
        "    ret\n");

int main(int argc, char **argv)
{
    uint64_t sum = 0;
    for (long round = 0; round < rounds(argc, argv); round++) {
        uint64_t random = mix(sum, round);
        REQUIRE(differs() == 0);
        REQUIRE(jumps(random % 7 + 1) == 12345 * (random % 7 + 1));
        REQUIRE(call_to_itself(random) == 8 * random);
        sum = random;
    }
    return report("addresses", sum);
}
