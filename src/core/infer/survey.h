/*
 * survey.h
 *		A tree of the places in sample documents, and what stands at each.
 *
 * A place is a key, all keys of a subdocument that are numbers taken together,
 * or all elements of an array.  The tree counts values and types over all
 * samples.  It does not interpret them: the inference does.
 */
#ifndef MTS_SURVEY_H
#define MTS_SURVEY_H

#include "core/bson/element.h"
#include "core/layout/path.h"

/* A subdocument with more keys than these has data in its keys, not names. */
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

/* A document; its bytes belong to the caller and must outlive the survey */
typedef struct MtsSample
{
	const uint8_t *bytes;
	size_t size;
} MtsSample;

typedef enum MtsNodeKind
{
	MTS_NODE_NAME,    /* one key; the root is one with an empty name */
	MTS_NODE_NUMBERS, /* all keys that are integers of at least 0 */
	MTS_NODE_ELEMENTS /* all elements of an array */
} MtsNodeKind;

/* A place; nodes refer to each other by their index in the tree */
typedef struct MtsNode
{
	MtsNodeKind kind;
	const char *name; /* in a sample, NUL-terminated */
	uint32_t len;
	int parent; /* -1 for the root */
	int child;  /* the first child, or -1 */
	int next;   /* the next child of the same parent, or -1 */
	int depth;  /* steps from the root */
	int nslots; /* steps that are not names */

	uint32_t types; /* set of the types of its values */
	int64_t values; /* how many there are, nulls included */
	int64_t least;  /* the least and the greatest key or index */
	int64_t greatest;
	bool has_odd_keys; /* a subdocument has keys such as "07" or "-1" */
	bool is_truncated; /* there are children that the tree does not hold */
} MtsNode;

typedef struct MtsSurvey
{
	const MtsSample *samples;
	int nsamples;
	MtsNode *nodes; /* the first is the root */
	int nnodes;
	int room;
	void *(*resize)(void *memory, size_t size);
} MtsSurvey;

typedef bool (*MtsVisit)(void *arg, const MtsElement *element);

extern void mts_survey_build(MtsSurvey *survey, const MtsSample *samples,
							 int nsamples,
							 void *(*resize)(void *memory, size_t size));
extern bool mts_survey_visit(const MtsSurvey *survey, int sample, int node,
							 MtsVisit visit, void *arg);
extern bool mts_survey_visit_all(const MtsSurvey *survey, int node,
								 MtsVisit visit, void *arg);
extern int mts_survey_chain(const MtsSurvey *survey, int node, int *chain);
extern bool mts_survey_is_within(const MtsSurvey *survey, int node, int outer);
extern int mts_survey_child(const MtsSurvey *survey, int node,
							MtsNodeKind kind);
extern int mts_survey_slot(const MtsSurvey *survey, int node, int level);

#endif /* MTS_SURVEY_H */
