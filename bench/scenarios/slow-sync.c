// A disk that takes 20 ms to sync: preloaded into a server (LD_PRELOAD), it delays each fsync and fdatasync.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

static int delayed(const char *name, int fd) {
  const struct timespec delay = {.tv_sec = 0, .tv_nsec = 20 * 1000 * 1000};
  nanosleep(&delay, 0);
  int (*sync)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
  return sync(fd);
}

int fsync(int fd) { return delayed("fsync", fd); }
int fdatasync(int fd) { return delayed("fdatasync", fd); }
