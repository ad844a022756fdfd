/*
 * test_compressed.c
 *		Proves that compressed columns are read as MongoDB reads them.
 *
 * The columns of the first table, and those in columns/, were written by
 * MongoDB 6.0.5; test/columns makes the latter.  Those of the second table were
 * made by hand, and MongoDB's views return the same values.
 */
#include <dirent.h>

#include "column.h"

#define COLUMNS "test/unit/columns"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

typedef struct Case
{
	const char *name;
	const char *hex;
	const char *entries; /* "x N" stands for N equal ones */
} Case;

static const Case written[] = {
	{"steady dates", "09004004e6cf8b010000800a7d00000000000000",
	 "ISODate('2023-11-14T22:14:00Z'), ISODate('2023-11-14T22:14:01Z'), ISODate('2023-11-14T22:14:02Z'), ISODate('2023-11-14T22:14:03Z'), ISODate('2023-11-14T22:14:04Z'), ISODate('2023-11-14T22:14:05Z')"},
	{"dates", "09004004e6cf8b010000804a7d0090000a900000",
	 "ISODate('2023-11-14T22:14:00Z'), ISODate('2023-11-14T22:14:01.002Z'), ISODate('2023-11-14T22:14:02.004Z'), ISODate('2023-11-14T22:14:03.001Z'), ISODate('2023-11-14T22:14:04.003Z'), ISODate('2023-11-14T22:14:05Z')"},
	{"int32",
	 "100005000000824c000000005000007e80b2e60e0000000e0065cd1d00000000",
	 "5, 7 x 2, 4, -2000000000, 2000000000"},
	{"int64",
	 "1200000000000000000083682a0000a0020000feffffffff3f0000feffffffff1f0000970f00004000001000",
	 "0, 1099511627776, 2199023255552, 0, -1099511627776, NumberLong('4611686018427387904')"},
	{"doubles with two decimals",
	 "010048e17a14ae075940b16b00480054003e9caee304000000000000",
	 "100.12, 100.15, 100.1, 99.99, -0.01, 100.12"},
	{"doubles of two scales", "0100000000000000f03fb08a0cc8400631100300",
	 "1, 2, 3, 3.5, 3.25, 3"},
	{"full precision",
	 "0100343333333333d33f834e00000000000000ee434444444444006e555555555555010d0000000000000000",
	 "0.30000000000000004, 0.30000000000000016, 0.3333333333333333, 0.5 x 3"},
	{"special doubles",
	 "010000000000000000000100000000000000008081feffffffffffff00feffffffffffff000100000000000000f0ff01009c7500883ce4377e00",
	 "0, -0, NaN, Infinity, -Infinity, 1e+300"},
	{"missing values", "80fdffffffffffffff10000300000080fcffff020000000000",
	 "missing x 2, 3, missing, 4 x 2"},
	{"nulls", "0a00800a0000000000000000", "null x 6"},
	{"booleans", "080001801a0000200000100000",
	 "true, false x 2, true x 2, false"},
	{"strings",
	 "02000400000061626300812d000000000000007d4c2c0cc00300000200110000006162636465666768696a6b6c6d6e6f700000",
	 "'abc', 'abd' x 2, '', 'x', 'abcdefghijklmnop'"},
	{"long strings",
	 "0200190000006120737472696e67206f66206d6f7265207468616e20313600800a0000400c00200000",
	 "'a string of more than 16' x 3, 'b' x 2, 'c'"},
	{"binaries", "0500040000000001000000802a0002a01f00501f00",
	 "BinData(0, 'AQAAAA=='), BinData(0, 'AgAAAA=='), BinData(0, 'AwAAAA=='), BinData(0, 'AAEAAA==') x 2, BinData(0, 'BQAAAA==')"},
	{"decimals",
	 "13000a000000000000000000000000003e30802c0000020000000013000c000000000000000000000000003eb013000100000000000000000000000000463000",
	 "NumberDecimal('1.0'), NumberDecimal('1.1'), NumberDecimal('1.2') x 2, NumberDecimal('-1.2'), NumberDecimal('1E+3')"},
	{"ObjectIds", "07006553f128010203040500000a802a2000f01f0cb20000",
	 "ObjectId('6553f128010203040500000a'), ObjectId('6553f129010203040500000b'), ObjectId('6553f12a010203040500000c'), ObjectId('6553f12a010203040500000d'), ObjectId('6553f12b0102030405000014'), ObjectId('6553f12c0102030405000015')"},
	{"timestamps",
	 "11000100000028f1536583870f004000000000deffffff1f000000ceffffff1f0000002e0000000000000000",
	 "Timestamp(1700000040, 1), Timestamp(1700000041, 1), Timestamp(1700000042, 1), Timestamp(1700000042, 2), Timestamp(1700000043, 1), Timestamp(1700000044, 1)"},
	{"objects",
	 "f12000000010610001000000016200000000000000f83f026300020000007800008009800002fcff3f00a0098000ff23f03f0080f9ffffffffff3f000000",
	 "{a: 1, b: 1.5}, {a: 2, b: 1.6}, {a: 3}, {b: 2}, missing, {a: 3, b: 2, c: 'x'}"},
	{"nested objects and arrays",
	 "f12a0000000361000c0000001078000000000000046c0013000000103000000000001031000100000000008009800002082080008009800002082080008009800002082080000000",
	 "{a: {x: 0}, l: [0, 1]}, {a: {x: 1}, l: [1, 2]}, {a: {x: 2}, l: [2, 3]}, {a: {x: 3}, l: [3, 4]}, {a: {x: 4}, l: [4, 5]}, {a: {x: 5}, l: [5, 6]}"},
	{"arrays",
	 "f2130000001030000100000010310002000000008009800002002000008009800002fc0f00000000",
	 "[1, 2], [2, 3], [3, 4], [3], [4, 4] x 2"},
};

/* Runs of a block: with a delta of 0, of 3 or of 'ab', with a missing entry,
 * with the last delta 120 times */
#define ZERO "800e00000000000000"
#define PLUS_3 "806e00000000000000"
#define PLUS_AB "804e2c0c0000000000"
#define NONE "80feffffffffffffff"
#define REPEAT "800f00000000000000"

/* Literals: integers, and a string */
#define FIVE "100005000000"
#define FIFTY "100032000000"
#define ONE_AND_A_HALF "0100000000000000f83f"
#define TWENTY_A \
	"0200150000006161616161616161616161616161616161616161" \
	"00"

/* Sections: objects like {a: 5}, and like {a: 5, e: {}, l: [1]} */
#define OBJECTS \
	"f10c00000010610005000000" \
	"00"
#define NESTED \
	"230000001061000500000003650005000000" \
	"00" \
	"046c000c00000010300001000000" \
	"0000"

static const Case made[] = {
	{"a zero delta before the first value", ZERO FIVE "00", "missing, 5"},
	{"a repeated one", REPEAT FIVE "00", "missing x 120, 5"},
	{"a repeated value", FIVE REPEAT "00", "5 x 121"},
	{"a literal ends what is repeated", FIVE PLUS_3 FIFTY REPEAT "00",
	 "5, 8, 50 x 121"},
	{"a repeated missing entry", FIVE NONE REPEAT "00", "5, missing x 121"},
	{"a literal ends missing entries", FIVE NONE FIFTY REPEAT "00",
	 "5, missing, 50 x 121"},
	{"a missing entry between deltas", FIVE PLUS_3 NONE PLUS_3 "00",
	 "5, 8, missing, 11"},
	{"another type", FIVE PLUS_3 ONE_AND_A_HALF ZERO "00", "5, 8, 1.5 x 2"},
	{"a scale counts for doubles only",
	 FIVE "906e00000000000000"
		  "00",
	 "5, 8"},
	{"doubles of several scales",
	 ONE_AND_A_HALF "a06e00000000000000"
					"b06e00000000000000"
					"00",
	 "1.5, 1.8, 1.83"},
	{"a delta beyond the exact doubles",
	 "01000000000000004043"
	 "908e00000000000000"
	 "00",
	 "9007199254740992, 9007199254740996"},
	{"a long string, then a short one", TWENTY_A ZERO PLUS_AB ZERO "00",
	 "'aaaaaaaaaaaaaaaaaaaa' x 2, 'ab' x 2"},
	{"an empty string", "02000100000000" PLUS_AB ZERO "00", "'', 'ab' x 2"},
	{"a string that begins with NUL",
	 "02000300000000610"
	 "0" PLUS_AB "00",
	 "'\\u0000a', 'ab'"},
	{"an integer that overflows", "1000ffffff7f" PLUS_3 "00",
	 "2147483647, -2147483646"},
	{"a run after a missing object", OBJECTS NONE "00" ZERO "00",
	 "missing x 2"},
	{"a run after an object", OBJECTS PLUS_3 "00" ZERO "00", "{a: 8} x 2"},
	{"sections",
	 OBJECTS PLUS_3 "00" OBJECTS ZERO PLUS_3 "00"
					"00",
	 "{a: 8}, {a: 5}, {a: 8}"},
	{"a missing entry in an object", OBJECTS PLUS_3 NONE FIFTY "00" NONE "00",
	 "{a: 8}, missing, {a: 50}, missing"},
	{"another type in an object",
	 OBJECTS PLUS_3 TWENTY_A "00"
							 "00",
	 "{a: 8}, {a: 'aaaaaaaaaaaaaaaaaaaa'}"},
	{"arrays are values",
	 "f0" NESTED PLUS_3 ZERO NONE NONE "00"
	 "00",
	 "{a: 8, e: {}, l: [1]}, {e: {}}"},
	{"arrays are entered",
	 "f1" NESTED PLUS_3 PLUS_3 ZERO NONE "00"
	 "00",
	 "{a: 8, e: {}, l: [4]}, {a: 8, e: {}}"},
	{"an array is the root",
	 "f2"
	 "0c000000103000050000"
	 "0000" PLUS_3 NONE "00" ZERO "00",
	 "[8], missing x 2"},
	{"an empty column", "00", ""},
};

static const Case malformed[] = {
	{"no end", "080001", "not a column"},
	{"an end too early", "00" FIVE "00", "corrupt"},
	{"an unknown item",
	 FIVE "e00e00000000000000"
		  "00",
	 "5, corrupt"},
	{"an unknown type",
	 "140005000000"
	 "00",
	 "corrupt"},
	{"a literal with a name",
	 "10610005000000"
	 "00",
	 "corrupt"},
	{"a literal too long", "12000500000000000000", "corrupt"},
	{"a malformed literal",
	 "0300060000000000"
	 "00",
	 "corrupt"},
	{"neither true nor false",
	 "080002"
	 "00",
	 "corrupt"},
	{"a run too long",
	 FIVE "810e00000000000000"
		  "00",
	 "5, corrupt"},
	{"selector 0",
	 FIVE "800000000000000000"
		  "00",
	 "5, corrupt"},
	{"an unknown extension of selector 7",
	 FIVE "80a700000000000000"
		  "00",
	 "5, corrupt"},
	{"an unknown extension of selector 8",
	 FIVE "80e800000000000000"
		  "00",
	 "5, corrupt"},
	{"a delta before the first value", PLUS_3 "00", "corrupt"},
	{"a delta of a null", "0a00" PLUS_3 "00", "null, corrupt"},
	{"a delta of an object", "03000500000000" PLUS_3 "00", "{}, corrupt"},
	{"a third truth value", "080001" PLUS_3 "00", "true, corrupt"},
	{"a delta beyond a binary value", "05000100000000ff" PLUS_3 "00",
	 "BinData(0, '/w=='), corrupt"},
	{"a double that is not exact in its scale",
	 ONE_AND_A_HALF "900e00000000000000"
					"00",
	 "1.5, corrupt"},
	{"a scaled NaN",
	 "0100000000000000f87f"
	 "900e00000000000000"
	 "00",
	 "NaN, corrupt"},
	{"a scaled -0",
	 "01000000000000000080"
	 "900e00000000000000"
	 "00",
	 "-0, corrupt"},
	{"a section without an object", OBJECTS "00" FIVE "00", "corrupt"},
	{"a section without a stream",
	 "f10500000000"
	 "00"
	 "00",
	 "corrupt"},
	{"a section without an end", OBJECTS PLUS_3 "00", "{a: 8}, corrupt"},
	{"a section in a section",
	 OBJECTS OBJECTS PLUS_3 "00"
							"00"
							"00",
	 "corrupt"},
	{"a reference too long",
	 "f10d00000010610005000000"
	 "00"
	 "00",
	 "corrupt"},
	{"a stream that ends before another",
	 "f1" NESTED PLUS_3 PLUS_3 ZERO "00"
	 "00",
	 "{a: 8, e: {}, l: [4]}, corrupt"},
	{"a stream that ends after another",
	 "f1" NESTED PLUS_3 "812e00000000000000"
	 "2e00000000000000"
	 "00"
	 "00",
	 "{a: 8, e: {}, l: [2]}, corrupt"},
	{"a delta of the object after a section", OBJECTS PLUS_3 "00" PLUS_3 "00",
	 "{a: 8}, corrupt"},
};

static MtsCompressed column;

/* Print the entries of a column. */
static const char *
print_entries(const MtsElement *binary)
{
	static char text[SHELL_TEXT];
	char last[SHELL_TEXT] = "";
	MtsElement element;
	MtsNext next = MTS_NEXT_CORRUPT;
	int equal = 0;

	text[0] = '\0';
	if (!mts_compressed_open(&column, binary))
		return "not a column";
	do
	{
		const char *entry = "";

		next = mts_compressed_next(&column, &element);
		if (next == MTS_NEXT_OK)
			entry = column_print(&element);
		if (next == MTS_NEXT_OK && strcmp(entry, last) == 0)
			equal++;
		else
		{
			char times[32] = "";

			if (equal > 1)
				snprintf(times, sizeof(times), " x %d", equal);
			if (equal > 0)
			{
				shell_append(text, last, strlen(last));
				shell_append(text, times, strlen(times));
				if (next != MTS_NEXT_END)
					shell_append(text, ", ", 2);
			}
			snprintf(last, sizeof(last), "%s", entry);
			equal = 1;
		}
	} while (next == MTS_NEXT_OK);
	if (next == MTS_NEXT_CORRUPT)
		shell_append(text, "corrupt", 7);
	return text;
}

static void
test_case(const Case *test)
{
	Column bytes = {.n = 0};
	MtsElement binary;
	const char *fault;
	MtsNext last;

	column_put_hex(&bytes, test->hex);
	binary = column_binary(bytes.bytes, bytes.n);
	is_text(print_entries(&binary), test->entries, test->name);
	fault = column_compare(&column, &binary, &last);
	if (fault)
		tap_fault("%s: %s", test->name, fault);
	free((void *) binary.value);
}

/* Read a line of hexadecimal digits. */
static bool
read_line(FILE *file, Column *bytes)
{
	static char line[2 * sizeof(bytes->bytes) + 2];

	bytes->n = 0;
	if (!fgets(line, sizeof(line), file))
		return false;
	column_put_hex(bytes, line);
	return bytes->n > 0;
}

/* Tell whether the entries of a column are the values of a document, whose
 * keys are numbers. */
static bool
has_values(const MtsElement *binary, const Column *document)
{
	MtsElementCursor cursor;
	MtsElement value, element;
	MtsNext next;
	int64_t number, i = 0;

	if (!mts_compressed_open(&column, binary) ||
		!mts_element_open(&cursor, document->bytes, document->n))
		return false;
	while ((next = mts_compressed_next(&column, &element)) == MTS_NEXT_OK)
	{
		if (element.type != 0 &&
			(mts_element_next(&cursor, &value) != MTS_NEXT_OK ||
			 mts_element_key_number(value.key, value.key_len, &number) !=
				 MTS_KEYTEXT_NUMBER ||
			 number != i || value.type != element.type ||
			 value.size != element.size ||
			 memcmp(value.value, element.value, value.size) != 0))
			return false;
		i++;
	}
	return next == MTS_NEXT_END &&
		   mts_element_next(&cursor, &value) == MTS_NEXT_END && i > 0;
}

/* Compare a column that MongoDB wrote with the values that it read. */
static void
test_file(const char *name)
{
	static Column bytes, document;
	char path[512];
	FILE *file;
	MtsElement binary;
	MtsNext last;
	const char *fault;

	snprintf(path, sizeof(path), COLUMNS "/%s", name);
	file = fopen(path, "r");
	if (!file || !read_line(file, &bytes) || !read_line(file, &document))
	{
		printf("Bail out! Cannot read %s\n", path);
		exit(1);
	}
	fclose(file);
	binary = column_binary(bytes.bytes, bytes.n);
	ok(has_values(&binary, &document), "%s", name);
	fault = column_compare(&column, &binary, &last);
	if (fault)
		tap_fault("%s: %s", name, fault);
	free((void *) binary.value);
}

static int
is_visible(const struct dirent *file)
{
	return file->d_name[0] != '.';
}

static void
test_files(void)
{
	struct dirent **files;
	int n = scandir(COLUMNS, &files, is_visible, alphasort);

	ok(n > 0, "there are files in " COLUMNS);
	for (int i = 0; i < n; i++)
	{
		test_file(files[i]->d_name);
		free(files[i]);
	}
	if (n >= 0)
		free(files);
}

/* Without the bytes of a column, and with another subtype and type */
static void
test_open(void)
{
	MtsElement binary = column_binary("", 1);
	uint8_t *value = (uint8_t *) binary.value;

	ok(mts_compressed_open(&column, &binary), "an empty column");
	binary.size--;
	ok(!mts_compressed_open(&column, &binary), "refused: no bytes");
	binary.size++;
	value[4] = 0;
	ok(!mts_compressed_open(&column, &binary), "refused: another subtype");
	value[4] = MTS_COMPRESSED_SUBTYPE;
	binary.type = BSON_TYPE_UTF8;
	ok(!mts_compressed_open(&column, &binary), "refused: another type");
	free(value);
}

/* ---- Random columns ---------------------------------------------------- */

typedef unsigned __int128 Wide;

/* The most blocks of a column, their deltas, and those of repeats */
#define BLOCKS 40
#define DELTAS (BLOCKS * 60 + REPEATS)
#define REPEATS 8000

/* What blocks mean */
typedef struct Deltas
{
	int n;
	bool is_missing[DELTAS];
	Wide codes[DELTAS]; /* zig-zag */
} Deltas;

/* The bits of deltas without counts, by selector */
static const int plain_bits[] = {0, 1,  2,  3,  4,  5,  6, 7,
								 8, 10, 12, 15, 20, 30, 60};

/* The bits of deltas and of counts, by extension */
static const int counted[2][14][2] = {{{7, 0},
									   {2, 4},
									   {3, 4},
									   {4, 4},
									   {5, 4},
									   {7, 4},
									   {10, 4},
									   {14, 4},
									   {24, 4},
									   {52, 4}},
									  {{8, 0},
									   {4, 4},
									   {5, 4},
									   {7, 4},
									   {10, 4},
									   {14, 4},
									   {24, 4},
									   {52, 4},
									   {4, 5},
									   {6, 5},
									   {9, 5},
									   {13, 5},
									   {23, 5},
									   {51, 5}}};

static void
add_delta(Deltas *deltas, bool is_missing, Wide code)
{
	if (deltas->n == DELTAS)
		abort();
	deltas->is_missing[deltas->n] = is_missing;
	deltas->codes[deltas->n++] = code;
}

/* Make a random block of any selector, and add what it means. */
static uint64_t
random_block(Deltas *deltas, bool is_wide)
{
	int selector = (int) random_between(1, 16);
	int extension = 0, head = 4, count_bits = 0, unit = selector == 8 ? 4 : 1;
	int bits, last = deltas->n - 1;
	uint64_t word = random_bits();

	if (selector == 15)
	{
		extension = (int) random_below(random_below(4) ? 1 : 16);
		if (deltas->n + (extension + 1) * 120 > REPEATS)
			extension = 0, selector = 1;
	}
	if (selector == 15)
	{
		for (int i = 0; i < (extension + 1) * 120; i++)
			add_delta(deltas, last >= 0 && deltas->is_missing[last],
					  last >= 0 ? deltas->codes[last] : 0);
		return extension << 4 | 15;
	}
	bits = plain_bits[selector];
	if (selector == 7 || selector == 8)
	{
		extension = (int) random_below(selector == 7 ? 10 : 14);
		count_bits = counted[selector - 7][extension][1];
		bits = counted[selector - 7][extension][0] + count_bits;
		head = 8;
	}
	for (int at = head; at + bits <= 64; at += bits)
	{
		uint64_t ones = (UINT64_C(1) << bits) - 1, slot;

		if (random_below(5) == 0)
			word |= ones << at;
		else if (random_below(2))
			word &= ~(ones << at);
		slot = word >> at & ones;
		if (slot == ones)
			add_delta(deltas, true, 0);
		else
		{
			int count = (int) (slot & ((1 << count_bits) - 1)) * unit;
			Wide code = slot >> count_bits;

			add_delta(deltas, false,
					  is_wide ? code << count
							  : (uint64_t) (code << count % 64));
		}
	}
	word &= UINT64_MAX << head;
	return word | (uint64_t) extension << 4 | selector;
}

/* Compare a random column of a type with what its deltas mean. */
static void
test_random_column(uint8_t type)
{
	bool is_wide = type == BSON_TYPE_DECIMAL128;
	static Deltas deltas;
	Column bytes = {.n = 0};
	Wide value = random_bits(), step = 0;
	MtsElement binary, element;
	const char *fault;
	MtsNext next;
	int nblocks = (int) random_between(1, BLOCKS + 1);

	deltas.n = 0;
	column_put_byte(&bytes, type);
	column_put_byte(&bytes, 0);
	column_put_word(&bytes, (uint64_t) value);
	if (is_wide)
		column_put_word(&bytes, 0);
	for (int left = 0; nblocks > 0; nblocks--)
	{
		if (left-- == 0)
		{
			left = (int) random_below(nblocks < 16 ? nblocks : 16);
			column_put_byte(&bytes, 0x80 | left);
		}
		column_put_word(&bytes, random_block(&deltas, is_wide));
	}
	column_put_byte(&bytes, 0);
	binary = column_binary(bytes.bytes, bytes.n);
	fault = column_compare(&column, &binary, &next);
	if (fault || next != MTS_NEXT_END)
		tap_fault("type %d: %s", type, fault ? fault : "corrupt");
	(void) mts_compressed_open(&column, &binary);
	(void) mts_compressed_next(&column, &element);
	for (int i = 0; i < deltas.n; i++)
	{
		Wide code = deltas.codes[i], want;
		uint64_t words[2];

		next = mts_compressed_next(&column, &element);
		if (!deltas.is_missing[i])
		{
			Wide delta = (code >> 1) ^ -(code & 1);

			step = type == BSON_TYPE_DATE_TIME ? step + delta : delta;
			value += step;
		}
		want = is_wide ? value : (uint64_t) value;
		words[0] = BSON_UINT64_TO_LE((uint64_t) want);
		words[1] = BSON_UINT64_TO_LE((uint64_t) (want >> 64));
		if (next != MTS_NEXT_OK ||
			element.type != (deltas.is_missing[i] ? 0 : type) ||
			(element.type != 0 &&
			 memcmp(element.value, words, is_wide ? 16 : 8) != 0))
			tap_fault("type %d, delta %d", type, i);
	}
	if (mts_compressed_next(&column, &element) != MTS_NEXT_END)
		tap_fault("type %d: no end", type);
	free((void *) binary.value);
}

/*
 * Compare both ways to read a random column of doubles, whose scale changes
 * from run to run.
 */
static void
test_random_scales(void)
{
	static const double factors[] = {1, 10, 100, 1e4, 1e8};
	static Deltas deltas;
	Column bytes = {.n = 0};
	double d = (double) random_between(-1000, 1000) / factors[random_below(5)];
	uint64_t bits;
	MtsElement binary;
	const char *fault;
	MtsNext next;

	memcpy(&bits, &d, sizeof(bits));
	column_put_hex(&bytes, "0100");
	column_put_word(&bytes, bits);
	deltas.n = 0;
	for (int i = 0; i < 3; i++)
	{
		column_put_byte(&bytes, 0x80 + (int) random_below(6) * 16);
		column_put_word(&bytes, random_block(&deltas, false));
	}
	column_put_byte(&bytes, 0);
	binary = column_binary(bytes.bytes, bytes.n);
	fault = column_compare(&column, &binary, &next);
	if (fault)
		tap_fault("doubles: %s", fault);
	free((void *) binary.value);
}

/* ---- Untrusted bytes --------------------------------------------------- */

static void
test_bytes(const uint8_t *bytes, size_t size)
{
	MtsElement binary = column_binary(bytes, size);
	MtsNext last;
	const char *fault = column_compare(&column, &binary, &last);

	if (fault)
		tap_fault("%s", fault);
	free((void *) binary.value);
}

/* Truncate and damage the columns of a table. */
static void
test_damaged(const Case *cases, size_t n)
{
	for (size_t i = 0; i < n; i++)
	{
		Column bytes = {.n = 0};
		uint8_t damaged[256];

		column_put_hex(&bytes, cases[i].hex);
		for (int size = 0; size < bytes.n; size++)
			test_bytes(bytes.bytes, size);
		for (int turn = 0; turn < 200; turn++)
		{
			memcpy(damaged, bytes.bytes, bytes.n);
			for (int64_t k = random_between(1, 4); k > 0; k--)
				damaged[random_below(bytes.n)] =
					random_below(2) ? 0xff : (uint8_t) random_bits();
			test_bytes(damaged, bytes.n);
		}
	}
}

/* ---- Limits ------------------------------------------------------------ */

/* Read all entries; count them. */
static MtsNext
count_entries(const uint8_t *bytes, size_t size, int64_t *n)
{
	MtsElement binary = column_binary(bytes, size), element;
	MtsNext next = MTS_NEXT_CORRUPT;

	*n = 0;
	if (mts_compressed_open(&column, &binary))
		while ((next = mts_compressed_next(&column, &element)) == MTS_NEXT_OK)
			++*n;
	free((void *) binary.value);
	return next;
}

/* Read a column that repeats a missing entry in so many blocks. */
static MtsNext
count_repeated(int blocks, int64_t *n)
{
	size_t size = blocks * 9 + 1;
	uint8_t *bytes = calloc(size, 1);
	MtsNext next;

	for (int i = 0; i < blocks; i++)
	{
		bytes[i * 9] = 0x80;
		bytes[i * 9 + 1] = 0xff;
	}
	next = count_entries(bytes, size, n);
	free(bytes);
	return next;
}

/* Read a section with an object of so many fields. */
static bool
reads_fields(int fields)
{
	static const uint8_t field[4] = {BSON_TYPE_NULL, 'a'};
	static const uint8_t zero[9] = {0x80, 0x0e};
	size_t size = 5 + fields * 3;
	uint8_t *bytes = calloc(1 + size + fields * sizeof(zero) + 2, 1);
	uint8_t *at = bytes;
	uint32_t len = BSON_UINT32_TO_LE((uint32_t) size);
	int64_t n;
	MtsNext next;

	*at = 0xf1;
	memcpy(at + 1, &len, 4);
	for (int i = 0; i < fields; i++)
		memcpy(at + 5 + i * 3, field, 3);
	at += 1 + size;
	for (int i = 0; i < fields; i++)
		memcpy(at + i * sizeof(zero), zero, sizeof(zero));
	next = count_entries(bytes, 1 + size + fields * sizeof(zero) + 2, &n);
	free(bytes);
	return next == MTS_NEXT_END && n == 1;
}

/* Put an object into others until it has so many levels. */
static void
nest(bson_t *object, int levels)
{
	while (--levels > 0)
	{
		bson_t outer = BSON_INITIALIZER;

		bson_append_document(&outer, "a", 1, object);
		bson_destroy(object);
		bson_copy_to(&outer, object);
		bson_destroy(&outer);
	}
}

/* Read an object with so many levels, whose innermost field is a literal with
 * so many. */
static bool
reads_levels(int levels, int levels_inside)
{
	bson_t object = BSON_INITIALIZER, inside = BSON_INITIALIZER;
	Column bytes = {.n = 0};
	int64_t n;

	bson_append_int32(&object, "a", 1, 5);
	nest(&object, levels);
	nest(&inside, levels_inside);
	column_put_byte(&bytes, 0xf1);
	column_put(&bytes, bson_get_data(&object), object.len);
	column_put_hex(&bytes, "0300");
	column_put(&bytes, bson_get_data(&inside), inside.len);
	column_put_hex(&bytes, "0000");
	bson_destroy(&object);
	bson_destroy(&inside);
	return count_entries(bytes.bytes, bytes.n, &n) == MTS_NEXT_END && n == 1;
}

static void
test_limits(void)
{
	int blocks = (int) (MTS_MAX_ELEMENTS / 1920);
	int64_t n;

	ok(count_repeated(blocks, &n) == MTS_NEXT_END && n == blocks * 1920,
	   "%d entries", blocks * 1920);
	ok(count_repeated(blocks + 1, &n) == MTS_NEXT_CORRUPT &&
		   n == MTS_MAX_ELEMENTS,
	   "refused: more than %d entries", (int) MTS_MAX_ELEMENTS);
	ok(reads_fields(65536), "an object with 65536 fields");
	ok(!reads_fields(65537), "refused: an object with 65537 fields");
	ok(reads_levels(100, MTS_MAX_DEPTH - 100), "as many levels as possible");
	ok(!reads_levels(100, MTS_MAX_DEPTH - 99), "refused: too many levels");
	ok(!reads_levels(MTS_MAX_DEPTH + 1, 1), "refused: a reference too deep");
}

int
main(void)
{
	static const uint8_t types[] = {BSON_TYPE_INT64, BSON_TYPE_DATE_TIME,
									BSON_TYPE_DECIMAL128};

	MtsArena *arena = mts_arena_new(realloc, free);

	tap_seed();
	mts_compressed_init(&column, arena);
	for (size_t i = 0; i < LENGTH(written); i++)
		test_case(&written[i]);
	for (size_t i = 0; i < LENGTH(made); i++)
		test_case(&made[i]);
	for (size_t i = 0; i < LENGTH(malformed); i++)
		test_case(&malformed[i]);
	test_files();
	tap_claim("columns are equal entry by entry and at once");
	test_open();
	test_limits();
	for (int turn = 0; turn < 500; turn++)
		test_random_column(types[random_below(LENGTH(types))]);
	tap_claim("blocks of every shape are read");
	for (int turn = 0; turn < 20000; turn++)
		test_random_scales();
	tap_claim("scales that change are the same entry by entry and at once");
	test_damaged(written, LENGTH(written));
	test_damaged(made, LENGTH(made));
	tap_claim("damaged columns give well-formed values, or are malformed");
	mts_arena_free(arena);
	return tap_done();
}
