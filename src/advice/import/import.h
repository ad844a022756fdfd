/*
 * import.h
 *		IMPORT FOREIGN SCHEMA: its callback, and what the files of this folder
 *		share.
 */
#ifndef MTS_IMPORT_H
#define MTS_IMPORT_H

#include "postgres.h"
#include "foreign/foreign.h"
#include "nodes/parsenodes.h"

#include "advice/infer/infer.h"
#include "driver/connection.h"

/* A collection, a view or a time-series collection of the database */
typedef struct MtsImportCollection
{
	char *name; /* in the server's encoding */
	bool is_view;
	bool is_rollup;      /* a roll-up, by its state */
	const char *time;    /* timeField of a time-series collection, or NULL */
	const char *meta;    /* its metaField, or NULL; both are UTF-8 */
	const char *rolling; /* the pattern of its name, if that has a date */
	int nrolling;        /* collections with this pattern; 0 if it is not the
						  * first of them */
} MtsImportCollection;

/* An import of a database, or of one of its collections */
typedef struct MtsImport
{
	ImportForeignSchemaStmt *stmt;
	const ForeignServer *server;
	MtsConnection *connection;
	const char *only;                      /* the collection's name, or NULL */
	const MtsImportCollection *collection; /* that is being imported */
	MtsIndexFields *indexes;                /* of the collection */
	int nindexes;
	List *names;      /* Strings: those of all tables */
	List *statements; /* char * */
	List *others;     /* char *: other statements, after their conditions */
} MtsImport;

/* What the totals and bounds of a table lack in proof */
typedef struct MtsImportDoubts
{
	List *sentences; /* char * */
	List *actions;   /* char *: of ALTER FOREIGN TABLE, to declare them */
	bool is_late;    /* MongoDB has not answered, and is not asked again */
} MtsImportDoubts;

extern List *mtsImportForeignSchema(ImportForeignSchemaStmt *stmt,
									Oid serverid);
extern char *mts_import_suggest(const ForeignServer *server,
								const char *database, const char *name);

/* import_sample.c */
extern List *mts_import_collections(const MtsImport *import);
extern MtsSample *mts_import_samples(const MtsImport *import, int *nsamples,
									 bool *are_all);

/* import_proof.c */
extern List *mts_import_doubt(const MtsImport *import,
							  const MtsInferred *table,
							  const MtsInferHints *hints,
							  const MtsInferHost *host,
							  MtsImportDoubts *doubts);

/* import_table.c */
extern char *mts_import_text(const char *utf8);
extern char *mts_import_name(const MtsImport *import, List *names,
							 ListCell *lc);
extern List *mts_import_columns(const MtsImport *import,
								const MtsInferred *table);
extern char *mts_import_identity(const MtsInferred *table);
extern bool mts_import_is_in_id(const MtsInferred *table);
extern bool mts_import_is_updatable(const MtsImport *import,
									const MtsInferred *table);
extern bson_t *mts_import_filter(const MtsInferred *table);
extern char *mts_import_join(List *texts, const char *separator);
extern char *mts_import_create(const MtsImport *import,
							   const MtsInferred *table, const char *name);

#endif /* MTS_IMPORT_H */
