/*
 * key.c
 *		Chooses the keys of buckets: the smallest set of fields that, with the
 *		time, tells the sampled buckets apart.
 *
 * A unique index decides, otherwise the samples do.  All other fields are
 * attributes: a key that only describes a bucket lets an INSERT that lacks its
 * value begin a second one.  If other fields would do as well, those of
 * indexes precede, then texts and other identifiers, then those on which the
 * most fields depend, and the first in the documents.
 *
 * Few sampled buckets may have one time.  If the time alone tells all apart,
 * the key is the best field whose values repeat; if all buckets have the same
 * values, these are keys.
 */
#include "core/infer/infer_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How well the type of a field identifies a series */
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
	KeyClass class;
	uint64_t *hashes; /* of its values, by sample */
	int distinct;     /* different values */
	int nindexes;     /* that have it */
	int ndependent;   /* candidates that are constant for each of its values */
	bool is_chosen;
} Candidate;

/* The fields that may be keys, and the samples that they tell apart */
typedef struct Choice
{
	MtsInfer *infer;
	Candidate *items;
	int n;
	uint64_t *base;  /* of the time, by sample */
	uint64_t *whole; /* what samples differ in that are to be told apart */
	int nsamples;    /* without those that are excluded */
} Choice;

/* In fewer samples, identifiers need not repeat. */
#define MIN_REPEATED 10

/* Dependencies of more fields are not searched. */
#define MAX_DEPENDENTS 64

#define PRIME UINT64_C(1099511628211)

static uint64_t
hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ ((const uint8_t *) bytes)[i]) * PRIME;
	return hash;
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
	{
		hashes[i] = 0;
		if (infer->is_excluded[i] ||
			!mts_survey_find(&infer->survey, i, node, &element) ||
			(MTS_TYPE_BIT(element.type) & MTS_NULL_TYPES))
			continue;
		hashes[i] = hash_bytes(element.type, element.value, element.size);
		n++;
	}
	return n;
}

static KeyClass
classify(const MtsInfer *infer, int node)
{
	bool is_array;

	switch (mts_column_type(infer, node, &is_array))
	{
		case MTS_INFER_TEXT:
		case MTS_INFER_OID:
		case MTS_INFER_UUID:
			return IS_IDENTIFIER;
		case MTS_INFER_BOOL:
			return IS_FLAG;
		case MTS_INFER_JSON:
		case MTS_INFER_TIME:
		case MTS_INFER_BYTES:
			return IS_OTHER;
		default:
			return mts_survey_all(&infer->survey, node, mts_column_is_whole)
					   ? IS_NUMBER
					   : IS_OTHER;
	}
}

/* How many indexes have a field */
static int
count_indexes(const MtsInfer *infer, int node)
{
	char dotted[MTS_MAX_PATH];
	int n = 0;

	if (!mts_remark_dotted(infer, node, dotted))
		return 0;
	for (int i = 0; i < infer->hints->nindexes; i++)
		for (int j = 0; j < infer->hints->indexes[i].nfields; j++)
			n += strcmp(infer->hints->indexes[i].fields[j], dotted) == 0;
	return n;
}

static int
compare_hashes(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

	return (x > y) - (x < y);
}

/* How many different hashes the samples have that are not excluded */
static int
count_distinct(const Choice *choice, const uint64_t *hashes)
{
	const MtsInfer *infer = choice->infer;
	uint64_t *sorted = mts_infer_allocate(infer, infer->nsamples, 8);
	int n = 0, distinct;

	for (int i = 0; i < infer->nsamples; i++)
		if (!infer->is_excluded[i])
			sorted[n++] = hashes[i];
	qsort(sorted, n, sizeof(uint64_t), compare_hashes);
	distinct = n > 0;
	for (int i = 1; i < n; i++)
		distinct += sorted[i] != sorted[i - 1];
	infer->host->release(sorted);
	return distinct;
}

/* Add a field, unless its values cannot be compared. */
static void
add_candidate(Choice *choice, int node)
{
	const MtsInfer *infer = choice->infer;
	Candidate *item = &choice->items[choice->n];
	bool is_array;

	if (infer->survey.nodes[node].nslots > 0 || is_id(infer, node) ||
		mts_column_type(infer, node, &is_array) == MTS_INFER_JSON || is_array)
		return;
	*item = (Candidate){.node = node, .class = classify(infer, node)};
	item->hashes = mts_infer_allocate(infer, infer->nsamples, 8);
	if (hash_values(infer, node, item->hashes) < choice->nsamples)
		item->class = IS_OTHER;
	item->distinct = count_distinct(choice, item->hashes);
	item->nindexes = count_indexes(infer, node);
	choice->n++;
}

/* Whether a candidate is constant for each value of another one */
static bool
depends(const Choice *choice, const Candidate *item, const Candidate *on)
{
	const MtsInfer *infer = choice->infer;
	uint64_t *both = mts_infer_allocate(infer, infer->nsamples, 8);
	int n;

	for (int i = 0; i < infer->nsamples; i++)
		both[i] = hash_bytes(on->hashes[i], &item->hashes[i], 8);
	n = count_distinct(choice, both);
	infer->host->release(both);
	return n == on->distinct;
}

static void
count_dependents(Choice *choice)
{
	for (int i = 0; i < choice->n && choice->n <= MAX_DEPENDENTS; i++)
		for (int j = 0; j < choice->n && choice->items[i].class < IS_FLAG; j++)
			if (j != i && choice->items[j].distinct > 1)
				choice->items[i].ndependent +=
					depends(choice, &choice->items[j], &choice->items[i]);
}

/* Whether a candidate precedes another one that tells as many apart */
static bool
precedes(const Candidate *a, const Candidate *b)
{
	return a->nindexes != b->nindexes       ? a->nindexes > b->nindexes
		   : a->class != b->class           ? a->class < b->class
		   : a->ndependent != b->ndependent ? a->ndependent > b->ndependent
											: a < b;
}

/* ---- Choice ------------------------------------------------------------- */

/* What identifies a sample, and what it holds */
typedef struct Identity
{
	uint64_t hash;
	uint64_t whole;
} Identity;

static int
compare_identities(const void *a, const void *b)
{
	const Identity *x = a, *y = b;

	return x->hash != y->hash ? (x->hash > y->hash) - (x->hash < y->hash)
							  : (x->whole > y->whole) - (x->whole < y->whole);
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
	Identity *items =
		mts_infer_allocate(infer, infer->nsamples, sizeof(Identity));
	int n = 0, alike = 0;

	for (int i = 0; i < infer->nsamples; i++)
	{
		uint64_t hash = choice->base[i];

		if (infer->is_excluded[i])
			continue;
		for (int j = 0; j < choice->n; j++)
			if ((choice->items[j].is_chosen || &choice->items[j] == with) &&
				&choice->items[j] != without)
				hash = hash_bytes(hash, &choice->items[j].hashes[i], 8);
		items[n++] = (Identity){hash, choice->whole[i]};
	}
	qsort(items, n, sizeof(Identity), compare_identities);
	for (int i = 1; i < n; i++)
		alike += items[i].hash == items[i - 1].hash &&
				 items[i].whole != items[i - 1].whole;
	infer->host->release(items);
	return alike;
}

/* Choose, one by one, what tells the most samples apart. */
static void
choose_greedily(Choice *choice, KeyClass most)
{
	for (int alike = count_alike(choice, NULL, NULL); alike > 0;)
	{
		Candidate *best = NULL;
		int least = alike;

		for (int i = 0; i < choice->n; i++)
		{
			Candidate *item = &choice->items[i];
			int n;

			if (item->is_chosen || item->class > most || item->distinct < 2)
				continue;
			mts_infer_pause(choice->infer);
			n = count_alike(choice, item, NULL);
			if (n < least || (n == least && best && precedes(item, best)))
			{
				best = item;
				least = n;
			}
		}
		if (!best)
			return;
		best->is_chosen = true;
		alike = least;
	}
}

/* Drop what others tell apart as well, the last choice first. */
static void
drop_redundant(Choice *choice)
{
	int alike = count_alike(choice, NULL, NULL);

	for (;;)
	{
		Candidate *worst = NULL;

		for (int i = 0; i < choice->n; i++)
		{
			Candidate *item = &choice->items[i];

			if (item->is_chosen && count_alike(choice, NULL, item) == alike &&
				(!worst || precedes(worst, item)))
				worst = item;
		}
		if (!worst)
			return;
		worst->is_chosen = false;
	}
}

/* Record that another field would do as well as a key. */
static void
find_rival(Choice *choice)
{
	MtsInfer *infer = choice->infer;
	int alike = count_alike(choice, NULL, NULL);

	for (int i = 0; i < choice->n; i++)
		for (int j = 0; j < choice->n && choice->items[i].is_chosen; j++)
		{
			const Candidate *key = &choice->items[i],
							*other = &choice->items[j];

			if (other->is_chosen || other->class > key->class ||
				other->nindexes < key->nindexes ||
				count_alike(choice, other, key) != alike)
				continue;
			infer->key = key->node;
			infer->rival = other->node;
			infer->rivalry =
				"Either tells the sampled documents of one time apart";
			return;
		}
}

/* Whether a field may be the key of a series: its values vary and repeat */
static bool
may_be_series(const Choice *choice, const Candidate *item)
{
	return item->class <= IS_NUMBER && item->distinct > 1 &&
		   (2 * item->distinct <= choice->nsamples ||
			(item->class == IS_IDENTIFIER && choice->nsamples < MIN_REPEATED));
}

/*
 * Choose the key of a series if the time alone tells the samples apart: the
 * best field whose values repeat.
 */
static void
choose_series(Choice *choice)
{
	MtsInfer *infer = choice->infer;
	Candidate *best = NULL, *other = NULL;

	for (int i = 0; i < choice->n; i++)
	{
		Candidate *item = &choice->items[i];

		if (may_be_series(choice, item) && (!best || precedes(item, best)))
			best = item;
	}
	if (!best)
		return;
	best->is_chosen = true;
	for (int i = 0; i < choice->n; i++)
	{
		Candidate *item = &choice->items[i];

		if (item != best && may_be_series(choice, item) &&
			item->nindexes >= best->nindexes &&
			(!depends(choice, item, best) || depends(choice, best, item)))
			other = item;
	}
	if (!other)
		return;
	infer->key = best->node;
	infer->rival = other->node;
	infer->rivalry = "No two of the sampled documents have the same time";
}

/* Choose what all samples have in common, except flags and zeros. */
static void
choose_constants(Choice *choice)
{
	for (int i = 0; i < choice->n; i++)
	{
		Candidate *item = &choice->items[i];
		MtsElement element;
		double d = 1;

		if (item->class > IS_NUMBER || item->distinct != 1)
			continue;
		for (int s = 0; s < choice->infer->nsamples; s++)
			if (mts_survey_find(&choice->infer->survey, s, item->node,
								&element) &&
				mts_element_number(&element, &d))
				break;
		item->is_chosen = d != 0;
	}
}

/* Whether a field of an index is the time, or given by the table's filter */
static bool
is_given(const MtsInfer *infer, const char *field, bool *is_time)
{
	char dotted[MTS_MAX_PATH];

	if (infer->reading.bucket &&
		mts_remark_dotted(infer, infer->reading.bucket->node, dotted) &&
		strcmp(dotted, field) == 0)
		return *is_time = true;
	return strcmp(field, infer->result->group) == 0;
}

static Candidate *
find_candidate(const Choice *choice, const char *field)
{
	char dotted[MTS_MAX_PATH];

	for (int i = 0; i < choice->n; i++)
		if (mts_remark_dotted(choice->infer, choice->items[i].node, dotted) &&
			strcmp(dotted, field) == 0)
			return &choice->items[i];
	return NULL;
}

/* Choose the fields of a unique index that has the time of buckets. */
static bool
choose_index(Choice *choice)
{
	const MtsInferHints *hints = choice->infer->hints;

	for (int i = 0; i < hints->nindexes; i++)
	{
		const MtsInferIndex *index = &hints->indexes[i];
		bool has_time = false, is_known = index->is_unique;

		for (int j = 0; j < index->nfields && is_known; j++)
			is_known =
				is_given(choice->infer, index->fields[j], &has_time) ||
				find_candidate(choice, index->fields[j]) != NULL;
		if (!is_known || !has_time)
			continue;
		for (int j = 0; j < index->nfields; j++)
			if (!is_given(choice->infer, index->fields[j], &has_time))
				find_candidate(choice, index->fields[j])->is_chosen = true;
		return true;
	}
	return false;
}

/* Choose all of an _id that has the time of buckets. */
static bool
choose_id(Choice *choice)
{
	const MtsTimeField *bucket = choice->infer->reading.bucket;

	if (!bucket || !mts_column_is_in(choice->infer, bucket->node, "_id"))
		return false;
	for (int i = 0; i < choice->n; i++)
		choice->items[i].is_chosen =
			mts_column_is_in(choice->infer, choice->items[i].node, "_id");
	return true;
}

static void
choose(Choice *choice)
{
	bool has_key = false;

	if (choose_index(choice) || choose_id(choice))
		return;
	count_dependents(choice);
	choose_greedily(choice, IS_FLAG);
	choose_greedily(choice, IS_OTHER);
	drop_redundant(choice);
	find_rival(choice);
	for (int pass = 0; pass < 3; pass++)
	{
		for (int i = 0; i < choice->n; i++)
			has_key |= choice->items[i].is_chosen;
		if (!has_key && pass == 0)
			choose_series(choice);
		else if (!has_key && pass == 1)
			choose_constants(choice);
	}
}

static Choice
begin(MtsInfer *infer, const MtsLeaves *leaves)
{
	Choice choice = {.infer = infer};

	choice.items = mts_infer_allocate(infer, leaves->n, sizeof(Candidate));
	choice.base = mts_infer_allocate(infer, infer->nsamples, 8);
	choice.whole = mts_infer_allocate(infer, infer->nsamples, 8);
	choice.nsamples = infer->nsamples - infer->nexcluded;
	return choice;
}

static void
end(Choice *choice)
{
	for (int i = 0; i < choice->n; i++)
		choice->infer->host->release(choice->items[i].hashes);
	choice->infer->host->release(choice->items);
	choice->infer->host->release(choice->base);
	choice->infer->host->release(choice->whole);
}

/* Whether a bucket has this field */
static bool
is_in_bucket(const MtsInfer *infer, int node)
{
	MtsElement element;

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
 * series apart that have the same time, or none.
 */
int
mts_key_declare(MtsInfer *infer, const MtsTime *starts)
{
	const MtsReading *reading = &infer->reading;
	MtsLeaves leaves;
	Choice choice;
	int alike;

	mts_column_leaves(infer, 0, &leaves);
	choice = begin(infer, &leaves);
	for (int i = 0; i < infer->nsamples; i++)
	{
		if (reading->bucket)
			choice.base[i] = (uint64_t) reading->bucket->times[i];
		choice.whole[i] = hash_bytes(0, infer->survey.samples[i].bytes,
									 infer->survey.samples[i].size);
	}
	for (int i = 0; i < leaves.n; i++)
		if (!infer->is_declared[leaves.nodes[i]] &&
			!infer->is_total[leaves.nodes[i]])
			add_candidate(&choice, leaves.nodes[i]);
	for (int i = 0; i < infer->nsamples && reading->time_node >= 0; i++)
		choice.base[i] = hash_bytes(choice.base[i], &starts[i], 8);
	choose(&choice);
	for (int i = 0; i < infer->nsamples; i++)
		choice.base[i] = reading->bucket ? (uint64_t) reading->bucket->times[i]
										 : 0;
	alike = count_alike(&choice, NULL, NULL);
	for (int i = 0; i < leaves.n; i++)
	{
		MtsRole role = MTS_ROLE_ATTRIBUTE;
		char dotted[MTS_MAX_PATH];

		if (infer->is_declared[leaves.nodes[i]] ||
			!is_in_bucket(infer, leaves.nodes[i]) ||
			infer->survey.nodes[leaves.nodes[i]].nslots > 0 ||
			is_id(infer, leaves.nodes[i]))
			continue;
		for (int j = 0; j < choice.n; j++)
			if (choice.items[j].node == leaves.nodes[i] &&
				choice.items[j].is_chosen)
				role = MTS_ROLE_KEY;
		if (infer->result->group[0] &&
			mts_remark_dotted(infer, leaves.nodes[i], dotted) &&
			strcmp(dotted, infer->result->group) == 0)
			role = MTS_ROLE_KEY;
		(void) mts_column_add(infer, leaves.nodes[i], role);
	}
	end(&choice);
	return alike;
}

/*
 * mts_key_choose_meta
 *		Set the columns of a native collection's metaField that other ones
 *		determine to attributes.
 */
void
mts_key_choose_meta(MtsInfer *infer)
{
	MtsInferred *result = infer->result;
	MtsLeaves leaves = {.n = 0};
	Choice choice;

	for (int i = 0; i < result->ncolumns; i++)
		if (result->columns[i].role == MTS_ROLE_KEY &&
			mts_column_is_in(infer, result->columns[i].node,
							 infer->hints->meta))
			leaves.nodes[leaves.n++] = result->columns[i].node;
	if (leaves.n < 2 || infer->nsamples == 0)
		return;
	choice = begin(infer, &leaves);
	for (int i = 0; i < leaves.n; i++)
		add_candidate(&choice, leaves.nodes[i]);
	for (int i = 0; i < infer->nsamples; i++)
		for (int j = 0; j < choice.n; j++)
			choice.whole[i] =
				hash_bytes(choice.whole[i], &choice.items[j].hashes[i], 8);
	choose(&choice);
	for (int i = 0; i < choice.n; i++)
		for (int j = 0; j < result->ncolumns; j++)
			if (result->columns[j].node == choice.items[i].node &&
				!choice.items[i].is_chosen)
				result->columns[j].role = MTS_ROLE_ATTRIBUTE;
	end(&choice);
}
