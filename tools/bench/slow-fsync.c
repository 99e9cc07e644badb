/* Makes every flush to the disk take 10 ms longer: cc -shared -fPIC -o slow-fsync.so slow-fsync.c -ldl, then LD_PRELOAD. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

static void wait_10_ms(void) {
  struct timespec left = {0, 10 * 1000 * 1000};
  while (nanosleep(&left, &left) != 0) {
  }
}

int fsync(int file) {
  int (*next)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
  wait_10_ms();
  return next(file);
}

int fdatasync(int file) {
  int (*next)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
  wait_10_ms();
  return next(file);
}
