// A disk that fails when it is told to: preloaded into a server (LD_PRELOAD), it stands between the server and the files
// whose paths begin with FAULTY_DISK_PATH. The file FAULTY_DISK_CONTROL, which both map, says what is to fail; its fields
// are those of faulty-disk.ts.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { READS = 1, WRITES = 2, SYNCS = 4 };

static struct {
  volatile int operations, error, skipped, failing, delay_ms, seen, failed;
} *control;
static const char *path;

__attribute__((constructor)) static void begin(void) {
  const char *file = getenv("FAULTY_DISK_CONTROL");
  path = getenv("FAULTY_DISK_PATH");
  const int fd = file && path ? open(file, O_RDWR | O_CLOEXEC) : -1;
  void *memory = fd < 0 ? MAP_FAILED : mmap(0, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  control = memory == MAP_FAILED ? 0 : memory;
}

static int is_ours(int fd) {
  char link[32], name[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, name, sizeof name - 1);
  return length > 0 && (name[length] = 0, !strncmp(name, path, strlen(path)));
}

// Whether this call is one of those that fail, with errno set.
static int fails(int operation, int fd) {
  if (!control || !(control->operations & operation) || !is_ours(fd)) return 0;
  const int call = __sync_fetch_and_add(&control->seen, 1) - control->skipped;
  if (call < 0 || call >= control->failing) return 0;
  for (int waited = 0; waited < control->delay_ms; waited += 10) {
    const struct timespec delay = {.tv_nsec = 10 * 1000 * 1000};
    nanosleep(&delay, 0);
  }
  if (!control->error) return 0;
  __sync_fetch_and_add(&control->failed, 1);
  errno = control->error;
  return 1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

// A write that fails may have written a part.
#define TORN(real) (fails(WRITES, fd) ? ((void)!real, errno = control->error, -1) : 0)

ssize_t read(int fd, void *to, size_t size) { return fails(READS, fd) ? -1 : REAL(read)(fd, to, size); }
ssize_t pread(int fd, void *to, size_t size, off_t at) { return fails(READS, fd) ? -1 : REAL(pread)(fd, to, size, at); }
ssize_t pread64(int fd, void *to, size_t size, off64_t at) {
  return fails(READS, fd) ? -1 : REAL(pread64)(fd, to, size, at);
}
ssize_t write(int fd, const void *from, size_t size) {
  return TORN(REAL(write)(fd, from, size / 2)) ? -1 : REAL(write)(fd, from, size);
}
ssize_t pwrite(int fd, const void *from, size_t size, off_t at) {
  return TORN(REAL(pwrite)(fd, from, size / 2, at)) ? -1 : REAL(pwrite)(fd, from, size, at);
}
ssize_t pwrite64(int fd, const void *from, size_t size, off64_t at) {
  return TORN(REAL(pwrite64)(fd, from, size / 2, at)) ? -1 : REAL(pwrite64)(fd, from, size, at);
}
int ftruncate(int fd, off_t size) { return fails(WRITES, fd) ? -1 : REAL(ftruncate)(fd, size); }
int ftruncate64(int fd, off64_t size) { return fails(WRITES, fd) ? -1 : REAL(ftruncate64)(fd, size); }
int fsync(int fd) { return fails(SYNCS, fd) ? -1 : REAL(fsync)(fd); }
int fdatasync(int fd) { return fails(SYNCS, fd) ? -1 : REAL(fdatasync)(fd); }
