/*
 * collection.h
 *		Makes the documents of a collection from a template, and records the
 *		readings in them with their times.
 *
 * A template is relaxed JSON: keys are bare or in ', and commas are optional.
 * Loops repeat what follows the colon:
 *		(60 1m: ..)    60 times, each a minute later; months M, irregular ~
 *		(* 1m: ..)     until the time of the enclosing loop has passed; "once"
 *		               leaves out a local time that recurs
 *		(=a b 1..9: ..) for each of these names
 *		(^31: ..)      until an array has 31 elements
 * A percentage before the colon is how many of the iterations are kept.
 * Values: @ the time, @d its day, @f and @l the times of the document's first
 * and last reading, @k a date of the name; $ a reading, ~ one with a fraction;
 * & and ! other numbers; and text, in which % starts one of the conversions of
 * expand().
 */
#ifndef COLLECTION_H
#define COLLECTION_H

#include <bson/bson.h>

#include "advice/infer/survey.h"
#include "tap.h"

#define COLLECTION_DOCS 600
#define COLLECTION_READINGS 150000

/* Readings are distinct numbers from 1,000,000 on. */
#define READING_FIRST 1000000
#define READING_PRIME 999983

/* The loops around a place of the template */
typedef struct Scope
{
	const struct Scope *outer;
	MtsTime time;
	MtsTime end;
	int index;
	char name[32]; /* of the inner loop of names */
} Scope;

#define SCOPES 4

typedef struct Reading
{
	MtsTime time;
	MtsTime document;       /* the time of its document */
	MtsTime around[SCOPES]; /* of the loops around, within the document */
	bool is_time;           /* seen with its time */
	bool is_data;           /* seen with another of these, or with none */
	bool is_wrong;
} Reading;

typedef struct Collection
{
	const char *template;
	const MtsClock *clock;
	int ndocs;
	bson_t *docs[COLLECTION_DOCS];
	MtsSample samples[COLLECTION_DOCS];
	MtsTime start; /* of the current document */
	MtsTime first;
	MtsTime last;
	int ndoc;
	int n;
	Reading readings[COLLECTION_READINGS];
	int numbers[READING_PRIME]; /* the index of a reading, plus 1 */
} Collection;

static const char *make_items(Collection *c, const char *at,
							  const Scope *scope, bson_t *out, int *n);

static inline uint64_t
collection_hash(const Collection *c, int64_t n)
{
	uint64_t z = (uint64_t) n * 0x9e3779b97f4a7c15 + c->ndocs;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	return z ^ (z >> 31);
}

static inline int
collection_reading(Collection *c, const Scope *scope)
{
	int number = (int) ((c->n * INT64_C(7919) + 13) % READING_PRIME);
	Reading *reading = &c->readings[c->n];
	const Scope *at = scope;

	if (c->n >= COLLECTION_READINGS)
		abort();
	c->numbers[number] = ++c->n;
	*reading = (Reading){.time = scope->time, .document = c->start};
	for (int i = 0; i < SCOPES; i++, at = at->outer ? at->outer : at)
		reading->around[i] = at->time;
	c->first = c->ndoc++ == 0 ? scope->time : c->first;
	c->last = scope->time;
	return READING_FIRST + number;
}

/* Return the reading that a number is, or NULL. */
static inline Reading *
collection_find(Collection *c, double d)
{
	int i = d >= READING_FIRST && d < READING_FIRST + READING_PRIME
				? c->numbers[(int) d - READING_FIRST]
				: 0;

	return i > 0 ? &c->readings[i - 1] : NULL;
}

static inline MtsTime
local_date(const Collection *c, MtsTime t, int64_t *year, int *month, int *day)
{
	MtsTime local = mts_clock_local(c->clock, t);

	mts_clock_date(local, year, month, day);
	return local;
}

/* Write what a conversion stands for, and return its length. */
static inline int
expand(const Collection *c, char conversion, const Scope *scope, char *text)
{
	int month, day;
	int64_t year;
	MtsTime local = local_date(c, scope->time, &year, &month, &day);
	MtsTime midnight = mts_clock_floor(NULL, local, (MtsSpan){0, 1, 0});
	int64_t second = (local - midnight) / MTS_SECOND;
	int64_t unix_usecs = scope->time - MTS_UNIX_EPOCH;
	const struct
	{
		char name;
		int width;
		int64_t n;
	} numbers[] = {
		/* of the date and the time, padded */
		{'Y', 4, year},
		{'m', 2, month},
		{'d', 2, day},
		{'y', 2, year % 100},
		{'H', 2, second / 3600},
		{'M', 2, second / 60 % 60},
		{'S', 2, second % 60},
		/* the same, not padded */
		{'o', 0, month},
		{'e', 0, day},
		{'h', 0, second / 3600},
		{'n', 0, second / 60 % 60},
		{'c', 0, second % 60},
		/* the minute and the second of the day */
		{'j', 0, second / 60},
		{'D', 0, second},
		/* seconds, milliseconds and nanoseconds since 1970 */
		{'u', 0, unix_usecs / MTS_SECOND},
		{'U', 0, unix_usecs / 1000},
		{'N', 0, unix_usecs * 1000},
		/* ticks of .NET */
		{'t', 0, (scope->time - MTS_FIRST_YEAR) * 10},
		/* seconds and milliseconds since the document's time */
		{'x', 0, (scope->time - c->start) / MTS_SECOND},
		{'X', 0, (scope->time - c->start) / 1000},
		/* the iteration of the loop, from 0 and from 1 */
		{'#', 0, scope->index},
		{'+', 0, scope->index + 1},
		/* the number of the document, and of readings in it so far */
		{'i', 0, c->ndocs},
		{'r', 0, c->ndoc},
	};

	/* the name of the loop */
	if (conversion == 'k')
		return sprintf(text, "%s", scope->name);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (numbers[i].name == conversion)
			return sprintf(text, "%0*lld", numbers[i].width,
						   (long long) numbers[i].n);
	printf("Bail out! No conversion %%%c\n", conversion);
	exit(1);
}

/* Read text up to one of the ends; a ' may enclose it. */
static inline const char *
make_text(Collection *c, const char *at, const char *ends, const Scope *scope,
		  char text[128])
{
	bool is_quoted = *at == '\'';
	char *end = text;

	if (is_quoted)
		ends = "'";
	for (at += is_quoted; !strchr(ends, *at); at++)
		if (*at == '%')
			end += expand(c, *++at, scope, end);
		else if (*at == '$')
			end += sprintf(end, "%d", collection_reading(c, scope));
		else
			*end++ = *at;
	*end = '\0';
	return at + is_quoted;
}

/* Append a number, true or null. */
static inline void
append_literal(bson_t *out, const char *key, const char *text)
{
	char *end;
	int64_t n = strtoll(text, &end, 10);

	if (strcmp(text, "null") == 0)
		bson_append_null(out, key, -1);
	else if (strcmp(text, "true") == 0)
		bson_append_bool(out, key, -1, true);
	else if (*end)
		bson_append_double(out, key, -1, strtod(text, &end));
	else if (n == (int32_t) n)
		bson_append_int32(out, key, -1, (int32_t) n);
	else
		bson_append_int64(out, key, -1, n);
}

static inline const char *
make_date(const Collection *c, const char *at, const Scope *scope, bson_t *out,
		  const char *key)
{
	MtsTime t = scope->time;

	if (*at == 'd')
		t = mts_clock_floor(c->clock, t, (MtsSpan){0, 1, 0});
	else if (*at == 'f')
		t = c->first;
	else if (*at == 'l')
		t = c->last;
	else if (*at == 't')
	{
		bson_append_timestamp(out, key, -1,
							  (uint32_t) ((t - MTS_UNIX_EPOCH) / MTS_SECOND),
							  (uint32_t) c->ndocs);
		return at + 1;
	}
	else if (*at == 'k')
		t = MTS_UNIX_EPOCH + (20000 + 91 * scope->index) * MTS_DAY;
	bson_append_date_time(out, key, -1, (t - MTS_UNIX_EPOCH) / 1000);
	return at + (*at && strchr("dflkt", *at));
}

static inline const char *
make_nested(Collection *c, const char *at, const Scope *scope, bson_t *out,
			const char *key)
{
	bool is_array = *at == '[';
	bool is_root = out == NULL;
	bson_t *doc = bson_new();
	int n = is_array ? 0 : -1;

	if (is_root)
	{
		c->start = c->first = c->last = scope->time;
		c->ndoc = 0;
	}
	at = make_items(c, at + 1, scope, doc, &n) + 1;
	if (!is_root)
	{
		(is_array ? bson_append_array : bson_append_document)(out, key, -1,
															  doc);
		bson_destroy(doc);
		return at;
	}
	if (c->ndocs == COLLECTION_DOCS)
		abort();
	c->samples[c->ndocs] = (MtsSample){bson_get_data(doc), doc->len};
	c->docs[c->ndocs++] = doc;
	return at;
}

static inline const char *
make_value(Collection *c, const char *at, const Scope *scope, bson_t *out,
		   const char *key)
{
	int64_t place = c->n * INT64_C(4096) + (at - c->template);
	int noise = (int) (collection_hash(c, place) % 1000);
	char text[128];

	switch (*at)
	{
		case '{':
		case '[':
			return make_nested(c, at, scope, out, key);
		case '@':
			return make_date(c, at + 1, scope, out, key);
		case '$':
			bson_append_int32(out, key, -1, collection_reading(c, scope));
			return at + 1;
		case '~':
			bson_append_double(out, key, -1,
							   collection_reading(c, scope) + 0.5);
			return at + 1;
		case '&':
			bson_append_int32(out, key, -1, noise);
			return at + 1;
		case '!':
			bson_append_double(out, key, -1, noise + 0.25);
			return at + 1;
		case '\'':
			at = make_text(c, at, "", scope, text);
			bson_append_utf8(out, key, -1, text, -1);
			return at;
		default:
			at = make_text(c, at, ",)}] ", scope, text);
			append_literal(out, key, text);
			return at;
	}
}

/* Return the parenthesis that ends a loop. */
static inline const char *
skip_loop(const char *at)
{
	int depth = 1;
	bool is_quoted = false;

	for (;; at++)
	{
		is_quoted ^= *at == '\'';
		depth += is_quoted ? 0 : (*at == '(') - (*at == ')');
		if (depth == 0 || !*at)
			return at;
	}
}

static inline MtsSpan
loop_step(const char *text)
{
	static const struct
	{
		const char *name;
		MtsSpan span;
	} units[] = {{"ms", {0, 0, 1000}},      {"s", {0, 0, MTS_SECOND}},
				 {"m", {0, 0, MTS_MINUTE}}, {"h", {0, 0, MTS_HOUR}},
				 {"d", {0, 1, 0}},          {"M", {1, 0, 0}},
				 {"y", {12, 0, 0}}};
	char *name;
	int n = (int) strtol(text, &name, 10);

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(name, units[i].name) == 0)
			return (MtsSpan){n * units[i].span.months, n * units[i].span.days,
							 n * units[i].span.usecs};
	printf("Bail out! No step: %s\n", text);
	exit(1);
}

static inline bool
is_kept(const Collection *c, int percent, int64_t n)
{
	return (int) (collection_hash(c, n) % 100) < percent;
}

/* Repeat a loop's items at times. */
static inline void
make_times(Collection *c, const char *count, const char *step, bool once,
		   int percent, const char *items, const Scope *scope, bson_t *out,
		   int *n)
{
	bool is_irregular = *step == '~';
	MtsSpan unit = loop_step(step + is_irregular);
	int limit = *count == '*' ? INT32_MAX : atoi(count);
	MtsTime next = scope->time;
	Scope inner = *scope;

	inner.outer = scope;
	for (inner.index = 0; inner.index < limit; inner.index++)
	{
		inner.time = next;
		mts_clock_step(c->clock, inner.time, unit, 1, &next);
		if (is_irregular)
			next = inner.time +
				   (1 + (int64_t) (collection_hash(c, inner.index) %
								   (uint64_t) (unit.usecs / 1000000))) *
					   1000000;
		if (*count == '*' && inner.time >= scope->end)
			return;
		inner.end = next < scope->end ? next : scope->end;
		if (once && mts_clock_local(c->clock, inner.time) ==
						mts_clock_local(c->clock, next))
			continue;
		if (is_kept(c, percent, inner.time / 1000))
			make_items(c, items, &inner, out, n);
	}
}

/* Repeat a loop's items with a name, or with each number of a range. */
static inline void
make_names(Collection *c, char *names, int percent, const char *items,
		   const Scope *scope, bson_t *out, int *n)
{
	char *rest = NULL;
	Scope inner = *scope;

	inner.outer = scope;
	inner.index = 0;
	for (char *name = strtok_r(names, " ", &rest); name;
		 name = strtok_r(NULL, " ", &rest))
	{
		char *to = strstr(name, "..");
		int first = atoi(name);
		int last = to ? atoi(to + 2) : first;

		for (int i = first; i <= last; i++, inner.index++)
		{
			snprintf(inner.name, sizeof(inner.name), "%s", name);
			if (to)
				snprintf(inner.name, sizeof(inner.name), "%d", i);
			if (is_kept(c, percent, inner.index))
				make_items(c, items, &inner, out, n);
		}
	}
}

static inline const char *
make_loop(Collection *c, const char *at, const Scope *scope, bson_t *out,
		  int *n)
{
	size_t len = strcspn(at, ":");
	const char *items = at + len + 1;
	char head[256] = "", step[16] = "", count[16], once[16];
	int words;
	char *percent;
	int kept = 100;

	memcpy(head, at, len);
	percent = strchr(head, '%');
	if (percent)
	{
		*percent = '\0';
		percent = strrchr(head, ' ');
		*percent++ = '\0';
		kept = atoi(percent);
	}
	words = sscanf(head, "%15s %15s %15s", count, step, once);
	if (*head == '^')
		while (*n < atoi(head + 1))
			make_items(c, items, scope, out, n);
	else if (*head == '=')
		make_names(c, head + 1, kept, items, scope, out, n);
	else
		make_times(c, count, step, words == 3, kept, items, scope, out, n);
	return skip_loop(items) + 1;
}

/*
 * Make the members of a document, the elements of an array from *n on, or
 * documents if out is NULL.  Returns where they end in the template.
 */
static const char *
make_items(Collection *c, const char *at, const Scope *scope, bson_t *out,
		   int *n)
{
	char key[128];

	for (;;)
	{
		at += strspn(at, ", ");
		if (strchr(")}]", *at))
			return at;
		if (*at == '(')
		{
			at = make_loop(c, at + 1, scope, out, n);
			continue;
		}
		if (*n >= 0)
			snprintf(key, sizeof(key), "%d", (*n)++);
		else
		{
			at = make_text(c, at, ":", scope, key);
			at += 1 + strspn(at + 1, " ");
		}
		at = make_value(c, at, scope, out, key);
	}
}

static inline void
collection_make(Collection *c, const char *template, MtsTime start,
				const MtsClock *clock)
{
	Scope scope = {.time = start, .end = MTS_TIME_MAX};

	memset(c, 0, sizeof(*c));
	c->template = template;
	c->clock = clock;
	make_items(c, template, &scope, NULL, &(int){0});
}

static inline void
collection_free(Collection *c)
{
	while (c->ndocs > 0)
		bson_destroy(c->docs[--c->ndocs]);
}

#endif /* COLLECTION_H */
