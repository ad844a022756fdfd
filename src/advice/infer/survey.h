/*
 * survey.h
 *		A tree of the places in sample documents, and what stands at each.
 *
 * A place is a key, all similar keys of a subdocument taken together, or all
 * elements of an array.  The tree counts values and types over all samples.
 * It does not interpret them: the inference does.
 */
#ifndef MTS_SURVEY_H
#define MTS_SURVEY_H

#include "core/bson/element.h"
#include "core/layout/path.h"

/* A subdocument with more keys than these has data in its keys, not names. */
#define MTS_SURVEY_MAX_NAMES 1000
#define MTS_SURVEY_MAX_NODES 20000

#define MTS_DIGITS "0123456789"

/* A set of BSON types */
#define MTS_TYPE_BIT(type) (UINT32_C(1) << ((type) &31))
#define MTS_NULL_TYPES MTS_TYPE_BIT(BSON_TYPE_NULL)
#define MTS_INTEGER_TYPES \
	(MTS_TYPE_BIT(BSON_TYPE_INT32) | MTS_TYPE_BIT(BSON_TYPE_INT64))
#define MTS_BINARY_NUMBER_TYPES \
	(MTS_INTEGER_TYPES | MTS_TYPE_BIT(BSON_TYPE_DOUBLE))
#define MTS_NUMBER_TYPES \
	(MTS_BINARY_NUMBER_TYPES | MTS_TYPE_BIT(BSON_TYPE_DECIMAL128))

/* 1990-01-01 in seconds since 1970; lesser numbers are not taken for times. */
#define MTS_SURVEY_FIRST_SECOND 631152000

/* A document; its bytes belong to the caller and must outlive the survey */
typedef struct MtsSample
{
	const uint8_t *bytes;
	size_t size;
} MtsSample;

typedef enum MtsNodeKind
{
	MTS_NODE_NAME,    /* one key; the root is one with an empty name */
	MTS_NODE_KEYS,    /* all keys that are alike except for their digits */
	MTS_NODE_ELEMENTS /* all elements of an array */
} MtsNodeKind;

/* A place; nodes refer to each other by their index in the tree */
typedef struct MtsNode
{
	MtsNodeKind kind;
	const char *name;  /* in a sample, NUL-terminated; the first one of KEYS */
	int parent;        /* -1 for the root */
	int child;         /* the first child, or -1 */
	int next;          /* the next child of the same parent, or -1 */
	int depth;         /* steps from the root */
	int nslots;        /* steps that are not names */
	bool is_index;     /* a NAME is the index of an element of a tuple */
	const char *shape; /* a key of those that are KEYS; NULL for numbers */
	bool holds_tuples; /* its arrays have names as children, not ELEMENTS */

	int nnumbers; /* in each key of KEYS; more than there is room for if
						* keys have more */
	struct
	{
		size_t width; /* digits of the shortest */
		bool is_padded;
	} numbers[MTS_MAX_NUMBERS];
	bool has_letters; /* in its KEYS */

	uint32_t types;    /* set of the types of its values */
	int64_t values;    /* how many there are, nulls included */
	int64_t greatest;  /* index of ELEMENTS, or first number of KEYS */
	bool has_odd_keys; /* a subdocument has a key such as "-1" */
	bool is_truncated; /* there are children that the tree does not hold */
} MtsNode;

typedef struct MtsSurvey
{
	const MtsSample *samples;
	int nsamples;
	MtsNode
		*nodes; /* the first is the root; those without values are unused */
	int nnodes;
	int room;
	bool has_shapes; /* names with digits are KEYS */
	bool keeps_names;
	void *(*resize)(void *memory, size_t size);
} MtsSurvey;

/* Values at a node that are being read, by levels of documents */
typedef struct MtsSurveyLevel
{
	MtsElementCursor cursor;
	bool is_array;
	bool is_done;
} MtsSurveyLevel;

typedef struct MtsSurveyScan
{
	const MtsSurvey *survey;
	int sample; /* the next one */
	int end;
	int chain[MTS_MAX_STEPS + 1];
	int n;
	int depth;
	MtsSurveyLevel levels[MTS_MAX_STEPS + 1];
	MtsElement element; /* the value */
} MtsSurveyScan;

#define MTS_ALL (-1)

extern void mts_survey_build(MtsSurvey *survey, const MtsSample *samples,
							 int nsamples, bool keeps_names,
							 void *(*resize)(void *memory, size_t size));
extern void mts_survey_add_name(MtsSurvey *survey, const char *name);
extern MtsSurveyScan mts_survey_scan(const MtsSurvey *survey, int node,
									 int sample);
extern bool mts_survey_next(MtsSurveyScan *scan);
extern bool mts_survey_all(const MtsSurvey *survey, int node,
						   bool (*holds)(const MtsElement *element));
extern bool mts_survey_find(const MtsSurvey *survey, int sample, int node,
							MtsElement *element);
extern int64_t mts_survey_number(const char *key);
extern int mts_survey_chain(const MtsSurvey *survey, int node, int *chain);
extern bool mts_survey_is_within(const MtsSurvey *survey, int node, int outer);
extern bool mts_survey_is_key(const MtsSurvey *survey, int node,
							  const MtsElement *element);
extern int mts_survey_child(const MtsSurvey *survey, int node,
							MtsNodeKind kind);
extern int mts_survey_slot(const MtsSurvey *survey, int node, int level);

#endif /* MTS_SURVEY_H */
