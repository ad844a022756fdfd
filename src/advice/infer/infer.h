/*
 * infer.h
 *		Infers the layout of sample documents.
 *
 * The result is what a user would declare: columns with paths, and options of
 * the table.  It has been checked: unfolding every sample by it gives points
 * and no error.  Each assumption is a remark, and other declarations that the
 * samples allow are alternatives.
 */
#ifndef MTS_INFER_H
#define MTS_INFER_H

#include "advice/infer/survey.h"
#include "core/layout/layout.h"
#include "core/query/index_use.h"

/*
 * Bytes of a column's name, of a time's format and of a clause, with the NUL
 */
#define MTS_INFER_NAME 64
#define MTS_INFER_FORMAT 64
#define MTS_INFER_REMARK 512

/* A collection becomes at most so many tables. */
#define MTS_INFER_TABLES 8

/* The values that a column's type must hold */
typedef enum MtsInferType
{
	MTS_INFER_JSON, /* any value */
	MTS_INFER_BOOL,
	MTS_INFER_INT,  /* 32 bits */
	MTS_INFER_LONG, /* 64 bits */
	MTS_INFER_DOUBLE,
	MTS_INFER_NUMERIC,
	MTS_INFER_TEXT,
	MTS_INFER_TIME,
	MTS_INFER_OID, /* an ObjectId, as text */
	MTS_INFER_UUID,
	MTS_INFER_BYTES,
	MTS_INFER_ANY /* scalars of several types, as text */
} MtsInferType;

/*
 * A column to declare.  Texts are UTF-8, and empty for options that are not
 * declared; fields are paths.
 */
typedef struct MtsInferColumn
{
	char name[MTS_INFER_NAME];
	char field[MTS_MAX_PATH]; /* empty for times that are keys of a slot */
	char format[MTS_INFER_FORMAT];
	char sum[MTS_MAX_PATH];
	char min[MTS_MAX_PATH];
	char max[MTS_MAX_PATH];
	char missing[MTS_INFER_FORMAT]; /* the text for no reading, or null */
	MtsRole role;
	bool is_not_null;
	bool is_array; /* of that type */
	MtsInferType type;
	int node; /* its place in the survey, below 0 for keys of a slot */
	int rank; /* its place among the columns */
} MtsInferColumn;

typedef struct MtsInferred MtsInferred;

/* Another declaration that the samples allow */
typedef struct MtsInferAlternative
{
	char condition[MTS_INFER_REMARK]; /* such as: If the keys are minutes */
	MtsInferred *table;               /* without remarks */
} MtsInferAlternative;

/* A table to declare; its columns are in the order of the documents' fields */
struct MtsInferred
{
	MtsInferColumn *columns;
	int ncolumns;
	char bucket_time[MTS_MAX_PATH];
	char bucket_format[MTS_INFER_FORMAT];
	char bucket_span[32]; /* empty if it is the default */
	MtsSpan span;
	char first[MTS_MAX_PATH];
	char last[MTS_MAX_PATH];
	char count[MTS_MAX_PATH];
	bool has_buckets;            /* a document has several rows */
	const char *readonly;        /* a sentence: why an INSERT could damage the
								* collection, or NULL */
	int64_t max_points;          /* of a bucket, 0 if no limit is known */
	bool bucket_time_is_local;   /* buckets begin in hints->local */
	bool slots_are_local;        /* slots count the clock of hints->local */
	bool truncates;              /* times are rounded down to microseconds */
	char required[MTS_MAX_PATH]; /* dotted field that only buckets have */
	char group[MTS_MAX_PATH]; /* dotted field whose value selects documents */
	MtsElement value;         /* that value, in a sample */
	/* what the table assumes: a clause, and sentences; empty if nothing */
	char message[MTS_INFER_REMARK];
	char detail[4 * MTS_INFER_REMARK];
	MtsInferAlternative *alternatives; /* in the order of their evidence */
	int nalternatives;
};

/* Facts about a collection that its documents do not show */
typedef struct MtsInferHints
{
	const char *time; /* timeField of a time-series collection, or NULL */
	const char *meta; /* its metaField, or NULL */
	const char *time_column; /* the name of the time's column, or NULL if it
							  * is the field's */
	const MtsClock *clock;   /* in UTC, with its parse and format */
	const MtsClock *local; /* of another zone that buckets may use, or NULL */
	const MtsIndexFields *indexes;
	int nindexes;
	const char *const *distrusted; /* paths of fields that are not proved to be
									* totals or bounds in all documents */
	int ndistrusted;
	bool are_all; /* the samples are all documents */
} MtsInferHints;

/* Callbacks of the inference */
typedef struct MtsInferHost
{
	void *(*resize)(void *memory, size_t size); /* works like realloc */
	void (*release)(void *memory);              /* works like free */
	void (*pause)(void); /* called often, may jump out; or NULL */
} MtsInferHost;

extern int mts_infer(const MtsSample *samples, int nsamples,
					 const MtsInferHints *hints, const MtsInferHost *host,
					 MtsInferred *tables);

#endif /* MTS_INFER_H */
