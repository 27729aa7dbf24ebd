// Takes memory and gives it back: gcc -O1 -no-pie -Wl,-z,lazy

#include <stdlib.h>

#define APART __attribute__((noinline, noclone))

APART void *app_grows(size_t most) {
    char *bytes = malloc(1);
    for (size_t size = 1; size < most; size *= 3) {
        bytes = realloc(bytes, size + 8);
        bytes[size] = 1;
    }
    return bytes;
}

struct item { struct item *next; };

APART struct item *app_lists(int n) {
    struct item *last = NULL;
    for (int i = 0; i < n; i++) {
        struct item *item = calloc(1 + i % 3, sizeof *item + i);
        item->next = last;
        last = item;
    }
    return last;
}

APART void app_frees(struct item *item) {
    while (item) {
        struct item *next = item->next;
        free(item);
        item = next;
    }
}

APART int app_all(void) {
    void *kept = app_grows(500000);
    for (int round = 0; round < 20; round++)
        app_frees(app_lists(30 + round));
    free(kept);
    void *aligned = NULL;
    return posix_memalign(&aligned, 256, 1000) || aligned == NULL;
}

int main(void) {
    return app_all();
}
