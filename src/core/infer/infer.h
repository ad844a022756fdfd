/*
 * infer.h
 *		Which layout do these sample documents have?
 *
 * The answer is declared as a user would: columns with paths, and options.  It
 * has been checked: the unfolding of every sample by it gives all points and
 * no error.  What could not be told, or was left out, is a remark.
 */
#ifndef MTS_INFER_H
#define MTS_INFER_H

#include "core/layout/layout.h"
#include "core/infer/survey.h"

#define MTS_INFER_NAME 64   /* bytes of a column's name, NUL included */
#define MTS_INFER_FORMAT 64 /* and of a time's format */
#define MTS_INFER_REMARK 512
#define MTS_INFER_OTHERS 8 /* readings that were possible, too */

/* What a column's type must hold */
typedef enum MtsInferType
{
	MTS_INFER_JSON, /* anything */
	MTS_INFER_BOOL,
	MTS_INFER_INT,  /* 32 bits */
	MTS_INFER_LONG, /* 64 bits */
	MTS_INFER_DOUBLE,
	MTS_INFER_NUMERIC,
	MTS_INFER_TEXT,
	MTS_INFER_TIME,
	MTS_INFER_OID, /* an ObjectId, as text */
	MTS_INFER_UUID,
	MTS_INFER_BYTES
} MtsInferType;

/* A column to declare; a text is empty where there is nothing to declare.
 * All texts are UTF-8, fields are texts of paths. */
typedef struct MtsInferColumn
{
	char name[MTS_INFER_NAME];
	char field[MTS_MAX_PATH]; /* empty: it takes the keys of a slot */
	char format[MTS_INFER_FORMAT];
	char sum[MTS_MAX_PATH];
	char min[MTS_MAX_PATH];
	char max[MTS_MAX_PATH];
	char others[MTS_INFER_OTHERS][MTS_MAX_PATH]; /* field in other readings,
												  * where it differs */
	MtsRole role;
	MtsInferType type;
} MtsInferColumn;

/* What was assumed, or left out, and why */
typedef struct MtsInferRemark
{
	char text[MTS_INFER_REMARK];
	bool is_readonly;   /* is this why the table is? */
	const char *option; /* that may be missing, or NULL */
	char value[MTS_MAX_PATH];
	char column[MTS_INFER_NAME]; /* whose it is; empty: the table's */
} MtsInferRemark;

/* Another reading of the slots, which the samples don't exclude; the table's
 * options would be the same */
typedef struct MtsInferOther
{
	int remark;    /* that speaks of it */
	char what[64]; /* slots are "minutes of an hour" */
} MtsInferOther;

typedef struct MtsInferred
{
	MtsInferColumn *columns;
	int ncolumns;
	char bucket_time[MTS_MAX_PATH];
	char bucket_format[MTS_INFER_FORMAT];
	char bucket_span[32];
	char first[MTS_MAX_PATH];
	char last[MTS_MAX_PATH];
	char count[MTS_MAX_PATH];
	bool is_readonly;            /* could an INSERT do damage? */
	int64_t max_points;          /* of a bucket; 0: none is known */
	bool is_local;               /* do buckets begin in the local zone? */
	char required[MTS_MAX_PATH]; /* field that only buckets have; dotted */
	MtsInferRemark *remarks;
	int nremarks;
	MtsInferOther others[MTS_INFER_OTHERS];
	int nothers;
} MtsInferred;

/* What is known of a collection beside its documents */
typedef struct MtsInferHints
{
	const char *time; /* of a native time-series collection: the field of the
					   * time, and that of the metadata, or NULL */
	const char *meta;
	const MtsClock *clock; /* in UTC; its parse and format are needed */
	const MtsClock *local; /* of a zone in which days may begin, or NULL */
} MtsInferHints;

/* What the caller does for the inference */
typedef struct MtsInferHost
{
	void *(*resize)(void *memory, size_t size); /* realloc, or like it */
	void (*release)(void *memory);              /* free, or like it */
	void (*pause)(void); /* called now and then, may not return; or NULL */
} MtsInferHost;

extern void mts_infer(const MtsSample *samples, int nsamples,
					  const MtsInferHints *hints, const MtsInferHost *host,
					  MtsInferred *result);

#endif /* MTS_INFER_H */
