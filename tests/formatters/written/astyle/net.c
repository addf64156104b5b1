#include <stdio.h>
#define LIMIT(x) ((x)+1)
struct client {
    int tries;
    char *name;
};
static int get( struct client *c, const char* path ) {
    int codes[] = { 408,429 };
    if (c->tries>LIMIT (3)) {
        printf("the client of %s has tried more often than it may: %d times for the path %s\n",c->name,c->tries,path);
        return -1;
    }
    for (int i=0; i<c->tries; i++) if (codes[0]) return i;
    return 0;
}
