// Opens libraries one after the other, which come to lie at the same place, and one whose file it removes.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void use(const char *name, int removed) {
    void *library = dlopen(name, RTLD_NOW);
    if (!library) {
        puts(dlerror());
        exit(2);
    }
    if (removed)
        unlink(name);
    void (*work)(void) = dlsym(library, "work");
    for (int i = 0; i < 20; i++) {
        work();
        getppid();
    }
    dlclose(library);
}

// One that has no name.
static void use_nameless(const char *name) {
    static char bytes[1 << 20];
    int from = open(name, O_RDONLY), to = memfd_create("nameless", 0);
    ssize_t len = read(from, bytes, sizeof bytes);
    if (len <= 0 || write(to, bytes, len) != len)
        exit(3);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", to);
    use(path, 0);
    close(to);
    close(from);
}

int main(int argc, char **argv) {
    alarm(120);
    for (int round = atoi(argv[1]); round > 0; round--)
        for (int i = 2; i < argc; i++)
            if (access(argv[i], F_OK) == 0)
                use(argv[i], strstr(argv[i], "gone") != NULL);
    use_nameless(argv[2]);
    return 7;
}
