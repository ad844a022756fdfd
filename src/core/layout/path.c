/*
 * path.c
 *		Parse the path of a field into steps, compare steps, and follow names
 *		down a document.
 *
 * A path is checked by itself; layout.c checks whether the paths of several
 * columns fit together.  Names point into a buffer that the caller owns.
 */
#include "core/layout/path.h"

#include <string.h>

#define UNITS_HINT \
	"Units are millisecond, second, minute, hour, day and month, or a multiple such as \"15 minutes\"."

#define INDEX_HINT \
	"Write [] for each element of an array, or [{second}] for an index that counts seconds."

/* The most digits of a padded number, and the most values of one */
#define MAX_WIDTH 18
#define MAX_COUNT ((1 << 27) - 1)

typedef struct Parser
{
	const char *start; /* of the text, for positions in messages */
	const char *at;
	char *out; /* where the next name goes */
	MtsPath *path;
	MtsError *error;
} Parser;

static bool
fail(Parser *p, const char *what, const char *hint)
{
	int position = 1;

	for (const char *at = p->start; at < p->at; at++)
		position += (*at & 0xC0) != 0x80; /* the first byte of a character */
	return mts_error_set(p->error, hint, "%s at character %d of \"%.*s\".",
						 what, position,
						 mts_error_clip(p->start, strlen(p->start), 160),
						 p->start);
}

static MtsStep *
add_step(Parser *p)
{
	MtsStep *step;

	if (p->path->nsteps == MTS_MAX_STEPS)
	{
		(void) mts_error_set(p->error, NULL,
							 "The path has more than %d steps.",
							 MTS_MAX_STEPS);
		return NULL;
	}
	step = &p->path->steps[p->path->nsteps++];
	*step = (MtsStep){.kind = MTS_STEP_NAME};
	return step;
}

static bool
make_slot(Parser *p, MtsStep *step, MtsStepKind kind)
{
	step->kind = kind;
	if (p->path->nslots++ < MTS_MAX_SLOTS)
		return true;
	return mts_error_set(p->error, NULL, "The path has more than %d slots.",
						 MTS_MAX_SLOTS);
}

/* What braces hold */
typedef struct Slot
{
	const char *text;
	size_t len;
	bool has_unit;
	MtsSpan unit; /* of a number; otherwise a {column} */
	MtsSpan of;
	int64_t first;
	int width;
} Slot;

/* Return the text behind " of ", or NULL. */
static const char *
find_of(const char *text, size_t len)
{
	for (size_t i = 0; i + 4 < len; i++)
		if (memcmp(text + i, " of ", 4) == 0)
			return text + i + 4;
	return NULL;
}

/* Parse a unit and where it counts from; false if it is none. */
static bool
parse_unit(Slot *slot)
{
	const char *end = slot->text + slot->len;
	const char *of = find_of(slot->text, slot->len);
	const char *colon = memchr(slot->text, ':', slot->len);
	const char *digits = colon ? colon + 1 : end;

	if (of ? !mts_span_parse(slot->text, of - 4 - slot->text, &slot->unit) ||
				 !mts_span_parse_count(of, end - of, &slot->of, &slot->first)
		   : !mts_span_parse_count(slot->text, slot->len, &slot->unit,
								   &slot->first))
		return false;
	/* the first key is written as all keys are: 00 has two digits */
	if (end - digits > 1 && digits[0] == '0')
		slot->width = (int) (end - digits);
	if (end - digits > 1 && digits[0] == '-' && digits[1] == '0')
		return false;
	return slot->width <= MAX_WIDTH &&
		   (!of || (*of > '9' && mts_span_length(slot->unit, 28) <
									 mts_span_length(slot->of, 28)));
}

/* Parse "{...}"; p->at stands on the brace, and then behind the other one. */
static bool
parse_braces(Parser *p, Slot *slot)
{
	const char *close = strchr(p->at, '}');
	const char *colon;
	MtsSpan unit;

	*slot = (Slot){.text = p->at + 1};
	if (!close)
		return fail(p, "There is no closing brace for the brace", NULL);
	slot->len = close - slot->text;
	if (slot->len == 0)
		return fail(p, "There is an empty slot", UNITS_HINT);
	slot->has_unit = parse_unit(slot);
	/* text like "15 minuts" or "day:x" is a mistyped unit, not a column */
	colon = memchr(slot->text, ':', slot->len);
	if (!slot->has_unit &&
		((slot->text[0] >= '0' && slot->text[0] <= '9') ||
		 (colon && mts_span_parse(slot->text, colon - slot->text, &unit))))
		return fail(p, "There is no valid unit", UNITS_HINT);
	p->at = close + 1;
	return true;
}

/* Parse "[]" or "[{unit}]"; p->at stands on the bracket. */
static bool
parse_index(Parser *p)
{
	MtsStep *step = add_step(p);
	Slot slot = {0};

	if (!step ||
		!make_slot(p, step,
				   p->at[1] == '{' ? MTS_STEP_UNIT_INDEX : MTS_STEP_ELEMENT))
		return false;
	p->at++;
	if (*p->at == '{')
	{
		const char *brace = p->at;

		if (!parse_braces(p, &slot))
			return false;
		if (!slot.has_unit || slot.width > 0 || !mts_span_is_zero(slot.of))
		{
			p->at = brace;
			return fail(p, "There is no valid unit",
						slot.has_unit ? INDEX_HINT : UNITS_HINT);
		}
		step->unit = slot.unit;
		step->base = slot.first;
	}
	if (*p->at != ']')
		return fail(p, "A bracket must hold nothing or a unit in braces",
					INDEX_HINT);
	p->at++;
	return true;
}

/* Tell whether a name is the index of an element that an array can have. */
static bool
is_index(const MtsStep *step)
{
	int64_t n;

	return mts_element_key_number(step->name, step->len, &n) ==
			   MTS_KEYTEXT_NUMBER &&
		   n >= 0 && n < MTS_MAX_ELEMENTS;
}

/* Return how many times a unit goes into another one, or 0. */
static int64_t
quotient(MtsSpan outer, MtsSpan inner)
{
	int64_t usecs = outer.usecs + outer.days * MTS_DAY;

	if (outer.months != 0 || mts_span_is_calendar(inner) ||
		usecs <= inner.usecs || usecs % inner.usecs != 0 ||
		usecs / inner.usecs > MAX_COUNT)
		return 0;
	return usecs / inner.usecs;
}

/* Add a number to a key that has numbers; is_adjacent if no text precedes. */
static bool
add_number(Parser *p, MtsStep *step, const Slot *slot, bool is_adjacent)
{
	MtsKeyNumber *number = &step->numbers[step->nnumbers];
	int64_t count = 0, end = 1;

	if (step->nnumbers == MTS_MAX_NUMBERS)
		return fail(p, "There are too many numbers in a key", NULL);
	*number = (MtsKeyNumber){.first = (int32_t) slot->first,
							 .width = (uint32_t) slot->width};
	if (step->nnumbers > 0)
	{
		count = quotient(step->unit, slot->unit);
		if (count == 0 || !mts_span_is_zero(step->of) ||
			!mts_span_is_zero(slot->of) || number->first < 0 ||
			step->numbers[0].first < 0)
			return fail(
				p, "There is a number that does not fit the one before it",
				"In a key with several numbers, each unit must divide the one before it, no number may be negative, and all count from the same start, as in {hour:00}:{minute:00}.");
		for (int i = 0; i < slot->width; i++)
			end *= 10;
		if (is_adjacent && (slot->width == 0 || slot->first + count > end))
			return fail(
				p, "There is no text between two numbers of a key",
				"Write a period to make two keys. In one key, write a text between the numbers, or pad the second one, as in {hour:00}{minute:00}.");
		number->count = (uint32_t) count;
	}
	step->nnumbers++;
	step->unit = slot->unit;
	step->of = slot->of;
	step->base = step->nnumbers == 1 ? slot->first : 0;
	return true;
}

/*
 * Parse a slot within a key, whose text before it has been copied from
 * `literal` on.
 */
static bool
parse_key_slot(Parser *p, MtsStep *step, const char *literal)
{
	const char *brace = p->at, *end;
	bool is_adjacent = step->nnumbers > 0 && p->out == literal;
	Slot slot;

	if (!parse_braces(p, &slot) ||
		(step->kind == MTS_STEP_NAME &&
		 !make_slot(p, step,
					slot.has_unit ? MTS_STEP_UNIT_KEY : MTS_STEP_COLUMN_KEY)))
		return false;
	end = p->at;
	p->at = brace;
	if (!slot.has_unit &&
		(p->out != step->name || (*end && !strchr(".[", *end))))
		return fail(p, "There is text around a slot that is not a unit",
					UNITS_HINT);
	if (slot.has_unit && !add_number(p, step, &slot, is_adjacent))
		return false;
	p->at = end;
	if (slot.has_unit)
	{
		*p->out++ = '\0';
		return true;
	}
	memcpy(p->out, slot.text, slot.len);
	p->out += slot.len;
	return true;
}

/* Copy a character of a key, which a backslash may precede. */
static bool
parse_character(Parser *p, bool follows_number)
{
	if (*p->at == '\\')
	{
		if (p->at[1] == '\0' || !strchr(".{[\\0123456789", p->at[1]))
			return fail(
				p,
				"A backslash must precede \".\", \"{\", \"[\", a digit or another backslash",
				NULL);
		p->at++;
	}
	if (follows_number && *p->at >= '0' && *p->at <= '9')
		return fail(p, "A digit cannot follow a number directly", NULL);
	*p->out++ = *p->at++;
	return true;
}

/* Parse a key up to the next period or bracket. */
static bool
parse_key(Parser *p)
{
	MtsStep *step = add_step(p);
	const char *literal = p->out;
	/* the first step is a field of the document, which is not an array */
	bool is_key = *p->at == '\\' || p->path->nsteps == 1;

	if (!step)
		return false;
	step->name = p->out;
	while (*p->at && *p->at != '.' && *p->at != '[')
		if (*p->at != '{')
		{
			if (!parse_character(p, step->nnumbers > 0 && p->out == literal))
				return false;
		}
		else if (parse_key_slot(p, step, literal))
			literal = p->out;
		else
			return false;
	step->len = p->out - step->name;
	*p->out++ = '\0';
	/* a plain number is the fast case */
	if (step->nnumbers == 1 && step->len == 1 && step->numbers[0].width == 0)
	{
		step->nnumbers = 0;
		step->numbers[0] = (MtsKeyNumber){0};
	}
	if (step->kind == MTS_STEP_UNIT_KEY && step->nnumbers == 0)
	{
		step->name = NULL;
		step->len = 0;
	}
	step->may_be_index =
		step->kind == MTS_STEP_NAME && !is_key && is_index(step);
	return true;
}

static bool
parse_step(Parser *p)
{
	if (*p->at == '\0' || *p->at == '.')
		return fail(p, "There is an empty step", NULL);
	if (*p->at != '[' && !parse_key(p))
		return false;
	while (*p->at == '[')
		if (!parse_index(p))
			return false;
	if (*p->at != '\0' && *p->at != '.')
		return fail(p, "An index must be followed by another one or a period",
					NULL);
	return true;
}

/*
 * mts_path_parse
 *		Parse a path.
 *
 * Names are copied to buffer, which has room for strlen(text) + 1 bytes and
 * lives as long as the path.  False with the reason in *error if the text is
 * not a path.
 */
bool
mts_path_parse(const char *text, char *buffer, MtsPath *path, MtsError *error)
{
	Parser p = {text, text, buffer, path, error};

	path->nsteps = 0;
	path->nslots = 0;
	if (strlen(text) >= MTS_MAX_PATH)
		return mts_error_set(error, NULL, "The path has more than %d bytes.",
							 MTS_MAX_PATH - 1);
	if (strcmp(text, "*") == 0)
		return true;
	for (;;)
	{
		if (!parse_step(&p))
			return false;
		if (*p.at == '\0')
			return true;
		p.at++;
	}
}

bool
mts_path_step_is_slot(const MtsStep *step)
{
	return step->kind != MTS_STEP_NAME;
}

/* Tell whether a step is a slot that counts units of time. */
bool
mts_path_step_is_unit(const MtsStep *step)
{
	return step->kind == MTS_STEP_UNIT_KEY ||
		   step->kind == MTS_STEP_UNIT_INDEX;
}

/* Tell whether a step is an index of an array, not a key of a document. */
bool
mts_path_step_is_array(const MtsStep *step)
{
	return step->kind == MTS_STEP_UNIT_INDEX || step->kind == MTS_STEP_ELEMENT;
}

static bool
same_span(MtsSpan a, MtsSpan b)
{
	return a.months == b.months && a.days == b.days && a.usecs == b.usecs;
}

bool
mts_path_step_equal(const MtsStep *a, const MtsStep *b)
{
	if (a->kind != b->kind || a->len != b->len || a->base != b->base ||
		a->nnumbers != b->nnumbers || a->may_be_index != b->may_be_index ||
		!same_span(a->unit, b->unit) || !same_span(a->of, b->of))
		return false;
	for (int i = 0; i < a->nnumbers; i++)
		if (a->numbers[i].first != b->numbers[i].first ||
			a->numbers[i].count != b->numbers[i].count ||
			a->numbers[i].width != b->numbers[i].width)
			return false;
	return a->len == 0 || memcmp(a->name, b->name, a->len) == 0;
}

/* Tell whether the first nsteps steps of two paths are equal. */
bool
mts_path_starts_with(const MtsPath *path, const MtsPath *prefix, int nsteps)
{
	if (path->nsteps < nsteps || prefix->nsteps < nsteps)
		return false;
	for (int i = 0; i < nsteps; i++)
		if (!mts_path_step_equal(&path->steps[i], &prefix->steps[i]))
			return false;
	return true;
}

/* Tell whether a step of a path may be the index of an array. */
bool
mts_path_has_index(const MtsPath *path)
{
	for (int i = 0; i < path->nsteps; i++)
		if (path->steps[i].may_be_index)
			return true;
	return false;
}

/* Tell whether a path begins with _id. */
bool
mts_path_is_in_id(const MtsPath *path)
{
	return path->nsteps > 0 && path->steps[0].kind == MTS_STEP_NAME &&
		   strcmp(path->steps[0].name, "_id") == 0;
}

/* The number of names before a path's first slot */
int
mts_path_leading_names(const MtsPath *path)
{
	int names = 0;

	while (names < path->nsteps && !mts_path_step_is_slot(&path->steps[names]))
		names++;
	return names;
}

/*
 * mts_path_dotted
 *		Write names joined by periods, as MongoDB's queries address a field.
 *
 * A slot without a name is written as an empty name.  Returns the length
 * without the NUL.  The text is clipped to size bytes, NUL included.
 */
size_t
mts_path_dotted(const MtsStep *steps, int nsteps, char *text, size_t size)
{
	size_t len = 0;

	/* without snprintf: this is called for each bucket */
	for (int i = 0; i < nsteps; i++)
	{
		const char *name = steps[i].name ? steps[i].name : "";
		size_t n;

		if (i > 0 && len < size - 1)
			text[len++] = '.';
		n = mts_error_clip(name, strlen(name), (int) (size - 1 - len));
		memcpy(text + len, name, n);
		len += n;
	}
	text[len] = '\0';
	return len;
}

/*
 * mts_path_is_at
 *		Tell whether MongoDB's queries address the field of a path by a text.
 */
bool
mts_path_is_at(const MtsPath *path, const char *dotted)
{
	char own[MTS_MAX_PATH];

	mts_path_dotted(path->steps, path->nsteps, own, sizeof(own));
	return path->nsteps > 0 && strcmp(own, dotted) == 0;
}

/* Tell whether two steps, each with a name, have the same name. */
bool
mts_path_step_same_name(const MtsStep *a, const MtsStep *b)
{
	return a->len == b->len && memcmp(a->name, b->name, a->len) == 0;
}

/*
 * mts_path_step_is_addressable
 *		Tell whether a dotted path in MongoDB has a step and means the same.
 *
 * It cannot have a slot, nor a key that is empty, begins with a dollar sign
 * or contains a period.  An index also addresses the key of that name in each
 * document that is an element of the array.
 */
bool
mts_path_step_is_addressable(const MtsStep *step)
{
	return step->kind == MTS_STEP_NAME && !step->may_be_index &&
		   step->len > 0 && step->name[0] != '$' && !strchr(step->name, '.');
}

/*
 * mts_path_addressable_steps
 *		The number of leading steps that a query can address.
 */
int
mts_path_addressable_steps(const MtsPath *path)
{
	int n = 0;

	while (n < path->nsteps && mts_path_step_is_addressable(&path->steps[n]))
		n++;
	return n;
}

/* Find the first element with a key, or the element with an index. */
static MtsFound
find_key(const MtsElement *doc, const MtsStep *name, MtsElement *element)
{
	MtsElementCursor cursor;
	MtsNext next;

	if (doc->type == BSON_TYPE_NULL)
		return MTS_ABSENT;
	if ((doc->type != BSON_TYPE_DOCUMENT &&
		 !(doc->type == BSON_TYPE_ARRAY && name->may_be_index)) ||
		!mts_element_open(&cursor, doc->value, doc->size))
		return MTS_MALFORMED;
	while ((next = mts_element_next(&cursor, element)) == MTS_NEXT_OK)
		if (element->key_len == name->len &&
			memcmp(element->key, name->name, name->len) == 0)
			return MTS_FOUND;
	return next == MTS_NEXT_END ? MTS_ABSENT : MTS_MALFORMED;
}

/*
 * mts_path_find
 *		Follow n names, which may be indexes, down a document.
 *
 * Without names, *element is the document itself.
 */
MtsFound
mts_path_find(const MtsElement *doc, const MtsStep *names, int n,
			  MtsElement *element)
{
	MtsElement at = *doc;

	for (int i = 0; i < n; i++)
	{
		MtsFound found = find_key(&at, &names[i], element);

		if (found != MTS_FOUND)
			return found;
		at = *element;
	}
	*element = at;
	return MTS_FOUND;
}
