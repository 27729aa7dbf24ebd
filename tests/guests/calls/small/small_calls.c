// Thousands of small system calls in a row, of every kind that the recorder inside the master knows, with good and bad arguments.
// rounds: 20 600
#define _GNU_SOURCE
#include "guest.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

static char buffer[5000];

// What the call leaves in registers, flags and the red zone. Not inlined: it has one `syscall` instruction.
static uint64_t __attribute__((noinline)) bare_call(long number, uint64_t seed)
{
    uint64_t next, expected, flags, behind, red;
    register uint64_t r12 __asm__("r12") = seed, r9 __asm__("r9") = seed + 1;
    __asm__ volatile("mov %[seed], -16(%%rsp)\n\t"
                     "lea 1f(%%rip), %[expected]\n\t"
                     "cmp $7, %[seed]\n\t"
                     "syscall\n1:\n\t"
                     "mov %%rcx, %[next]\n\tmov %%r11, %[flags]\n\t"
                     "mov -16(%%rsp), %[red]\n\t"
                     "lea -128(%%rsp), %%rsp\n\tpushf\n\tpop %[behind]\n\tlea 128(%%rsp), %%rsp\n\t"
                     : "+a"(number), [next] "=&b"(next), [expected] "=&S"(expected), [flags] "=&d"(flags),
                       [behind] "=&r"(behind), [red] "=&r"(red), "+r"(r12), "+r"(r9)
                     : [seed] "D"(seed)
                     : "rcx", "r11", "cc", "memory");
    REQUIRE(next == expected && flags == behind && red == seed && r12 == seed && r9 == seed + 1);
    return mix(number, flags & 0xcd5);
}

int main(int argc, char **argv)
{
    uint64_t sum = 0;
    int file = memfd_create("small calls", 0), zero = open("/dev/zero", O_RDONLY), null = open("/dev/null", O_WRONLY);
    REQUIRE(file >= 0 && zero >= 0 && null >= 0);
    // The last page of this can't be read.
    char *edge = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(edge != MAP_FAILED && munmap(edge + 4096, 4096) == 0);
    for (long round = 0; round < rounds(argc, argv); round++) {
        struct stat status;
        struct timespec now, then;
        struct timeval time_of_day;
        struct timezone zone;
        memset(buffer, round, sizeof buffer);
        sum = mix(sum, bare_call(SYS_getuid, round));
        sum = mix(sum, syscall(SYS_getppid) > 0);
        sum = mix(sum, pwrite(file, buffer, round % sizeof buffer, round % 700));
        sum = mix(sum, lseek(file, round % 100, SEEK_SET));
        sum = mix(sum, read(file, buffer, round % 300));
        for (int i = 0; i < 300; i += 7)
            sum = mix(sum, buffer[i]);
        sum = mix(sum, pread(zero, buffer, round % 17, 0) + buffer[round % 20]);
        REQUIRE(fstat(file, &status) == 0 && S_ISREG(status.st_mode));
        sum = mix(sum, status.st_size);
        clock_gettime(CLOCK_MONOTONIC, &now);
        clock_gettime(CLOCK_MONOTONIC, &then);
        sum = mix(sum, (then.tv_sec - now.tv_sec) * 1000000000 + then.tv_nsec - now.tv_nsec >= 0);
        sum = mix(sum, syscall(SYS_gettimeofday, &time_of_day, round % 500 ? 0 : &zone) + (time_of_day.tv_sec > 0));
        sum = mix(sum, syscall(SYS_time, round & 1 ? &now.tv_sec : 0) > 0);
        sum = mix(sum, umask(022) + getpriority(PRIO_PROCESS, 0));
        // Bad arguments, and calls that go only half the way.
        if (round % 100 == 99) {
            sum = mix(sum, syscall(SYS_read, file, 8, 10) + errno);
            sum = mix(sum, pwrite(file, edge + 4000, 500, 0) + errno);
            sum = mix(sum, pread(file, edge + 4000, 500, 0) + errno);
            // Nobody reads these bytes.
            sum = mix(sum, syscall(SYS_write, null, 8, 64) + write(null, edge + 4000, 500));
            sum = mix(sum, lseek(-1, 0, SEEK_SET) + errno);
            sum = mix(sum, syscall(SYS_newfstatat, file, 0x10, &status, AT_EMPTY_PATH) + errno);
            sum = mix(sum, syscall(SYS_clock_gettime, 99, &now) + errno);
        }
    }
    REQUIRE(close(file) == 0 && read(file, buffer, 1) == -1 && errno == EBADF);
    return report("small calls", sum);
}
