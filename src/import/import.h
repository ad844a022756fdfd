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

#include "core/infer/infer.h"
#include "driver/cursor.h"

/* A collection, a view or a time-series collection of the database */
typedef struct MtsImportCollection
{
	char *name; /* in the server's encoding */
	bool is_view;
	const char *time; /* timeField of a time-series collection, or NULL */
	const char *meta; /* its metaField, or NULL; both are UTF-8 */
} MtsImportCollection;

extern List *mtsImportForeignSchema(ImportForeignSchemaStmt *stmt,
									Oid serverid);
extern char *mts_import_suggest(const ForeignServer *server,
								const char *database, const char *name);
extern char *mts_import_text(const char *utf8);

/* import_sample.c */
extern List *mts_import_collections(MtsConnection *connection,
									const char *database);
extern MtsSample *mts_import_samples(MtsConnection *connection,
									 const char *database,
									 const MtsImportCollection *collection,
									 int sample_size, int *nsamples);

/* import_family.c */
extern void mts_import_families(List *names);

/* import_identity.c */
extern bool mts_import_is_identified(MtsConnection *connection,
									 const char *database,
									 const char *collection,
									 const MtsInferred *inferred);

/* import_table.c */
extern char *mts_import_case(const char *name, const char *letters);
extern void mts_import_write_case(MtsInferred *inferred, const char *letters);
extern char *mts_import_escape(const char *name);
extern char *mts_import_table(const MtsInferred *inferred, const char *table,
							  const char *server, const char *database,
							  const char *zone,
							  const MtsImportCollection *collection,
							  bool updatable);
extern char *mts_import_hint(const MtsInferred *inferred, int remark,
							 bool is_view, const char *schema,
							 const char *table);

#endif /* MTS_IMPORT_H */
