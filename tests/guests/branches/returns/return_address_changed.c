// Functions that change the address they return to: to another place in the caller, and to one on the way, so that one call returns twice.
// build pie: -O1
// build static: -O1 -static
// rounds: 50 500000
#include "guest.h"

// Each does something else by where its callee returns to, and says in eax where that was.
uint64_t by_label(uint64_t place), by_distance(uint64_t place), twice(uint64_t seed), again(uint64_t times);

__asm__(".text\n"
        // The callee computes the place from a table of distances to a label.
        "by_label:\n"
        "    call 5f\n"
        "1:  mov $100, %eax\n\tret\n"
        "2:  mov $101, %eax\n\tret\n"
        "3:  mov $102, %eax\n\tret\n"
        "4:  .long 1b - 1b, 2b - 1b, 3b - 1b\n"
        "5:  lea 4b(%rip), %rdx\n"
        "    movslq (%rdx, %rdi, 4), %rax\n"
        "    lea 1b(%rip), %rdx\n"
        "    cmp %rdx, (%rsp)\n" // what the call pushed is what it is natively
        "    jne 6f\n"
        "    add %rdx, %rax\n"
        "    mov %rax, (%rsp)\n"
        "    ret\n"
        "6:  ud2\n"
        // The callee adds to the address that it found, over instructions that are then not executed.
        "by_distance:\n"
        "    xor %eax, %eax\n"
        "    call 2f\n"
        "1:  .byte 0x83, 0xc0, 0x01\n" // add $1, %eax, eight times: 24 bytes
        "    .byte 0x83, 0xc0, 0x01, 0x83, 0xc0, 0x01, 0x83, 0xc0, 0x01\n"
        "    .byte 0x83, 0xc0, 0x01, 0x83, 0xc0, 0x01, 0x83, 0xc0, 0x01, 0x83, 0xc0, 0x01\n"
        "    ret\n"
        "2:  lea (%rdi, %rdi, 2), %rdx\n"
        "    add %rdx, (%rsp)\n"
        "    ret\n"
        // The callee puts a second address under its own, so the caller's part at 3 is executed before that behind the call.
        "twice:\n"
        "    mov %rdi, %rax\n"
        "    call 2f\n"
        "1:  imul $31, %rax, %rax\n"
        "    ret\n"
        "2:  lea 3f(%rip), %rdx\n"
        "    push %rdx\n"
        "    ret\n"
        "3:  xor $0x5555, %rax\n"
        "    ret\n"
        // The callee keeps its address; after it has returned it is jumped into, and returns there once more, as setjmp does.
        "again:\n"
        "    xor %eax, %eax\n"
        "    call 2f\n"
        "1:  add $1000, %rax\n"
        "    dec %rdi\n"
        "    jz 4f\n"
        "    push %rsi\n"
        "    inc %rax\n"
        "    jmp 3f\n"
        "2:  mov (%rsp), %rsi\n"
        "3:  ret\n"
        "4:  ret\n");

int main(int argc, char **argv)
{
    static const uint64_t distance[] = {8, 7, 6, 5, 4, 3, 2, 1, 0};
    uint64_t sum = 0;
    for (long round = 0; round < rounds(argc, argv); round++) {
        uint64_t random = mix(sum, round);
        REQUIRE(by_label(random % 3) == 100 + random % 3);
        REQUIRE(by_distance(random % 9) == distance[random % 9]);
        REQUIRE(twice(random) == (random ^ 0x5555) * 31);
        REQUIRE(again(random % 5 + 1) == random % 5 * 1001 + 1000);
        sum = random;
    }
    return report("returns", sum);
}
