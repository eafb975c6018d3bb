/* How a sanitised build reports: to files whose names begin with SANITIZER_LOG, and then it ends. Leaks are not looked for:
 * that takes ptrace, which the sandbox refuses. */
#ifndef SANITIZER_LOG
#error "SANITIZER_LOG names the files of reports"
#endif

const char *__asan_default_options(void);
const char *__ubsan_default_options(void);

const char *__asan_default_options(void) { return "detect_leaks=0:symbolize=0:log_path=" SANITIZER_LOG; }
const char *__ubsan_default_options(void) { return "symbolize=0:print_stacktrace=1:log_path=" SANITIZER_LOG; }
