/*
 * slot_key.c
 *		Write the keys of slots that count units, and read them.
 *
 * The index of a slot is the number that its key counts.  The key is that
 * number alone, or texts and numbers as the path declares them: the last
 * number counts the unit, and each number before it as many of the number
 * behind it as that has values.  An index has one text.  Another text of the
 * same number, such as "7" for "07", is not its key.
 */
#include "core/layout/slot_key.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The most digits of a number */
#define MAX_DIGITS 18

/* Write a number with at least `width` digits, and return its end. */
static char *
append_number(char *at, int64_t n, int width)
{
	char digits[24];
	int len = 0;
	uint64_t rest = n < 0 ? -(uint64_t) n : (uint64_t) n;

	for (; rest > 0 || len == 0; rest /= 10)
		digits[len++] = (char) ('0' + rest % 10);
	while (len < width)
		digits[len++] = '0';
	if (n < 0)
		*at++ = '-';
	while (len > 0)
		*at++ = digits[--len];
	return at;
}

/*
 * mts_slot_key_text
 *		Set *text to the key of an index, and return its length.
 *
 * buffer has room for MTS_MAX_KEY bytes; *text points there.
 */
size_t
mts_slot_key_text(const MtsStep *step, int64_t index, char *buffer,
				  const char **text)
{
	int64_t values[MTS_MAX_NUMBERS];
	int64_t n = index - step->base;
	const char *literal = step->name;
	char *at = buffer;

	*text = buffer;
	if (step->nnumbers == 0)
	{
		at = append_number(at, index, 0);
		*at = '\0';
		return (size_t) (at - buffer);
	}
	for (int i = step->nnumbers - 1; i > 0; i--)
	{
		values[i] = n % step->numbers[i].count + step->numbers[i].first;
		n /= step->numbers[i].count;
	}
	values[0] = n + step->numbers[0].first;
	for (int i = 0; i < step->nnumbers; i++)
	{
		size_t len = strlen(literal);

		memcpy(at, literal, len);
		literal += len + 1;
		at = append_number(at + len, values[i], step->numbers[i].width);
	}
	strcpy(at, literal);
	return (size_t) (at - buffer) + strlen(literal);
}

/* The number of digits at the beginning of a text */
static size_t
count_digits(const char *at, const char *end)
{
	size_t n = 0;

	while (at + n < end && at[n] >= '0' && at[n] <= '9')
		n++;
	return n;
}

/* The digits of the numbers that follow a number without a text between */
static size_t
digits_behind(const MtsStep *step, int number, const char *literal)
{
	size_t n = 0;

	while (++number < step->nnumbers && *literal++ == '\0')
		n += step->numbers[number].width;
	return n;
}

/*
 * Read the numbers of a key that has the texts of a step, without regard to
 * leading zeros.
 */
static MtsKeyText
read_numbers(const MtsStep *step, const char *at, const char *end,
			 int64_t *index)
{
	const char *literal = step->name;
	bool overflows = false;

	*index = 0;
	for (int i = 0; i < step->nnumbers; i++)
	{
		const MtsKeyNumber *number = &step->numbers[i];
		size_t len = strlen(literal), behind;
		int64_t n = 0;
		bool is_negative;

		if ((size_t) (end - at) < len || memcmp(at, literal, len) != 0)
			return MTS_KEYTEXT_OTHER;
		at += len;
		literal += len + 1;
		is_negative = at < end && *at == '-' && step->nnumbers == 1;
		at += is_negative;
		len = count_digits(at, end);
		if (len == 0)
			return MTS_KEYTEXT_OTHER;
		behind = digits_behind(step, i, literal);
		if (len <= behind || len - behind > MAX_DIGITS)
			return MTS_KEYTEXT_BAD_NUMBER;
		for (len -= behind; len > 0; len--)
			n = n * 10 + (*at++ - '0');
		n = (is_negative ? -n : n) - number->first;
		overflows |=
			__builtin_mul_overflow(*index, i > 0 ? number->count : 1, index) ||
			__builtin_add_overflow(*index, n, index);
	}
	if ((size_t) (end - at) != strlen(literal) ||
		memcmp(at, literal, end - at) != 0)
		return MTS_KEYTEXT_OTHER;
	*index += overflows ? 0 : step->base;
	return overflows ? MTS_KEYTEXT_BAD_NUMBER : MTS_KEYTEXT_NUMBER;
}

/*
 * mts_slot_key_index
 *		Read the index of a key, the inverse of mts_slot_key_text.
 *
 * MTS_KEYTEXT_OTHER for a key that has not the texts and the numbers of the
 * slot's keys, and MTS_KEYTEXT_BAD_NUMBER for one that has them in a form in
 * which no key is written.
 */
MtsKeyText
mts_slot_key_index(const MtsStep *step, const char *key, size_t len,
				   int64_t *index)
{
	char buffer[MTS_MAX_KEY];
	const char *text;
	MtsKeyText result;

	if (step->nnumbers == 0)
		return mts_element_key_number(key, len, index);
	result = read_numbers(step, key, key + len, index);
	if (result == MTS_KEYTEXT_NUMBER &&
		(mts_slot_key_text(step, *index, buffer, &text) != len ||
		 memcmp(text, key, len) != 0))
		result = MTS_KEYTEXT_BAD_NUMBER;
	return result;
}

/* Write a text that a regular expression matches, and return its end. */
static char *
append_quoted(char *at, const char *text)
{
	for (; *text; text++)
	{
		if (strchr("\\^$.|?*+()[]{}", *text))
			*at++ = '\\';
		*at++ = *text;
	}
	return at;
}

/*
 * mts_slot_key_regex
 *		Write the regular expression that matches the keys of a slot.
 *
 * regex has room for MTS_MAX_KEY_REGEX bytes.
 */
void
mts_slot_key_regex(const MtsStep *step, char *regex)
{
	const char *literal = step->name;
	char *at = regex;

	*at++ = '^';
	for (int i = 0; i == 0 || i < step->nnumbers; i++)
	{
		int width = step->numbers[i].width;

		if (step->nnumbers > 0)
		{
			at = append_quoted(at, literal);
			literal += strlen(literal) + 1;
		}
		at += width == 0
				  ? sprintf(at, "(0|%s[1-9][0-9]*)",
							step->nnumbers > 1 ? "" : "-?")
				  : sprintf(at, "([0-9]{%d}|[1-9][0-9]{%d,})", width, width);
	}
	if (step->nnumbers > 0)
		at = append_quoted(at, literal);
	strcpy(at, "$");
}

/*
 * mts_slot_key_is_addressable
 *		Tell whether a MongoDB query can address the keys of a slot in a dotted
 *		path, as in mts_path_step_is_addressable.
 */
bool
mts_slot_key_is_addressable(const MtsStep *step)
{
	const char *literal = step->name;

	if (step->kind != MTS_STEP_UNIT_KEY)
		return false;
	if (step->nnumbers == 0)
		return true;
	return literal[0] != '$' && !memchr(literal, '.', step->len);
}

/*
 * mts_slot_key_text_is_addressable
 *		Tell whether MongoDB can address a key of a {column} slot, of some
 *		bytes, in a dotted path.
 */
bool
mts_slot_key_text_is_addressable(const char *text, size_t len)
{
	return len > 0 && text[0] != '$' && !memchr(text, '.', len);
}
