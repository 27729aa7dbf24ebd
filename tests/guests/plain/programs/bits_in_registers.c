// A loop whose registers hold single bits of random data: most of them agree with any state now and then, and only memory tells iterations apart.
// rounds: 300 3000000
#include "guest.h"

static uint64_t state = 1, left;

int main(int argc, char **argv)
{
    left = rounds(argc, argv);
    __asm__ volatile("1:\n\t"
                     "movabsq $6364136223846793005, %%rax\n\t"
                     "imulq %0, %%rax\n\t"
                     "incq %%rax\n\t"
                     "movq %%rax, %0\n\t"
                     "shrq $40, %%rax\n\t"
                     "movl %%eax, %%ecx; shrl $1, %%ecx; andl $1, %%ecx\n\t"
                     "movl %%eax, %%edx; shrl $2, %%edx; andl $1, %%edx\n\t"
                     "movl %%eax, %%ebx; shrl $3, %%ebx; andl $1, %%ebx\n\t"
                     "movl %%eax, %%esi; shrl $4, %%esi; andl $1, %%esi\n\t"
                     "movl %%eax, %%edi; shrl $5, %%edi; andl $1, %%edi\n\t"
                     "movl %%eax, %%r8d; shrl $6, %%r8d; andl $1, %%r8d\n\t"
                     "movl %%eax, %%r9d; shrl $7, %%r9d; andl $1, %%r9d\n\t"
                     "movl %%eax, %%r10d; shrl $8, %%r10d; andl $1, %%r10d\n\t"
                     "movl %%eax, %%r11d; shrl $9, %%r11d; andl $1, %%r11d\n\t"
                     "movl %%eax, %%r12d; shrl $10, %%r12d; andl $1, %%r12d\n\t"
                     "andl $1, %%eax\n\t"
                     "pause; pause; pause; pause\n\t"
                     "decq %1\n\t"
                     "jne 1b"
                     : "+m"(state), "+m"(left)
                     :
                     : "rax", "rcx", "rdx", "rbx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "cc", "memory");
    return report("state", state);
}
