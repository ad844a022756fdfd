/*
 * path.c
 *		Parse the path of a field into steps, compare steps, and follow names
 *		down a document.
 *
 * A path is checked by itself; layout.c checks whether the paths of several
 * columns fit together.  Names point into a buffer that the caller owns.
 */
#include "core/layout/path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNITS_HINT \
	"Units are millisecond, second, minute, hour, day and month, or a multiple such as \"15 minutes\"."

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
add_step(Parser *p, MtsStepKind kind)
{
	MtsStep *step;

	if (p->path->nsteps == MTS_MAX_STEPS)
	{
		(void) mts_error_set(p->error, NULL,
							 "The path has more than %d steps.",
							 MTS_MAX_STEPS);
		return NULL;
	}
	step = &p->path->steps[p->path->nsteps];
	*step = (MtsStep){.kind = kind};
	if (mts_path_step_is_slot(step) && p->path->nslots == MTS_MAX_SLOTS)
	{
		(void) mts_error_set(p->error, NULL,
							 "The path has more than %d slots.",
							 MTS_MAX_SLOTS);
		return NULL;
	}
	p->path->nsteps++;
	p->path->nslots += mts_path_step_is_slot(step);
	return step;
}

/* End the name that was copied to p->out, and give it to a step. */
static void
finish_name(Parser *p, MtsStep *step, size_t len)
{
	step->name = p->out;
	step->len = len;
	p->out += len;
	*p->out++ = '\0';
}

/*
 * Parse "{...}"; p->at stands on the brace.  If it holds a unit, the step is
 * of unit_kind; an array's index requires one.
 */
static bool
parse_braces(Parser *p, MtsStepKind unit_kind)
{
	const char *text = p->at + 1;
	const char *close = strchr(text, '}');
	size_t len;
	MtsSpan unit;
	int64_t base;
	MtsStep *step;

	if (!close)
		return fail(p, "There is no closing brace for the brace", NULL);
	len = close - text;
	if (len == 0)
		return fail(p, "There is an empty slot", UNITS_HINT);
	if (mts_span_parse_count(text, len, &unit, &base))
	{
		step = add_step(p, unit_kind);
		if (!step)
			return false;
		step->unit = unit;
		step->base = base;
	}
	else
	{
		/* text like "15 minuts" or "day:x" is a mistyped unit, not a column */
		const char *colon = memchr(text, ':', len);

		if (unit_kind == MTS_STEP_UNIT_INDEX ||
			(text[0] >= '0' && text[0] <= '9') ||
			(colon && mts_span_parse(text, colon - text, &unit)))
			return fail(p, "There is no valid unit", UNITS_HINT);
		step = add_step(p, MTS_STEP_COLUMN_KEY);
		if (!step)
			return false;
		memcpy(p->out, text, len);
		finish_name(p, step, len);
	}
	p->at = close + 1;
	return true;
}

/* Parse "[]" or "[{unit}]"; p->at stands on the bracket. */
static bool
parse_brackets(Parser *p)
{
	p->at++;
	if (*p->at == '{')
	{
		if (!parse_braces(p, MTS_STEP_UNIT_INDEX))
			return false;
	}
	else if (*p->at == ']')
	{
		if (!add_step(p, MTS_STEP_ELEMENT))
			return false;
	}
	if (*p->at != ']')
		return fail(
			p, "A bracket must hold nothing or a unit in braces",
			"Write [] for each element of an array, or [{second}] for an index that counts seconds.");
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

/*
 * Parse a name up to the next ".", "{" or "[" that no backslash precedes.
 *
 * The first step is a field of the document, which is not an array.
 */
static bool
parse_name(Parser *p)
{
	MtsStep *step = add_step(p, MTS_STEP_NAME);
	bool is_key = *p->at == '\\' || p->path->nsteps == 1;
	char *out = p->out;

	if (!step)
		return false;
	while (*p->at && !strchr(".{[", *p->at))
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
		*out++ = *p->at++;
	}
	finish_name(p, step, out - p->out);
	step->may_be_index = !is_key && is_index(step);
	return true;
}

static bool
parse_step(Parser *p)
{
	if (*p->at == '\0' || *p->at == '.')
		return fail(p, "There is an empty step", NULL);
	if (*p->at != '{' && *p->at != '[' && !parse_name(p))
		return false;
	while (*p->at == '{' || *p->at == '[')
		if (!(*p->at == '{' ? parse_braces(p, MTS_STEP_UNIT_KEY)
							: parse_brackets(p)))
			return false;
	if (*p->at != '\0' && *p->at != '.')
		return fail(p, "A slot must be followed by another slot or a period",
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

bool
mts_path_step_equal(const MtsStep *a, const MtsStep *b)
{
	return a->kind == b->kind && a->len == b->len && a->base == b->base &&
		   a->may_be_index == b->may_be_index &&
		   a->unit.months == b->unit.months && a->unit.days == b->unit.days &&
		   a->unit.usecs == b->unit.usecs &&
		   (a->len == 0 || memcmp(a->name, b->name, a->len) == 0);
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
