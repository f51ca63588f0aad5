/* What happens to processes: exit without destroying, dlclose, fork. Each case is a process_loader of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT_SECONDS 120

static void assert_loader(const char *mode) {
    const pid_t id = fork();
    assert_true(id >= 0);
    if (id == 0) {
        /* A layer that counts objects would report what is left alive on purpose. */
        unsetenv("OPENCL_LAYERS");
        alarm(LIMIT_SECONDS);
        execl(TEST_LOADER, TEST_LOADER, TEST_LIBRARY, mode, (char *)NULL);
        _exit(127);
    }
    int status = -1;
    assert_int_equal(waitpid(id, &status, 0), id);
    if (WIFSIGNALED(status)) {
        fail_msg("%s %s %s: signal %d", TEST_LOADER, TEST_LIBRARY, mode, WTERMSIG(status));
    }
    if (WEXITSTATUS(status) != 0) {
        fail_msg("%s %s %s: exit code %d", TEST_LOADER, TEST_LIBRARY, mode, WEXITSTATUS(status));
    }
}

static void test_exit_without_destroying(void **state) {
    (void)state;
    assert_loader("exit");
}

static void test_dlclose_after_destroying(void **state) {
    (void)state;
    assert_loader("close");
}

static void test_dlclose_without_destroying(void **state) {
    (void)state;
    assert_loader("close-with-context");
}

static void test_loading_several_times(void **state) {
    (void)state;
    assert_loader("again");
}

static void test_fork_after_use_is_refused(void **state) {
    (void)state;
    assert_loader("fork-after");
}

static void test_fork_before_use_works(void **state) {
    (void)state;
    assert_loader("fork-before");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exit_without_destroying),
        cmocka_unit_test(test_dlclose_after_destroying),
        cmocka_unit_test(test_dlclose_without_destroying),
        cmocka_unit_test(test_loading_several_times),
        cmocka_unit_test(test_fork_after_use_is_refused),
        cmocka_unit_test(test_fork_before_use_works),
    };
    return cmocka_run_group_tests_name("process", tests, NULL, NULL);
}
