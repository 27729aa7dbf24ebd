// What system calls write, where that isn't simply there: in pages that hold code, in what they read themselves, on the last bytes of a mapping,
// on a stack that grows; and registers, flags and memory around thousands of calls.
// kept: by chance
// rounds: 20 600
#define _GNU_SOURCE
#include "guest.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

typedef uint64_t (*Function)(void);

// All registers that a call leaves alone, and those that it doesn't.
static uint64_t __attribute__((noinline)) registers_around(long number, uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t seen[4], next;
    register uint64_t r8 __asm__("r8") = a + 8, r9 __asm__("r9") = a + 9, r10 __asm__("r10") = a + 10,
                      r12 __asm__("r12") = a + 12, r13 __asm__("r13") = a + 13;
    uint64_t result = number, first = a, second = b, third = c;
    __asm__ volatile("std\n\tlea 1f(%%rip), %%rcx\n\tmov %%rcx, %[next]\n\tcmp %%r8, %%r9\n\tsyscall\n1:\n\t"
                     "pushf\n\tpop %%r14\n\tcld\n\tmov %%rcx, 0(%[seen])\n\tmov %%r11, 8(%[seen])\n\tmov %%r14, 16(%[seen])"
                     : "+a"(result), "+D"(first), "+S"(second), "+d"(third), "+r"(r8), "+r"(r9), "+r"(r10), "+r"(r12),
                       "+r"(r13), [next] "=m"(next)
                     : [seen] "b"(seen)
                     : "rcx", "r11", "r14", "cc", "memory");
    REQUIRE(first == a && second == b && third == c && seen[0] == next && seen[1] == seen[2]);
    REQUIRE(r8 == a + 8 && r9 == a + 9 && r10 == a + 10 && r12 == a + 12 && r13 == a + 13);
    return mix(result, seen[1] & 0xcd5);
}

int main(int argc, char **argv)
{
    uint64_t sum = 0;
    int file = memfd_create("replayed", 0), zero = open("/dev/zero", O_RDONLY);
    REQUIRE(file >= 0 && zero >= 0);
    char *edge = mmap(0, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *code = mmap(0, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(edge != MAP_FAILED && code != MAP_FAILED && munmap(edge + 8192, 4096) == 0);
    // mov eax, N; ret: in a page that calls write to, at each place of it.
    static const char body[6] = {(char)0xb8, 1, 0, 0, 0, (char)0xc3};
    REQUIRE(pwrite(file, body, 6, 0) == 6);
    char folder[] = "/tmp/superpin-replayed-........", link[64];
    for (int i = 0; i < 8; i++)
        *strchr(folder, '.') = 'a' + (getpid() >> 4 * i & 15);
    REQUIRE(mkdir(folder, 0700) == 0 && chdir(folder) == 0);
    for (long round = 0; round < rounds(argc, argv); round++) {
        char number = round;
        sum = mix(sum, pwrite(file, &number, 1, 1));
        // New code over code that was just executed, perhaps across two pages, and data beside it.
        char *place = code + (round % 3 ? 4096 - round % 9 : 64);
        sum = mix(sum, pread(file, place, 6, 0));
        sum = mix(sum, ((Function)place)());
        sum = mix(sum, pread(zero, code + 128 + round % 50, round % 600, 0));
        sum = mix(sum, ((Function)place)());
        sum = mix(sum, syscall(SYS_clock_gettime, CLOCK_MONOTONIC, code + 256));
        // A call that writes over what it reads: the second page is protected if it holds code.
        char *across = code + 4096 - 8 - round % 5;
        memset(across, 'a' + round % 26, 4);
        snprintf(link, sizeof link, "%.4s", across);
        across[4] = 0;
        REQUIRE(round % 26 != round || symlink("target of a link", link) == 0);
        ((Function)(memcpy(code + 4200, body, 6)))();
        sum = mix(sum, syscall(SYS_readlink, across, across, 40));
        for (int i = 0; i < 16; i++)
            sum = mix(sum, across[i]);
        // The last bytes that are there, and one more.
        sum = mix(sum, pread(file, edge + 8192 - 6, 6, 0) + edge[8191]);
        sum = mix(sum, pread(file, edge + 8192 - 5, 6, 0) + edge[8191]);
        sum = mix(sum, pread(zero, edge + 8192 - 2000, 2000, 0));
        struct iovec pieces[3] = {{edge + 1, 2}, {edge + 4090, 0}, {edge + 4095, 4}};
        sum = mix(sum, preadv(file, pieces, 3, 0) + edge[4096]);
        sum = mix(sum, registers_around(SYS_getuid, round, round + 1, round + 2));
        sum = mix(sum, registers_around(SYS_lseek, file, round % 5, SEEK_SET));
        sum = mix(sum, registers_around(SYS_access, (uint64_t)link, R_OK, round));
        if (round % 64 == 63) {
            // Below the stack pointer, where nothing is mapped yet.
            char *below = (char *)__builtin_frame_address(0) - 200000 - round * 4096;
            sum = mix(sum, syscall(SYS_pread64, file, below, 6, 0));
        }
    }
    for (char letter = 'a'; letter <= 'z'; letter++) {
        memset(link, letter, 4);
        link[4] = 0;
        unlink(link);
    }
    REQUIRE(chdir("/") == 0 && rmdir(folder) == 0);
    return report("replayed in place", sum);
}
