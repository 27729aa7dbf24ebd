// Prints what it sees of itself: what the tools of examples/trials/changing have changed differs from what it does natively.
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define ALONE __attribute__((noinline, noclone))

ALONE int add(int a, int b) { __asm__(""); return a + b; }
ALONE double twice(double x) { __asm__(""); return x + x; }
ALONE int left(int a) { __asm__(""); return a - 1; }
ALONE int right(int a) { __asm__(""); return a + 1; }
ALONE void never(int *a) { *a = 7; __asm__("" : : : "memory"); }

// The flags that its comparison sets are looked at behind a label.
ALONE int equals(int a, int b);
// Adds to its argument 100 times; one of the additions is to go, and one to be jumped over.
ALONE int counts(void);
// Returns 1, put into eax behind which a label is.
ALONE int one(void);
__asm__(
    "equals: cmp %esi, %edi\n"
    ".globl equals_compared\n"
    "equals_compared: sete %al\n"
    "movzbl %al, %eax\n"
    "ret\n"
    ".size equals, .-equals\n.type equals, @function\n"
    "counts: mov $100, %ecx\n"
    "xor %eax, %eax\n"
    "1:\n"
    ".globl counts_deleted\n"
    "counts_deleted: add $1000, %eax\n"
    "add $1, %eax\n"
    ".globl counts_jumped\n"
    "counts_jumped: nop\n"
    "add $100000, %eax\n"
    ".globl counts_goes_on\n"
    "counts_goes_on: dec %ecx\n"
    "jnz 1b\n"
    "ret\n"
    ".size counts, .-counts\n.type counts, @function\n"
    "one: mov $1, %eax\n"
    "ret\n"
    ".size one, .-one\n.type one, @function\n");

// The word at which a segment begins: the tool has it begin at what they are given.
ALONE long first_of_gs(const long *word);
ALONE long first_of_fs(const long *word);
__asm__(
    "first_of_gs: mov %gs:0, %rax\n"
    "ret\n"
    ".size first_of_gs, .-first_of_gs\n.type first_of_gs, @function\n"
    "first_of_fs: mov %fs:0, %rax\n"
    ".globl first_of_fs_loaded\n"
    "first_of_fs_loaded: ret\n"
    ".size first_of_fs, .-first_of_fs\n.type first_of_fs, @function\n");

ALONE int scale(int a) { __asm__(""); return a * 3; }
ALONE int sum8(int a, int b, int c, int d, int e, int f, int g, int h) {
    __asm__("");
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h;
}
ALONE double average(double a, double b) { __asm__(""); return (a + b) / 2; }
ALONE int factorial(int n) { __asm__(""); return n < 2 ? 1 : n * factorial(n - 1); }
static jmp_buf out;
ALONE int jumps(int a) { __asm__(""); if (a > 3) longjmp(out, a); return a; }
ALONE int is_looked_at(int a) { __asm__(""); return a; }

ALONE int makes_child(int a) { __asm__(""); return a + (fork() == 0); }

static volatile int seen[65];
static void handler(int signal) { seen[signal]++; }
static sigjmp_buf back;
static void on_fault(int signal) { seen[signal]++; siglongjmp(back, 1); }
ALONE int reads(volatile int *a) { return *a; }
ALONE int is_raised(int a) { __asm__(""); return a + 1; }

static void state(void) {
    volatile int untouched = 1;
    never((int *)&untouched);
    printf("add %d\ntwice %g\nleft %d\nnever %d\n", add(1, 2), twice(1.5), left(10), untouched);
    printf("equals %d %d\ncounts %d\none %d\n", equals(1, 1), equals(1, 2), counts(), one());
    int sum = 0;
    for (int i = 0; i < 1000; i++) sum += add(i, 0);
    printf("sum %d\n", sum);
    const long words[] = {12, 34};
    printf("segments %ld %ld\n", first_of_gs(&words[0]), first_of_fs(&words[1]));
}

static void replaced(void) {
    printf("scale %d\nsum8 %d\naverage %g\n", scale(2), sum8(1, 2, 3, 4, 5, 6, 7, 8), average(1, 2));
    printf("factorial %d\n", factorial(6));
    int left_by = setjmp(out);
    if (left_by == 0) printf("jumps %d\n", jumps(5)); else printf("jumped %d\n", left_by);
    for (volatile int i = 0; i < 3; i++) jumps(i);
    printf("looked at %d\n", is_looked_at(5));
    char *text = malloc(100);
    strcpy(text, "allocated");
    printf("%s\n", text);
    free(text);
}

static void calls(void) {
    struct utsname name;
    printf("is parent %d\n", getpid() == getppid());
    uname(&name);
    printf("uname %s %d\n", name.nodename, name.nodename[0] != 0);
    struct timespec long_time = {100000, 0};
    printf("sleep %d\n", nanosleep(&long_time, NULL));
    char text[8] = "unread";
    FILE *file = fopen("/dev/null", "r");
    size_t read = fread(text, 1, 4, file);
    printf("read %zu %d\n", read, ferror(file) != 0);
    fflush(stdout);
    printf("wrote %zd\n", write(1, "abc\n", 4));
}

static void signals(void) {
    signal(SIGUSR1, handler);
    signal(SIGUSR2, handler);
    signal(SIGALRM, handler);
    signal(SIGSEGV, on_fault);
    for (int i = 0; i < 10; i++) raise(SIGUSR1);
    for (int i = 0; i < 10; i++) raise(SIGUSR2);
    raise(SIGTERM);
    printf("USR1 %d USR2 %d ALRM %d\n", seen[SIGUSR1], seen[SIGUSR2], seen[SIGALRM]);
    int value = 77;
    int read = sigsetjmp(back, 1) ? -1 : reads((volatile int *)8);
    printf("read %d, SEGV %d\n", read, seen[SIGSEGV]);
    printf("read %d\n", reads(&value));
    int before = seen[SIGUSR2];
    int result = is_raised(5);
    printf("raised %d %d\n", result, seen[SIGUSR2] - before);
}

// A signal from outside comes all the time.
static void storm(void) {
    struct itimerval often = {{0, 300}, {0, 300}};
    signal(SIGALRM, handler);
    setitimer(ITIMER_REAL, &often, NULL);
    long sum = 0, scaled = 0, ones = 0;
    for (int i = 0; i < 60000; i++) {
        sum += add(i, 0);
        ones += one();
        if (i % 10 == 0) scaled += scale(i);
    }
    printf("sum %ld ones %ld scaled %ld interrupted %d\n", sum, ones, scaled, seen[SIGALRM] > 10);
}

static void *in_thread(void *start) {
    long scaled = 0;
    for (long i = 0; i < 3000; i++) scaled += scale((int)(i % 100 + (long)start));
    return (void *)scaled;
}

static void threads(void) {
    pthread_t threads[3];
    for (long i = 0; i < 3; i++) pthread_create(&threads[i], NULL, in_thread, (void *)i);
    for (int i = 0; i < 3; i++) {
        void *scaled;
        pthread_join(threads[i], &scaled);
        printf("scaled %ld\n", (long)scaled);
    }
}

static void heap(void) {
    void *blocks[100];
    for (int i = 0; i < 100; i++) blocks[i] = malloc(10000 + i);
    for (int i = 0; i < 100; i += 2) free(blocks[i]);
    printf("allocated\n");
}

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    if (argc > 1 && !strcmp(argv[1], "state")) state();
    if (argc > 1 && !strcmp(argv[1], "replaced")) replaced();
    if (argc > 1 && !strcmp(argv[1], "calls")) calls();
    if (argc > 1 && !strcmp(argv[1], "signals")) signals();
    if (argc > 1 && !strcmp(argv[1], "storm")) storm();
    if (argc > 1 && !strcmp(argv[1], "threads")) threads();
    if (argc > 1 && !strcmp(argv[1], "heap")) heap();
    if (argc > 1 && !strcmp(argv[1], "forks")) printf("%d\n", makes_child(1));
    return 0;
}
