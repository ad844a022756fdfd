/*
 * survey.h
 *		What stands where in these sample documents?
 *
 * A tree of places: a key, all keys of a subdocument that are numbers taken
 * together, or all elements of an array.  It counts what stands there, in all
 * of the samples, and judges nothing.
 */
#ifndef MTS_SURVEY_H
#define MTS_SURVEY_H

#include "core/bson/element.h"
#include "core/layout/path.h"

/* More keys than these in one subdocument are data, not names. */
#define MTS_SURVEY_MAX_NAMES 1000
#define MTS_SURVEY_MAX_NODES 20000

/* A set of BSON types */
#define MTS_TYPE_BIT(type) (UINT32_C(1) << ((type) &31))
#define MTS_NULL_TYPES MTS_TYPE_BIT(BSON_TYPE_NULL)
#define MTS_INTEGER_TYPES \
	(MTS_TYPE_BIT(BSON_TYPE_INT32) | MTS_TYPE_BIT(BSON_TYPE_INT64))
#define MTS_BINARY_NUMBER_TYPES \
	(MTS_INTEGER_TYPES | MTS_TYPE_BIT(BSON_TYPE_DOUBLE))
#define MTS_NUMBER_TYPES \
	(MTS_BINARY_NUMBER_TYPES | MTS_TYPE_BIT(BSON_TYPE_DECIMAL128))

/* A document; its bytes are the caller's and stay */
typedef struct MtsSample
{
	const uint8_t *bytes;
	size_t size;
} MtsSample;

typedef enum MtsNodeKind
{
	MTS_NODE_NAME,    /* one key; the root is one without a name */
	MTS_NODE_NUMBERS, /* the keys that are whole numbers, not negative */
	MTS_NODE_ELEMENTS /* the elements of an array */
} MtsNodeKind;

typedef struct MtsNode
{
	MtsNodeKind kind;
	const char *name; /* in a sample, NUL-terminated */
	uint32_t len;
	int parent; /* -1: the root */
	int child;  /* the first one; -1: none */
	int next;   /* of the same parent */
	int depth;  /* steps from the root */
	int nslots; /* of these, numbers and elements */

	uint32_t types; /* which stand there */
	int64_t values; /* how many stand there, nulls included */
	int samples;    /* in how many samples something does */
	int last;       /* sample that was counted last */
	int64_t least;  /* key, or index */
	int64_t greatest;
	bool is_odd; /* has it keys such as "07" or "-1"? */
	bool is_cut; /* is there more inside than the tree holds? */
} MtsNode;

typedef struct MtsSurvey
{
	const MtsSample *samples;
	int nsamples;
	MtsNode *nodes; /* the root is the first; from resize, the caller's */
	int nnodes;
	int room;
	void *(*resize)(void *memory, size_t size);
} MtsSurvey;

typedef bool (*MtsVisit)(void *arg, const MtsElement *element);

extern void mts_survey_take(MtsSurvey *survey, const MtsSample *samples,
							int nsamples,
							void *(*resize)(void *memory, size_t size));
extern bool mts_survey_visit(const MtsSurvey *survey, int sample, int node,
							 MtsVisit visit, void *arg);
extern int mts_survey_chain(const MtsSurvey *survey, int node, int *chain);
extern bool mts_survey_is_below(const MtsSurvey *survey, int node, int above);
extern int mts_survey_child(const MtsSurvey *survey, int node,
							MtsNodeKind kind);

#endif /* MTS_SURVEY_H */
