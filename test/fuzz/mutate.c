/*
 * mutate.c
 *		Changes documents to ones that no driver would write.
 *
 * A random element gets another value or key, or is duplicated, removed or
 * nested.  The lengths around it are corrected, so that the fault is deeper
 * than the first check.  At times a length is wrong, or bytes are damaged.
 */
#include "fuzz.h"

/* The deepest nesting of a document */
#define MAX_HOLDERS 256

extern size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
extern size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
									  size_t max_size, unsigned seed);

typedef struct Bytes
{
	const char *bytes;
	size_t len;
} Bytes;

#define BYTES(text) \
	{ \
		text, sizeof(text) - 1 \
	}

/* Types and their values */
static const Bytes values[] = {
	BYTES("\x01\0\0\0\0\0\0\xf8\x7f"),             /* NaN */
	BYTES("\x01\0\0\0\0\0\0\xf0\xff"),             /* -Infinity */
	BYTES("\x01\0\0\0\0\0\0\0\x80"),               /* -0 */
	BYTES("\x01\xff\xff\xff\xff\xff\xff\xef\x7f"), /* the largest double */
	BYTES("\x01\0\0\0\0\0\0\xe0\x43"),             /* 2^63 */
	BYTES("\x01\0\0\0\0\0\0\xe0\x3f"),             /* 0.5 */
	BYTES("\x02\1\0\0\0\0"),                       /* "" */
	BYTES("\x02\4\0\0\0a\0b\0"),                   /* a NUL in text */
	BYTES("\x02\3\0\0\0\xff\xfe\0"),               /* not UTF-8 */
	BYTES("\x02\3\0\0\0\xc0\x80\0"),               /* a NUL in two bytes */
	BYTES("\x02\4\0\0\0\xed\xa0\x80\0"),           /* half a surrogate pair */
	BYTES("\x02\2\0\0\0\xe2\0"),                   /* a character cut off */
	BYTES("\x02\7\0\0\0"
		  "2013:2\0"),
	BYTES("\x03\5\0\0\0\0"), /* {} */
	BYTES("\x04\5\0\0\0\0"), /* [] */
	BYTES("\x03\x0a\0\0\0\x0a"
		  "0\0\x0a"
		  "0\0\0"),                  /* a length too short */
	BYTES("\x05\0\0\0\0\0"),         /* no bytes */
	BYTES("\x05\4\0\0\0\2\0\0\0\0"), /* old binary */
	BYTES("\x05\2\0\0\0\2\0\0"),     /* old binary, too short */
	BYTES("\x05\xff\xff\xff\x7f\0"),
	BYTES("\x06"), /* undefined */
	BYTES("\x07\x52\x57\x34\xd8"
		  "abcdefgh"),
	BYTES("\x07\xff\xff\xff\xff"
		  "abcdefgh"),
	BYTES("\x08\1"),
	BYTES("\x08\2"),                 /* neither true nor false */
	BYTES("\x09\0\0\0\0\0\0\0\x80"), /* the smallest date */
	BYTES("\x09\xff\xff\xff\xff\xff\xff\xff\x7f"),
	BYTES("\x09\x40\x2e\x3f\xf6\x93\xc5\0\0"),
	BYTES("\x09\x40\xc7\xd7\xa4\x41\1\0\0"), /* 2013-10-10 23:06 */
	BYTES("\x0a"),
	BYTES("\x0b"
		  "a\0b\0"), /* a regular expression */
	BYTES("\x0b\xff\0\xfe\0"),
	BYTES("\x0c\2\0\0\0a\0"
		  "abcdefghijkl"), /* a DBPointer */
	BYTES("\x0c\2\0\0\0\xff\0"
		  "abcdefghijkl"),
	BYTES("\x0d\2\0\0\0a\0"),                     /* code */
	BYTES("\x0e\2\0\0\0a\0"),                     /* a symbol */
	BYTES("\x0f\x0f\0\0\0\2\0\0\0a\0\5\0\0\0\0"), /* code and its scope */
	BYTES("\x0f\x0f\0\0\0\2\0\0\0a\0\6\0\0\0\0"),
	BYTES("\x0f\x0f\0\0\0\2\0\0\0\xff\0\5\0\0\0\0"),
	BYTES("\x10\0\0\0\x80"),
	BYTES("\x10\xff\xff\xff\xff"),
	BYTES("\x10\x3b\0\0\0"),
	BYTES("\x11\1\2\3\4\5\6\7\x08"), /* a timestamp */
	BYTES("\x12\0\0\0\0\0\0\0\x80"),
	BYTES("\x12\xff\xff\xff\xff\xff\xff\xff\x7f"),
	BYTES("\x13\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x7c"), /* NaN */
	BYTES("\x13\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xf8"), /* -Infinity */
	BYTES(
		"\x13\xff\xff\xff\xff\x63\x8e\x8d\x37\xc0\x87\xad\xbe\x09\xed\xff\x5f"),
	BYTES("\x13\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),     /* 1E-6176 */
	BYTES("\x13\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xfe\xdf"), /* -0E+6111 */
	BYTES("\x7f"),
	BYTES("\xff"),
	BYTES("\x20"), /* an unknown type */
};

static const Bytes keys[] = {
	BYTES(""),
	BYTES("0"),
	BYTES("59"),
	BYTES("60"),
	BYTES("007"),
	BYTES("-1"),
	BYTES("-0"),
	BYTES("+1"),
	BYTES(" 1"),
	BYTES("1 "),
	BYTES("1e3"),
	BYTES("1.5"),
	BYTES("0x1"),
	BYTES("3600"),
	BYTES("4095"),
	BYTES("2147483648"),
	BYTES("\xff"),
	BYTES("\xc0\x80"),
	BYTES("a.b"),
	BYTES("$date"),
	BYTES("_id"),
	BYTES("999999999999999999"),
	BYTES("9223372036854775807"),
	BYTES("-9223372036854775808"),
	BYTES("99999999999999999999"),
};

#define NVALUES (sizeof(values) / sizeof(values[0]))
#define NKEYS (sizeof(keys) / sizeof(keys[0]))

/* An element and the documents around it, as offsets in the input */
typedef struct Place
{
	size_t at; /* of its type */
	size_t key;
	size_t value;
	size_t end;
	size_t holders[MAX_HOLDERS];
	int depth;
} Place;

typedef struct Input
{
	uint8_t *data;
	size_t size;
	size_t room;
	int seen; /* elements */
	Place place;
} Input;

/* Choose one of a document's elements with equal probability. */
static void
choose(Input *input, size_t *holders, int depth, const uint8_t *doc,
	   size_t size)
{
	MtsElementCursor cursor;
	MtsElement element;

	if (depth == MAX_HOLDERS || !mts_element_open(&cursor, doc, size))
		return;
	holders[depth++] = doc - input->data;
	while (mts_element_next(&cursor, &element) == MTS_NEXT_OK)
	{
		if (random_below(++input->seen) == 0)
		{
			Place *place = &input->place;

			place->key = (const uint8_t *) element.key - input->data;
			place->at = place->key - 1;
			place->value = element.value - input->data;
			place->end = place->value + element.size;
			place->depth = depth;
			memcpy(place->holders, holders, depth * sizeof(*holders));
		}
		if (element.type == BSON_TYPE_DOCUMENT ||
			element.type == BSON_TYPE_ARRAY)
			choose(input, holders, depth, element.value, element.size);
	}
}

static void
put_length(uint8_t *at, uint32_t length)
{
	length = BSON_UINT32_TO_LE(length);
	memcpy(at, &length, sizeof(length));
}

static uint32_t
get_length(const uint8_t *at)
{
	uint32_t length;

	memcpy(&length, at, sizeof(length));
	return BSON_UINT32_FROM_LE(length);
}

/* Replace bytes, and correct the lengths around them. */
static void
splice(Input *input, size_t from, size_t to, const void *bytes, size_t len)
{
	if (input->size - (to - from) + len > input->room)
		return;
	memmove(input->data + from + len, input->data + to, input->size - to);
	memcpy(input->data + from, bytes, len);
	input->size += len - (to - from);
	for (int i = 0; i < input->place.depth; i++)
	{
		uint8_t *at = input->data + input->place.holders[i];

		put_length(at, get_length(at) + (uint32_t) (len - (to - from)));
	}
}

/* Nest a value in a number of subdocuments or arrays. */
static void
nest(Input *input, int levels, bool in_arrays)
{
	Place *place = &input->place;
	uint8_t type = in_arrays ? BSON_TYPE_ARRAY : BSON_TYPE_DOCUMENT;

	while (levels-- > 0 && input->size + 8 <= input->room)
	{
		uint8_t holder[8] = {0, 0, 0, 0, input->data[place->at], '0', 0, 0};

		put_length(holder, (uint32_t) (place->end - place->value) + 8);
		splice(input, place->end, place->end, holder + 7, 1);
		splice(input, place->value, place->value, holder, 7);
		input->data[place->at] = type;
		place->end += 8;
	}
}

/* Change the length of an element's document. */
static void
lie(Input *input)
{
	static const uint32_t lies[] = {0,          4,          5,
									0x7fffffff, 0x80000000, UINT32_MAX};
	uint8_t *at =
		input->data + input->place.holders[random_below(input->place.depth)];

	put_length(at, random_below(2)
					   ? lies[random_below(sizeof(lies) / sizeof(lies[0]))]
					   : get_length(at) + (uint32_t) random_between(-3, 4));
}

static void
change(Input *input)
{
	Place *place = &input->place;
	const Bytes *value = &values[random_below(NVALUES)];
	const Bytes *key = &keys[random_below(NKEYS)];
	uint8_t copy[FUZZ_MAX];
	size_t len = place->end - place->at;

	memcpy(copy, input->data + place->at, len);
	switch (random_below(10))
	{
		case 0:
			nest(input, (int) random_below(random_below(8) ? 4 : 200),
				 random_below(2));
			break;
		case 1:
			splice(input, place->at, place->end, "", 0);
			break;
		case 2:
			splice(input, place->end, place->end, copy, len);
			break;
		case 3:
			lie(input);
			break;
		case 4:
			len = place->end - place->value;
			if (len > 0)
				LLVMFuzzerMutate(input->data + place->value, len, len);
			break;
		case 5:
		case 6:
			splice(input, place->key, place->value - 1, key->bytes, key->len);
			break;
		default:
			input->data[place->at] = (uint8_t) value->bytes[0];
			splice(input, place->value, place->end, value->bytes + 1,
				   value->len - 1);
	}
}

/* Change one of the documents, which follow one another. */
static bool
change_document(Input *input)
{
	size_t holders[MAX_HOLDERS];
	size_t at = fuzz_head;

	input->seen = 0;
	while (at + 5 <= input->size)
	{
		size_t len = get_length(input->data + at);

		if (len < 5 || len > input->size - at)
			break;
		choose(input, holders, 0, input->data + at, len);
		at += len;
	}
	if (input->seen == 0)
		return false;
	change(input);
	return true;
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
						unsigned seed)
{
	Input input = {data, size, max_size < FUZZ_MAX ? max_size : FUZZ_MAX};
	uint8_t made[FUZZ_MAX];

	tap_state = seed;
	if (size < fuzz_head + 5 || size > input.room || random_below(100) == 0)
	{
		input.size = fuzz_make(made);
		if (input.size > input.room)
			return LLVMFuzzerMutate(data, size, max_size);
		memcpy(data, made, input.size);
	}
	if (random_below(8) == 0)
		LLVMFuzzerMutate(data, fuzz_head, fuzz_head);
	for (int64_t n = random_below(4); n >= 0; n--)
		if (random_below(30) == 0 || !change_document(&input))
			input.size = LLVMFuzzerMutate(data, input.size, input.room);
	return input.size;
}
