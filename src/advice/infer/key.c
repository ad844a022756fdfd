/*
 * key.c
 *		Chooses the keys of buckets: the smallest set of fields that, with the
 *		time, tells the sampled buckets apart.
 *
 * A unique index decides, otherwise the samples do.  All other fields are
 * attributes: a key that only describes a bucket lets an INSERT that lacks its
 * value begin a second one.  If several fields would do, those of indexes
 * precede, then texts and other identifiers, then those with most values.
 *
 * Few sampled buckets may have one time.  If the time alone tells all apart,
 * they are several series, and the key is the best field whose values return;
 * or they are one, and what they have in common is the key.  Buckets of one
 * series do not overlap.
 */
#include "advice/infer/infer_private.h"

#include <stdlib.h>
#include <string.h>

/* How well a field identifies a series */
typedef enum KeyClass
{
	IS_IDENTIFIER, /* text, ObjectId, UUID */
	IS_NUMBER,     /* an integer */
	IS_FLAG,       /* a Boolean */
	IS_OTHER       /* a time, a fraction, or absent in some samples */
} KeyClass;

/* A field that may be a key */
typedef struct Candidate
{
	int node;
	char field[MTS_MAX_PATH]; /* dotted, or empty if no query addresses it */
	KeyClass class;
	uint64_t *hashes; /* of its values, by sample */
	int distinct;     /* different values */
	int nindexes;     /* that have it */
	bool is_chosen;
} Candidate;

/* What identifies a sample, and what it holds */
typedef struct Identity
{
	uint64_t hash;
	uint64_t whole;
} Identity;

/* The fields that may be keys, and the samples that they tell apart */
typedef struct Choice
{
	MtsInfer *infer;
	MtsArena *arena; /* of all that follows */
	Candidate *items;
	int n;
	char time[MTS_MAX_PATH]; /* of buckets, dotted; or empty */
	uint64_t *base;          /* of the time and what is chosen, by sample */
	uint64_t *whole; /* of what differs if samples are to be told apart */
	uint64_t *sums;  /* room for a number by sample */
	Identity *pairs; /* and for two */
	int *order;      /* of the samples by time */
	bool do_overlap; /* the points of one begin before another's end */
	int nsamples;    /* without those that are excluded */
} Choice;

/* An index that has the time of buckets says more than all others. */
#define TIMED_INDEX 1000

/* A unique index says more than all others. */
#define UNIQUE_INDEX 1000

/* In fewer samples, identifiers need not repeat. */
#define MIN_REPEATED 10

/* Allocate zeroed memory, which lives as long as the choice. */
static void *
allocate(const Choice *choice, size_t n, size_t size)
{
	return memset(mts_arena_allocate(choice->arena, n * size + 1), 0,
				  n * size + 1);
}

/* Hash a value so that sums of hashes differ as well. */
static uint64_t
hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ ((const uint8_t *) bytes)[i]) * UINT64_C(1099511628211);
	hash = (hash ^ hash >> 29) * UINT64_C(11400714819323198485);
	return hash ^ hash >> 32;
}

/* ---- Samples ------------------------------------------------------------ */

static int
compare_identities(const void *a, const void *b)
{
	const Identity *x = a, *y = b;

	return x->hash != y->hash ? (x->hash > y->hash) - (x->hash < y->hash)
							  : (x->whole > y->whole) - (x->whole < y->whole);
}

/*
 * How many different pairs of hashes the samples have.  Sets the number of
 * those whose first hash another, different one has.
 */
static int
count_pairs(const Choice *choice, const uint64_t *hashes,
			const uint64_t *wholes, int *alike)
{
	const MtsInfer *infer = choice->infer;
	Identity *items = choice->pairs;
	int n = 0, pairs;

	for (int i = 0; i < infer->nsamples; i++)
		if (!infer->is_excluded[i])
			items[n++] = (Identity){hashes[i], wholes[i]};
	qsort(items, n, sizeof(Identity), compare_identities);
	pairs = n > 0;
	*alike = 0;
	for (int i = 1; i < n; i++)
	{
		pairs += compare_identities(&items[i], &items[i - 1]) != 0;
		*alike += items[i].hash == items[i - 1].hash &&
				  items[i].whole != items[i - 1].whole;
	}
	return pairs;
}

/*
 * How many samples are like another, different one by the time and the chosen
 * candidates, with one more and without one of them
 */
static int
count_alike(const Choice *choice, const Candidate *with,
			const Candidate *without)
{
	const MtsInfer *infer = choice->infer;
	int alike;

	mts_infer_pause(infer);
	for (int i = 0; i < infer->nsamples; i++)
		choice->sums[i] = choice->base[i] + (with ? with->hashes[i] : 0) -
						  (without ? without->hashes[i] : 0);
	(void) count_pairs(choice, choice->sums, choice->whole, &alike);
	return alike;
}

static void
set_chosen(Choice *choice, Candidate *item, bool is_chosen)
{
	for (int i = 0;
		 i < choice->infer->nsamples && item->is_chosen != is_chosen; i++)
		choice->base[i] += is_chosen ? item->hashes[i] : -item->hashes[i];
	item->is_chosen = is_chosen;
}

/* Whether a candidate is constant for each value of another one */
static bool
depends(const Choice *choice, const Candidate *item, const Candidate *on)
{
	int alike;

	(void) count_pairs(choice, on->hashes, item->hashes, &alike);
	return alike == 0;
}

/* ---- Candidates --------------------------------------------------------- */

/* Whether a node is the field _id of documents, and not inside of it */
static bool
is_id(const MtsInfer *infer, int node)
{
	return infer->survey.nodes[node].depth == 1 &&
		   mts_column_is_in(infer, node, "_id");
}

/* Write the hashes of a node's values; returns the samples that have one. */
static int
hash_values(const MtsInfer *infer, int node, uint64_t *hashes)
{
	MtsElement element;
	int n = 0;

	for (int i = 0; i < infer->nsamples; i++)
		if (!infer->is_excluded[i] &&
			mts_survey_find(&infer->survey, i, node, &element) &&
			!(MTS_TYPE_BIT(element.type) & MTS_NULL_TYPES))
		{
			hashes[i] = hash_bytes((uint64_t) node << 8 | element.type,
								   element.value, element.size);
			n++;
		}
	return n;
}

static KeyClass
classify(const MtsInfer *infer, int node, MtsInferType type)
{
	if (type == MTS_INFER_TEXT || type == MTS_INFER_OID ||
		type == MTS_INFER_UUID)
		return IS_IDENTIFIER;
	if (type == MTS_INFER_BOOL)
		return IS_FLAG;
	return type >= MTS_INFER_INT && type <= MTS_INFER_NUMERIC &&
				   mts_survey_all(&infer->survey, node, mts_column_is_whole)
			   ? IS_NUMBER
			   : IS_OTHER;
}

static bool
is_in_index(const MtsIndexFields *index, const char *field)
{
	for (int i = 0; i < index->nfields; i++)
		if (strcmp(index->fields[i], field) == 0)
			return true;
	return false;
}

/* Add a field, unless its values cannot be compared. */
static void
add_candidate(Choice *choice, int node)
{
	const MtsInfer *infer = choice->infer;
	Candidate *item = &choice->items[choice->n];
	bool is_array;
	MtsInferType type = mts_column_type(infer, node, &is_array);
	int alike;

	if (infer->survey.nodes[node].nslots > 0 || is_id(infer, node) ||
		type == MTS_INFER_JSON || type == MTS_INFER_ANY || is_array)
		return;
	*item = (Candidate){.node = node, .class = classify(infer, node, type)};
	item->hashes = allocate(choice, infer->nsamples, 8);
	if (hash_values(infer, node, item->hashes) < choice->nsamples)
		item->class = IS_OTHER;
	item->distinct = count_pairs(choice, item->hashes, item->hashes, &alike);
	if (!mts_remark_dotted(infer, node, item->field))
		item->field[0] = '\0';
	for (int i = 0; i < infer->hints->nindexes; i++)
	{
		const MtsIndexFields *index = &infer->hints->indexes[i];

		if (is_in_index(index, item->field))
			item->nindexes +=
				is_in_index(index, choice->time) ? TIMED_INDEX : 1;
	}
	/* what differs in most documents describes each of them */
	if (2 * item->distinct > choice->nsamples &&
		choice->nsamples >= 2 * MIN_REPEATED && item->nindexes < TIMED_INDEX)
		item->class = IS_OTHER;
	choice->n++;
}

/* Whether a candidate precedes another one that tells as many apart */
static bool
precedes(const Candidate *a, const Candidate *b)
{
	return a->nindexes != b->nindexes   ? a->nindexes > b->nindexes
		   : a->class != b->class       ? a->class < b->class
		   : a->distinct != b->distinct ? a->distinct > b->distinct
										: a < b;
}

static int
compare_candidates(const void *a, const void *b)
{
	const Candidate *x = *(Candidate *const *) a, *y = *(Candidate *const *) b;

	return x == y ? 0 : precedes(x, y) ? -1 : 1;
}

/* ---- Choice ------------------------------------------------------------- */

/*
 * Choose the candidates that tell samples of one time apart, without those
 * that the others make redundant, the worst first.  Returns whether any are.
 */
static bool
choose_smallest(Choice *choice)
{
	Candidate **items = allocate(choice, choice->n, sizeof(Candidate *));
	bool has_key = false;
	int alike;

	for (int i = 0; i < choice->n; i++)
	{
		items[i] = &choice->items[i];
		set_chosen(choice, items[i], items[i]->distinct > 1);
	}
	alike = count_alike(choice, NULL, NULL);
	qsort(items, choice->n, sizeof(Candidate *), compare_candidates);
	for (int i = choice->n - 1; i >= 0; i--)
	{
		if (items[i]->is_chosen &&
			count_alike(choice, NULL, items[i]) == alike)
			set_chosen(choice, items[i], false);
		has_key |= items[i]->is_chosen;
	}
	return has_key;
}

/*
 * Whether the values of a field repeat, and return after others if that is
 * required: a firmware is followed by the next one for good.
 */
static bool
may_be_series(const Choice *choice, const Candidate *item, bool must_return)
{
	const MtsInfer *infer = choice->infer;
	int changes = 0;

	for (int i = 1; i < infer->nsamples; i++)
		changes += item->hashes[choice->order[i]] !=
				   item->hashes[choice->order[i - 1]];
	return item->class <= IS_NUMBER && item->distinct > 1 &&
		   (!must_return || changes >= item->distinct) &&
		   (2 * item->distinct <= choice->nsamples ||
			(item->class == IS_IDENTIFIER && choice->nsamples < MIN_REPEATED));
}

/* Whether all samples have the same value, which is not zero */
static bool
is_constant(const Choice *choice, const Candidate *item)
{
	MtsElement element;
	double d;

	for (int i = 0; i < choice->infer->nsamples; i++)
		if (mts_survey_find(&choice->infer->survey, i, item->node, &element))
			return item->distinct == 1 && item->class <= IS_NUMBER &&
				   (!mts_element_number(&element, &d) || d != 0);
	return false;
}

/*
 * How well a field is the key if the time alone tells all samples apart, best
 * first; 0 if it is none
 */
static int
rank_series(const Choice *choice, const Candidate *item)
{
	return may_be_series(choice, item, true)    ? 1
		   : is_constant(choice, item)          ? 2 + 2 * item->class
		   : may_be_series(choice, item, false) ? 3
												: 0;
}

/* Choose the best field that may be the key of a series, if there is one. */
static void
choose_series(Choice *choice)
{
	Candidate *best = NULL;
	int least = 0;

	for (int i = 0; i < choice->n; i++)
	{
		Candidate *item = &choice->items[i];
		int rank = rank_series(choice, item);

		if (rank > 0 &&
			(!best || item->nindexes > best->nindexes ||
			 (item->nindexes == best->nindexes &&
			  (rank < least || (rank == least && precedes(item, best))))))
		{
			best = item;
			least = rank;
		}
	}
	if (best)
		set_chosen(choice, best, true);
}

/*
 * Whether a field would be the key of a series as well: its values repeat, or
 * all samples have the only one, which is not so if these overlap.
 */
static bool
may_replace(const Choice *choice, const Candidate *key, const Candidate *other)
{
	if (other->distinct == 1)
		return other->class == IS_IDENTIFIER &&
			   (key->distinct == 1 || !choice->do_overlap);
	return may_be_series(choice, other, other->class > key->class) &&
		   (!depends(choice, other, key) || depends(choice, key, other));
}

/*
 * Whether a field would tell samples of one time apart as well as a key.  It
 * may be a number without more values, but nothing that the key determines.
 */
static bool
may_tell_apart(const Choice *choice, const Candidate *key,
			   const Candidate *other)
{
	return (other->class <= key->class ||
			(other->class == IS_NUMBER && other->distinct <= key->distinct)) &&
		   (!depends(choice, other, key) || depends(choice, key, other));
}

/* Record another field that would do as well as a key. */
static void
find_rival(Choice *choice, bool is_series)
{
	int alike = count_alike(choice, NULL, NULL);

	for (int i = 0; i < choice->n; i++)
		for (int j = 0; j < choice->n && choice->items[i].is_chosen; j++)
		{
			const Candidate *key = &choice->items[i];
			const Candidate *other = &choice->items[j];

			if (other->is_chosen || other->nindexes < key->nindexes ||
				!(is_series ? may_replace(choice, key, other)
							: may_tell_apart(choice, key, other)) ||
				count_alike(choice, other, key) > alike)
				continue;
			choice->infer->key = key->node;
			choice->infer->rival = other->node;
			return;
		}
}

/*
 * Whether a unique index has the time of buckets, and otherwise only
 * candidates and what the table's filter gives.  These are chosen.
 */
static bool
choose_index(Choice *choice, const MtsIndexFields *index)
{
	int known = 0;

	if (!index->is_unique || !choice->time[0] ||
		!is_in_index(index, choice->time))
		return false;
	for (int i = 0; i < choice->n; i++)
		set_chosen(choice, &choice->items[i],
				   is_in_index(index, choice->items[i].field));
	for (int i = 0; i < index->nfields; i++)
	{
		bool is_known =
			strcmp(index->fields[i], choice->time) == 0 ||
			strcmp(index->fields[i], choice->infer->result->group) == 0;

		for (int j = 0; j < choice->n && !is_known; j++)
			is_known = strcmp(index->fields[i], choice->items[j].field) == 0;
		known += is_known;
	}
	return known == index->nfields;
}

/*
 * Choose the keys.  What an _id consists of is chosen as a whole.  The start
 * of the points tells buckets of a series apart that have the same time.
 */
static void
choose(Choice *choice, Candidate *start)
{
	const MtsInfer *infer = choice->infer;
	const MtsTimeField *bucket = infer->reading.bucket;
	bool is_in_id = bucket && mts_column_is_in(infer, bucket->node, "_id");
	bool has_key;

	for (int i = 0; i < infer->hints->nindexes; i++)
		if (choose_index(choice, &infer->hints->indexes[i]))
			return;
	for (int i = 0; i < choice->n && is_in_id; i++)
		set_chosen(choice, &choice->items[i],
				   mts_column_is_in(infer, choice->items[i].node, "_id"));
	if (is_in_id)
		return;
	set_chosen(choice, start, true);
	has_key = choose_smallest(choice);
	if (!has_key)
		choose_series(choice);
	set_chosen(choice, start, has_key || !bucket);
	find_rival(choice, !has_key);
}

typedef struct Start
{
	MtsTime time;
	int sample;
} Start;

static int
compare_starts(const void *a, const void *b)
{
	const Start *x = a, *y = b;

	return x->time != y->time ? (x->time > y->time) - (x->time < y->time)
							  : x->sample - y->sample;
}

/*
 * Order the samples by the times of their buckets, or of their points, and
 * find out whether their points overlap.
 */
static void
set_order(Choice *choice, const MtsTime *starts, const MtsTime *ends)
{
	const MtsInfer *infer = choice->infer;
	const MtsTimeField *bucket = infer->reading.bucket;
	Start *items = allocate(choice, infer->nsamples, sizeof(Start));
	MtsTime end = MTS_TIME_MIN;

	for (int i = 0; i < infer->nsamples; i++)
		items[i] = (Start){bucket   ? bucket->times[i]
						   : starts ? starts[i]
									: 0,
						   i};
	qsort(items, infer->nsamples, sizeof(Start), compare_starts);
	for (int i = 0; i < infer->nsamples; i++)
	{
		int sample = choice->order[i] = items[i].sample;

		if (!ends || infer->is_excluded[sample] ||
			ends[sample] == MTS_TIME_MIN)
			continue;
		choice->do_overlap |= starts[sample] < end;
		end = ends[sample] > end ? ends[sample] : end;
	}
}

static Choice
begin_choice(MtsInfer *infer, int room, const MtsTime *starts,
			 const MtsTime *ends)
{
	Choice choice = {.infer = infer};
	int n = infer->nsamples;

	choice.arena = mts_arena_new(infer->host->resize, infer->host->release);
	choice.items = allocate(&choice, room, sizeof(Candidate));
	choice.base = allocate(&choice, n, 8);
	choice.whole = allocate(&choice, n, 8);
	choice.sums = allocate(&choice, n, 8);
	choice.pairs = allocate(&choice, n, sizeof(Identity));
	choice.order = allocate(&choice, n, sizeof(int));
	choice.nsamples = infer->nsamples - infer->nexcluded;
	set_order(&choice, starts, ends);
	if (infer->reading.bucket)
		(void) mts_remark_dotted(infer, infer->reading.bucket->node,
								 choice.time);
	return choice;
}

/* ---- Declaration -------------------------------------------------------- */

/* Whether a field of buckets needs a column, as a bucket has it */
static bool
needs_column(const MtsInfer *infer, int node)
{
	MtsElement element;

	if (infer->is_declared[node] || is_id(infer, node) ||
		infer->survey.nodes[node].nslots > 0)
		return false;
	for (int i = 0; i < infer->nsamples; i++)
		if (!infer->is_excluded[i] &&
			mts_survey_find(&infer->survey, i, node, &element))
			return true;
	return false;
}

/*
 * mts_key_declare
 *		Declare the fields of buckets that have no column yet, as keys or as
 *		attributes.  Returns how many samples have the time and keys of others.
 *
 * starts has the first time of each sample's points, which tells buckets of a
 * series apart that have the same time, or none, and ends has the last one.
 */
int
mts_key_declare(MtsInfer *infer, const MtsTime *starts, const MtsTime *ends)
{
	const MtsReading *reading = &infer->reading;
	MtsLeaves leaves;
	Candidate start = {.node = 0};
	Choice choice;
	int alike;

	mts_column_leaves(infer, 0, &leaves);
	choice = begin_choice(infer, leaves.n, starts, ends);
	start.hashes = allocate(&choice, infer->nsamples, 8);
	for (int i = 0; i < infer->nsamples; i++)
	{
		const MtsSample *sample = &infer->survey.samples[i];

		if (reading->bucket)
			choice.base[i] = (uint64_t) reading->bucket->times[i];
		if (reading->time_node >= 0)
			start.hashes[i] = hash_bytes(0, &starts[i], 8);
		choice.whole[i] = hash_bytes(0, sample->bytes, sample->size);
	}
	for (int i = 0; i < leaves.n; i++)
		if (!infer->is_declared[leaves.nodes[i]] &&
			!infer->is_total[leaves.nodes[i]])
			add_candidate(&choice, leaves.nodes[i]);
	choose(&choice, &start);
	set_chosen(&choice, &start, false);
	alike = count_alike(&choice, NULL, NULL);
	for (int i = 0, j = 0; i < leaves.n; i++)
	{
		const Candidate *item = &choice.items[j];
		bool is_candidate = j < choice.n && item->node == leaves.nodes[i];

		j += is_candidate;
		if (needs_column(infer, leaves.nodes[i]))
			(void) mts_column_add(infer, leaves.nodes[i],
								  is_candidate &&
										  (item->is_chosen ||
										   (infer->result->group[0] &&
											strcmp(item->field,
												   infer->result->group) == 0))
									  ? MTS_ROLE_KEY
									  : MTS_ROLE_ATTRIBUTE);
	}
	mts_arena_free(choice.arena);
	return alike;
}

/*
 * mts_key_choose_meta
 *		Let columns of a native collection's metaField be attributes if other
 *		ones determine them.
 */
void
mts_key_choose_meta(MtsInfer *infer)
{
	MtsInferred *result = infer->result;
	Choice choice = begin_choice(infer, result->ncolumns, NULL, NULL);
	Candidate none = {.hashes = allocate(&choice, infer->nsamples, 8)};

	for (int i = 0; i < result->ncolumns && infer->nsamples > 0; i++)
		if (result->columns[i].role == MTS_ROLE_KEY &&
			mts_column_is_in(infer, result->columns[i].node,
							 infer->hints->meta))
			add_candidate(&choice, result->columns[i].node);
	for (int i = 0; i < infer->nsamples; i++)
		for (int j = 0; j < choice.n; j++)
			choice.whole[i] =
				hash_bytes(choice.whole[i], &choice.items[j].hashes[i], 8);
	if (choice.n > 1)
		choose(&choice, &none);
	for (int i = 0, j = 0; i < result->ncolumns && choice.n > 1; i++)
		if (j < choice.n && result->columns[i].node == choice.items[j].node &&
			!choice.items[j++].is_chosen)
			result->columns[i].role = MTS_ROLE_ATTRIBUTE;
	mts_arena_free(choice.arena);
}

/* Whether a field of documents is a time */
static bool
is_time(const MtsInfer *infer, int node)
{
	for (int i = 0; i < infer->nfields; i++)
		if (infer->fields[i].node == node)
			return true;
	return false;
}

/*
 * mts_key_weigh_times
 *		Measure how well each field that is a time tells the samples apart.
 *
 * The time of buckets does so, with the fields that may be keys.  A time that
 * is constant in a series does not, nor does the hour of documents of minutes.
 */
void
mts_key_weigh_times(MtsInfer *infer)
{
	MtsLeaves leaves;
	Choice choice;
	int alike;

	mts_column_leaves(infer, 0, &leaves);
	choice = begin_choice(infer, leaves.n, NULL, NULL);
	for (int i = 0; i < leaves.n; i++)
		if (!is_time(infer, leaves.nodes[i]))
			add_candidate(&choice, leaves.nodes[i]);
	for (int i = 0; i < choice.n; i++)
		set_chosen(&choice, &choice.items[i],
				   choice.items[i].class <= IS_FLAG);
	for (int i = 0; i < infer->nfields; i++)
	{
		MtsTimeField *field = &infer->fields[i];
		char path[MTS_MAX_PATH];

		for (int j = 0; j < infer->nsamples; j++)
			choice.whole[j] = (uint64_t) field->times[j];
		field->told = count_pairs(&choice, choice.base, choice.whole, &alike);
		for (int j = 0; j < infer->hints->nindexes; j++)
		{
			const MtsIndexFields *index = &infer->hints->indexes[j];

			if (mts_remark_dotted(infer, field->node, path) &&
				is_in_index(index, path) &&
				(index->is_unique || index->nfields > 1))
				field->nindexes += index->is_unique ? UNIQUE_INDEX : 1;
		}
	}
	mts_arena_free(choice.arena);
}
