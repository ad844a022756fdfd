/*
 * replay.c
 *		Runs a fuzzed program once on each of the given files.
 *
 * For compilers without a fuzzer.  The first file with a failed assertion ends
 * the program.
 */
#include <sanitizer/common_interface_defs.h>
#include <signal.h>
#include <unistd.h>

#include "fuzz.h"

static const char *current;

/* Let undefined behavior also raise SIGABRT. */
extern const char *__ubsan_default_options(void);

const char *
__ubsan_default_options(void)
{
	return "abort_on_error=1";
}

static void
fail(void)
{
	ok(false, "%s", current);
	fflush(stdout);
}

static void
on_abort(int number)
{
	fail();
	_exit(1);
}

static void
replay(const char *name)
{
	FILE *file = fopen(name, "rb");
	static uint8_t buffer[1 << 16];
	size_t size = file ? fread(buffer, 1, sizeof(buffer), file) : 0;
	uint8_t *data =
		malloc(size ? size : 1); /* so that ASan sees reads past the end */

	if (!file)
	{
		printf("Bail out! No file %s\n", name);
		exit(1);
	}
	fclose(file);
	current = name;
	memcpy(data, buffer, size);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
}

int
main(int argc, char **argv)
{
	signal(SIGABRT, on_abort);
	__sanitizer_set_death_callback(fail);
	for (int i = 1; i < argc; i++)
		replay(argv[i]);
	ok(argc > 1, "%s: %d inputs", strrchr(argv[0], '/') + 1, argc - 1);
	return tap_done();
}
