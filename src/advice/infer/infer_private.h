/*
 * infer_private.h
 *		A reading of sample documents, and the functions that make and judge
 *		it.
 *
 * A *reading* says which nodes of the survey hold the points, which units
 * their slots count, and which nodes are times.  infer.c says in which order
 * the files work.
 */
#ifndef MTS_INFER_PRIVATE_H
#define MTS_INFER_PRIVATE_H

#include "advice/infer/infer.h"
#include "core/bucket/unfold.h"

#define MTS_READING_CONTAINERS 64
#define MTS_READING_COLUMNS 1000
#define MTS_SLOT_TEXT 96

/* Shorter arrays are lists or tuples. */
#define MTS_MIN_ARRAY 6

/* Stands for a node: the keys of a slot that is a column or the time */
#define MTS_SLOT_COLUMN (-1)

/*
 * What the samples prove.  Only what is forced is declared without a remark.
 */
typedef enum MtsGrade
{
	MTS_GRADE_NONE,
	MTS_GRADE_FITS,    /* no key contradicts it: an alternative */
	MTS_GRADE_ASSUMED, /* keys reach both ends of their unit */
	MTS_GRADE_FORCED   /* keys fill their unit, or points have this time */
} MtsGrade;

/* A field of documents that is a time in every sample that has it */
typedef struct MtsTimeField
{
	int node;
	char format[MTS_INFER_FORMAT];
	MtsTime *times;       /* of each sample, MTS_TIME_MIN where it is absent */
	int present;          /* samples that have it */
	int distinct;         /* different times */
	int told;             /* samples that it and possible keys tell apart */
	int nindexes;         /* that have it; a unique one counts more */
	MtsTime least;        /* the first time */
	MtsTime gap;          /* the least distance between two of them */
	int64_t distance;     /* divides all distances; 0 for fewer than 3 times */
	int unit;             /* the coarsest that all times begin */
	bool is_local;        /* they begin it in hints->local */
	bool has_daily_phase; /* they have the same time of day, not midnight */
} MtsTimeField;

#define MTS_NO_UNIT (-1)

/* A slot of a reading */
typedef struct MtsInferSlot
{
	int unit; /* index of the table of units; MTS_NO_UNIT if it counts none */
	char text[MTS_SLOT_TEXT]; /* as in a path: [], {v_key}, q{hour} */
	MtsGrade grade;           /* of a slot that counts */
	int64_t keys;             /* different ones that occur */
} MtsInferSlot;

typedef struct MtsReading
{
	int containers[MTS_READING_CONTAINERS]; /* nodes of the innermost slots */
	int ncontainers;                        /* 0 if each document is a row */
	int nslots;
	MtsInferSlot slots[MTS_MAX_SLOTS];
	bool is_unpivoted;          /* keys of points are values of a column */
	int names;                  /* the slot, from 1, that is a column */
	bool has_time_keys;         /* the slot's keys are times: {epoch} */
	bool is_confirmed;          /* keys differ with the bucket's time */
	bool slots_are_local;       /* slots count the clock of hints->local */
	const MtsTimeField *bucket; /* the bucket's time, or NULL */
	int span;                   /* of a bucket, MTS_NO_UNIT if unknown */
	int time_node;              /* the point's time, or -1 */
	char time_format[MTS_INFER_FORMAT];
	MtsGrade grade;
} MtsReading;

/* How a slot's keys are written as numbers of units */
typedef enum MtsKeyForm
{
	MTS_KEY_PLAIN,   /* counts from the start of the enclosing slot */
	MTS_KEY_SPLIT,   /* digits that are several numbers: 1345 */
	MTS_KEY_OF,      /* counts from the start of the bucket */
	MTS_KEY_OF_HOUR, /* counts from the hour or the day around the bucket */
	MTS_KEY_OF_DAY,
	MTS_KEY_FORMS
} MtsKeyForm;

typedef struct MtsKeys MtsKeys;

/* Nodes that become columns of their own, in the order of documents */
typedef struct MtsLeaves
{
	int nodes[MTS_READING_COLUMNS];
	int n;
	int nlost; /* leaves without room */
} MtsLeaves;

typedef struct MtsInfer
{
	const MtsInferHints *hints;
	const MtsInferHost *host;
	int nsamples;
	MtsSurvey survey;
	MtsTimeField *fields;
	int nfields;
	int nlocal; /* more fields: those that may be in hints->local as well */
	MtsKeys **keys;  /* lists by node, each measured once */
	int window_node; /* whose arrays have been compared, by this time */
	const MtsTimeField *window_field;
	bool are_windows;
	MtsReading reading;
	MtsReading details; /* of arrays that are data, or no containers */
	MtsReading *others; /* candidates, then those that hold as well */
	int nothers;
	bool *is_excluded; /* by sample: it is not a bucket of the reading */
	int nexcluded;
	bool *is_declared; /* by node */
	bool *is_total;    /* by node: it may be a total of points, so not a key */
	MtsInferred *result;
	int nlost;     /* fields that no column shows */
	int key;       /* that the rival could replace */
	int rival;     /* below 0 if there is none */
	bool is_quiet; /* no remarks are made */
	char labels[2][MTS_MAX_PATH];
	unsigned nlabels;
} MtsInfer;

/* Checks a point; false if the reading is wrong. */
typedef bool (*MtsInferPoint)(void *arg, int sample, MtsUnfold *unfold,
							  const MtsPoint *point);

/* infer.c */
extern void mts_infer_pause(const MtsInfer *infer);
extern void *mts_infer_allocate(const MtsInfer *infer, size_t n, size_t size);

/* remark.c */
extern size_t mts_remark_clip(const char *text, size_t len, size_t room);
extern void mts_remark_escape(const char *name, size_t len, char *text);
extern bool mts_remark_path(const MtsInfer *infer, int node, char *text);
extern bool mts_remark_dotted(const MtsInfer *infer, int node, char *text);
extern const char *mts_remark_label(MtsInfer *infer, int node);
extern void mts_remark(MtsInfer *infer, const char *format, ...)
	BSON_GNUC_PRINTF(2, 3);

/* unit.c */
extern const char *mts_unit_name(int unit, char *text);
extern const char *mts_unit_amount(int unit, char *text);
extern MtsSpan mts_unit_span(int unit);
extern int64_t mts_unit_capacity(int outer, int inner, bool most);
extern bool mts_unit_is_single(int unit);
extern int mts_unit_single(int unit);
extern int mts_unit_find(MtsSpan span);
extern int mts_unit_count(void);

/* time_field.c */
extern bool mts_time_field_is_number(const char *format);
extern bool mts_time_field_has_zone(const char *format);
extern bool mts_time_field_is_relative(const char *format);
extern bool mts_time_field_fits(const MtsInfer *infer, int node,
								const char *format, bool truncate);
extern void mts_time_field_write(const MtsInfer *infer, int node,
								 const char *format, char *typed);
extern bool mts_time_field_epoch(double least, double greatest, char *format);
extern bool mts_time_field_pattern(const char *text, bool is_padded,
								   char *pattern);
extern bool mts_time_field_find_of_day(const MtsInfer *infer, int node,
									   char *format);
extern bool mts_time_field_find_format(const MtsInfer *infer, int node,
									   char *format);
extern const MtsClock *mts_time_field_clock(const MtsInfer *infer,
											const MtsTimeField *field);
extern bool mts_time_field_begins(const MtsInfer *infer,
								  const MtsTimeField *field, int unit);
extern const MtsTimeField *mts_time_field_change(MtsInfer *infer,
												 const MtsTimeField *field,
												 const char *format);
extern bool mts_time_field_is_storing(const MtsInfer *infer,
									  const MtsTimeField *field);
extern void mts_time_field_find_fields(MtsInfer *infer);

/* evidence.c */
extern MtsGrade mts_evidence_grade(MtsInfer *infer, const MtsReading *reading,
								   int level, MtsKeyForm form,
								   MtsInferSlot *slot);

/* candidate.c */
extern int mts_candidate_enclosing(const MtsReading *reading, int level);
extern void mts_candidate_set_names(const MtsInfer *infer, MtsReading *reading,
									int level);
extern bool mts_candidate_is_outer(const MtsInfer *infer, int node);
extern bool mts_candidate_is_same(const MtsReading *a, const MtsReading *b);
extern bool mts_candidate_find(MtsInfer *infer);

/* trial.c */
extern bool mts_trial_unfold(MtsInfer *infer, const MtsInferred *table,
							 MtsInferPoint visit, void *arg);
extern bool mts_trial_holds(MtsInfer *infer);

/* column.c */
extern bool mts_column_has_only(const MtsInfer *infer, int node,
								uint32_t types);
extern bool mts_column_is_record(const MtsInfer *infer, int node);
extern bool mts_column_is_whole(const MtsElement *element);
extern bool mts_column_is_in(const MtsInfer *infer, int node,
							 const char *field);
extern void mts_column_leaves(const MtsInfer *infer, int node,
							  MtsLeaves *leaves);
extern uint32_t mts_column_bson_types(const MtsInfer *infer, int node);
extern MtsInferType mts_column_type(const MtsInfer *infer, int node,
									bool *is_array);
extern const char *mts_column_key_name(const MtsInfer *infer, int container,
									   char *name);
extern MtsInferColumn *mts_column_add(MtsInfer *infer, int node, MtsRole role);

/* key.c */
extern int mts_key_declare(MtsInfer *infer, const MtsTime *starts,
						   const MtsTime *ends);
extern void mts_key_choose_meta(MtsInfer *infer);
extern void mts_key_weigh_times(MtsInfer *infer);

/* declare.c */
extern void mts_declare_points(MtsInfer *infer);
extern void mts_declare_table(MtsInfer *infer);
extern void mts_declare(MtsInfer *infer);

/* doubt.c */
extern void mts_doubt(MtsInfer *infer);
extern void mts_doubt_list_alternatives(MtsInfer *infer);

/* total.c */
extern int64_t mts_total_declare(MtsInfer *infer, int *full, MtsTime *starts,
								 MtsTime *ends);

#endif /* MTS_INFER_PRIVATE_H */
