/* A table that is added up twice, by rows and by columns: what docs/caches.md looks at.

     gcc -nostdlib -static -o /tmp/columns examples/columns/columns.s

   It needs no library; columns.s is what a compiler has made of it, with the lines of this file, so that it executes the same instructions, and misses the
   same caches, on every machine:

     gcc -O1 -g -S -ffreestanding -fno-stack-protector -fno-asynchronous-unwind-tables -fcf-protection=none -fno-pie -fno-inline -fdebug-prefix-map=$PWD= \
         -o examples/columns/columns.s examples/columns/columns.c */

static int table[1024][1024];

long rows(void)
{
    long sum = 0;
    for (int i = 0; i < 1024; i++)
        for (int j = 0; j < 1024; j++)
            sum += table[i][j]++;
    return sum;
}

long columns(void)
{
    long sum = 0;
    for (int j = 0; j < 1024; j++)
        for (int i = 0; i < 1024; i++)
            sum += table[i][j]++;
    return sum;
}

/* A stack of its own: where the kernel puts one depends on the environment. */
static char stack[1 << 12] __attribute__((aligned(4096), used));
__asm__(".globl _start\n_start: lea stack + 4096(%rip), %rsp\n call run\n.type _start, @function\n.size _start, . - _start");

void run(void)
{
    long status = rows() + columns() != 1024 * 1024;
    __asm__ volatile("syscall" : : "a"(231L), "D"(status));
}
