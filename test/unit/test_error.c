/*
 * test_error.c
 *		Proves that a reason, and the path of an invalid element, are truncated
 *		only between characters.
 */
#include "core/bucket/walk.h"
#include "tap.h"

static const char *const characters[] = {"a", "\303\251", "\342\202\254",
										 "\360\237\225\222"};

/* A text of n bytes or a few more: some letters, then one character again */
static void
fill(char *text, size_t letters, const char *character, size_t n)
{
	memset(text, 'x', letters);
	text[letters] = '\0';
	while (strlen(text) < n)
		strcat(text, character);
}

static bool
is_utf8(const char *text)
{
	return bson_utf8_validate(text, strlen(text), false);
}

static void
test_set(void)
{
	size_t room = sizeof(((MtsError *) NULL)->detail) - 1;
	char text[600];
	MtsError error;

	for (int i = 0; i < 4; i++)
		for (size_t letters = 0; letters < 8; letters++)
			for (size_t n = 240; n < 520; n++)
			{
				size_t len;

				fill(text, letters, characters[i], n);
				(void) mts_error_set(&error, NULL, "%s", text);
				len = strlen(error.detail);
				if (strncmp(error.detail, text, len) != 0 ||
					!is_utf8(error.detail) ||
					(len < strlen(text) && len + 3 < room) ||
					(len == strlen(text)) != (strlen(text) <= room))
					tap_fault("%zu of %zu bytes: %s", len, strlen(text),
							  error.detail);
			}
	tap_claim("a long detail ends with a whole character");
}

static void
test_clip(void)
{
	is_int(mts_error_clip("abc", 3, 3), 3, "what fits stays");
	is_int(mts_error_clip("abcd", 4, 3), 3, "what does not is cut");
	is_int(mts_error_clip("a\303\251", 3, 2), 1, "before a character");
	is_int(mts_error_clip("\251\251\251\251\251\251", 6, 5), 2,
		   "text that is not UTF-8 loses three bytes more at most");
}

/* Quote long options, which the reason shows in part. */
static void
test_quoted(void)
{
	char text[600], buffer[601];
	MtsError error;
	MtsFormat format;
	MtsPath path;

	for (int i = 0; i < 4; i++)
		for (size_t letters = 0; letters < 8; letters++)
			for (size_t n = 90; n < 400; n += 7)
			{
				fill(text, letters, characters[i], n);
				(void) mts_format_parse(text, &format, &error);
				if (!is_utf8(error.detail))
					tap_fault("format: %s", error.detail);
				strcat(text, "..");
				(void) mts_path_parse(text, buffer, &path, &error);
				if (!is_utf8(error.detail))
					tap_fault("path: %s", error.detail);
			}
	tap_claim("options are quoted by whole characters");
}

/* Locate an invalid element by long keys. */
static void
test_where(void)
{
	MtsStep name = {.kind = MTS_STEP_NAME, .name = "v", .len = 1};
	MtsStep slot = {.kind = MTS_STEP_COLUMN_KEY, .name = "c", .len = 1};
	char text[600];
	MtsInvalid invalid;

	for (int i = 0; i < 4; i++)
		for (size_t letters = 0; letters < 8; letters++)
			for (size_t n = 1; n < 520; n += 3)
			{
				MtsSlotKey key = {.text = text};

				fill(text, letters, characters[i], n);
				invalid.where[0] = '\0';
				mts_walk_append_step(&invalid, &name, NULL);
				for (int level = 0; level < 3; level++)
					mts_walk_append_step(&invalid, &slot, &key);
				if (strncmp(invalid.where, "v.", 2) != 0 ||
					!is_utf8(invalid.where))
					tap_fault("%zu bytes: %s", n, invalid.where);
			}
	tap_claim("a long path ends with a whole character");
}

int
main(void)
{
	test_set();
	test_clip();
	test_quoted();
	test_where();
	return tap_done();
}
